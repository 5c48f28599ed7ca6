//! The evidence of verdicts and findings, for programs.

use std::collections::BTreeMap;

use rqps_analysis::course::short;
use rqps_analysis::diagnosis::{self, Change, Evidence, budget, budget_text};
use rqps_observe::Metric;
use serde::Serialize;

use super::latency::{time_label, told};
use super::ratio_json::{Ratio, finite, ratio};
use super::{Judged, Verdicts};

/// Microseconds of an operation.
#[derive(Serialize)]
pub(super) struct TimeBudget {
    baseline: f64,
    contender: f64,
    /// Contender minus baseline, with its interval; null if there is none.
    change: f64,
    low: Option<f64>,
    high: Option<f64>,
    text: String,
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct Part {
    /// Null for the rest that no part accounts for.
    name: Option<&'static str>,
    /// Contender minus baseline.
    change: f64,
    low: Option<f64>,
    high: Option<f64>,
    /// The interval of the change excludes zero.
    is_sure: bool,
}

/// A percentile of times, or the longest.
#[derive(Serialize)]
pub(super) struct Time {
    baseline_ns: f64,
    contender_ns: f64,
    ratio: Option<Ratio>,
    /// Null without a verdict.
    label: Option<&'static str>,
    /// The label in words, or why there is none.
    verdict: String,
    adjusted_p: Option<f64>,
    detectable: Option<f64>,
}

/// A metric per operation in both arms.
#[derive(Serialize)]
pub(super) struct Changed {
    baseline: Option<f64>,
    contender: Option<f64>,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// How far the A/A control is from the baseline, as a share.
    control: Option<f64>,
    /// The interval excludes 1, and the change is larger than that.
    is_sure: bool,
}

#[derive(Serialize)]
pub(super) struct Finding {
    rule: &'static str,
    cause: &'static str,
    confidence: String,
    statement: String,
    tests: Vec<String>,
    share: Option<f64>,
    numbers: Vec<Number>,
    /// What would contradict it, and whether that was checked.
    contradicted_by: Vec<(&'static str, bool)>,
    next: String,
}

/// A number of a statement.
#[derive(Serialize)]
struct Number {
    test: Option<String>,
    what: String,
    unit: &'static str,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

pub(super) fn time_budget(evidence: &Evidence) -> TimeBudget {
    let time = evidence.time;
    let (low, high) = time.change.ends().unzip();
    let parts = budget(evidence).into_iter().map(|bar| {
        let (low, high) = bar.interval.unzip();
        let name = bar.part.map(diagnosis::Part::name);
        Part { name, change: bar.change, low, high, is_sure: bar.is_sure }
    });
    TimeBudget {
        baseline: time.base,
        contender: time.contender,
        change: time.change.value,
        low,
        high,
        text: budget_text(evidence),
        parts: parts.collect(),
    }
}

/// By percentile.
pub(super) fn times(judged: &Judged<'_>, index: usize) -> BTreeMap<&'static str, Time> {
    let times = judged.times[index].iter().map(|time| {
        let verdict = time.verdict.as_ref().ok();
        let told = Time {
            baseline_ns: time.base,
            contender_ns: time.contender,
            ratio: time.ratio.as_ref().and_then(ratio),
            label: time_label(time),
            verdict: told(time),
            adjusted_p: verdict.and_then(|one| finite(one.adjusted_p)),
            detectable: verdict.and_then(|one| finite(one.detectable.exp_m1())),
        };
        (time.name, told)
    });
    times.collect()
}

/// By the names of the metrics.
pub(super) fn metrics(evidence: &Evidence) -> BTreeMap<String, Changed> {
    let known = evidence.metrics.iter().filter(|(name, _)| Metric::from_name(name).is_some());
    known.map(|(name, change)| (name.clone(), changed(change))).collect()
}

/// By the DBMS's names.
pub(super) fn counters(
    verdicts: &Verdicts<'_>,
    judged: &Judged<'_>,
    index: usize,
) -> BTreeMap<String, Changed> {
    let counters = verdicts.counters(judged, index).into_iter();
    counters.map(|(name, change)| (name.to_string(), changed(change))).collect()
}

fn changed(change: &Change) -> Changed {
    let ratio = |log: f64| short(log.exp());
    let (low, high) = change.log.ends().unzip();
    Changed {
        baseline: short(change.base),
        contender: short(change.contender),
        ratio: ratio(change.log.value),
        low: low.and_then(ratio),
        high: high.and_then(ratio),
        control: short(change.noise.exp_m1()),
        is_sure: change.is_sure(),
    }
}

pub(super) fn finding(of: &diagnosis::Finding) -> Finding {
    let checks = of.contradicted_by.iter().map(|check| (check.what, check.looked_at));
    Finding {
        rule: of.cause.rule(),
        cause: of.cause.name(of.slower),
        confidence: of.confidence.to_string(),
        statement: of.statement.clone(),
        tests: of.tests.clone(),
        share: of.share,
        numbers: of.numbers.iter().map(number).collect(),
        contradicted_by: checks.collect(),
        next: of.next.clone(),
    }
}

fn number(of: &diagnosis::Number) -> Number {
    let (low, high) = of.interval.unzip();
    Number {
        test: of.test.clone(),
        what: of.what.clone(),
        unit: of.unit,
        value: finite(of.value),
        low,
        high,
    }
}
