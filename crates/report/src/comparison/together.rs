//! All rounds of whole runs together, as if each test had been a single step: what can be told of a
//! step can be told of them.

use hdrhistogram::Histogram;
use rqps_observe::{EngineReading, Reading};
use rqps_plan::{Counts, Method};
use rqps_stats::normalised::{IOSTAT, VMSTAT};
use rqps_stats::{Column, METRICS};
use rqps_store::{PassRecord, Series, Status, StepRecord, WorkerRecord};

use super::Verdicts;
use super::observed::Observed;
use crate::model::{Model, StepModel, Table, by_known_column, counted_operation};

impl Verdicts<'_> {
    /// One for each test and contender that has runs which count; none of slices.
    pub(crate) fn together(&self) -> Vec<StepRecord> {
        let names = self.names();
        let mut steps = Vec::new();
        for (order, test) in (0..).zip(&self.tests) {
            if self.plan.method_of(test.name) == Method::Runs {
                let counts = test.counts(self.plan);
                steps.extend(names.iter().filter_map(|name| step(test, order, counts, name)));
            }
        }
        steps
    }
}

fn step(test: &Observed<'_>, order: u32, counts: Counts, contender: &str) -> Option<StepRecord> {
    let passes: Vec<&PassRecord> = test.counted_with(contender).collect();
    let first = passes.first()?;
    let slices = || {
        let all = passes.iter().flat_map(|pass| &pass.slices);
        all.filter(|slice| slice.contender == contender)
    };
    let nanos: u64 = slices().map(|slice| slice.nanos).sum();
    let done: u64 = slices().map(|slice| slice.reads + slice.writes + slice.others).sum();
    let mut cost = Reading::default();
    let mut service = Histogram::<u64>::new(3).expect("three significant digits are allowed");
    for pass in &passes {
        if let Some(later) = pass.cost.get(contender) {
            cost = cost.plus(later);
        }
        let times = pass.sides.get(contender).and_then(|side| side.service.as_ref());
        if let Some(times) = times {
            let added = service.add(times.unpacked());
            added.expect("a histogram without bounds grows to hold any value");
        }
    }
    // Not of any client in particular. What was done is in the unit of the step, whichever it is; of
    // anything else its clients did only sums over all kinds of operations are kept.
    let worker = WorkerRecord {
        client: 0,
        operation: counted_operation(counts),
        operations: done,
        rows: done,
        reads: done,
        writes: 0,
        others: 0,
        retries: 0,
        service,
        response: None,
        max_lag: 0,
        seconds: Vec::new(),
    };
    Some(StepRecord {
        contender: contender.to_string(),
        step: test.name.to_string(),
        title: String::new(),
        group: None,
        counts,
        order,
        attempt: 1,
        status: Status::Done,
        error: None,
        started: first.started.clone(),
        seconds: nanos as f64 / 1e9,
        pause_seconds: 0.0,
        check_seconds: 0.0,
        clients: 0,
        target_rate: None,
        counted_rows: Some(done),
        index_seconds: None,
        workers: vec![worker],
        cost,
        samples: Series::default(),
        engine: EngineReading::default(),
        engine_samples: Series::default(),
        note: None,
        statements: Vec::new(),
    })
}

/// The columns of the posts on the test's benchmark, as far as they are known.
pub(crate) fn metrics(model: &Model, step: &StepModel) -> Vec<Table> {
    // What was inserted beside queries is not kept, and is not nothing.
    let is_kept = |column: &&Column| step.counts != Counts::Queries || column.name != "ips";
    let of = |columns: &[Column]| by_known_column(model, step, columns.iter().filter(is_kept));
    let tables = match step.counts {
        Counts::Statements | Counts::RowsScanned => vec![of(&IOSTAT), of(&VMSTAT)],
        Counts::RowsInserted | Counts::RowsIndexed | Counts::Queries => vec![of(&METRICS)],
    };
    tables.into_iter().filter(|table| !table.is_empty()).collect()
}
