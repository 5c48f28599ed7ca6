//! Instructions of an operation, by function: the servers run under Callgrind, after the verdicts
//! or in place of them.
//!
//! A client sends N operations to a server that was just started, and 2 N to another on a copy of
//! the same data, with the same draws. Everything but N operations is in both: the start, the
//! connection, the first use of each statement, the stop. Since an instruction counts the same
//! whatever else the machine does, servers are counted side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use rqps_dbms::{Dbms, Home, Place, Server};
use rqps_load::{Cancel, Crew, Order, Schedule, Until};
use rqps_observe::{
    COUNTS, Callgrind, CountedFunction, counted_process, cpus, descendants, read_counts,
};
use rqps_plan::{Instructions, Plan, Workload};
use rqps_store::{CountRecord, FunctionCount, RunDirectory};
use rqps_workload::{Site, Task};

use super::arm::Arm;
use super::loads::{Folders, load, unload};
use super::profile::{Chosen, choose};
use super::round::Setting;
use crate::stage::with_last_words;
use crate::{Event, Lab, LabError};

/// The load whose copies are counted on.
const LOAD: u32 = 1;
/// How often N and 2 N operations are counted: counts of one build may differ.
const REPETITIONS: usize = 2;
/// N operations take about as long as this without Callgrind, with which they take some fifty times
/// as long.
const NATIVE: Duration = Duration::from_millis(200);
/// How long a client is timed for that.
const TIMED: Duration = Duration::from_millis(250);
/// The limits of N: one operation may be a scan of a table.
const FEWEST: u64 = 3;
const MOST: u64 = 1_000;

/// The lines of an error that are kept.
const LINES: usize = 3;

/// Instructions by function.
type ByFunction = BTreeMap<CountedFunction, u64>;
/// What was counted in the servers of an arm, or why nothing was.
type OfArm = Result<Vec<(CountedServer, ByFunction)>, String>;

/// A server to count in: the place of its arm, and the operations that a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CountedServer {
    place: usize,
    repetition: usize,
    operations: u64,
}

/// Counts what the run directory lacks.
pub(super) fn make(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    setting: &Setting<'_>,
) -> Result<(), LabError> {
    let comparison = setting.comparison;
    let Some(Instructions { of, .. }) = &comparison.instructions else { return Ok(()) };
    let changed = (lab.judge)(plan, &directory.rounds()?).changed;
    let names = comparison.tests();
    let (chosen, left_out) = choose(setting.arms, (&names, setting.tasks), of, &changed)?;
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
    let Setting { arms, ready, folders, .. } = *setting;
    let (seed, workload) = (plan.seed, &workload);
    let servers = Servers { arms, ready, folders, seed, workload, callgrind };
    let mut counter = Counter { setting, servers, is_loaded: false };
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
        unload(setting, LOAD, false);
    }
    Ok(())
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
    setting: &'a Setting<'a>,
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
        let setting = self.setting;
        let (started, began) = (jiff::Timestamp::now().to_string(), Instant::now());
        let is_one = |arm: &Arm| !arm.is_control && chosen.contenders.contains(&arm.name);
        let places = (0..setting.arms.len()).filter(|place| is_one(&setting.arms[*place]));
        let places: Vec<usize> = places.collect();
        let blank = |place: usize| CountRecord {
            test: chosen.test.name.clone(),
            contender: setting.arms[place].name.clone(),
            started: started.clone(),
            ..CountRecord::default()
        };
        let why = |place: &usize| {
            let contender = &plan.contenders[setting.arms[*place].index];
            setting.comparison.uncountable(contender).or(missing)
        };
        let mut records: BTreeMap<usize, CountRecord> = BTreeMap::new();
        for &place in &places {
            let why = why(&place).map(str::to_string);
            records.insert(place, CountRecord { why, ..blank(place) });
        }
        let able = places.into_iter().filter(|place| why(place).is_none());
        let able: Vec<usize> = able.collect();
        let Some(&first) = able.first() else { return Ok(records.into_values().collect()) };
        if !setting.is_loaded(&able, LOAD) {
            self.is_loaded = true;
        }
        load(lab, directory, setting, able.iter().copied(), LOAD)?;
        let log = |place: usize| directory.log(&setting.arms[place].name);
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
        let counts =
            self.servers.side_by_side(lab, chosen.test, &queue(&able, operations), &logs)?;
        for (place, of_arm) in counts {
            let Some(record) = records.get_mut(&place) else { continue };
            (record.operations, record.seconds) = (operations, began.elapsed().as_secs_f64());
            match of_arm {
                Ok(of_arm) => record.functions = per_operation(&of_arm, operations),
                Err(why) => record.why = Some(why),
            }
        }
        Ok(records.into_values().collect())
    }
}

