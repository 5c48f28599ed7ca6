//! All rounds of whole runs together, as if each test had been a single step: what can be told of a
//! step can be told of them.

use rqps_observe::{EngineReading, Reading};
use rqps_plan::{Counts, Method};
use rqps_stats::normalised::{IOSTAT, VMSTAT};
use rqps_stats::{Column, METRICS};
use rqps_store::{PassRecord, Run, Series, SideRecord, Status, StepRecord, WorkerRecord};

use super::Verdicts;
use super::observed::{Observed, clients_of};
use super::whole::{done, whole_seconds};
use crate::model::{Model, StepModel, Table, by_known_column};

impl Verdicts<'_> {
    /// One for each test and contender that has runs which count; none of slices.
    pub(crate) fn together(&self) -> Vec<StepRecord> {
        self.steps(|test, contender| test.counted_with(contender).collect())
    }

    /// The same, with all runs of where none counts, as none does that writes fell behind in.
    pub(crate) fn promising(&self) -> Vec<StepRecord> {
        self.steps(|test, contender| {
            let counted: Vec<&PassRecord> = test.counted_with(contender).collect();
            match counted.is_empty() {
                true => test.all_with(contender).collect(),
                false => counted,
            }
        })
    }

    fn steps<'p>(
        &'p self,
        passes: impl Fn(&Observed<'p>, &str) -> Vec<&'p PassRecord>,
    ) -> Vec<StepRecord> {
        let names = self.names();
        let mut steps = Vec::new();
        for (order, test) in (0..).zip(&self.tests) {
            if self.plan.method_of(test.name) == Method::Runs {
                let counts = test.counts(self.plan);
                steps.extend(names.iter().filter_map(|name| {
                    let passes = passes(test, name);
                    let step = step(test, order, counts, name, &passes)?;
                    let clients = clients_of(self.plan, passes[0]);
                    Some(StepRecord { clients, cost: self.of_one_machine(step.cost), ..step })
                }));
            }
        }
        steps
    }

    /// These records arranged for printing.
    pub(crate) fn model<'m>(&'m self, run: &'m Run, together: &'m [StepRecord]) -> Model<'m> {
        Model::of(run, self.names(), together)
    }
}

/// Runs of a contender as one; none of nothing.
pub(super) fn step(
    test: &Observed<'_>,
    order: u32,
    counts: Counts,
    contender: &str,
    passes: &[&PassRecord],
) -> Option<StepRecord> {
    let first = passes.first()?;
    let slices = || {
        let all = passes.iter().flat_map(|pass| &pass.slices);
        all.filter(|slice| slice.contender == contender)
    };
    let nanos: u64 = slices().map(|slice| slice.nanos).sum();
    let counted: u64 = slices().map(|slice| slice.reads + slice.writes + slice.others).sum();
    let mut cost = Reading::default();
    let mut workers: Vec<WorkerRecord> = Vec::new();
    let mut target_rate = None;
    for pass in passes {
        if let Some(later) = pass.cost.get(contender) {
            cost = cost.plus(later);
        }
        if let Some(side) = pass.sides.get(contender) {
            add(&mut workers, side, whole_seconds(pass, contender));
            target_rate = side.target_rate;
        }
    }
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
        target_rate,
        counted_rows: Some(counted),
        index_seconds: None,
        workers,
        cost,
        samples: Series::default(),
        engine: EngineReading::default(),
        engine_samples: Series::default(),
        note: None,
        statements: Vec::new(),
    })
}

/// Adds what all clients did in a round. Its whole seconds come after those of the rounds before
/// it.
fn add(workers: &mut Vec<WorkerRecord>, side: &SideRecord, seconds: usize) {
    for work in &side.work {
        let operation = work.operation;
        let at = workers.iter().position(|worker| worker.operation == operation);
        let at = at.unwrap_or_else(|| {
            workers.push(WorkerRecord::of_several(operation));
            workers.len() - 1
        });
        workers[at].add(&work.clone().unpacked());
        workers[at].seconds.extend(done(side, operation, seconds));
    }
}

/// The columns of the posts on the benchmark of what counts this, a list for each of their tables.
pub(crate) fn columns(counts: Counts) -> &'static [&'static [Column]] {
    match counts {
        Counts::Statements | Counts::RowsScanned => &[&IOSTAT, &VMSTAT],
        Counts::RowsInserted | Counts::RowsIndexed | Counts::Queries => &[&METRICS],
    }
}

/// The same, as far as they are known.
pub(crate) fn metrics(model: &Model, step: &StepModel) -> Vec<Table> {
    let tables = columns(step.counts).iter().map(|&of| by_known_column(model, step, of));
    tables.filter(|table| !table.is_empty()).collect()
}
