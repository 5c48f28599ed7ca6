//! A round of whole runs: one arm at a time runs the whole workload, alone on the machine, on a
//! copy of its data; a remote one on its tables. This is for workloads that cannot be cut into
//! slices: long writes, and the Insert Benchmark. Each run is stored when it ends, since it may
//! have taken hours.

use std::path::PathBuf;
use std::time::Duration;

use rqps_dbms::Place;
use rqps_observe::{
    Around, Clocks, Conduct, GuardFailure, Metric, Reading, ReferenceLoops, guards,
};
use rqps_plan::Operation;
use rqps_store::{Measurement, RoundRecord, RunDirectory, SliceRecord, WorkRecord};
use rqps_workload::Task;

use super::beside::{Beside, sent};
use super::context::{ComparisonContext, Draw};
use super::folders::restore;
use super::journal::{Journal, REPEATS};
use super::pass::said;
use super::stored_baseline::Earlier;
use crate::alone::{Alone, Next, in_turn};
use crate::arm::Arm;
use crate::arrivals::Arrivals;
use crate::error::LabError;
use crate::lab::Lab;
use crate::stage::{self, measurement};
use crate::{Event, task};

/// All arms are in one part: an arm that runs alone fits in memory.
const PART: u32 = 1;

/// How long the machine may take to be as fast as usual before a run: copying gigabytes may slow it
/// down.
pub(super) const REST: Duration = Duration::from_secs(10);

/// … and after it: a virtual CPU that was idle is slow at first. After nine seconds of sleep, as at
/// a low rate, a loop of 65 ms took 110 ms for 1.6 s.
pub(super) const WAKE: Duration = Duration::from_secs(5);

/// The share of a promised write rate that must be reached.
const REQUIRED_SHARE: f64 = 0.95;

/// The metrics that are stored for every second: those of charts, since a comparison has many runs.
const BY_SECOND: [Metric; 4] = [
    Metric::ServerCpuUser,
    Metric::ServerCpuSystem,
    Metric::ServerReadBytes,
    Metric::ServerWriteBytes,
];

/// Runs every arm once, in random order, and stores a record for every test. An arm that fails is
/// excluded from then on.
pub(super) fn make(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    journal: &Journal<'_>,
    tests: &[String],
    loops: &mut ReferenceLoops,
) -> Result<(), LabError> {
    let (shared, number) = (journal.shared, journal.round);
    let load = shared.comparison.load_of(number);
    let has_failed =
        |place: &usize| tests.iter().any(|test| journal.has_failed(test, &shared.arms[*place]));
    // All arms have a turn, so that turns are the same in a later session.
    let order = shared.order_of_runs(number);
    let mut kept = Kept::of(journal, tests);
    let failed = in_turn(lab, shared.arms, &order, |lab, turn, place| {
        let passes = journal.passes;
        let whose = Turn { shared, round: number, load, place, number: turn, tests, passes };
        if has_failed(&place) || kept.is_done(tests, &whose.arm().name) {
            return Ok(());
        }
        kept.save(directory)?;
        let made = whose.attempts(lab, directory, loops, &mut kept);
        kept.add(&whose, made)
    })?;
    if kept.is_empty() {
        // No arm could run.
        return failed.into_iter().next().map_or(Ok(()), Err);
    }
    if let Some(earlier) = shared.earlier {
        kept.join(earlier);
    }
    kept.save(directory)
}

/// The records of a round.
pub(super) struct Kept {
    /// By test.
    passes: Vec<RoundRecord>,
    /// Discarded records, each of one arm: the last attempt with its measurements, those before it
    /// without.
    refused: Vec<RoundRecord>,
    /// The arms that failed in this session, and why.
    failed: Vec<(String, String)>,
}

impl Kept {
    /// The records of an earlier session.
    pub(super) fn of(journal: &Journal<'_>, tests: &[String]) -> Kept {
        let kept = tests.iter().flat_map(|test| journal.attempts(test, PART)).cloned();
        let (refused, passes) = kept.partition(|pass| pass.discarded.is_some());
        Kept { passes, refused, failed: Vec::new() }
    }

