//! The state of a comparison before its end.

use rqps_plan::Cache;
use rqps_stats::Estimate;
use rqps_stats::digits::Digits;
use rqps_stats::label::Label;
use rqps_stats::stop::{Progress, StopRule};
use rqps_stats::verdict::{Stage, Verdict};
use rqps_store::RoundRecord;
use serde::{Deserialize, Serialize};

use super::drift::Drift;
use super::observed::{self, Observed};
use super::pair::Pair;
use super::times::Time;

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
        | Label::Capped { .. }
        | Label::Overdue { .. } => None,
        Label::EfficiencyRegression { cost, .. } => {
            let risen = verdict.costs.iter().find(|(name, _)| name == cost);
            risen.map(|(_, rise)| rise.value)
        }
        _ => Some(verdict.estimate.value.abs()),
    }
}

/// `+1.2 % ± 0.4`
fn text(of: &Estimate) -> String {
    let (digits, width) = (Digits::of(of.interval), of.interval.half_width());
    match width.is_finite() {
        true => format!("{} ± {}", digits.percent(of.value), digits.size(width)),
        false => "too few rounds".to_string(),
    }
}

/// The widest interval of a percentile, as a share of half its margin: with a wider one, no change
/// cannot be told from one that matters. None without a verdict on times.
fn widest(times: &[Time]) -> Option<f64> {
    let judged = times.iter().filter_map(|time| time.verdict.as_ref().ok());
    let shares = judged.map(|one| one.estimate.interval.half_width() / (one.margin / 2.0));
    shares.reduce(f64::max)
}

/// A largest rate needs no more rounds when its interval is within this of the estimate.
const PRECISION_OF_LARGEST_RATES: f64 = 0.04;

/// Judges the measurements so far.
pub fn interim(plan: &rqps_plan::Plan, passes: &[RoundRecord]) -> Interim {
    let Some(comparison) = plan.comparison() else { return Interim::default() };
    let names: Vec<String> = plan.contenders.iter().map(|one| one.name()).collect();
    let Some((base, others)) = names.split_first() else { return Interim::default() };
    let tests = observed::tests(passes).into_iter();
    let usual = match comparison.slo {
        // Largest rates are as far from each other as the steps between them.
        Some(_) => comparison.precision / PRECISION_OF_LARGEST_RATES,
        None => 1.0,
    };
    // Where the rate is given, times decide.
    let timed = tests.map(|test| match comparison.rate.is_some() || test.is_capped() {
        true => test.with_times(comparison),
        false => test,
    });
    let tests: Vec<Observed<'_>> = timed.collect();
    let is_io_bound = plan.cache == Some(Cache::IoBound);
    let mut interim = Interim::default();
    let rule = |least_rounds: u32, most_rounds: u32| StopRule {
        least_rounds: least_rounds.min(most_rounds),
        most_rounds,
        half_width: comparison.precision,
    };
    let first = rule(comparison.fewest_rounds, comparison.rounds);
    let fresh = rule(comparison.fewest_rounds, comparison.confirm.unwrap_or(0));
    let progress = |verdict: &Verdict, times: &[Time]| Progress {
        rounds: verdict.contributions.len() as u32,
        half_width: widest(times)
            .map(|width| width * comparison.precision)
            .unwrap_or(verdict.plain.interval.half_width() * usual),
    };
    let mut narrow = vec![true; tests.len()];
    let mut confirmed = vec![true; tests.len()];
    for contender in others {
        let drift = Drift::of(comparison, &tests);
        let pair = Pair { plan: comparison, base, contender, is_io_bound, drift };
        let (screen, flagged) = pair.screen(&tests);
        let report = pair.judge(&tests);
        let times = pair.times(&tests, &report.verdicts);
        for (index, verdict) in report.verdicts.iter().enumerate() {
            if tests[index].failure(contender).is_some() {
                // It has no more rounds.
                continue;
            }
            let times = &times[index];
            let is_narrow = |rule: &StopRule, of: &Verdict| rule.is_precise(&progress(of, times));
            // The last rate of the grid and the client's CPU are the same in every round.
            let rounds = passes.iter().filter(|pass| pass.test == tests[index].name);
            let rounds = rounds.map(|pass| pass.round).max().unwrap_or(0);
            let is_unanswered = comparison.slo.is_some()
                && screen.verdicts[index].contributions.is_empty()
                && rounds >= first.least_rounds;
            narrow[index] &= is_unanswered || is_narrow(&first, &screen.verdicts[index]);
            let is_fresh = verdict.stage == Stage::Fresh;
            confirmed[index] &= !flagged.contains(&index) || is_fresh && is_narrow(&fresh, verdict);
            let plain = verdict.plain;
            let slowest = times.iter().rfind(|time| time.verdict.is_ok());
            let estimate = match slowest.and_then(|time| Some((time.name, time.ratio?))) {
                Some((name, ratio)) => format!("{name} {}", text(&ratio)),
                None => text(&plain),
            };
            let width = plain.interval.half_width();
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
                rounds_needed: width
                    .is_finite()
                    .then(|| first.rounds_needed(&progress(verdict, times))),
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
