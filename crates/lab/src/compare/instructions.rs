//! Instructions of an operation, by function: servers run under Callgrind, after the verdicts or in
//! place of them.
//!
//! Each server is started twice, on copies of the same data, and gets the same draws. Since an
//! instruction counts the same whatever else the machine does, servers are counted side by side.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rqps_dbms::{Dbms, Home, Place, Server};
use rqps_load::{Cancel, Until, Work};
use rqps_observe::{Callgrind, CountedFunction, cpu_micros, cpus};
use rqps_plan::{Instructions, Method, Plan, Workload};
use rqps_store::{CountRecord, FunctionCount, RunDirectory};
use rqps_workload::{Site, Task};

use super::context::ComparisonContext;
use super::counting::{CountedClients, CountedServer, ServerCount};
use super::folders::Folders;
use super::loads::{load, unload};
use super::profile::{Chosen, choose};
use crate::Event;
use crate::arm::Arm;
use crate::error::LabError;
use crate::lab::Lab;
use crate::stage::with_last_words;

/// The load whose copies are counted on.
const LOAD: u32 = 1;
/// How often a server is started to be counted: counts of one build may differ.
const REPETITIONS: usize = 2;
/// The counted operations take about as much CPU as this without Callgrind, with which they take
/// some fifty times as much.
const NATIVE: Duration = Duration::from_millis(200);
/// The CPU that is measured for that, since time depends on what else the machine does.
const MEASURED: Duration = Duration::from_millis(100);
/// How long a client is driven at a time for that, and how often at most.
const DRIVEN_FOR: Duration = Duration::from_millis(250);
const DRIVEN_AT_MOST: usize = 20;
/// Their limits: one operation may be a scan of a table.
const FEWEST: u64 = 3;
const MOST: u64 = 1_000;

/// How much slower a server starts under Callgrind: Postgres takes 2 s, MySQL 14 s.
const SLOWER_START: u32 = 10;
/// What warming up, counting and asking take of a server with fast statements.
const DRIVEN: Duration = Duration::from_secs(6);

/// A server that hangs under Callgrind is given up when none was counted for so long.
const PATIENCE: Duration = Duration::from_secs(300);
const POINTLESS: &str = "no contender can be counted beside it";
const LATE: &str = "its server was not counted within five minutes";

/// The lines of an error that are kept.
const LINES: usize = 3;

/// What was counted in the servers of an arm, or why nothing was.
type OfArm = Result<Vec<ServerCount>, String>;

/// Counts what the run directory lacks.
pub(super) fn make(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    shared: &ComparisonContext<'_>,
) -> Result<(), LabError> {
    let comparison = shared.comparison;
    let Some(Instructions { of, .. }) = &comparison.instructions else { return Ok(()) };
    let changed = (lab.judge)(plan, &directory.rounds()?).changed;
    let names = comparison.tests();
    let (chosen, left_out) = choose(shared.arms, (&names, shared.tasks), of, &changed)?;
    let made = directory.counts()?;
    let is_made = |test: &str, contender: &str| {
        made.iter().any(|one| (one.test.as_str(), one.contender.as_str()) == (test, contender))
    };
    let left = chosen.into_iter().map(|one| {
        let contenders = one.contenders.iter().filter(|name| !is_made(&one.test.name, name));
        Chosen { test: one.test, contenders: contenders.cloned().collect() }
    });
    let left: Vec<Chosen<'_>> = left.filter(|one| !one.contenders.is_empty()).collect();
    if left.is_empty() {
        return Ok(());
    }
    let tests = left.iter().map(|one| one.test.name.clone()).collect();
    (lab.watch)(Event::CountsBegun { tests, left_out });
    let callgrind = Callgrind::find();
    let workload = comparison.of.unchecked();
    let missing = callgrind.as_ref().err().map(ToString::to_string);
    let callgrind = callgrind.as_ref().ok();
    let ComparisonContext { arms, ready, folders, .. } = *shared;
    let (seed, workload) = (plan.seed, &workload);
    let servers = Servers { arms, ready, folders, seed, workload, callgrind };
    let mut counter = Counter { shared, servers, is_loaded: false };
    for one in &left {
        for record in counter.test(lab, directory, plan, one, missing.as_deref())? {
            if let Some(why) = &record.why {
                let (test, contender) = (record.test.clone(), record.contender.clone());
                (lab.watch)(Event::Uncounted { test, contender, why: why.clone() });
            }
            directory.save_count(&record)?;
        }
    }
    if counter.is_loaded && !lab.keep_data {
        unload(lab, shared, LOAD, false);
    }
    Ok(())
}