    /// Whether an arm has run all tests.
    pub(super) fn is_done(&self, tests: &[String], name: &str) -> bool {
        let is_in = |pass: &RoundRecord| pass.slices.iter().any(|slice| slice.arm == name);
        tests.iter().all(|test| self.all().any(|pass| pass.test == *test && is_in(pass)))
    }

    fn all(&self) -> impl Iterator<Item = &RoundRecord> {
        self.refused.iter().chain(&self.passes)
    }

    /// The record of that test, or else this empty one.
    fn pass_like(&mut self, blank: RoundRecord) -> &mut RoundRecord {
        let at = self.passes.iter().position(|pass| pass.test == blank.test);
        let at = at.unwrap_or_else(|| {
            self.passes.push(blank);
            self.passes.len() - 1
        });
        &mut self.passes[at]
    }

    /// Another discarded record.
    fn refuse(&mut self, blank: RoundRecord, name: &str, why: &str) -> &mut RoundRecord {
        let attempt = attempts(&self.refused, &blank.test) + 1;
        let discarded = Some(format!("{name}: {why}"));
        self.refused.push(RoundRecord { attempt, discarded, ..blank });
        self.refused.last_mut().expect("it was pushed right now")
    }

    /// Adds an arm's run, or why it failed.
    pub(super) fn add(
        &mut self,
        whose: &Turn<'_>,
        made: Result<Run, LabError>,
    ) -> Result<(), LabError> {
        let Turn { shared, load, place, number, .. } = *whose;
        let name = &whose.arm().name;
        let run =
            made.inspect_err(|error| match whose.arm().is_remote && error.is_disconnect() {
                // A later session measures the rest of a server that went away.
                true => shared.lost.add(name),
                false => self.failed.push((name.clone(), error.reason())),
            })?;
        let answers = run.against.into_iter().zip(run.unanswered);
        for (done, (against, unanswered)) in run.done.into_iter().zip(answers) {
            let blank = pass(shared, whose.round, load, &done);
            // A discarded measurement has a record of its own: those of the others count.
            let guarded = said(&against).filter(|_| shared.comparison.guards);
            let pass = match unanswered.or(guarded) {
                Some(why) => self.refuse(blank, name, &why),
                None => self.pass_like(blank),
            };
            pass.seconds += done.measured.seconds;
            pass.reference_loop.extend(run.reference_loop);
            pass.slices.push(slice(&done, number, name));
            let measured = kept_of(done.measured, number, shared.folders.note(place, load));
            pass.arms.insert(name.clone(), measured);
        }
        Ok(())
    }

    /// Whether nothing was measured.
    pub(super) fn is_empty(&self) -> bool {
        self.all().all(|pass| pass.slices.is_empty())
    }

    /// Adds the runs of an earlier baseline.
    pub(super) fn join(&mut self, earlier: &Earlier) {
        self.passes.iter_mut().for_each(|pass| earlier.join(pass));
    }

    pub(super) fn save(&mut self, directory: &mut RunDirectory) -> Result<(), LabError> {
        for pass in &mut self.passes {
            pass.attempt = attempts(&self.refused, &pass.test) + 1;
            for (name, why) in &self.failed {
                pass.arms.entry(name.clone()).or_default().fail(why.clone());
            }
        }
        // Without any stored record, discarded attempts are repeated.
        if self.is_empty() {
            return Ok(());
        }
        let all: Vec<&RoundRecord> = self.all().collect();
        Ok(directory.replace(&all)?)
    }
}

/// A completed task.
pub(super) struct Done {
    pub(super) task: Task,
    /// RFC 3339.
    pub(super) started: String,
    pub(super) measured: Measurement,
    /// Seconds by which the wall clock jumped meanwhile.
    pub(super) jump: f64,
    /// What others did on a remote server meanwhile, if it is too much.
    pub(super) others: Vec<GuardFailure>,
}

/// An arm's whole run.
pub(super) struct Run {
    done: Vec<Done>,
    /// By task: the guards that failed. None if it counts.
    against: Vec<Vec<GuardFailure>>,
    /// By task: why what was measured is no answer, whatever the guards say.
    unanswered: Vec<Option<String>>,
    /// Nanoseconds of the reference loop before and after.
    reference_loop: [u64; 2],
}

