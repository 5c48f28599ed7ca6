//! Whole runs pooled over rounds, as if each test were a single step, with everything that is known
//! of a step.

use hdrhistogram::Histogram;
use rqps_analysis::comparison::{Observed, clients_of, done, whole_seconds};
use rqps_observe::Reading;
use rqps_plan::{Counts, Method};
use rqps_stats::normalised::{IOSTAT, VMSTAT};
use rqps_stats::{Column, METRICS};
use rqps_store::{Measurement, RoundRecord, Status, WorkRecord};

use super::Verdicts;
use crate::document::Table;
use crate::model::{Model, StepModel, by_known_column};

impl Verdicts<'_> {
    /// A step for each test with runs that count; none for slices.
    pub(crate) fn together(&self) -> Model<'_> {
        let pooled = || self.steps(|test, contender| test.counted_with(contender).collect());
        self.model(self.together.get_or_init(pooled))
    }

    /// The same records, but with all runs where none counts, since none does if writes fell
    /// behind.
    pub(crate) fn promising(&self) -> Vec<RoundRecord> {
        self.steps(|test, contender| {
            let counted: Vec<&RoundRecord> = test.counted_with(contender).collect();
            match counted.is_empty() {
                true => test.all_with(contender).collect(),
                false => counted,
            }
        })
    }

    fn steps<'p>(
        &'p self,
        passes: impl Fn(&Observed<'p>, &str) -> Vec<&'p RoundRecord>,
    ) -> Vec<RoundRecord> {
        let names = self.names();
        let mut steps = Vec::new();
        for (order, test) in (0..).zip(&self.tests) {
            if self.plan.method_of(test.name) == Method::Runs {
                let counts = test.counts(self.plan);
                steps.extend(names.iter().filter_map(|name| {
                    let passes = passes(test, name);
                    let measured = measurement(name, &passes)?;
                    let clients = clients_of(self.plan, passes[0]);
                    let cost = self.of_one_machine(measured.cost);
                    let measured = Measurement { clients, cost, ..measured };
                    Some(step(test, order, counts, passes[0], (name, measured)))
                }));
            }
        }
        steps
    }

    /// These records arranged for printing.
    pub(crate) fn model<'m>(&'m self, together: &'m [RoundRecord]) -> Model<'m> {
        Model::of(self.run, self.names(), together)
    }
}

/// A round of a test with a single arm.
pub(super) fn step(
    test: &Observed<'_>,
    place: u32,
    counts: Counts,
    first: &RoundRecord,
    (contender, measured): (&str, Measurement),
) -> RoundRecord {
    RoundRecord {
        test: test.name.to_string(),
        place,
        started: first.started.clone(),
        arms: [(contender.to_string(), measured)].into(),
        ..RoundRecord::new(test.class, counts)
    }
}

/// Runs of an arm as one; none without runs.
pub(super) fn measurement(contender: &str, passes: &[&RoundRecord]) -> Option<Measurement> {
    passes.first()?;
    let slices = || {
        let all = passes.iter().flat_map(|pass| &pass.slices);
        all.filter(|slice| slice.arm == contender)
    };
    let nanos: u64 = slices().map(|slice| slice.nanos).sum();
    let counted: u64 = slices().map(|slice| slice.reads + slice.writes + slice.others).sum();
    let mut cost = Reading::default();
    let mut work: Vec<WorkRecord<Histogram<u64>>> = Vec::new();
    let mut target_rate = None;
    for pass in passes {
        if let Some(arm) = pass.arms.get(contender) {
            cost = cost.plus(&arm.cost);
            add(&mut work, arm, whole_seconds(pass, contender));
            target_rate = arm.target_rate;
        }
    }
    Some(Measurement {
        status: Status::Done,
        seconds: nanos as f64 / 1e9,
        target_rate,
        counted_rows: Some(counted),
        work: work.into_iter().map(WorkRecord::packed).collect(),
        cost,
        ..Measurement::default()
    })
}

/// Adds the work of all clients in a round. Its whole seconds follow those of the rounds before it.
fn add(workers: &mut Vec<WorkRecord<Histogram<u64>>>, side: &Measurement, seconds: usize) {
    for work in &side.work {
        let operation = work.operation;
        let at = workers.iter().position(|worker| worker.operation == operation);
        let at = at.unwrap_or_else(|| {
            workers.push(WorkRecord::of_several(operation));
            workers.len() - 1
        });
        workers[at].add(&work.clone().unpacked());
        workers[at].seconds.extend(done(side, operation, seconds));
    }
}

/// The columns of the posts on the benchmark with these counts, a list for each of their tables.
pub(crate) fn columns(counts: Counts) -> &'static [&'static [Column]] {
    match counts {
        Counts::Statements | Counts::RowsScanned => &[&IOSTAT, &VMSTAT],
        Counts::RowsInserted | Counts::RowsIndexed | Counts::Queries => &[&METRICS],
    }
}

/// The same, without unknown columns.
pub(crate) fn metrics(model: &Model, step: &StepModel) -> Vec<Table> {
    let tables = columns(step.counts).iter().map(|&of| by_known_column(model, step, of));
    tables.filter(|table| !table.is_empty()).collect()
}
