//! What verdicts and findings rest on, for programs.

use std::collections::BTreeMap;

use rqps_analysis::diagnosis::{self, Change, Evidence, budget, budget_text};
use rqps_observe::Metric;
use serde::Serialize;

use super::json::{Ratio, finite, ratio};
use super::{Judged, Verdicts};
use crate::model::number::short;

/// Microseconds of an operation.
#[derive(Serialize)]
pub(super) struct TimeBudget {
    base: f64,
    contender: f64,
    /// Contender minus base, with its interval; null where there is none.
    change: f64,
    low: Option<f64>,
    high: Option<f64>,
    text: String,
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct Part {
    /// Null: what no part accounts for.
    name: Option<&'static str>,
    /// Contender minus base.
    change: f64,
    low: Option<f64>,
    high: Option<f64>,
    /// The interval of the change leaves out zero.
    is_sure: bool,
}

/// A percentile of service times.
#[derive(Serialize)]
pub(super) struct Time {
    base_ns: f64,
    contender_ns: f64,
    ratio: Option<Ratio>,
}

/// Something of an operation, on both sides.
#[derive(Serialize)]
pub(super) struct Changed {
    base: Option<f64>,
    contender: Option<f64>,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// How far the twin is from the base, as a share.
    twin: Option<f64>,
    /// The interval leaves out 1, and it is more than that.
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
    /// What would contradict it, and whether it was looked at.
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
        base: time.base,
        contender: time.contender,
        change: time.change.value,
        low,
        high,
        text: budget_text(evidence),
        parts: parts.collect(),
    }
}

/// By percentile; nothing of slices.
pub(super) fn times(
    verdicts: &Verdicts<'_>,
    judged: &Judged<'_>,
    index: usize,
) -> BTreeMap<String, Time> {
    let times = verdicts.times(judged, index).into_iter().map(|time| {
        let (base_ns, contender_ns) = (time.base, time.contender);
        (time.name.to_string(), Time { base_ns, contender_ns, ratio: ratio(time.ratio) })
    });
    times.collect()
}

/// By the names of the metrics.
pub(super) fn metrics(evidence: &Evidence) -> BTreeMap<String, Changed> {
    let known = evidence.metrics.iter().filter(|(name, _)| Metric::from_name(name).is_some());
    known.map(|(name, change)| (name.clone(), changed(change))).collect()
}

/// By the names that the DBMS has for them.
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
        base: short(change.base),
        contender: short(change.contender),
        ratio: ratio(change.log.value),
        low: low.and_then(ratio),
        high: high.and_then(ratio),
        twin: short(change.noise.exp_m1()),
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
