//! Profiles: where the servers spend CPU time in the tests that changed. These are separate runs
//! after the verdicts, since sampling costs time.
//!
//! Every round restarts the servers, as the rounds of the verdicts do, and they take turns; two
//! rounds are mirror images of each other.

use std::time::{Duration, Instant};

use rqps_analysis::comparison::Changed;
use rqps_load::{COUNTERS, Relay, Slicing, Turns, Work};
use rqps_observe::{EdgeReader, Profiler, pin_thread, sees_kernel};
use rqps_plan::{Comparison, Plan, Profiled};
use rqps_store::{ProfileRecord, RunDirectory};
use rqps_workload::{Driver, End, Task, TaskClients};

use super::blame::{driven, of};
use super::context::{ComparisonContext, RoundContext, driver, task};
use super::cut::WARM_UP;
use super::loads::{load, unload};
use super::parts::Parts;
use super::round::Round;
use crate::Event;
use crate::arm::Arm;
use crate::error::LabError;
use crate::lab::Lab;

/// How often each contender is profiled in each test.
pub(crate) const ROUNDS: u32 = 4;
/// The most tests that are profiled if verdicts choose them.
pub(crate) const MOST_TESTS: usize = 5;
/// A shorter time has too few samples to distinguish functions.
const SHORTEST: Duration = Duration::from_secs(1);
/// The interval of checks for an interruption, and of progress.
const SLICE: Duration = Duration::from_millis(100);

/// A test to profile, and the names of the arms that are profiled in it.
pub(super) struct Chosen<'a> {
    pub(super) test: &'a Task,
    pub(super) contenders: Vec<String>,
}

/// How long one contender is driven for all its profiles; if verdicts choose the tests, for as many
/// as there may be.
pub(crate) fn per_contender(comparison: &Comparison, tasks: &[Task]) -> Duration {
    let (tests, most) = match &comparison.profile {
        None => return Duration::ZERO,
        Some(Profiled::Tests(tests)) => (tests.clone(), usize::MAX),
        Some(Profiled::All) => (comparison.tests(), usize::MAX),
        Some(Profiled::Changed) => (comparison.tests(), MOST_TESTS),
    };
    let once = tests.iter().filter_map(|test| tasks.iter().find(|task| task.name == *test));
    let once = once.map(|test| test.time.max(SHORTEST)).take(most);
    once.sum::<Duration>().mul_f64(1.0 + WARM_UP) * ROUNDS
}

/// Makes the profiles that the run directory lacks.
pub(super) fn make(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    shared: &ComparisonContext<'_>,
    parts: &Parts,
) -> Result<(), LabError> {
    let comparison = shared.comparison;
    let Some(profiled) = &comparison.profile else { return Ok(()) };
    let changed = (lab.judge)(plan, &directory.rounds()?).changed;
    let names = comparison.tests();
    let (chosen, left_out) = choose(shared.arms, (&names, shared.tasks), profiled, &changed)?;
    let tests: Vec<String> = chosen.iter().map(|one| one.test.name.clone()).collect();
    (lab.watch)(Event::ProfilesBegun { tests, left_out });
    for number in 1..=ROUNDS {
        for (part, members) in parts.each() {
            // The A/A control is not needed to compare functions.
            let members: Vec<usize> =
                members.iter().copied().filter(|member| !shared.arms[*member].is_control).collect();
            let context =
                RoundContext { shared, number, part, members: &members, keeps_load: false };
            round(lab, directory, &context, &chosen)?;
        }
    }
    Ok(())
}

