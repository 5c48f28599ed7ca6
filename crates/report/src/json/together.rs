//! The whole runs of a comparison in the result, pooled over rounds for each test, as in the page.

use std::collections::BTreeMap;

use rqps_stats::normalised::{IOSTAT, VMSTAT};
use rqps_stats::{COSTS, METRICS};
use serde::Serialize;

use super::{Raw, Sla, Work, derived, sla, work};
use crate::model::{Measured, Model, StepModel};

/// One test by whole runs.
#[derive(Serialize)]
pub(super) struct Test<'a> {
    name: &'a str,
    /// The unit of the throughput.
    unit: &'static str,
    /// The operation that costs are divided by.
    operation: &'static str,
    results: Vec<Together<'a>>,
}

/// All runs of an arm that count.
#[derive(Serialize)]
struct Together<'a> {
    contender: &'a str,
    /// Of all of them.
    seconds: f64,
    throughput: Option<f64>,
    sla: Option<Sla>,
    /// The columns of the Insert Benchmark posts and of the IO-bound posts; null if a value could
    /// not be read or has no meaning.
    metrics: BTreeMap<&'static str, Option<f64>>,
    costs: BTreeMap<&'static str, Option<f64>>,
    /// As read: counters over all runs, gauges at the end of the last run.
    totals: BTreeMap<&'static str, u64>,
    /// Without seconds.
    work: BTreeMap<&'static str, Work<'a>>,
}

pub(super) fn tests<'m>(model: &'m Model<'m>) -> Vec<Test<'m>> {
    model.steps.iter().map(test).collect()
}

fn test<'m>(step: &'m StepModel<'m>) -> Test<'m> {
    Test {
        name: step.name,
        unit: step.counts.unit(),
        operation: step.counts.operation(),
        results: step.measured.iter().flatten().map(together).collect(),
    }
}

fn together<'m>(measured: &'m Measured<'m>) -> Together<'m> {
    let (record, window) = (measured.record, measured.window());
    let columns = METRICS.iter().chain(&IOSTAT).chain(&VMSTAT);
    let of_all = measured.totals.iter();
    Together {
        contender: measured.contender,
        seconds: record.seconds,
        throughput: measured.throughput(),
        sla: sla(measured),
        metrics: derived(&window, columns),
        costs: derived(&window, &COSTS),
        totals: record.cost.iter().map(|(metric, value)| (metric.name(), value)).collect(),
        work: of_all.map(|of| (of.operation.name(), work(of, Raw::LeftOut))).collect(),
    }
}
