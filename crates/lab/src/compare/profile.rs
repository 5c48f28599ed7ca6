//! Where the servers' CPU time goes in the tests that have changed: runs under a profiler, after the
//! verdicts and apart from them, since being sampled costs time.
//!
//! Every round starts the servers anew, as those of the verdict do, and they take turns; two rounds
//! are mirror images of each other.

use std::time::{Duration, Instant};

use super::contestant::Contestant;
use super::round::{Round, Setting, WARM_UP, driven};
use crate::{Changed, Event, Lab, LabError};
use rqps_load::{Relay, Slicing, Work};
use rqps_observe::{EdgeReader, Profiler, pin_thread, sees_kernel};
use rqps_plan::{Compared, Plan, Profiled};
use rqps_store::{ProfileRecord, RunDirectory};
use rqps_workload::microbenchmark::{Benchmark, Books, Cast, Sequence, Test, select};

/// How often each contender is profiled in each test: as often as CAUSES.md asks for.
const ROUNDS: u32 = 4;
/// So many tests are profiled if they are chosen by their verdicts.
const MOST_TESTS: usize = 5;
/// Less time has too few samples to tell functions apart.
const SHORTEST: Duration = Duration::from_secs(1);
/// How often the user's wish to stop is looked at and progress is told.
const SLICE: Duration = Duration::from_millis(100);

/// A test to profile, and the names of who is profiled in it.
struct Chosen {
    test: &'static Test,
    contenders: Vec<String>,
}

/// Makes the profiles that the run directory does not have yet.
pub(super) fn make(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    setting: &Setting<'_>,
) -> Result<(), LabError> {
    let Some(profiled) = &setting.comparison.profile else { return Ok(()) };
    let changed = (lab.judge)(plan, &directory.passes()?).changed;
    let (chosen, left_out) = choose(setting, profiled, &changed)?;
    let tests: Vec<String> = chosen.iter().map(|one| one.test.short_name().to_string()).collect();
    (lab.watch)(Event::ProfilesBegun { tests, left_out });
    // The twin is not needed to know a function by.
    let contestants: Vec<Contestant> =
        setting.contestants.iter().filter(|one| !one.is_twin).cloned().collect();
    let setting = Setting { contestants: &contestants, ..*setting };
    for number in 1..=ROUNDS {
        let made = directory.profiles()?;
        let is_made = |test: &Test, contender: &str| {
            made.iter().any(|one| {
                (one.round, one.test.as_str()) == (number, test.short_name())
                    && one.contender == contender
            })
        };
        let left: Vec<&Chosen> = chosen
            .iter()
            .filter(|one| one.contenders.iter().any(|name| !is_made(one.test, name)))
            .collect();
        if left.is_empty() {
            continue;
        }
        (lab.watch)(Event::Profiling { round: number, rounds: ROUNDS });
        let mut round = Round::start(lab, directory, &setting, number)?;
        let share = 1.0 / left.len() as f64;
        for (index, one) in left.into_iter().enumerate() {
            let made = round.profile(lab, directory, one, (index as f64 * share, share));
            made.map_err(|error| round.named(error, one.test.short_name()))?;
        }
        round.stop()?;
    }
    Ok(())
}

/// The tests to profile in the order of the plan, and those for which there are too many.
fn choose(
    setting: &Setting<'_>,
    profiled: &Profiled,
    changed: &[Changed],
) -> Result<(Vec<Chosen>, Vec<String>), LabError> {
    let Compared::Microbenchmark(benchmark) = &setting.comparison.of else {
        return Ok(Default::default());
    };
    let everybody = || setting.contestants.iter().filter(|one| !one.is_twin);
    let base = everybody().next().map(|one| one.name.clone()).unwrap_or_default();
    let (names, left_out) = match profiled {
        Profiled::All => (benchmark.tests.clone(), Vec::new()),
        Profiled::Tests(tests) => (tests.clone(), Vec::new()),
        Profiled::Changed => {
            let mut sorted: Vec<&Changed> = changed.iter().collect();
            sorted.sort_by(|left, right| right.size.total_cmp(&left.size));
            let mut names: Vec<String> = Vec::new();
            for one in sorted {
                if !names.contains(&one.test) {
                    names.push(one.test.clone());
                }
            }
            let left_out = names.split_off(names.len().min(MOST_TESTS));
            (names, left_out)
        }
    };
    let contenders = |test: &Test| -> Vec<String> {
        let is_wanted = |name: &str| {
            *profiled != Profiled::Changed
                || changed.iter().any(|one| one.test == test.short_name() && one.contender == name)
        };
        let names = everybody().map(|one| one.name.clone());
        names.filter(|name| *name == base || is_wanted(name)).collect()
    };
    let mut tests = select(&names, Sequence::Given)?;
    tests.sort_by_key(|test| setting.place(test));
    let chosen = tests.into_iter().map(|test| Chosen { test, contenders: contenders(test) });
    Ok((chosen.collect(), left_out))
}