impl Run {
    /// With the reference loop before and after it.
    pub(super) fn new(
        done: Vec<Done>,
        unanswered: Vec<Option<String>>,
        around: (Duration, Duration),
        loops: &ReferenceLoops,
    ) -> Run {
        let against = done.iter().map(|done| against(done, around, loops)).collect();
        let reference_loop = [around.0, around.1].map(|time| time.as_nanos() as u64);
        Run { done, against, unanswered, reference_loop }
    }

    /// Why it is discarded, by step.
    fn refusal(&self) -> Option<String> {
        let steps = self.done.iter().zip(&self.against);
        let steps =
            steps.filter_map(|(done, why)| Some(format!("{}: {}", done.task.name, said(why)?)));
        let words: Vec<String> = steps.collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// Whether the machine was the reason. A DBMS that misses its write rate on an idle machine
    /// will miss it again; and if it has stalls, repeating until it has none would hide them.
    fn is_for_another_time(&self) -> bool {
        self.against.iter().flatten().any(GuardFailure::is_of_the_machine)
    }

    /// Adds its discarded tests to the records, without measurements.
    fn refuse(&self, whose: &Turn<'_>, kept: &mut Kept) {
        for (done, why) in self.done.iter().zip(&self.against) {
            let Some(why) = said(why) else { continue };
            let blank = pass(whose.shared, whose.round, whose.load, done);
            kept.refuse(blank, &whose.arm().name, &why);
        }
    }
}

/// How often a test was discarded.
fn attempts(refused: &[RoundRecord], test: &str) -> u32 {
    refused.iter().filter(|pass| pass.test == test).count() as u32
}

/// An arm's turn in a round.
pub(super) struct Turn<'a> {
    pub(super) shared: &'a ComparisonContext<'a>,
    pub(super) round: u32,
    pub(super) load: u32,
    /// The place of the arm among all of them.
    pub(super) place: usize,
    /// The number of the turn in the round, from 0.
    pub(super) number: u32,
    pub(super) tests: &'a [String],
    /// The records that exist when the round begins.
    pub(super) passes: &'a [RoundRecord],
}

