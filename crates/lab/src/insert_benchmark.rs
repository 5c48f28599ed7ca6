//! A step of the Insert Benchmark: maintenance, the measured window, the check.

use std::time::{Duration, Instant};

use rqps_dbms::Quiesce;
use rqps_observe::Observer;
use rqps_plan::{InsertBenchmark, Maintenance, Operation, Step, StepKind};
use rqps_store::StepRecord;
use rqps_workload::insert_benchmark::{Assigned, Benchmark, Books, Cast};

use crate::attempt::{Blank, Stage, Steps, add_window, kept, note_planning};
use crate::engine;
use crate::measure::{Ready, SECOND, Tick, Window, measure};
use crate::{Event, LabError, Pace};

/// How long the legacy profiles wait after they have begun a vacuum in the background.
const BACKGROUND_HEAD_START: Duration = Duration::from_secs(5);

/// The steps of the plan on one server.
pub(crate) struct InsertBenchmarkSteps<'a> {
    plan: &'a InsertBenchmark,
    steps: Vec<Step>,
    benchmark: Benchmark<'a>,
}

impl<'a> InsertBenchmarkSteps<'a> {
    pub(crate) fn new(plan: &'a InsertBenchmark, benchmark: Benchmark<'a>) -> Self {
        InsertBenchmarkSteps { plan, steps: plan.steps(), benchmark }
    }

    /// Vacuum, checkpoint, and the rest of the pause.
    fn pause(&self, stage: &mut Stage<'_, '_>, record: &mut StepRecord) -> Result<(), LabError> {
        let what = match self.plan.profile.is_legacy() {
            true => Quiesce::Vacuum,
            false => Quiesce::Full,
        };
        stage.pause(record, what, self.plan.pause.0, &self.benchmark.parts())
    }

    /// The measured part of a step, with a vacuum beside it where the profile has one.
    fn window(
        &self,
        stage: &mut Stage<'_, '_>,
        step: &Step,
        cast: Cast,
        record: &mut StepRecord,
    ) -> Result<Books, LabError> {
        let mut observer = stage.observer()?;
        if step.before != Maintenance::Background {
            return self.watched(stage, step, cast, &mut observer, record);
        }
        let tables = self.benchmark.parts();
        // A legacy step: the vacuum has a connection of its own, and runs on while rows are
        // written.
        let server = stage.server;
        let head_start = Instant::now() + BACKGROUND_HEAD_START.min(self.plan.pause.0);
        std::thread::scope(|scope| {
            let vacuum = scope.spawn(|| server.quiesce(Quiesce::Vacuum, &tables));
            stage.sleep_until(head_start)?;
            let books = self.watched(stage, step, cast, &mut observer, record)?;
            vacuum.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            Ok(books)
        })
    }

    /// The phases, between two readings of what the DBMS counts itself.
    fn watched(
        &self,
        stage: &mut Stage<'_, '_>,
        step: &Step,
        cast: Cast,
        observer: &mut Observer,
        record: &mut StepRecord,
    ) -> Result<Books, LabError> {
        engine::watch(stage.server, record, |record| {
            self.phases(stage, step, cast, observer, record)
        })
    }

    /// The operations, and after them the indexes in the step that builds them.
    fn phases(
        &self,
        stage: &mut Stage<'_, '_>,
        step: &Step,
        cast: Cast,
        observer: &mut Observer,
        record: &mut StepRecord,
    ) -> Result<Books, LabError> {
        let Cast { roles, books } = cast;
        let (parts, work): (Vec<_>, Vec<_>) = roles
            .into_iter()
            .map(|role| ((role.client, role.operation), (role.work, role.order)))
            .unzip();
        let window = self.measure(stage, step, work, &parts, observer)?;
        add_window(record, window, &parts, step.kind.is_query());
        if step.kind == StepKind::Index {
            let builders = self.benchmark.index_builders()?;
            let window = self.measure(stage, step, builders, &[], observer)?;
            record.index_seconds = Some(window.seconds);
            add_window(record, window, &[], false);
        }
        Ok(books)
    }

