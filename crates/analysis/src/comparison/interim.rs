//! The state of a comparison before its end.

use rqps_plan::Cache;
use rqps_stats::digits::Digits;
use rqps_stats::label::Label;
use rqps_stats::stop::{Progress, StopRule};
use rqps_stats::verdict::{Stage, Verdict};
use rqps_store::RoundRecord;
use serde::{Deserialize, Serialize};

use super::drift::Drift;
use super::observed;
use super::pair::Pair;

/// The interim result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interim {
    /// The tests that need no more rounds: the interval of every contender is precise enough. The
    /// estimates themselves do not matter: stopping on them would produce false findings.
    pub settled: Vec<String>,
    /// The tests that need no fresh rounds: those that the screen did not flag, and those whose
    /// interval from fresh rounds is precise enough.
    pub confirmed: Vec<String>,
    /// The estimate of every test with its interval.
    pub standing: Vec<Standing>,
    /// The tests that became slower, faster or more costly per operation.
    pub changed: Vec<Changed>,
}

/// The state of a contender in a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    pub contender: String,
    pub test: String,
    /// For people: the estimate with its interval.
    pub text: String,
    /// The total until the interval is precise enough; none without an interval.
    pub rounds_needed: Option<u32>,
}

/// A test in which a contender differs from the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    pub test: String,
    pub contender: String,
    /// Its distance from no change, by which tests are sorted.
    pub size: f64,
}

/// The size of the change of a test; none without a verdict that it has changed.
fn changed(verdict: &Verdict) -> Option<f64> {
    match &verdict.label {
        Label::NoChange { .. }
        | Label::Inconclusive { .. }
        | Label::Invalid { .. }
        | Label::Overdue { .. } => None,
        Label::EfficiencyRegression { cost, .. } => {
            let risen = verdict.costs.iter().find(|(name, _)| name == cost);
            risen.map(|(_, rise)| rise.value)
        }
        _ => Some(verdict.estimate.value.abs()),
    }
}

/// Judges the measurements so far.
pub fn interim(plan: &rqps_plan::Plan, passes: &[RoundRecord]) -> Interim {
    let Some(comparison) = plan.comparison() else { return Interim::default() };
    let names: Vec<String> = plan.contenders.iter().map(|one| one.name()).collect();
    let Some((base, others)) = names.split_first() else { return Interim::default() };
    let tests = observed::tests(passes);
    let is_io_bound = plan.cache == Some(Cache::IoBound);
    let mut interim = Interim::default();
    let rule = |least_rounds: u32, most_rounds: u32| StopRule {
        least_rounds: least_rounds.min(most_rounds),
        most_rounds,
        half_width: comparison.precision,
    };
    let first = rule(comparison.fewest_rounds, comparison.rounds);
    let fresh = rule(comparison.fewest_rounds, comparison.confirm.unwrap_or(0));
    let progress = |verdict: &Verdict| Progress {
        rounds: verdict.contributions.len() as u32,
        half_width: verdict.plain.interval.half_width(),
    };
    let is_narrow = |rule: &StopRule, verdict: &Verdict| rule.is_precise(&progress(verdict));
    let mut narrow = vec![true; tests.len()];
    let mut confirmed = vec![true; tests.len()];
    for contender in others {
        let drift = Drift::of(comparison, &tests);
        let pair = Pair { plan: comparison, base, contender, is_io_bound, drift };
        let (screen, flagged) = pair.screen(&tests);
        let report = pair.judge(&tests);
        for (index, verdict) in report.verdicts.iter().enumerate() {
            if tests[index].failure(contender).is_some() {
                // It has no more rounds.
                continue;
            }
            narrow[index] &= is_narrow(&first, &screen.verdicts[index]);
            let is_fresh = verdict.stage == Stage::Fresh;
            confirmed[index] &= !flagged.contains(&index) || is_fresh && is_narrow(&fresh, verdict);
            let (plain, width) = (verdict.plain, verdict.plain.interval.half_width());
            let estimate = match width.is_finite() {
                true => {
                    let digits = Digits::of(plain.interval);
                    format!("{} ± {}", digits.percent(plain.value), digits.size(width))
                }
                false => "too few rounds".to_string(),
            };
            let state = match (is_fresh, narrow[index]) {
                (true, _) => ", fresh rounds",
                (false, true) => ", precise enough",
                (false, false) => "",
            };
            let name = tests[index].name;
            if let Some(size) = changed(verdict) {
                let (test, contender) = (name.to_string(), contender.clone());
                interim.changed.push(Changed { test, contender, size });
            }
            interim.standing.push(Standing {
                contender: contender.clone(),
                test: name.to_string(),
                text: format!("{estimate}{state}"),
                rounds_needed: width.is_finite().then(|| first.rounds_needed(&progress(verdict))),
            });
        }
    }
    let named = |which: Vec<bool>| -> Vec<String> {
        let chosen = tests.iter().zip(which).filter(|(_, is_chosen)| *is_chosen);
        chosen.map(|(test, _)| test.name.to_string()).collect()
    };
    (interim.settled, interim.confirmed) = (named(narrow), named(confirmed));
    interim
}
