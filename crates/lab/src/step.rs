//! One step of the Insert Benchmark: maintenance, the measured window, the check, the note in the
//! journal.

use std::time::{Duration, Instant};

use rqps_dbms::{Quiesce, Server};
use rqps_load::{Order, Tally, Work};
use rqps_observe::{EngineReading, Metric, Observer};
use rqps_plan::{InsertBenchmark, Maintenance, Operation, Step, StepKind};
use rqps_store::{RunDirectory, Sample, Second, Status, StepRecord, WorkerRecord};
use rqps_workload::insert_benchmark::{Benchmark, Cast};

use crate::engine::{self, EngineCost};
use crate::measure::{Tick, Window, measure};
use crate::{Event, Lab, LabError};

/// How long the legacy profiles wait after they have begun a vacuum in the background.
const BACKGROUND_HEAD_START: Duration = Duration::from_secs(5);

/// Runs the steps of one contender.
pub(crate) struct Runner<'a, 'l> {
    lab: &'a mut Lab<'l>,
    directory: &'a mut RunDirectory,
    contender: &'a str,
    plan: &'a InsertBenchmark,
    benchmark: &'a Benchmark<'a>,
}

/// Which step it is.
#[derive(Clone, Copy)]
pub(crate) struct Begin {
    pub(crate) order: u32,
    pub(crate) steps: usize,
}

/// What a step's window came to, all its phases together.
struct Measured {
    seconds: f64,
    index_seconds: Option<f64>,
    cost: rqps_observe::Reading,
    samples: Vec<Sample>,
    engine: EngineCost,
    workers: Vec<WorkerRecord>,
}

impl<'a, 'l> Runner<'a, 'l> {
    pub(crate) fn new(
        lab: &'a mut Lab<'l>,
        directory: &'a mut RunDirectory,
        contender: &'a str,
        plan: &'a InsertBenchmark,
        benchmark: &'a Benchmark<'a>,
    ) -> Self {
        Runner { lab, directory, contender, plan, benchmark }
    }

    /// Runs a step and notes it in the journal, whatever comes of it.
    pub(crate) fn run(
        &mut self,
        server: &mut dyn Server,
        step: &Step,
        begin: Begin,
    ) -> Result<(), LabError> {
        let mut record = self.blank_record(step, begin);
        self.directory.begin_step(&mut record)?;
        let result = self.fill(server, step, begin, &mut record);
        let (status, error) = match &result {
            Ok(()) => (Status::Done, None),
            Err(LabError::Interrupted) => (Status::Interrupted, None),
            Err(error) => {
                let log = if error.is_disconnect() { server.last_words() } else { None };
                let log = log.map(|log| format!("; {log}")).unwrap_or_default();
                (Status::Failed, Some(format!("{error}{log}")))
            }
        };
        record.status = status;
        record.error = error.clone();
        self.directory.finish_step(&record)?;
        match (result, error) {
            (Err(_), Some(reason)) => Err(LabError::Step { step: step.name.clone(), reason }),
            (result, _) => result,
        }
    }

    fn blank_record(&self, step: &Step, begin: Begin) -> StepRecord {
        let clients = self.plan.clients;
        let total_rows = self.plan.rows.0 * u64::from(clients);
        StepRecord {
            contender: self.contender.to_string(),
            step: step.name.clone(),
            order: begin.order,
            attempt: 0,
            status: Status::Running,
            error: None,
            started: jiff::Timestamp::now().to_string(),
            seconds: 0.0,
            pause_seconds: 0.0,
            check_seconds: 0.0,
            clients,
            target_rate: step.kind.rate().map(|rate| f64::from(rate) * f64::from(clients)),
            indexed_rows: (step.kind == StepKind::Index)
                .then(|| total_rows + step.rows * u64::from(self.plan.tables())),
            index_seconds: None,
            workers: Vec::new(),
            cost: rqps_observe::Reading::default(),
            samples: Vec::new(),
            engine: EngineReading::default(),
            engine_samples: Vec::new(),
            note: None,
        }
    }