impl<'a> Turn<'a> {
    pub(super) fn arm(&self) -> &'a Arm {
        &self.shared.arms[self.place]
    }

    /// Its run; again if a guard discards it because of the machine.
    fn attempts(
        &self,
        lab: &mut Lab<'_>,
        directory: &RunDirectory,
        loops: &mut ReferenceLoops,
        kept: &mut Kept,
    ) -> Result<Run, LabError> {
        let mut attempt = 1;
        loop {
            let run = self.run(lab, directory, loops)?;
            let Some(why) = run.refusal().filter(|_| self.shared.comparison.guards) else {
                return Ok(run);
            };
            (lab.watch)(Event::Refused { test: self.arm().name.clone(), why, attempt });
            if attempt > REPEATS || !run.is_for_another_time() {
                return Ok(run);
            }
            attempt += 1;
            run.refuse(self, kept);
        }
    }

    /// Starts the server on a copy of its data, runs the workload, and removes the copy. To a
    /// remote one it connects.
    fn run(
        &self,
        lab: &mut Lab<'_>,
        directory: &RunDirectory,
        loops: &mut ReferenceLoops,
    ) -> Result<Run, LabError> {
        let shared = self.shared;
        self.restore()?;
        rqps_dbms::read_code_again(shared.builds(&[self.place]))?;
        let before = loops.settle(shared.patience(REST));
        let mut alone = self.start(lab, directory)?;
        let random = shared.random(Draw::Arrivals, &[self.round.into()]);
        alone.arrivals = Arrivals::draw(shared.comparison, random);
        let workload = shared.comparison.of.only(self.tests);
        let mut done = Vec::new();
        // Tables are filled already.
        alone.run(
            &workload,
            |task| !task.fills,
            |next| {
                done.push(self.step(lab, next)?);
                Ok(())
            },
        )?;
        self.end(&mut alone)?;
        let after = loops.settle(shared.patience(WAKE));
        let unanswered = vec![None; done.len()];
        Ok(Run::new(done, unanswered, (before, after), loops))
    }

    /// The data of the arm's server. Those of a remote one are there.
    fn data(&self) -> PathBuf {
        let folders = self.shared.folders;
        match self.arm().is_remote {
            true => folders.loaded(self.arm().tables, self.load),
            false => folders.round(self.place),
        }
    }

    /// Makes a copy of the arm's data.
    pub(super) fn restore(&self) -> Result<(), LabError> {
        let ComparisonContext { folders, comparison, plan, .. } = self.shared;
        let data = self.data();
        if self.arm().is_remote {
            return match comparison.read_only || data.exists() {
                true => Ok(()),
                false => Err(LabError::NotLoaded),
            };
        }
        restore(&folders.loaded(self.place, self.load), &data, false, plan.memory)?;
        // Neither the run nor the reference loop must wait for gigabytes that are still written
        // back. The reference loop times the machine, so that no server is up beside it.
        Ok(rqps_dbms::settle_data(&data)?)
    }

    /// Starts the arm's server on it.
    pub(super) fn start(
        &self,
        lab: &Lab<'_>,
        directory: &RunDirectory,
    ) -> Result<Alone<'a>, LabError> {
        let (shared, arm) = (self.shared, self.arm());
        let (set, is_shared) = (arm.tables as u32, shared.is_shared(arm));
        let (data, log) = (self.data(), directory.log(&arm.name));
        let at = Place { data, log, set, is_shared, ..Place::default() };
        Alone::start(lab, shared.plan, arm, &*shared.ready[arm.index], &at)
    }

    /// Ends it, and removes its data. A remote one goes on.
    pub(super) fn end(&self, alone: &mut Alone<'_>) -> Result<(), LabError> {
        match self.arm().is_remote {
            true => alone.server.stop()?,
            false => alone.server.discard()?,
        }
        Ok(())
    }

    /// Operations per second of the arm in its last round of a test.
    pub(super) fn last_rate(&self, test: &str) -> Option<f64> {
        let name = &self.arm().name;
        let mut passes = self.passes.iter().rev().filter(|pass| pass.test == test);
        let slice = passes.find_map(|pass| pass.slices.iter().find(|slice| slice.arm == *name))?;
        Some(slice.operations as f64 / (slice.nanos as f64 / 1e9))
    }

    /// Runs a task, and tells of its progress as a part of the round.
    fn step(&self, lab: &mut Lab<'_>, mut next: Next<'_>) -> Result<Done, LabError> {
        let mut measured = measurement(next.task);
        // Attempts are counted in single runs only; here an arm's run is complete or it is not.
        let (task, (number, count)) = (next.task, next.place);
        let arms = self.shared.arms.len() as f64;
        let of_round =
            |done| (f64::from(self.number) + (number as f64 + done) / count as f64) / arms;
        let mut beside = Beside::begin(self.shared.arms, self.place, &*next.server)?;
        let run = |lab: &mut Lab<'_>| next.run(lab, 1, &mut measured);
        let (started, jump, ()) = self.within(lab, task, (&of_round, &mut beside), run)?;
        let (whose, sent) = ((&*self.arm().name, &*next.server), sent(&measured, task));
        let others = beside.end(&mut measured, whose, Some(sent))?;
        Ok(Done { task: task.clone(), started, measured, jump, others })
    }

    /// Does a part of a task, and tells of its progress as the part of the round that it is then.
    /// Returns when it began, by how many seconds the wall clock jumped meanwhile, and what was
    /// done.
    pub(super) fn within<T>(
        &self,
        lab: &mut Lab<'_>,
        task: &Task,
        (of_round, beside): (&dyn Fn(f64) -> f64, &mut Beside),
        run: impl FnOnce(&mut Lab<'_>) -> Result<T, LabError>,
    ) -> Result<(String, f64, T), LabError> {
        let round = self.round;
        let outer = &mut lab.watch;
        let mut watch = |event: Event| {
            if let Event::Progress { contender, pace, done, .. } = event {
                let done = of_round(done.clamp(0.0, 1.0));
                let paces = vec![(contender.clone(), pace)];
                let (test, contender) = (task.name.clone(), Some(contender));
                beside.look();
                outer(Event::Measuring { round, test, contender, done, paces });
            }
        };
        let mut inner = Lab {
            home: lab.home,
            watch: &mut watch,
            cancel: lab.cancel,
            keep_data: false,
            restarts: lab.restarts,
            judge: lab.judge,
        };
        let started = jiff::Timestamp::now().to_string();
        let clocks = Clocks::now();
        let done = run(&mut inner)?;
        Ok((started, clocks.jump(), done))
    }
}