/// Makes the missing profiles of this round, of the arms that are up together.
fn round(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    context: &RoundContext<'_>,
    chosen: &[Chosen<'_>],
) -> Result<(), LabError> {
    let made = directory.profiles()?;
    let is_up =
        |name: &str| context.members.iter().any(|member| context.shared.arms[*member].name == name);
    let is_made = |test: &Task, contender: &str| {
        made.iter().any(|one| {
            (one.round, one.test.as_str()) == (context.number, test.name.as_str())
                && one.contender == contender
        })
    };
    let left = chosen.iter().map(|one| Chosen {
        test: one.test,
        contenders: one
            .contenders
            .iter()
            .filter(|name| is_up(name) && !is_made(one.test, name))
            .cloned()
            .collect(),
    });
    let left: Vec<Chosen<'_>> = left.filter(|one| !one.contenders.is_empty()).collect();
    if left.is_empty() {
        return Ok(());
    }
    (lab.watch)(Event::Profiling { round: context.number, rounds: ROUNDS });
    // Data of the rounds are kept if the user wants that.
    let is_kept = lab.keep_data && context.shared.is_loaded(context.members, context.number);
    load(lab, directory, context.shared, context.members.iter().copied(), context.number)?;
    let mut round = Round::start(lab, directory, context)?;
    let share = 1.0 / left.len() as f64;
    for (index, one) in left.iter().enumerate() {
        match round.profile(lab, directory, one, (index as f64 * share, share)) {
            Err(LabError::Driven { slot, error }) => {
                let (name, reason) = round.expel(slot, *error);
                let step = format!("{name}: {}", one.test.name);
                return Err(LabError::Step { step, reason, is_disconnect: false });
            }
            result => result?,
        }
    }
    round.stop()?;
    if !is_kept {
        unload(lab, context.shared, context.number, false);
    }
    Ok(())
}

/// The tests to profile, in their order, and those that are too many.
pub(super) fn choose<'a>(
    arms: &[Arm],
    (all, tasks): (&[String], &'a [Task]),
    profiled: &Profiled,
    changed: &[Changed],
) -> Result<(Vec<Chosen<'a>>, Vec<String>), LabError> {
    let everybody = || arms.iter().filter(|one| !one.is_control);
    let base = everybody().next().map(|one| one.name.clone()).unwrap_or_default();
    let (names, left_out) = match profiled {
        Profiled::All => (all.to_vec(), Vec::new()),
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
    let contenders = |test: &Task| -> Vec<String> {
        let is_wanted = |name: &str| {
            *profiled != Profiled::Changed
                || changed.iter().any(|one| one.test == test.name && one.contender == name)
        };
        let names = everybody().map(|one| one.name.clone());
        names.filter(|name| *name == base || is_wanted(name)).collect()
    };
    let tests = names.iter().map(|name| task(tasks, name));
    let mut tests: Vec<&Task> = tests.collect::<Result<_, _>>()?;
    // Reads first, as in rounds, while all tables are as they were loaded.
    let place = |test: &Task| all.iter().position(|name| *name == test.name);
    tests.sort_by_key(|test| (test.class.writes(), place(test)));
    let chosen = tests.into_iter().map(|test| Chosen { test, contenders: contenders(test) });
    Ok((chosen.collect(), left_out))
}

impl Round<'_> {
    /// Profiles a test: all chosen arms, one after another.
    fn profile(
        &self,
        lab: &mut Lab<'_>,
        directory: &mut RunDirectory,
        chosen: &Chosen<'_>,
        (from, share): (f64, f64),
    ) -> Result<(), LabError> {
        let (context, test) = (self.context, chosen.test);
        let clients = context.shared.comparison.of.most_clients();
        let mut slots: Vec<usize> = (0..self.running.len())
            .filter(|slot| chosen.contenders.contains(&self.running[*slot].arm.name))
            .collect();
        slots.sort_by_key(|slot| self.running[*slot].arm.index);
        if context.number.is_multiple_of(2) {
            slots.reverse();
        }
        let targets: Vec<_> = self.running.iter().map(|one| one.server.target().clone()).collect();
        // Threads of clients inherit the CPUs of this thread; perf must not.
        let placement = match &self.seating.clients[..] {
            [] => None,
            cpus => Some(pin_thread(cpus).map_err(LabError::Placement)?),
        };
        let mut work: Vec<Vec<Box<dyn Work>>> = (0..clients).map(|_| Vec::new()).collect();
        let drivers = self.running.iter().zip(&targets);
        let drivers = drivers.map(|(one, target)| driver(context.shared.plan, one.arm, target));
        let drivers: Vec<Box<dyn Driver + '_>> = drivers.collect::<Result<_, _>>()?;
        let mut ends: Vec<End<'_>> = Vec::new();
        let mut answering: Vec<Vec<Option<u32>>> = Vec::new();
        for (slot, driver) in drivers.iter().enumerate() {
            driver.prepare(test, 1).map_err(of(slot))?;
            let TaskClients { parts, threads, end, .. } = driver
                .connect(test, clients, u64::from(context.number) * 1_000)
                .map_err(of(slot))?;
            work.iter_mut().zip(parts).for_each(|(client, part)| client.push(part.work));
            ends.push(end);
            answering.push(threads);
        }
        let mut relay = Relay::start(work, Box::new(|_| [0; COUNTERS]))?;
        drop(placement);
        let _seats = self.seats(&relay.threads(), &answering)?;
        let share = share / slots.len() as f64;
        for (turn, slot) in slots.into_iter().enumerate() {
            let from = from + share * turn as f64;
            let profile = self.turn(lab, &mut relay, test, (turn as u32, slot), (from, share));
            directory.save_profile(&profile?)?;
        }
        relay.finish();
        for (slot, end) in ends.iter().enumerate() {
            end().map_err(of(slot))?;
        }
        Ok(())
    }

    /// Drives one contender alone, under the profiler.
    fn turn(
        &self,
        lab: &mut Lab<'_>,
        relay: &mut Relay,
        test: &Task,
        (turn, slot): (u32, usize),
        (from, share): (f64, f64),
    ) -> Result<ProfileRecord, LabError> {
        let one = &self.running[slot];
        let root = one.server.process().expect("a plan that profiles has servers of its own");
        let time = test.time.max(SHORTEST);
        let slices = |time: Duration| {
            let count = (time.as_secs_f64() / SLICE.as_secs_f64()).ceil() as usize;
            Turns { order: vec![slot; count], enough: time, fewest: 1, block: 1, from: None }
        };
        let (warm_up, measured) = (slices(time.mul_f64(WARM_UP)), slices(time));
        let slicing = Slicing::by_time(SLICE, Duration::ZERO);
        let all = (warm_up.order.len() + measured.order.len()) as f64;
        let (name, contender) = (&test.name, &one.arm.name);
        let (round, watch) = (self.context.number, &mut lab.watch);
        let mut tell = |done: usize| {
            let done = from + share * done as f64 / all;
            watch(Event::Measuring {
                round,
                test: name.clone(),
                contender: Some(contender.clone()),
                done,
                paces: Vec::new(),
            });
        };
        let mut profiler = Profiler::attach(root, self.context.shared.folders.path())?;
        relay.run(&warm_up, slicing, &mut tell, lab.cancel).map_err(driven)?;
        let mut reader = EdgeReader::new(Some(root), one.group.as_ref(), None)?;
        let (started, began) = (jiff::Timestamp::now().to_string(), Instant::now());
        profiler.start()?;
        let before = reader.read();
        let mut tell_measured = |done: usize| tell(warm_up.order.len() + done);
        let slices = relay.run(&measured, slicing, &mut tell_measured, lab.cancel);
        let used = reader.read().since(&before);
        profiler.stop()?;
        let seconds = began.elapsed().as_secs_f64();
        let stacks = profiler.finish()?;
        let slices = slices.map_err(driven)?;
        let statements = slices.iter().flatten().map(|slice| slice.statements);
        Ok(ProfileRecord {
            test: test.name.clone(),
            contender: one.arm.name.clone(),
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

#[cfg(test)]
mod tests {
    use rqps_plan::{CONTROL, Dbms, Microbenchmark, Workload};
    use rqps_workload::Dialect;

    use super::*;

    fn benchmark(tests: &str) -> Workload {
        Workload::from(Microbenchmark {
            tables: 1,
            rows: "1K".parse().unwrap(),
            clients: vec![1],
            read_time: "1s".parse().unwrap(),
            write_time: "1s".parse().unwrap(),
            tests: tests.split(' ').map(str::to_string).collect(),
            fair_writes: true,
            pause: "0s".parse().unwrap(),
            quiesce_after_each_write: false,
            check: true,
        })
    }

    /// What is profiled of a baseline, two contenders and the A/A control: each test with its arms,
    /// and the tests that are left out.
    fn chosen(tests: &str, profiled: &Profiled, changed: &[Changed]) -> (Vec<String>, Vec<String>) {
        let one = |(index, name): (usize, &str)| Arm {
            name: name.to_string(),
            index,
            dbms: Dbms::Postgres,
            dialect: Dialect::POSTGRES,
            is_control: name == CONTROL,
            is_remote: false,
            tables: 0,
            injection: None,
        };
        let arms = [(0, "base"), (1, "one"), (2, "two"), (0, CONTROL)].map(one);
        let benchmark = benchmark(tests);
        let tasks = rqps_workload::tasks(&benchmark).unwrap();
        let all = (&benchmark.tests()[..], &tasks[..]);
        let (chosen, left_out) = choose(&arms, all, profiled, changed).unwrap();
        let told = |one: Chosen<'_>| format!("{} {}", one.test.name, one.contenders.join(","));
        (chosen.into_iter().map(told).collect(), left_out)
    }

    #[test]
    fn reads_are_profiled_before_writes_change_the_tables() {
        let tests = "update-index point-query delete hot-points";
        let all = ["point-query", "hot-points", "update-index", "delete"];
        let all = all.map(|test| format!("{test} base,one,two"));
        assert_eq!(chosen(tests, &Profiled::All, &[]), (all.to_vec(), vec![]));
    }

    #[test]
    fn of_changed_tests_the_largest_changes_are_profiled_with_whoever_changed() {
        let tests = "insert delete update-index update-one point-query hot-points";
        let changed = |(test, contender, size): (&str, &str, f64)| Changed {
            test: test.to_string(),
            contender: contender.to_string(),
            size,
        };
        let changed = [
            ("insert", "one", 0.1),
            ("delete", "one", 0.5),
            ("update-index", "one", 0.4),
            ("update-one", "two", 0.3),
            ("point-query", "two", 0.2),
            ("hot-points", "one", 0.6),
            ("hot-points", "two", 0.05),
        ]
        .map(changed);
        let (chosen, left_out) = chosen(tests, &Profiled::Changed, &changed);
        let expected = [
            "point-query base,two",
            "hot-points base,one,two",
            "delete base,one",
            "update-index base,one",
            "update-one base,two",
        ];
        assert_eq!(
            (&chosen[..], &left_out[..]),
            (&expected.map(String::from)[..], &["insert".to_string()][..])
        );
    }
}