    fn fill(
        &mut self,
        server: &mut dyn Server,
        step: &Step,
        begin: Begin,
        record: &mut StepRecord,
    ) -> Result<(), LabError> {
        match step.kind {
            StepKind::Load => self.benchmark.create_tables()?,
            // An attempt that was interrupted may have built some.
            StepKind::Index if record.attempt > 1 => self.benchmark.drop_indexes()?,
            _ => {}
        }
        let paused = Instant::now();
        if step.before == Maintenance::Pause {
            record.note = self.pause(server, step)?;
        }
        server.drop_logs()?;
        record.pause_seconds = paused.elapsed().as_secs_f64();

        let cast = self.benchmark.cast(step, u64::from(begin.order))?;
        self.tell(
            |contender, step| {
                let (number, steps) = (begin.order as usize + 1, begin.steps);
                Event::StepBegun { contender, step, number, steps }
            },
            step,
        );
        let mut observer = Observer::new(server.process(), server.data(), server.database_path()?);
        let (measured, books) = self.window(server, step, cast, &mut observer)?;
        record.seconds = measured.seconds;
        record.index_seconds = measured.index_seconds;
        record.cost = measured.cost;
        record.samples = measured.samples;
        record.workers = measured.workers;
        record.engine = measured.engine.values;
        record.engine_samples = measured.engine.samples;
        record.cost.set(Metric::DatabaseBytes, server.database_bytes()?);
        if let Some(bytes) = server.log_bytes() {
            record.cost.set(Metric::LogBytes, bytes);
        }

        if self.plan.check {
            self.tell(|contender, step| Event::Checking { contender, step }, step);
        }
        let checked = Instant::now();
        self.benchmark.check(step, &books)?;
        record.check_seconds = checked.elapsed().as_secs_f64();
        // Commits do not wait for the disk, but a step that the journal calls done must.
        server.settle()?;
        self.tell_done(step, record);
        Ok(())
    }

    /// Vacuum, checkpoint, and the rest of the pause. Answers what did not come to rest.
    fn pause(&mut self, server: &dyn Server, step: &Step) -> Result<Option<String>, LabError> {
        let at_least = self.plan.pause.0;
        self.tell(|contender, step| Event::Pausing { contender, step, at_least }, step);
        let begun = Instant::now();
        let what = match self.plan.profile.is_legacy() {
            true => Quiesce::Vacuum,
            false => Quiesce::Full,
        };
        let left = server.quiesce(what, &self.benchmark.parts())?;
        let note = left.map(|left| format!("the maintenance before it was given up: {left}"));
        if let Some(note) = note.clone() {
            self.tell(|contender, step| Event::Noted { contender, step, note }, step);
        }
        self.sleep_until(begun + at_least)?;
        Ok(note)
    }

