//! The microbenchmarks on one server: the load, then every test with every number of clients.

use std::time::{Duration, Instant};

use rqps_dbms::Quiesce;
use rqps_load::{Order, Schedule, Until};
use rqps_plan::{Counts, Microbenchmark, Operation};
use rqps_store::StepRecord;
use rqps_workload::microbenchmark::{Assigned, Benchmark, Cast, Found, Sequence, Test, select};

use crate::attempt::{Blank, Stage, Steps, add_window, kept};
use crate::engine;
use crate::measure::{Ready, SECOND, Tick, Window, measure};
use crate::{Event, LabError, Pace};

/// The name of the step that fills the tables.
pub(crate) const LOAD: &str = "load";

/// A test with a number of clients.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) test: &'static Test,
    /// What the plan says; some tests run with as many as there are tables.
    planned: u32,
    clients: u32,
    /// The debt of the writes before it is paid first.
    pub(crate) pays: bool,
}

impl Turn {
    /// What its step is called.
    pub(crate) fn name(&self, plan: &Microbenchmark) -> String {
        let name = self.test.short_name();
        match plan.clients[..] {
            [_] => name.to_string(),
            _ => format!("{name}@{}", self.planned),
        }
    }
}

/// The load and the turns of the plan on one server.
pub(crate) struct MicrobenchmarkSteps<'a> {
    plan: &'a Microbenchmark,
    benchmark: Benchmark<'a>,
    turns: Vec<Turn>,
}

/// How many steps the plan has, the load included.
pub(crate) fn count(plan: &Microbenchmark) -> Result<usize, LabError> {
    Ok(turns(plan)?.len() + 1)
}

/// The names of the plan's steps, in order.
pub(crate) fn names(plan: &Microbenchmark) -> Result<Vec<String>, LabError> {
    let turns = turns(plan)?;
    let load = std::iter::once(LOAD.to_string());
    Ok(load.chain(turns.iter().map(|turn| turn.name(plan))).collect())
}

pub(crate) fn turns(plan: &Microbenchmark) -> Result<Vec<Turn>, LabError> {
    let mut turns = Vec::new();
    // The load is a write as well.
    let mut owes = true;
    for test in select(&plan.tests, Sequence::Given)? {
        let (size, rows) = (test.size, plan.rows.0);
        if size as u64 > rows {
            return Err(LabError::RangeTooLarge { test: test.short_name(), size, rows });
        }
        for &planned in &plan.clients {
            let pays = owes && (!test.writes() || plan.pay_after_each_write);
            let clients = test.clients(planned, plan.tables);
            turns.push(Turn { test, planned, clients, pays });
            owes = (owes && !pays) || test.writes();
        }
    }
    Ok(turns)
}

impl<'a> MicrobenchmarkSteps<'a> {
    pub(crate) fn new(
        plan: &'a Microbenchmark,
        benchmark: Benchmark<'a>,
    ) -> Result<Self, LabError> {
        Ok(MicrobenchmarkSteps { plan, benchmark, turns: turns(plan)? })
    }

    /// The turn of a step; none is the load.
    fn turn(&self, order: u32) -> Option<Turn> {
        Some(self.turns[(order as usize).checked_sub(1)?])
    }

    fn load(&self, stage: &mut Stage<'_, '_>, record: &mut StepRecord) -> Result<(), LabError> {
        // The data directory is rqps's own, or its schema in somebody's server is.
        if let Found::Other(what) = self.benchmark.existing()? {
            return Err(LabError::OtherTables(what));
        }
        stage.tell_begun(record);
        let rows = self.plan.rows.0 * u64::from(self.plan.tables);
        let loaders = self.benchmark.loaders(stage.server.data().is_some())?;
        let parts: Vec<(u32, Operation)> =
            (1..=loaders.len() as u32).map(|client| (client, Operation::Insert)).collect();
        record.clients = parts.len() as u32;
        let batches: u64 = loaders.iter().map(|(_, order)| operations(order)).sum();
        let rows_each = rows as f64 / batches as f64;
        let done = |done: u64, _: Duration| done as f64 / batches as f64;
        engine::watch(stage.server, record, |record| {
            let ready = Ready::new(loaders, None, stage.lab.cancelled)?;
            let window = self.window(stage, record, ready, rows_each, &done)?;
            add_window(record, window, &parts, false);
            stage.tell(&record.step, |contender, step| Event::Indexing { contender, step });
            let ready = Ready::new(self.benchmark.indexers()?, None, stage.lab.cancelled)?;
            // How far a CREATE INDEX is nobody tells.
            let window = self.window(stage, record, ready, 0.0, &|_, _| 0.0)?;
            record.index_seconds = Some(window.seconds);
            add_window(record, window, &[], false);
            Ok(())
        })?;
        stage.conclude(record, Some(|| Ok(self.benchmark.finish_load()?)))?;
        stage.tell_done(record, rows as f64);
        Ok(())
    }

