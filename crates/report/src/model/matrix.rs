//! Every contender in every test by every measure, so that the page can compare any two of them.

use rqps_analysis::comparison::percentile;
use rqps_stats::normalised::{IOSTAT, VMSTAT};
use rqps_stats::{COSTS, Column, METRICS};
use serde::Serialize;

use super::{Counted, Measured, Model, StepModel, Suite};

#[derive(Serialize)]
pub(crate) struct Matrix {
    pub(crate) contenders: Vec<String>,
    /// The contender that verdicts and published tables are relative to.
    pub(crate) baseline: Option<usize>,
    /// Whether contenders took turns in rounds, so that there are intervals and verdicts.
    pub(crate) is_comparison: bool,
    pub(crate) measures: Vec<Measure>,
    /// The log of the change that all tests of a contender share, where that was judged.
    pub(crate) shifts: Vec<Option<f64>>,
    pub(crate) rows: Vec<Row>,
}

#[derive(Serialize)]
pub(crate) struct Measure {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) legend: String,
    pub(crate) more_is_better: bool,
}

#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) group: String,
    /// What the test counts and its costs are divided by: the units of measures may not name it.
    pub(crate) operation: &'static str,
    /// The id of the part of the page that is about the test.
    pub(crate) anchor: String,
    /// The numbers of the rounds, in the order of time; one if nothing was repeated.
    pub(crate) rounds: Vec<u32>,
    /// By measure, contender and round.
    pub(crate) values: Vec<Vec<Vec<Option<f64>>>>,
    /// By contender and round: the log of the throughput over the baseline's, as compared within
    /// the round. Empty if there was no comparison.
    pub(crate) logs: Vec<Vec<Option<f64>>>,
    /// By contender: the label beside its number.
    pub(crate) marks: Vec<Option<Mark>>,
    /// Rounds whose measurements were discarded.
    pub(crate) discarded: Vec<Discarded>,
}

#[derive(Serialize)]
pub(crate) struct Discarded {
    pub(crate) round: u32,
    pub(crate) why: String,
}

#[derive(Serialize)]
pub(crate) struct Mark {
    /// The class in the style sheet.
    pub(crate) class: &'static str,
    pub(crate) text: String,
    /// Of the throughput, relative to the baseline.
    pub(crate) ratio: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
}

/// The matrix of a run whose contenders ran one after the other; none without two contenders.
pub(crate) fn matrix(model: &Model, suite: Option<&Suite>) -> Option<Matrix> {
    if model.contenders.len() < 2 || model.steps.is_empty() {
        return None;
    }
    let columns: Vec<&Column> = match suite {
        Some(_) => IOSTAT.iter().chain(&VMSTAT).filter(|c| c.name.ends_with("/o")).collect(),
        None => METRICS.iter().filter(|c| PER_OPERATION.contains(&c.name)).collect(),
    };
    let columns: Vec<&Column> = COSTS.iter().chain(columns).collect();
    let is_known = |column: &&&Column| {
        let mut done = model.steps.iter().flat_map(StepModel::done);
        done.any(|(_, measured)| (column.value)(&measured.window()).is_some())
    };
    let columns: Vec<&Column> = columns.iter().filter(is_known).copied().collect();
    let counted = match suite {
        Some(suite) => {
            let steps = suite.tests().flat_map(|(_, test)| &test.steps);
            Counted::of(steps.map(|(_, step)| (step.name, step.counts)))
        }
        None => Counted::of(model.steps.iter().map(|step| (step.name, step.counts))),
    };
    let mut measures = vec![throughput(&counted)];
    measures.extend(columns.iter().map(|column| Measure {
        name: column.name.to_string(),
        unit: column.unit.to_string(),
        legend: column.legend.to_string(),
        more_is_better: false,
    }));
    let times = [("p99", 99.0), ("p99.9", 99.9)];
    measures.extend(times.map(|(name, _)| time(name, "service")));
    let value = |measured: &Measured, measure: usize| match measure {
        0 => measured.finished_rate(),
        of if of <= columns.len() => (columns[of - 1].value)(&measured.window()),
        of => {
            let service = measured.counted_times()?;
            Some(percentile(&service, times[of - 1 - columns.len()].1)? as f64 / 1e6)
        }
    };
    let row = |step: &StepModel, name: &str, group: &str, anchor: String| Row {
        name: name.to_string(),
        group: group.to_string(),
        operation: step.counts.operation(),
        anchor,
        rounds: vec![1],
        values: (0..measures.len())
            .map(|measure| {
                let of = |measured: &Option<Measured>| {
                    value(measured.as_ref().filter(|one| one.is_done())?, measure)
                };
                step.measured.iter().map(|measured| vec![of(measured)]).collect()
            })
            .collect(),
        logs: Vec::new(),
        marks: step.measured.iter().map(|measured| mark(measured.as_ref()?)).collect(),
        discarded: Vec::new(),
    };
    let rows = match suite {
        Some(suite) => suite
            .tests()
            .flat_map(|(group, test)| test.steps.iter().map(move |(_, step)| (group, test, step)))
            .map(|(group, test, step)| row(step, step.name, group, format!("test-{}", test.name)))
            .collect(),
        None => {
            let group = |step: &StepModel| {
                if step.is_promising() { "Queries during writes" } else { "Load" }
            };
            let anchor = |step: &StepModel| format!("step-{}", step.name);
            let steps = model.steps.iter();
            steps.map(|step| row(step, step.name, group(step), anchor(step))).collect()
        }
    };
    Some(Matrix {
        contenders: model.contenders.iter().map(|name| name.to_string()).collect(),
        baseline: model.base,
        is_comparison: false,
        shifts: Vec::new(),
        rows,
        measures,
    })
}

/// Columns of the Insert Benchmark without an equal in [`COSTS`].
const PER_OPERATION: [&str; 5] = ["rpq", "rkbpq", "wpi", "wkbpi", "cspq"];

pub(crate) fn throughput(counted: &Counted) -> Measure {
    let meaning = counted.meaning().map_or(String::new(), |meaning| format!(" ({meaning})"));
    Measure {
        name: "throughput".to_string(),
        unit: format!("{}/s", counted.many),
        legend: format!("what the test counts, per second{meaning}"),
        more_is_better: true,
    }
}

/// A percentile of service or response times.
pub(crate) fn time(name: &str, clock: &str) -> Measure {
    Measure {
        name: name.to_string(),
        unit: "ms".to_string(),
        legend: format!("{name} of the {clock} time of the counted operation"),
        more_is_better: false,
    }
}

fn mark(measured: &Measured) -> Option<Mark> {
    let (class, text) = match (measured.is_done(), measured.sla()) {
        (false, _) => ("invalid", measured.record.status.name()),
        (true, Some(false)) => ("missed", "SLA missed"),
        _ => return None,
    };
    Some(Mark { class, text: text.to_string(), ratio: None, low: None, high: None })
}