    fn sleep_until(&self, deadline: Instant) -> Result<(), LabError> {
        loop {
            if (self.lab.cancelled)() {
                return Err(LabError::Interrupted);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }

    /// The measured part of a step, with a vacuum beside it where the profile has one.
    fn window(
        &mut self,
        server: &dyn Server,
        step: &Step,
        cast: Cast,
        observer: &mut Observer,
    ) -> Result<(Measured, rqps_workload::insert_benchmark::Books), LabError> {
        let tables = self.benchmark.parts();
        std::thread::scope(|scope| {
            let vacuum = (step.before == Maintenance::Background)
                .then(|| scope.spawn(|| server.quiesce(Quiesce::Vacuum, &tables)));
            if vacuum.is_some() {
                let head_start = BACKGROUND_HEAD_START.min(self.plan.pause.0);
                self.sleep_until(Instant::now() + head_start)?;
            }
            let embedded = server.is_embedded();
            let phases = || self.phases(step, cast, observer, embedded);
            let ((mut measured, books), engine) = engine::watch(server, phases)?;
            measured.engine = engine;
            if let Some(vacuum) = vacuum {
                vacuum.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            Ok((measured, books))
        })
    }

    /// The operations, and after them the indexes in the step that builds them.
    fn phases(
        &mut self,
        step: &Step,
        cast: Cast,
        observer: &mut Observer,
        embedded: bool,
    ) -> Result<(Measured, rqps_workload::insert_benchmark::Books), LabError> {
        let Cast { roles, books } = cast;
        let (parts, work): (Vec<_>, Vec<_>) = roles
            .into_iter()
            .map(|role| ((role.client, role.operation), (role.work, role.order)))
            .unzip();
        let leader = match step.kind.is_query() {
            true => Operation::Query,
            false => Operation::Insert,
        };
        let window = self.measure(step, work, &parts, leader, observer, embedded)?;
        let mut measured = Measured {
            seconds: window.seconds,
            index_seconds: None,
            cost: window.cost,
            samples: window.samples,
            engine: EngineCost::default(),
            workers: parts
                .iter()
                .zip(window.tallies)
                .map(|(&(client, operation), tally)| {
                    worker_record(client, operation, step.kind.is_query(), tally)
                })
                .collect(),
        };
        if step.kind == StepKind::Index {
            let builders = self.benchmark.index_builders()?;
            let window = self.measure(step, builders, &[], leader, observer, embedded)?;
            let later = |sample: Sample| Sample { at: sample.at + measured.seconds, ..sample };
            measured.samples.extend(window.samples.into_iter().map(later));
            measured.cost = measured.cost.plus(&window.cost);
            measured.seconds += window.seconds;
            measured.index_seconds = Some(window.seconds);
        }
        Ok((measured, books))
    }

    /// One measured window, with its progress told once a second.
    fn measure(
        &mut self,
        step: &Step,
        work: Vec<(Box<dyn Work>, Order)>,
        parts: &[(u32, Operation)],
        leader: Operation,
        observer: &mut Observer,
        embedded: bool,
    ) -> Result<Window, LabError> {
        let planned =
            step.rows.div_ceil(u64::from(step.rows_per_commit)) * u64::from(self.plan.clients);
        let of = |operations: &[u64], wanted: Operation| -> u64 {
            let matching = parts.iter().zip(operations).filter(|((_, kind), _)| *kind == wanted);
            matching.map(|(_, operations)| operations).sum()
        };
        let rows_per_operation =
            if leader == Operation::Query { 1.0 } else { f64::from(step.rows_per_commit) };
        let (contender, watch) = (self.contender, &mut self.lab.watch);
        let mut tick = |tick: Tick| {
            watch(Event::Progress {
                contender: contender.to_string(),
                step: step.name.clone(),
                elapsed: tick.elapsed,
                rate: of(&tick.operations, leader) as f64 * rows_per_operation
                    / tick.elapsed.as_secs_f64(),
                done: of(&tick.operations, Operation::Insert) as f64 / planned as f64,
            });
        };
        Ok(measure(work, observer, embedded, &mut tick, self.lab.cancelled)?)
    }

    fn tell(&mut self, event: impl FnOnce(String, String) -> Event, step: &Step) {
        (self.lab.watch)(event(self.contender.to_string(), step.name.clone()));
    }

    fn tell_done(&mut self, step: &Step, record: &StepRecord) {
        let sum = |operation: Operation, of: fn(&WorkerRecord) -> u64| {
            let workers = record.workers.iter().filter(|worker| worker.operation == operation);
            workers.map(of).sum::<u64>() as f64
        };
        let (work, unit) = match step.kind {
            StepKind::Query { .. } => (sum(Operation::Query, |w| w.operations), "queries/s"),
            StepKind::Index => (record.indexed_rows.unwrap_or(0) as f64, "indexed rows/s"),
            _ => (sum(Operation::Insert, |w| w.rows), "inserts/s"),
        };
        let seconds = record.seconds;
        self.tell(
            |contender, step| Event::StepDone {
                contender,
                step,
                seconds,
                rate: work / seconds,
                unit,
            },
            step,
        );
    }
}

fn worker_record(client: u32, operation: Operation, paced: bool, tally: Tally) -> WorkerRecord {
    let second = |second: &rqps_load::SecondTally| Second {
        operations: second.operations,
        rows: second.rows,
        max_service: second.max_service,
    };
    WorkerRecord {
        client,
        operation,
        operations: tally.operations,
        rows: tally.rows,
        retries: tally.retries,
        service: tally.service,
        response: (paced && operation != Operation::Query).then_some(tally.response),
        max_lag: tally.max_lag,
        seconds: tally.seconds.iter().map(second).collect(),
    }
}