/// The time of counting a test in one contender, from that of starting its server.
pub(crate) fn expected_time(start: Duration) -> Duration {
    (start * SLOWER_START + DRIVEN) * REPETITIONS as u32
}

/// What threads share that count.
#[derive(Clone, Copy)]
struct Servers<'a> {
    arms: &'a [Arm],
    ready: &'a [Box<dyn Dbms>],
    folders: &'a Folders,
    seed: u64,
    /// Without checks, which would read whole tables under Callgrind.
    workload: &'a Workload,
    callgrind: Option<&'a Callgrind>,
}

struct Counter<'a> {
    shared: &'a ComparisonContext<'a>,
    servers: Servers<'a>,
    /// The data were loaded for this.
    is_loaded: bool,
}

impl Counter<'_> {
    /// Counts a test in the servers of all chosen contenders.
    fn test(
        &mut self,
        lab: &mut Lab<'_>,
        directory: &mut RunDirectory,
        plan: &Plan,
        chosen: &Chosen<'_>,
        missing: Option<&str>,
    ) -> Result<Vec<CountRecord>, LabError> {
        let shared = self.shared;
        let (started, began) = (jiff::Timestamp::now().to_string(), Instant::now());
        let is_one = |arm: &Arm| !arm.is_control && chosen.contenders.contains(&arm.name);
        let places = (0..shared.arms.len()).filter(|place| is_one(&shared.arms[*place]));
        let places: Vec<usize> = places.collect();
        let blank = |place: usize| CountRecord {
            test: chosen.test.name.clone(),
            contender: shared.arms[place].name.clone(),
            started: started.clone(),
            ..CountRecord::default()
        };
        let alone = |place: &usize| {
            let contender = &plan.contenders[shared.arms[*place].index];
            shared.comparison.uncountable(contender, &plan.contenders[0]).or(missing)
        };
        let is_base = |place: &usize| shared.arms[*place].is_base();
        let mut others = places.iter().filter(|place| !is_base(place)).peekable();
        // The baseline's instructions alone say nothing.
        let is_pointless = others.peek().is_some() && others.all(|place| alone(place).is_some());
        let why = |place: &usize| {
            let pointless = (is_pointless && is_base(place)).then_some(POINTLESS);
            alone(place).or(pointless)
        };
        let mut records: BTreeMap<usize, CountRecord> = BTreeMap::new();
        for &place in &places {
            let why = why(&place).map(str::to_string);
            records.insert(place, CountRecord { why, ..blank(place) });
        }
        let able = places.into_iter().filter(|place| why(place).is_none());
        let able: Vec<usize> = able.collect();
        let Some(&first) = able.first() else { return Ok(records.into_values().collect()) };
        if !shared.is_loaded(&able, LOAD) {
            self.is_loaded = true;
        }
        load(lab, directory, shared, able.iter().copied(), LOAD)?;
        let (test, contender) = (chosen.test.name.clone(), shared.arms[first].name.clone());
        (lab.watch)(Event::Counting { test, contender, done: 0.0 });
        let log = |place: usize| directory.log(&shared.arms[place].name);
        let logs = able.iter().map(|place| (*place, log(*place))).collect();
        let operations = match self.servers.operations(lab, chosen.test, first, log(first)) {
            Ok(operations) => operations,
            Err(error @ (LabError::Interrupted | LabError::Store(_))) => return Err(error),
            Err(error) => {
                let why = in_a_line(&error);
                able.iter().for_each(|place| {
                    records.entry(*place).and_modify(|record| record.why = Some(why.clone()));
                });
                return Ok(records.into_values().collect());
            }
        };
        let counts = self.servers.side_by_side(lab, (chosen.test, operations), &able, &logs)?;
        for (place, of_arm) in counts {
            let Some(record) = records.get_mut(&place) else { continue };
            (record.operations, record.seconds) = (operations, began.elapsed().as_secs_f64());
            match of_arm {
                Ok(of_arm) => record.functions = per_operation(&of_arm),
                Err(why) => record.why = Some(why),
            }
        }
        Ok(records.into_values().collect())
    }
}