fn against(
    Done { measured, jump, others, .. }: &Done,
    (before, after): (Duration, Duration),
    loops: &ReferenceLoops,
) -> Vec<GuardFailure> {
    let inserts = measured.work.iter().filter(|work| work.operation == Operation::Insert);
    let reached = inserts.map(|work| work.rows).sum::<u64>() as f64 / measured.seconds;
    let missed = |wanted: &f64| reached < REQUIRED_SHARE * wanted;
    let conduct = Conduct {
        window: &measured.cost,
        seconds: measured.seconds,
        wall_seconds: Some(measured.seconds + jump),
        cpus: rqps_observe::cpus(),
        limits: rqps_observe::Limits::RUN,
        reference_loop: loops.usual().map(|usual| Around { before, after, usual }),
        // It is a part of what a whole run measures.
        background: None,
        missed_rate: measured.target_rate.filter(missed).map(|wanted| (reached, wanted)),
    };
    [guards(&conduct), others.clone()].concat()
}

fn pass(
    shared: &ComparisonContext<'_>,
    number: u32,
    load: u32,
    Done { task, started, .. }: &Done,
) -> RoundRecord {
    RoundRecord {
        round: number,
        place: shared.place(&task.name),
        part: PART,
        load,
        started: started.clone(),
        group: Some(task.group.to_string()),
        ..stage::round(task)
    }
}

/// The stored part of a whole run, whose data may have a note from their load.
fn kept_of(measured: Measurement, turn: u32, of_data: Option<String>) -> Measurement {
    let notes: Vec<String> = of_data.into_iter().chain(measured.note).collect();
    Measurement {
        slot: turn,
        watched: measured.work.iter().map(|work| work.operations).sum(),
        // Merged by operation, since a comparison has many runs.
        work: WorkRecord::by_operation(measured.work),
        samples: measured.samples.of(&BY_SECOND),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
        ..measured
    }
}

/// A whole run as one slice. Its `reads` are what the task counts.
fn slice(Done { task, measured, .. }: &Done, turn: u32, arm: &str) -> SliceRecord {
    let sum = |of: fn(&WorkRecord) -> u64| measured.work.iter().map(of).sum::<u64>();
    let cost = |metrics: &[Metric]| nanos(&measured.cost, metrics);
    SliceRecord {
        place: turn,
        client: 1,
        arm: arm.to_string(),
        began: 0,
        nanos: (measured.seconds * 1e9) as u64,
        operations: sum(|work| work.operations),
        rows: sum(|work| work.rows),
        reads: task::counted(task.counts, measured),
        retries: sum(|work| work.retries),
        client_cpu: cost(&[Metric::ClientCpuUser, Metric::ClientCpuSystem]),
        server_cpu: cost(&[Metric::ServerCpuUser, Metric::ServerCpuSystem]),
        server_run_queue_wait: cost(&[Metric::ServerRunQueueWait]),
        server_switches: measured
            .cost
            .sum(&[Metric::ServerVoluntarySwitches, Metric::ServerInvoluntarySwitches])
            .unwrap_or(0),
        ..SliceRecord::default()
    }
}

/// Counters in microseconds as nanoseconds.
fn nanos(cost: &Reading, metrics: &[Metric]) -> u64 {
    cost.sum(metrics).unwrap_or(0) * 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_spoiled_is_repeated_and_a_missed_rate_is_not() {
        let rate = || GuardFailure::Rate { reached: 89.0, wanted: 100.0 };
        let steal = || GuardFailure::Steal { stolen: 7.0, most: 1.0 };
        let is_for_another_time = |against: Vec<Vec<GuardFailure>>| {
            let (done, unanswered) = (Vec::new(), Vec::new());
            Run { done, against, unanswered, reference_loop: [0, 0] }.is_for_another_time()
        };
        assert!(!is_for_another_time(vec![vec![], vec![rate()]]));
        assert!(is_for_another_time(vec![vec![], vec![rate(), steal()]]));
        assert!(is_for_another_time(vec![vec![steal()], vec![rate()]]), "a run is made as a whole");
    }
}