    fn test(
        &self,
        stage: &mut Stage<'_, '_>,
        record: &mut StepRecord,
        turn: Turn,
    ) -> Result<(), LabError> {
        let test = turn.test;
        let paused = Instant::now();
        if turn.pays {
            let tables = self.benchmark.tables();
            stage.pause(record, Quiesce::Full, self.plan.pause.0, &tables)?;
        }
        stage.server.drop_logs()?;
        if record.attempt > 1 {
            let restored = self.benchmark.restore(test)?;
            if restored > 0 {
                let note = format!(
                    "loaded rows that were missing after an earlier attempt were put back: {restored}"
                );
                stage.note(record, note);
            }
        }
        self.benchmark.before(test)?;
        record.statements = kept(self.benchmark.explained(test)?);
        record.pause_seconds = paused.elapsed().as_secs_f64();

        let Cast { work, books, .. } =
            self.benchmark.cast(test, turn.clients, u64::from(record.order))?;
        let time = test.measured(self.plan);
        let order = Order { schedule: Schedule::Closed, until: Until::Elapsed(time) };
        let work: Vec<Assigned> = work.into_iter().map(|work| (work, order)).collect();
        let parts: Vec<(u32, Operation)> =
            (1..=turn.clients).map(|client| (client, Operation::Transaction)).collect();
        stage.tell_begun(record);
        let worth = match test.is_scan() {
            true => self.plan.rows.0 as f64,
            false => test.event.statements().total() as f64,
        };
        let warm_up = Some(Microbenchmark::warm_up(time));
        let done = |_: u64, elapsed: Duration| elapsed.as_secs_f64() / time.as_secs_f64();
        let ready = Ready::new(work, warm_up, stage.lab.cancelled)?;
        let window = engine::watch(stage.server, record, |record| {
            self.window(stage, record, ready, worth, &done)
        })?;
        add_window(record, window, &parts, false);

        let work = match test.is_scan() {
            true => {
                let scans: u64 = record.workers.iter().map(|worker| worker.operations).sum();
                *record.counted_rows.insert(scans * self.plan.rows.0)
            }
            false => record.workers.iter().map(|w| w.reads + w.writes + w.others).sum(),
        };
        let after = || Ok(self.benchmark.after(test, &books)?);
        stage.conclude(record, test.writes().then_some(after))?;
        stage.tell_done(record, work as f64);
        Ok(())
    }

    /// One measured window, with its progress told once a second. An operation is `worth` so many
    /// of what the step counts; `done` tells its share from the operations and the time.
    fn window(
        &self,
        stage: &mut Stage<'_, '_>,
        record: &StepRecord,
        ready: Ready,
        worth: f64,
        done: &dyn Fn(u64, Duration) -> f64,
    ) -> Result<Window, LabError> {
        let mut observer = stage.observer()?;
        let (contender, watch) = (stage.contender, &mut stage.lab.watch);
        let mut tick = |tick: Tick| {
            let [operations, recent] =
                [&tick.operations, &tick.recent].map(|of| of.iter().sum::<u64>());
            watch(Event::Progress {
                contender: contender.to_string(),
                step: record.step.clone(),
                pace: Pace::closed(recent, SECOND, tick.recent.len(), worth),
                done: done(operations, tick.elapsed),
            });
        };
        let (embedded, cancelled) = (stage.server.is_embedded(), stage.lab.cancelled);
        Ok(measure(ready, &mut observer, embedded, &mut tick, cancelled)?)
    }
}

impl Steps for MicrobenchmarkSteps<'_> {
    fn count(&self) -> usize {
        self.turns.len() + 1
    }

    fn blank(&self, order: u32) -> Blank {
        let Some(turn) = self.turn(order) else {
            return Blank {
                step: LOAD.to_string(),
                title: "fill the tables, then create the secondary indexes".to_string(),
                group: None,
                counts: Counts::RowsInserted,
                clients: 0,
                target_rate: None,
            };
        };
        Blank {
            step: turn.name(self.plan),
            title: turn.test.group.title().to_string(),
            group: turn.test.is_reported().then(|| turn.test.group.title().to_string()),
            counts: if turn.test.is_scan() { Counts::RowsScanned } else { Counts::Statements },
            clients: turn.clients,
            target_rate: None,
        }
    }

    fn run(&mut self, stage: &mut Stage<'_, '_>, record: &mut StepRecord) -> Result<(), LabError> {
        match self.turn(record.order) {
            Some(turn) => self.test(stage, record, turn),
            None => self.load(stage, record),
        }
    }
}

fn operations(order: &Order) -> u64 {
    match order.until {
        Until::Operations(operations) => operations,
        Until::Elapsed(_) | Until::LeadersDone => 0,
    }
}
