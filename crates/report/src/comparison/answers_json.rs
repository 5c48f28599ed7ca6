//! Answers for programs.

use serde::Serialize;

use super::ratio_json::{Ratio, ratio};
use super::{Judged, Verdicts, label};
use crate::build::answers::time;

/// The time of all queries together.
#[derive(Serialize)]
pub(super) struct TotalJson {
    /// Of the times, weighted by executions.
    ratio: Option<Ratio>,
    label: &'static str,
    verdict: String,
    /// The share of the measured time that it covers: wrong answers are left out.
    covered: f64,
}

/// A query of a user's own SQL.
#[derive(Serialize)]
pub(super) struct StatementJson {
    name: String,
    /// The statements, with names for values.
    text: Vec<String>,
    weight: Option<f64>,
    /// Of the baseline's time, by weights; null if it was not measured.
    share: Option<f64>,
    /// Seconds of all executions in a day, by the baseline and the contender; null if it is not
    /// known how many these are.
    seconds_per_day: Option<[f64; 2]>,
    rows: RowsJson,
    plan: PlanJson,
    /// As in `tests`; null if it was not measured.
    label: Option<&'static str>,
}

#[derive(Serialize)]
struct RowsJson {
    /// `same rows`, `different rows`, …
    verdict: &'static str,
    /// Sets of values that were compared.
    sets: u32,
    /// Returned for all sets, by the baseline and the contender.
    returned: [u64; 2],
    /// Of all answers, likewise; with nine digits of each number.
    digests: [String; 2],
    detail: Option<String>,
    note: Option<String>,
    /// In the run directory: the first rows that differ.
    file: Option<String>,
}

#[derive(Serialize)]
struct PlanJson {
    /// `same plan`, `plan changed`, …
    verdict: &'static str,
    /// What differs, in words.
    changes: Vec<String>,
    /// For the first set of values, by statement.
    baseline: Vec<Option<String>>,
    contender: Vec<Option<String>>,
}

pub(super) fn total(judged: &Judged<'_>) -> Option<TotalJson> {
    let total = judged.total.as_ref()?;
    Some(TotalJson {
        ratio: ratio(&time(&total.verdict.estimate)),
        label: label(&total.verdict.label),
        verdict: total.verdict.label.to_string(),
        covered: total.covered,
    })
}

pub(super) fn statements(verdicts: &Verdicts<'_>, judged: &Judged<'_>) -> Vec<StatementJson> {
    let (shares, per_day) = (verdicts.shares(judged), verdicts.per_day(judged));
    let answers = judged.answers.iter();
    answers
        .map(|one| {
            let place = verdicts.tests.iter().position(|test| test.name == one.test);
            let both = [one.baseline, one.record];
            let [base, contender] = both.map(|record| record.plans.first());
            let plans = |sets: Option<&Vec<rqps_store::StatementRecord>>| {
                sets.into_iter().flatten().map(|statement| statement.plan.clone()).collect()
            };
            StatementJson {
                name: one.test.to_string(),
                text: base.into_iter().flatten().map(|it| it.text.clone()).collect(),
                weight: verdicts.plan.of.weight(one.test),
                share: place.and_then(|place| shares[place]),
                seconds_per_day: place.and_then(|place| per_day[place]),
                rows: RowsJson {
                    verdict: one.rows.name(),
                    sets: one.record.sets,
                    returned: both.map(|record| record.rows),
                    digests: both.map(|record| record.digest.clone()),
                    detail: one.record.detail.clone(),
                    note: one.baseline.note.clone(),
                    file: one.record.file.clone(),
                },
                plan: PlanJson {
                    verdict: one.plan.name(),
                    changes: one.plan.changes().to_vec(),
                    baseline: plans(base),
                    contender: plans(contender),
                },
                label: place.map(|place| label(&judged.verdicts[place].label)),
            }
        })
        .collect()
}
