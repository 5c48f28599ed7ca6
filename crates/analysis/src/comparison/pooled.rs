//! Whole runs as single steps: those of all rounds pooled, and each by itself.

use std::collections::BTreeSet;

use hdrhistogram::Histogram;
use rqps_observe::{Metric, Reading};
use rqps_plan::{Counts, Method};
use rqps_store::{Measurement, RoundRecord, Status, WorkRecord};

use super::{Observed, Results, clients_of, done, whole_seconds};
use crate::measured::Measured;

/// Metrics that are shares of all CPUs.
const OF_HOST: [Metric; 2] = [Metric::HostCpuBusy, Metric::HostCpuSteal];

impl Results<'_> {
    /// A step for each test with runs that count; none for slices.
    pub fn pooled(&self) -> Vec<RoundRecord> {
        self.steps(|test, contender| test.counted_with(contender).collect())
    }

    /// The same records, but with all runs where none counts, since none does if writes fell
    /// behind.
    pub fn promising(&self) -> Vec<RoundRecord> {
        self.steps(|test, contender| {
            let counted: Vec<&RoundRecord> = test.counted_with(contender).collect();
            match counted.is_empty() {
                true => test.all_with(contender).collect(),
                false => counted,
            }
        })
    }

    /// Calls `each` with the round and the run, by test, arm and round, for runs that count. Slices
    /// have none. One after the other, since histograms are large.
    pub fn each_run<E>(
        &self,
        mut each: impl FnMut(u32, &Measured<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let of_runs = |test: &&Observed<'_>| self.plan.method_of(test.name) == Method::Runs;
        for test in self.tests.iter().filter(of_runs) {
            for name in self.names() {
                for pass in test.counted_with(name) {
                    let Some(record) = self.run_of(test, name, pass) else { continue };
                    let cpus = self.run.manifest_of_round(pass.round).cpus;
                    let run = Measured::new(&record, name, cpus).expect("it was measured");
                    each(pass.round, &run)?;
                }
            }
        }
        Ok(())
    }

    /// A run of an arm by itself, with all its seconds; the last one is usually shorter.
    pub fn run_of(
        &self,
        test: &Observed<'_>,
        name: &str,
        pass: &RoundRecord,
    ) -> Option<RoundRecord> {
        let arm = pass.arms.get(name)?;
        let measured = Measurement {
            clients: clients_of(self.plan, pass),
            work: arm.work.clone(),
            samples: arm.samples.clone(),
            ..measurement(name, &[pass])?
        };
        Some(step(test, 0, test.counts(self.plan), pass, (name, measured)))
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

    /// A cost over all rounds. If machines have different numbers of CPUs, it has no shares of all
    /// CPUs.
    fn of_one_machine(&self, cost: Reading) -> Reading {
        let cpus: BTreeSet<u32> = self.run.parts.iter().map(|part| part.manifest.cpus).collect();
        match cpus.len() {
            0 | 1 => cost,
            _ => cost.iter().filter(|(metric, _)| !OF_HOST.contains(metric)).collect(),
        }
    }
}

/// A round of a test with a single arm.
fn step(
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
fn measurement(contender: &str, passes: &[&RoundRecord]) -> Option<Measurement> {
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
