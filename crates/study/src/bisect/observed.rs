//! What a comparison of two commits says of each test: of its rate, or of its instructions.

use rqps_analysis::comparison::{CountedTest, Results};
use rqps_stats::label::Label;
use rqps_store::Run;
use serde::Serialize;

/// The effect on a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestEffect {
    pub test: String,
    /// The log ratio of the rates, with its 95 % interval by itself.
    pub value: f64,
    pub low: f64,
    pub high: f64,
    pub rounds: u32,
    /// The SD between rounds, and the standard error.
    pub spread: f64,
    pub error: f64,
    /// How many times as wide as by their noise intervals are, because of the A/A control.
    pub widened: f64,
    /// The MDE.
    pub detectable: f64,
    /// Why it cannot be used.
    pub invalid: Option<String>,
}

impl TestEffect {
    pub fn is_valid(&self) -> bool {
        self.invalid.is_none()
    }

    pub fn is_significant(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// Whether it is a change of the same sign.
    pub fn agrees(&self, other: &TestEffect) -> bool {
        self.is_significant() && self.value * other.value > 0.0
    }
}

/// Two counts of one build differ by less than this.
const LEAST_ERROR_OF_COUNTS: f64 = 0.0005;

/// The effect on instructions per operation, as if they took time: more of them are a lower rate.
fn counted(one: &CountedTest<'_>) -> TestEffect {
    let spread: f64 = one.sides.iter().map(|side| side.spread).sum::<f64>() / 2.0;
    let error = spread.max(LEAST_ERROR_OF_COUNTS);
    let value = one.both().map_or(f64::NAN, |[base, contender]| (base / contender).ln());
    let why = || one.why().map_or("not counted".to_string(), |(_, why)| why.to_string());
    TestEffect {
        test: one.test.to_string(),
        value,
        low: value - 2.0 * error,
        high: value + 2.0 * error,
        rounds: 2,
        spread,
        error,
        widened: 1.0,
        detectable: 4.0 * error,
        invalid: value.is_nan().then(why),
    }
}

/// The effects on all tests of a contender of a run.
pub fn effects(run: &Run, contender: &str) -> Vec<TestEffect> {
    let Some(results) = Results::new(run) else { return Vec::new() };
    let mut judged = results.judged.iter();
    let Some(judged) = judged.find(|one| one.contender == contender) else { return Vec::new() };
    if results.plan.only_instructions().is_some() {
        return judged.counts.iter().map(counted).collect();
    }
    let effect = |verdict: &rqps_stats::verdict::Verdict| {
        let rounds = verdict.contributions.len();
        let mean = verdict.contributions.iter().sum::<f64>() / rounds as f64;
        let squares = verdict.contributions.iter().map(|one| (one - mean).powi(2));
        let spread = (squares.sum::<f64>() / (rounds as f64 - 1.0)).sqrt();
        let invalid = match &verdict.label {
            Label::Invalid { why } => Some(why.clone()),
            _ if rounds < rqps_stats::verdict::LEAST_ROUNDS => Some("too few rounds".to_string()),
            _ => None,
        };
        TestEffect {
            test: verdict.test.clone(),
            value: verdict.plain.value,
            low: verdict.plain.interval.low,
            high: verdict.plain.interval.high,
            rounds: rounds as u32,
            spread,
            error: verdict.widened * spread / (rounds as f64).sqrt(),
            widened: verdict.widened,
            detectable: verdict.detectable,
            invalid,
        }
    };
    judged.verdicts.iter().map(effect).collect()
}