    /// One measured window, with its progress told once a second.
    fn measure(
        &self,
        stage: &mut Stage<'_, '_>,
        step: &Step,
        work: Vec<Assigned>,
        parts: &[(u32, Operation)],
        observer: &mut Observer,
    ) -> Result<Window, LabError> {
        let planned =
            step.rows.div_ceil(u64::from(step.rows_per_commit)) * u64::from(self.plan.clients);
        let of = |operations: &[u64], wanted: Operation| -> u64 {
            let matching = parts.iter().zip(operations).filter(|((_, kind), _)| *kind == wanted);
            matching.map(|(_, operations)| operations).sum()
        };
        let (leader, rows_per_operation) = match step.kind.is_query() {
            true => (Operation::Query, 1.0),
            false => (Operation::Insert, f64::from(step.rows_per_commit)),
        };
        let (contender, watch) = (stage.contender, &mut stage.lab.watch);
        let leaders = parts.iter().filter(|(_, kind)| *kind == leader).count();
        let mut tick = |tick: Tick| {
            let recent = of(&tick.recent, leader);
            watch(Event::Progress {
                contender: contender.to_string(),
                step: step.name.clone(),
                pace: Pace::closed(recent, SECOND, leaders, rows_per_operation),
                done: of(&tick.operations, Operation::Insert) as f64 / planned as f64,
            });
        };
        let embedded = stage.server.is_embedded();
        let ready = Ready::new(work, None, stage.lab.cancelled)?;
        Ok(measure(ready, observer, embedded, &mut tick, stage.lab.cancelled)?)
    }
}

impl Steps for InsertBenchmarkSteps<'_> {
    fn count(&self) -> usize {
        self.steps.len()
    }

    fn blank(&self, order: u32) -> Blank {
        let step = &self.steps[order as usize];
        Blank {
            step: step.name.clone(),
            title: step.title(),
            group: None,
            counts: step.counts(),
            clients: self.plan.clients,
            target_rate: step
                .kind
                .rate()
                .map(|rate| f64::from(rate) * f64::from(self.plan.clients)),
        }
    }

    fn run(&mut self, stage: &mut Stage<'_, '_>, record: &mut StepRecord) -> Result<(), LabError> {
        let step = &self.steps[record.order as usize];
        match step.kind {
            StepKind::Load => self.benchmark.create_tables()?,
            // An attempt that was interrupted may have built some.
            StepKind::Index if record.attempt > 1 => self.benchmark.drop_indexes()?,
            _ => {}
        }
        if step.kind == StepKind::Index {
            let loaded = self.plan.rows.0 * u64::from(self.plan.clients);
            record.counted_rows = Some(loaded + step.rows * u64::from(self.plan.tables()));
        }
        let paused = Instant::now();
        if step.before == Maintenance::Pause {
            self.pause(stage, record)?;
        }
        record.statements = kept(self.benchmark.explained(step)?);
        stage.server.drop_logs()?;
        record.pause_seconds = paused.elapsed().as_secs_f64();

        let cast = self.benchmark.cast(step, u64::from(record.order))?;
        stage.tell_begun(record);
        let books = self.window(stage, step, cast, record)?;
        note_planning(&mut record.statements, &self.benchmark.explained(step)?);
        let check = || Ok(self.benchmark.check(step, &books)?);
        stage.conclude(record, self.plan.check.then_some(check))?;

        let sum = |operation: Operation, of: fn(&rqps_store::WorkerRecord) -> u64| {
            let workers = record.workers.iter().filter(|worker| worker.operation == operation);
            workers.map(of).sum::<u64>()
        };
        let work = match step.kind {
            StepKind::Query { .. } => sum(Operation::Query, |worker| worker.operations),
            StepKind::Index => record.counted_rows.unwrap_or(0),
            StepKind::Load | StepKind::Write => sum(Operation::Insert, |worker| worker.rows),
        };
        stage.tell_done(record, work as f64);
        Ok(())
    }
}
