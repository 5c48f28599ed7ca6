//! A task of a workload on one server: what is done before it, the measured windows, the check.

use std::time::{Duration, Instant};

use rqps_dbms::Quiesce;
use rqps_load::Until;
use rqps_plan::{Counts, Operation};
use rqps_store::{Measurement, WorkRecord};
use rqps_workload::{Counted, Driver, Part, Rest, Task, TaskClients};

use crate::engine;
use crate::error::LabError;
use crate::measure::{Ready, SECOND, Tick, Window, measure};
use crate::stage::{Stage, add_window, kept, note_planning};
use crate::{Event, Pace};

/// Runs a task, and fills in what is measured. `attempt` counts from 1.
pub(crate) fn run(
    driver: &dyn Driver,
    attempt: u32,
    stage: &mut Stage<'_, '_>,
    measured: &mut Measurement,
) -> Result<(), LabError> {
    let task = stage.task;
    let paused = Instant::now();
    if let Rest::Pause(what, at_least) = task.rest {
        stage.pause(measured, what, at_least, &driver.tables())?;
    }
    stage.server.drop_logs()?;
    if let Some(note) = driver.prepare(task, attempt)? {
        stage.note(measured, note);
    }
    measured.statements = kept(driver.explained(task)?);
    measured.pause_seconds = paused.elapsed().as_secs_f64();
    if let Counted::All(rows) = task.counted {
        measured.counted_rows = Some(rows);
    }

    let connected = driver.connect(task, task.clients, task.index as u64)?;
    if task.clients == 0 {
        measured.clients = connected.parts.len() as u32;
    }
    stage.tell_begun();
    let TaskClients { parts, worth, end, .. } = connected;
    let windows = Windows { task, driver, goal: Goal::of(task, &parts, worth) };
    windows.measure(stage, parts, measured)?;
    if task.is_planned_again {
        note_planning(&mut measured.statements, &driver.explained(task)?);
    }
    if let Counted::Each(rows) = task.counted {
        let operations = measured.work.iter().map(|work| work.operations).sum::<u64>();
        measured.counted_rows = Some(operations * rows);
    }
    stage.conclude(measured, task.ends.then_some(|| Ok(end()?)))?;
    stage.tell_done(measured.seconds, counted(task.counts, measured) as f64);
    Ok(())
}

/// How many units of what a task counts are done.
pub(crate) fn counted(counts: Counts, measured: &Measurement) -> u64 {
    let sum = |of: fn(&WorkRecord) -> u64, operation: Option<Operation>| {
        let is_of = |work: &&WorkRecord| operation.is_none_or(|it| work.operation == it);
        measured.work.iter().filter(is_of).map(of).sum()
    };
    match counts {
        Counts::RowsInserted => sum(|work| work.rows, Some(Operation::Insert)),
        Counts::RowsIndexed | Counts::RowsScanned => measured.counted_rows.unwrap_or(0),
        Counts::Queries => sum(|work| work.operations, Some(Operation::Query)),
        Counts::Statements | Counts::Transactions => sum(WorkRecord::statements, None),
    }
}

/// How the progress of a window is computed.
#[derive(Clone, Copy)]
struct Goal {
    /// The operation whose pace is shown.
    leader: Operation,
    worth: f64,
    /// The number of all insert operations; 0 if the window ends by time.
    planned: u64,
    time: Duration,
}

impl Goal {
    fn of(task: &Task, parts: &[Part], worth: f64) -> Goal {
        let leader = match task.counts {
            Counts::RowsInserted | Counts::RowsIndexed => Operation::Insert,
            Counts::Queries => Operation::Query,
            Counts::Statements | Counts::Transactions | Counts::RowsScanned => {
                Operation::Transaction
            }
        };
        let planned = |part: &Part| match (part.operation, part.order.until) {
            (Operation::Insert, Until::Operations(operations)) => operations,
            _ => 0,
        };
        Goal { leader, worth, planned: parts.iter().map(planned).sum(), time: task.time }
    }