impl Servers<'_> {
    /// N, from how many operations a client does without Callgrind.
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
        let begun = Instant::now();
        let done = self.drive(&*server, test, place, Until::Elapsed(TIMED), lab.cancel)?;
        let seconds = begun.elapsed().as_secs_f64();
        server.discard()?;
        let fitting = (done as f64 / seconds * NATIVE.as_secs_f64()) as u64;
        Ok(fitting.clamp(FEWEST, MOST))
    }

    /// Counts on as many CPUs as there are. By place of the arm: its counts, or why there are none.
    fn side_by_side(
        &self,
        lab: &mut Lab<'_>,
        test: &Task,
        counts: &[CountedServer],
        logs: &BTreeMap<usize, PathBuf>,
    ) -> Result<BTreeMap<usize, OfArm>, LabError> {
        let (home, cancel, watch) = (lab.home, lab.cancel, &mut lab.watch);
        let left = Mutex::new(counts.iter().enumerate());
        let (sender, done) = channel();
        let take = || left.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
        let worker = |sender: Sender<_>| {
            while let Some((number, count)) = take() {
                let counted =
                    self.count(home, test, *count, (number, logs[&count.place].clone()), cancel);
                let is_over = matches!(counted, Err(LabError::Interrupted));
                if sender.send((*count, counted)).is_err() || is_over {
                    break;
                }
            }
        };
        let mut by_arm: BTreeMap<usize, OfArm> = BTreeMap::new();
        let workers = counts.len().min(cpus() as usize).max(1);
        std::thread::scope(|scope| {
            for sender in (0..workers).map(|_| sender.clone()) {
                scope.spawn(move || worker(sender));
            }
            drop(sender);
            for (number, (count, counted)) in (1_u32..).zip(done) {
                let arm = &self.arms[count.place];
                let (test, contender) = (test.name.clone(), arm.name.clone());
                let done = f64::from(number) / counts.len() as f64;
                watch(Event::Counting { test, contender, done });
                let of_arm = by_arm.entry(count.place).or_insert(Ok(Vec::new()));
                match (counted, of_arm) {
                    (Err(LabError::Interrupted), _) => return Err(LabError::Interrupted),
                    (Ok(counted), Ok(all)) => all.push((count, counted)),
                    (Ok(_), Err(_)) => {}
                    (Err(error), of_arm) => *of_arm = Err(in_a_line(&error)),
                }
            }
            Ok(())
        })?;
        Ok(by_arm)
    }

    /// Counts in one server, from its start to its stop.
    fn count(
        &self,
        home: &Home,
        test: &Task,
        count: CountedServer,
        (number, log): (usize, PathBuf),
        cancel: &Cancel,
    ) -> Result<ByFunction, LabError> {
        let callgrind = self.callgrind.expect("nothing is counted without it");
        let data = self.data(count.place, number);
        // Its server's user can write there, and with the data the counts are gone, too.
        let under = callgrind.words(&data.path());
        let at = Place { data: data.path(), log, under, ..Place::default() };
        let mut server = self.start(home, &at, count.place, cancel)?;
        let before = seen(&*server, &at.data)?;
        let until = Until::Operations(count.operations);
        if let Err(error) = self.drive(&*server, test, count.place, until, cancel) {
            if matches!(error, LabError::Interrupted) {
                return Err(error);
            }
            let reason = with_last_words(&error, &mut *server, None);
            return Err(LabError::Step { step: test.name.clone(), reason });
        }
        server.stop()?;
        read_all(&at.data, &before)
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

    /// Has one client send operations; returns how many.
    fn drive(
        &self,
        server: &dyn Server,
        test: &Task,
        place: usize,
        until: Until,
        cancel: &Cancel,
    ) -> Result<u64, LabError> {
        let arm = &self.arms[place];
        let target = server.target().clone();
        let site = Site { target: &target, dialect: arm.dialect, seed: self.seed, is_own: true };
        let driver = rqps_workload::driver(self.workload, site)?;
        driver.prepare(test, 1)?;
        // The same draws for everybody.
        let cast = driver.cast(test, 1, 0)?;
        let work: Vec<_> = cast.parts.into_iter().map(|part| part.work).collect();
        let orders = vec![Order { schedule: Schedule::Closed, until }; work.len()];
        let mut crew = Crew::start(work)?;
        crew.run(&orders, &mut |_, _| {}, cancel)?;
        Ok(crew.finish().iter().map(|tally| tally.operations).sum())
    }

    fn data(&self, place: usize, number: usize) -> Copied {
        Copied(self.folders.path().join(format!("{place}-count{number}")))
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

/// N and 2 N operations of each arm, so often.
fn queue(places: &[usize], operations: u64) -> Vec<CountedServer> {
    let of_arm = |place: usize| {
        (0..REPETITIONS).flat_map(move |repetition| {
            // The longer ones first, so that CPUs are idle for less time at the end.
            [2, 1].map(|times| CountedServer { place, repetition, operations: times * operations })
        })
    };
    places.iter().flat_map(|place| of_arm(*place)).collect()
}

/// The processes that a server had before the client came: those of logins that failed while it
/// started are among them.
fn seen(server: &dyn Server, data: &Path) -> Result<BTreeSet<u32>, LabError> {
    let alive = server.process().map(|root| descendants(root as i32)).unwrap_or_default();
    let ended = rqps_dbms::outputs(data, COUNTS)?;
    let ended = ended.iter().filter_map(|(name, _)| counted_process(name));
    Ok(alive.iter().map(|process| process.pid as u32).chain(ended).collect())
}

/// The counts of the processes that a server started for the client, or of the server itself if it
/// serves clients by threads. What a server with processes does beside them goes by the clock.
fn read_all(data: &Path, before: &BTreeSet<u32>) -> Result<ByFunction, LabError> {
    let outputs = rqps_dbms::outputs(data, COUNTS)?;
    let outputs =
        outputs.into_iter().filter_map(|(name, file)| Some((counted_process(&name)?, name, file)));
    let (old, new): (Vec<_>, Vec<_>) = outputs.partition(|(process, ..)| before.contains(process));
    let mut sum = ByFunction::new();
    for (_, name, file) in if new.is_empty() { old } else { new } {
        let counts = read_counts(BufReader::new(file));
        let counts = counts.map_err(|error| LabError::Uncounted(format!("{name}: {error}")))?;
        for (function, count) in counts {
            *sum.entry(function).or_default() += count;
        }
    }
    match sum.is_empty() {
        true => Err(LabError::Uncounted("valgrind left no counts".to_string())),
        false => Ok(sum),
    }
}

/// What an operation takes in each function, the largest first.
fn per_operation(counts: &[(CountedServer, ByFunction)], operations: u64) -> Vec<FunctionCount> {
    let mut functions: BTreeMap<&CountedFunction, [f64; REPETITIONS]> = BTreeMap::new();
    for (count, of_server) in counts {
        let sign = if count.operations > operations { 1.0 } else { -1.0 };
        for (function, instructions) in of_server {
            let sums = functions.entry(function).or_default();
            sums[count.repetition] += sign * *instructions as f64 / operations as f64;
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

    fn function(name: &str) -> CountedFunction {
        CountedFunction { name: name.to_string(), library: "postgres".to_string(), file: None }
    }

    fn counts(of: &[(&str, u64)]) -> ByFunction {
        of.iter().map(|(name, count)| (function(name), *count)).collect()
    }

    #[test]
    fn what_both_servers_do_cancels() {
        let all = queue(&[0], 10);
        let operations: Vec<u64> = all.iter().map(|count| count.operations).collect();
        assert_eq!(operations, [20, 10, 20, 10]);
        // A start of 1,000 and 50 per operation; the second server waits at a lock as well.
        let server = |count: &CountedServer| {
            let spun = if count.repetition == 1 { 2 * count.operations } else { 0 };
            counts(&[("exec", 1_000 + 50 * count.operations), ("spin", spun), ("start", 700)])
        };
        let all: Vec<(CountedServer, ByFunction)> =
            all.iter().map(|count| (*count, server(count))).collect();
        let found = per_operation(&all, 10);
        let told: Vec<(&str, [f64; 2])> =
            found.iter().map(|one| (one.name.as_str(), one.instructions)).collect();
        assert_eq!(told, [("exec", [50.0, 50.0]), ("spin", [0.0, 2.0])]);
    }

    #[test]
    fn of_a_server_with_processes_those_of_the_client_count() {
        let data = tempfile::tempdir().unwrap();
        let write = |process: u32, count: u64| {
            let text = format!("events: Ir\nob=/bin/postgres\nfl=a.c\nfn=exec\n1 {count}\n");
            fs::write(data.path().join(format!("{COUNTS}{process}")), text).unwrap();
        };
        let sum = |before: &[u32]| {
            let counts = read_all(data.path(), &before.iter().copied().collect()).unwrap();
            counts.values().sum::<u64>()
        };
        write(1, 1_000);
        assert_eq!(sum(&[1]), 1_000, "threads of the server");
        write(2, 30);
        write(3, 4);
        assert_eq!(sum(&[1]), 34, "a backend and its parallel worker");
        assert_eq!(sum(&[1, 3]), 30, "3 was a login while it started");
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
