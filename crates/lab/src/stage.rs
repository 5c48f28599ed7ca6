//! The context of a task, and its record.

use std::time::{Duration, Instant};

use rqps_dbms::{Quiesce, Server};
use rqps_load::Tally;
use rqps_observe::{Group, Metric, Observer, bytes_below};
use rqps_plan::Operation;
use rqps_store::{Measurement, Planning, RoundRecord, Second, StatementRecord, WorkRecord};
use rqps_workload::{Explained, Task};

use crate::Event;
use crate::arrivals::Arrivals;
use crate::error::LabError;
use crate::lab::Lab;
use crate::measure::Window;
use crate::trying::Trying;

/// The context of a task.
pub(crate) struct Stage<'a, 'l> {
    pub(crate) lab: &'a mut Lab<'l>,
    pub(crate) server: &'a dyn Server,
    /// The control group of the server, if it has one.
    pub(crate) group: Option<&'a Group>,
    pub(crate) contender: &'a str,
    pub(crate) task: &'a Task,
    /// The number of all tasks of the contender.
    pub(crate) tasks: usize,
    /// When operations are due; none in a closed loop.
    pub(crate) arrivals: Option<Arrivals>,
    /// The service level for which that rate is tried, if it is.
    pub(crate) trying: Option<&'a Trying>,
}

/// An error with the related lines of the server's log, and kills in its control group.
pub(crate) fn with_last_words(
    error: &LabError,
    server: &mut dyn Server,
    group: Option<&Group>,
) -> String {
    let log = if error.is_disconnect() { server.last_words() } else { None };
    let log = log.map(|log| format!("; {log}")).unwrap_or_default();
    let memory = match group.is_some_and(|group| group.memory_kills() > 0) {
        // The group has a limit only with --memory; it counts all kills for lack of memory.
        true => {
            "; the kernel killed a process of the server for lack of memory: its limit (--memory) or the \
             machine's memory is too small"
        }
        false => "",
    };
    let text = format!("{error}{memory}{log}");
    match server.data().and_then(|data| rqps_dbms::shortage(&text, data)) {
        // First, in case only one line is shown.
        Some(short) => format!("{short}; {text}"),
        None => text,
    }
}

/// A round of a task, without measurements yet.
pub(crate) fn round(task: &Task) -> RoundRecord {
    RoundRecord {
        test: task.name.clone(),
        title: task.title.clone(),
        group: task.is_reported.then(|| task.group.to_string()),
        place: task.index as u32,
        started: jiff::Timestamp::now().to_string(),
        ..RoundRecord::new(task.class, task.counts)
    }
}

/// A measurement of a task, still empty.
pub(crate) fn measurement(task: &Task) -> Measurement {
    let (clients, target_rate) = (task.clients, task.target_rate);
    Measurement { clients, target_rate, ..Measurement::default() }
}

/// Statements as they are stored.
pub(crate) fn kept(found: Vec<Explained>) -> Vec<StatementRecord> {
    let kept = |Explained { text, times, plan, tree, planning, .. }| {
        let planning = planning.map(|before| Planning { before, after: None });
        StatementRecord { text, times, plan, tree, planning }
    };
    found.into_iter().map(kept).collect()
}

/// Notes the planning time after the last operation: what a step leaves behind may slow it down.
pub(crate) fn note_planning(statements: &mut [StatementRecord], again: &[Explained]) {
    for (statement, again) in statements.iter_mut().zip(again) {
        if let Some(planning) = &mut statement.planning {
            planning.after = again.planning;
        }
    }
}

impl Stage<'_, '_> {
    pub(crate) fn tell(&mut self, event: impl FnOnce(String, String) -> Event) {
        (self.lab.watch)(event(self.contender.to_string(), self.task.name.clone()));
    }

    /// Stores and reports a note for the reader.
    pub(crate) fn note(&mut self, measured: &mut Measurement, note: String) {
        measured.note = Some(match measured.note.take() {
            Some(before) => format!("{before}; {note}"),
            None => note.clone(),
        });
        self.tell(|contender, step| Event::Noted { contender, step, note });
    }

    pub(crate) fn tell_begun(&mut self) {
        let (number, steps) = (self.task.index + 1, self.tasks);
        self.tell(|contender, step| Event::StepBegun { contender, step, number, steps });
    }