impl Round<'_> {
    /// Profiles a test: everybody who is chosen, one after the other.
    fn profile(
        &self,
        lab: &mut Lab<'_>,
        directory: &mut RunDirectory,
        chosen: &Chosen,
        (from, share): (f64, f64),
    ) -> Result<(), LabError> {
        let (plan, test) = (self.setting.microbenchmark(), chosen.test);
        let clients = plan.clients.iter().copied().max().unwrap_or(1);
        let mut slots: Vec<usize> = (0..self.running.len())
            .filter(|slot| chosen.contenders.contains(&self.running[*slot].contestant.name))
            .collect();
        slots.sort_by_key(|slot| self.running[*slot].contestant.index);
        if self.number.is_multiple_of(2) {
            slots.reverse();
        }
        let targets: Vec<_> = self.running.iter().map(|one| one.server.target().clone()).collect();
        // Threads that the clients start inherit where this one may run; perf must not.
        let placement = match &self.cpus[..] {
            [] => None,
            cpus => Some(pin_thread(cpus).map_err(LabError::Placement)?),
        };
        let mut work: Vec<Vec<Box<dyn Work>>> = (0..clients).map(|_| Vec::new()).collect();
        let mut benchmarks: Vec<(Benchmark<'_>, Books)> = Vec::new();
        for (one, target) in self.running.iter().zip(&targets) {
            let dialect = one.contestant.dialect;
            let benchmark = Benchmark::new(target, dialect, plan, self.setting.seed);
            benchmark.before(test)?;
            let Cast { work: cast, books } =
                benchmark.cast(test, clients, u64::from(self.number) * 1_000)?;
            work.iter_mut().zip(cast).for_each(|(client, work)| client.push(work));
            benchmarks.push((benchmark, books));
        }
        let mut relay = Relay::start(work, Box::new(|_| [0; 3]))?;
        drop(placement);
        let share = share / slots.len() as f64;
        for (turn, slot) in slots.into_iter().enumerate() {
            let from = from + share * turn as f64;
            let profile = self.turn(lab, &mut relay, test, (turn as u32, slot), (from, share));
            directory.save_profile(&profile?)?;
        }
        relay.finish();
        for (benchmark, books) in &benchmarks {
            benchmark.after(test, books)?;
        }
        Ok(())
    }

    /// Drives one contender alone, sampled.
    fn turn(
        &self,
        lab: &mut Lab<'_>,
        relay: &mut Relay,
        test: &'static Test,
        (turn, slot): (u32, usize),
        (from, share): (f64, f64),
    ) -> Result<ProfileRecord, LabError> {
        let one = &self.running[slot];
        let root = one.server.process().expect("a plan that profiles has servers of its own");
        let time = test.measured(self.setting.microbenchmark()).max(SHORTEST);
        let slices =
            |time: Duration| vec![slot; (time.as_secs_f64() / SLICE.as_secs_f64()).ceil() as usize];
        let (warm_up, measured) = (slices(time.mul_f64(WARM_UP)), slices(time));
        let slicing = Slicing { slice: SLICE, head: Duration::ZERO };
        let all = (warm_up.len() + measured.len()) as f64;
        let name = format!("{} of {}", test.short_name(), one.contestant.name);
        let (round, watch) = (self.number, &mut lab.watch);
        let mut tell = |done: usize| {
            let done = from + share * done as f64 / all;
            watch(Event::Measuring { round, test: name.clone(), done });
        };
        let mut profiler = Profiler::attach(root, self.setting.folders.path())?;
        relay.run(&warm_up, slicing, &mut tell, lab.cancelled).map_err(driven)?;
        let mut reader = EdgeReader::new(root, one.group.as_ref())?;
        let (started, began) = (jiff::Timestamp::now().to_string(), Instant::now());
        profiler.start()?;
        let before = reader.read();
        let mut tell_measured = |done: usize| tell(warm_up.len() + done);
        let slices = relay.run(&measured, slicing, &mut tell_measured, lab.cancelled);
        let used = reader.read().since(&before);
        profiler.stop()?;
        let seconds = began.elapsed().as_secs_f64();
        let stacks = profiler.finish()?;
        let slices = slices.map_err(driven)?;
        let statements = slices.iter().flatten().map(|slice| slice.statements);
        Ok(ProfileRecord {
            test: test.short_name().to_string(),
            contender: one.contestant.name.clone(),
            round,
            turn,
            started,
            seconds,
            statements: statements.map(|of| of.reads + of.writes + of.others).sum(),
            server_cpu: used.cpu,
            samples: stacks.samples,
            has_kernel: sees_kernel(),
            stacks: stacks.nanos,
        })
    }
}