impl Servers<'_> {
    /// How many are counted, from how many a client does without Callgrind.
    fn operations(
        &self,
        lab: &Lab<'_>,
        test: &Task,
        place: usize,
        log: PathBuf,
    ) -> Result<u64, LabError> {
        let data = self.data(place, 0);
        let at = Place { data: data.path(), log, ..Place::default() };
        let mut server = self.start(lab.home, &at, place, lab.cancel)?;
        let mut clients = CountedClients::start(self.connect(&*server, test, place)?)?;
        let root = server.process().unwrap_or_default() as i32;
        let cpu = || cpu_micros(root).values().sum::<u64>();
        let (idle, mut done, mut used) = (cpu(), 0, 0);
        for _ in 0..DRIVEN_AT_MOST {
            done = clients.run(Until::Elapsed(DRIVEN_FOR), lab.cancel)?;
            used = cpu().saturating_sub(idle);
            if u128::from(used) >= MEASURED.as_micros() {
                break;
            }
        }
        drop(clients);
        server.discard()?;
        let fitting = done as f64 / used.max(1) as f64 * NATIVE.as_micros() as f64;
        Ok((fitting as u64).clamp(FEWEST, MOST))
    }

    /// Counts on as many CPUs as there are. By place of the arm: its counts, or why there are none.
    fn side_by_side(
        &self,
        lab: &mut Lab<'_>,
        (test, operations): (&Task, u64),
        places: &[usize],
        logs: &BTreeMap<usize, PathBuf>,
    ) -> Result<BTreeMap<usize, OfArm>, LabError> {
        let (home, watch) = (lab.home, &mut lab.watch);
        let cancel = &lab.cancel.part();
        // All contenders once, then all again: what slows the machine down is not that of one.
        let queue: Vec<usize> = places.repeat(REPETITIONS);
        let left = Mutex::new(queue.iter().enumerate());
        let (sender, done) = channel();
        let take = || left.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
        let worker = |sender: Sender<_>| {
            while let Some((number, place)) = take() {
                let data = (self.data(*place, number), logs[place].clone());
                let counted = self.count(home, (test, operations), *place, data, cancel);
                let is_over = matches!(counted, Err(LabError::Interrupted));
                if sender.send((*place, counted)).is_err() || is_over {
                    break;
                }
            }
        };
        let mut by_arm: BTreeMap<usize, OfArm> = BTreeMap::new();
        let workers = queue.len().min(cpus() as usize).max(1);
        std::thread::scope(|scope| {
            for sender in (0..workers).map(|_| sender.clone()) {
                scope.spawn(move || worker(sender));
            }
            drop(sender);
            let mut number = 0;
            loop {
                let (place, counted) = match done.recv_timeout(PATIENCE) {
                    Ok(counted) => counted,
                    Err(RecvTimeoutError::Timeout) => {
                        cancel.request();
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                number += 1;
                let (test, contender) = (test.name.clone(), self.arms[place].name.clone());
                let done = f64::from(number) / queue.len() as f64;
                watch(Event::Counting { test, contender, done });
                let of_arm = by_arm.entry(place).or_insert(Ok(Vec::new()));
                match (counted, of_arm) {
                    (Err(LabError::Interrupted), of_arm) => {
                        lab.cancel.check()?;
                        *of_arm = Err(LATE.to_string());
                    }
                    (Ok(counted), Ok(all)) => all.push(counted),
                    (Ok(_), Err(_)) => {}
                    (Err(error), of_arm) => *of_arm = Err(in_a_line(&error)),
                }
            }
            Ok::<(), LabError>(())
        })?;
        for place in places {
            let of_arm = by_arm.entry(*place).or_insert(Err(LATE.to_string()));
            if of_arm.as_ref().is_ok_and(|all| all.len() < REPETITIONS) {
                *of_arm = Err(LATE.to_string());
            }
        }
        Ok(by_arm)
    }

    /// Counts in one server, which is started for it.
    fn count(
        &self,
        home: &Home,
        (test, operations): (&Task, u64),
        place: usize,
        (data, log): (Copied, PathBuf),
        cancel: &Cancel,
    ) -> Result<ServerCount, LabError> {
        let callgrind = self.callgrind.expect("nothing is counted without it");
        // Its server's user can write there, and with the data the counts are gone, too.
        let under = callgrind.words(&data.path());
        let at = Place { data: data.path(), log, under, ..Place::default() };
        let mut server = self.start(home, &at, place, cancel)?;
        let counted = CountedServer { callgrind, server: &*server, data: &at.data, cancel };
        let count = || {
            let _asked = counted.forget_the_start()?;
            counted.count(self.connect(&*server, test, place)?, operations)
        };
        match count() {
            Ok(count) => {
                server.discard()?;
                Ok(count)
            }
            Err(LabError::Interrupted) => Err(LabError::Interrupted),
            Err(error) => {
                let reason = with_last_words(&error, &mut *server, None);
                Err(LabError::Step { step: test.name.clone(), reason, is_disconnect: false })
            }
        }
    }

    fn start(
        &self,
        home: &Home,
        at: &Place,
        place: usize,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server>, LabError> {
        cancel.check()?;
        rqps_dbms::copy_data(&self.folders.loaded(place, LOAD), &at.data)?;
        Ok(self.ready[self.arms[place].index].start(home, at, cancel)?)
    }

    /// Connects one client, with the same draws for everybody.
    fn connect(
        &self,
        server: &dyn Server,
        test: &Task,
        place: usize,
    ) -> Result<Vec<Box<dyn Work>>, LabError> {
        let target = server.target().clone();
        let (dbms, dialect) = (self.arms[place].dbms, self.arms[place].dialect);
        let (seed, method) = (self.seed, Method::Slices);
        let site = Site { target: &target, dbms, dialect, seed, is_own: true, method };
        let driver = rqps_workload::driver(self.workload, site)?;
        driver.prepare(test, 1)?;
        Ok(driver.connect(test, 1, 0)?.parts.into_iter().map(|part| part.work).collect())
    }

    fn data(&self, place: usize, number: usize) -> Copied {
        Copied(self.folders.of(place).join(format!("{place}-count{number}")))
    }
}

/// A copy of the data, which goes with this value.
struct Copied(PathBuf);

impl Copied {
    fn path(&self) -> PathBuf {
        self.0.clone()
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        // `rqps dbms prune` finds what cannot be removed now.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An error may have a part of the server's log on lines of its own.
fn in_a_line(error: &LabError) -> String {
    let reason = error.reason();
    let lines = reason.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.take(LINES).collect::<Vec<_>>().join("; ")
}

/// What an operation takes in each function, the largest first.
fn per_operation(counts: &[ServerCount]) -> Vec<FunctionCount> {
    let mut functions: BTreeMap<&CountedFunction, [f64; REPETITIONS]> = BTreeMap::new();
    for (repetition, count) in counts.iter().enumerate() {
        for (function, instructions) in &count.functions {
            let per_operation = *instructions as f64 / count.operations as f64;
            functions.entry(function).or_default()[repetition] = per_operation;
        }
    }
    let is_counted = |instructions: &[f64; REPETITIONS]| instructions.iter().any(|one| *one != 0.0);
    let counted = functions.into_iter().filter(|(_, instructions)| is_counted(instructions));
    let counted = counted.map(|(function, instructions)| FunctionCount {
        name: function.name.clone(),
        library: function.library.clone(),
        file: function.file.clone(),
        instructions,
    });
    let mut counted: Vec<FunctionCount> = counted.collect();
    let size = |one: &FunctionCount| one.instructions.iter().sum::<f64>();
    counted.sort_by(|one, other| size(other).total_cmp(&size(one)));
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(operations: u64, of: &[(&str, u64)]) -> ServerCount {
        let function = |name: &str| CountedFunction {
            name: name.to_string(),
            library: "postgres".to_string(),
            file: None,
        };
        let functions = of.iter().map(|(name, count)| (function(name), *count)).collect();
        ServerCount { operations, functions }
    }

    #[test]
    fn counts_are_per_operation_and_a_function_may_be_missing_from_one() {
        let first = count(10, &[("exec", 500), ("plan", 0)]);
        let second = count(11, &[("exec", 550), ("plan", 0), ("spin", 22)]);
        let found = per_operation(&[first, second]);
        let told: Vec<(&str, [f64; 2])> =
            found.iter().map(|one| (one.name.as_str(), one.instructions)).collect();
        assert_eq!(told, [("exec", [50.0, 50.0]), ("spin", [0.0, 2.0])]);
    }

    #[test]
    fn the_copy_of_the_data_goes_whatever_happens() {
        let outer = tempfile::tempdir().unwrap();
        let copied = Copied(outer.path().join("0-count1"));
        fs::create_dir(copied.path()).unwrap();
        fs::write(copied.path().join("callgrind.out.1"), "").unwrap();
        drop(copied);
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 0);
    }
}