    pub(crate) fn tell_done(&mut self, seconds: f64, work: f64) {
        let unit = self.task.counts.unit().to_string();
        let rate = work / seconds;
        self.tell(|contender, step| Event::StepDone { contender, step, seconds, rate, unit });
    }

    pub(crate) fn observer(&self) -> Result<Observer, LabError> {
        let server = self.server;
        let observer = Observer::new(server.process(), server.data(), server.database_path()?);
        Ok(match self.group {
            Some(group) => observer.in_group(group)?,
            None => observer.in_own_group(),
        })
    }

    pub(crate) fn sleep_until(&self, deadline: Instant) -> Result<(), LabError> {
        Ok(self.lab.cancel.sleep_until(deadline)?)
    }

    /// Quiesces the server, and waits for the rest of the time. Maintenance that did not end is
    /// noted.
    pub(crate) fn pause(
        &mut self,
        measured: &mut Measurement,
        what: Quiesce,
        at_least: Duration,
        tables: &[String],
    ) -> Result<(), LabError> {
        self.tell(|contender, step| Event::Pausing { contender, step, at_least });
        let begun = Instant::now();
        let left = self.server.quiesce(what, tables)?;
        if let Some(left) = left {
            self.note(measured, format!("the maintenance before it was aborted: {left}"));
        }
        let seconds = begun.elapsed().as_secs_f64();
        self.tell(|contender, step| Event::Rested { contender, step, seconds });
        self.sleep_until(begun + at_least)
    }

    /// The end of every task: sizes, the check, and a flush to disk.
    pub(crate) fn conclude(
        &mut self,
        measured: &mut Measurement,
        check: Option<impl FnOnce() -> Result<(), LabError>>,
    ) -> Result<(), LabError> {
        measured.cost.set(Metric::DatabaseBytes, self.server.database_bytes()?);
        if let Some(bytes) = self.server.log_bytes() {
            measured.cost.set(Metric::LogBytes, bytes);
        }
        // The last sample read the directory before the size of a log that grows in the background.
        if let Some(data) = self.server.data() {
            measured.cost.set(Metric::DirectoryBytes, bytes_below(data));
        }
        if let Some(check) = check {
            self.tell(|contender, step| Event::Checking { contender, step });
            let checked = Instant::now();
            check()?;
            measured.check_seconds = checked.elapsed().as_secs_f64();
        }
        // Commits do not wait for the disk, but a task that the journal marks as done must.
        Ok(self.server.settle()?)
    }
}

/// Adds a measured window: a task can have several, one after the other.
pub(crate) fn add_window(
    measured: &mut Measurement,
    window: Window,
    parts: &[(u32, Operation)],
    paced: bool,
) {
    let begin = measured.seconds;
    measured.samples.extend(window.samples.into_iter().map(|mut sample| {
        sample.at += begin;
        sample
    }));
    measured.cost = if begin > 0.0 { measured.cost.plus(&window.cost) } else { window.cost };
    measured.seconds += window.seconds;
    if paced {
        measured.cost.set(Metric::ClientLateness, lateness(&window.tallies));
    }
    let workers = parts.iter().zip(window.tallies);
    measured
        .work
        .extend(workers.map(|(&(client, operation), tally)| work(client, operation, paced, tally)));
}

/// Nanoseconds by which clients were late at most in 99 % of the operations that were due.
fn lateness(tallies: &[Tally]) -> u64 {
    let all = tallies.iter().map(|tally| tally.lateness.clone()).reduce(|mut sum, own| {
        sum.add(own).expect("histograms of one form can be added");
        sum
    });
    all.map_or(0, |all| all.value_at_percentile(99.0))
}

fn work(client: u32, operation: Operation, paced: bool, tally: Tally) -> WorkRecord {
    let second = |second: &rqps_load::SecondTally| Second {
        operations: second.operations,
        rows: second.rows,
        max_service: second.max_service,
    };
    let work = WorkRecord {
        client,
        operation,
        operations: tally.operations,
        rows: tally.rows,
        reads: tally.statements.reads,
        writes: tally.statements.writes,
        others: tally.statements.others,
        retries: tally.retries,
        service: tally.service,
        response: (paced && operation != Operation::Query).then_some(tally.response),
        max_lag: tally.max_lag,
        seconds: tally.seconds.iter().map(second).collect(),
    };
    work.packed()
}