    fn done(self, inserts: u64, elapsed: Duration) -> f64 {
        match self.planned {
            0 => elapsed.as_secs_f64() / self.time.as_secs_f64(),
            planned => inserts as f64 / planned as f64,
        }
    }
}

/// The measured windows of a task.
struct Windows<'a> {
    task: &'a Task,
    driver: &'a dyn Driver,
    goal: Goal,
}

impl Windows<'_> {
    /// Measures all of them, between two readings of the DBMS's own counters.
    fn measure(
        &self,
        stage: &mut Stage<'_, '_>,
        parts: Vec<Part>,
        measured: &mut Measurement,
    ) -> Result<(), LabError> {
        let clients = parts.len() as u32;
        let order = |part: &Part| match stage.arrivals {
            Some(arrivals) => arrivals.order(self.task, part.client, clients),
            None => part.order,
        };
        let assigned = |part: Part| {
            let order = order(&part);
            ((part.client, part.operation), (part.work, order))
        };
        let (of, work): (Vec<_>, Vec<_>) = parts.into_iter().map(assigned).unzip();
        let ramp = stage.trying.map(|trying| trying.ramp).or(self.task.warm_up);
        let limit = stage.trying.map(|trying| trying.limit);
        let ready = Ready::new(work, ramp, limit, stage.lab.cancel)?;
        let Rest::Beside(head_start) = self.task.rest else {
            return self.watched(stage, ready, &of, measured);
        };
        // The vacuum has a connection of its own, and continues while rows are written.
        let (tables, server) = (self.driver.tables(), stage.server);
        let head_start = Instant::now() + head_start;
        std::thread::scope(|scope| {
            let vacuum = scope.spawn(|| server.quiesce(Quiesce::Vacuum, &tables));
            stage.sleep_until(head_start)?;
            self.watched(stage, ready, &of, measured)?;
            vacuum.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            Ok(())
        })
    }

    /// The operations, and then the indexes, if the task builds any.
    fn watched(
        &self,
        stage: &mut Stage<'_, '_>,
        ready: Ready,
        of: &[(u32, Operation)],
        measured: &mut Measurement,
    ) -> Result<(), LabError> {
        engine::watch(stage.server, measured, |measured| {
            let window = self.window(stage, ready, of)?;
            let paced = self.task.counts == Counts::Queries || stage.arrivals.is_some();
            add_window(measured, window, of, paced);
            let indexers = self.driver.indexers(self.task)?;
            if indexers.is_empty() {
                return Ok(());
            }
            stage.tell(|contender, step| Event::Indexing { contender, step });
            let ready = Ready::new(indexers, None, None, stage.lab.cancel)?;
            let window = self.window(stage, ready, &[])?;
            measured.index_seconds = Some(window.seconds);
            add_window(measured, window, &[], false);
            Ok(())
        })
    }

    /// One window, with its progress once a second. The progress of a CREATE INDEX is not known.
    fn window(
        &self,
        stage: &mut Stage<'_, '_>,
        ready: Ready,
        of: &[(u32, Operation)],
    ) -> Result<Window, LabError> {
        let mut observer = stage.observer()?;
        let (contender, watch) = (stage.contender, &mut stage.lab.watch);
        let Goal { leader, worth, .. } = self.goal;
        let sum = |operations: &[u64], wanted: Operation| -> u64 {
            let matching = of.iter().zip(operations).filter(|((_, kind), _)| *kind == wanted);
            matching.map(|(_, operations)| operations).sum()
        };
        let leaders = of.iter().filter(|(_, kind)| *kind == leader).count();
        let mut tick = |tick: Tick| {
            let inserts = sum(&tick.operations, Operation::Insert);
            watch(Event::Progress {
                contender: contender.to_string(),
                step: self.task.name.clone(),
                pace: Pace::closed(sum(&tick.recent, leader), SECOND, leaders, worth),
                done: self.goal.done(inserts, tick.elapsed),
            });
        };
        let (embedded, cancel) = (stage.server.is_embedded(), stage.lab.cancel);
        Ok(measure(ready, &mut observer, embedded, stage.trying, &mut tick, cancel)?)
    }
}
