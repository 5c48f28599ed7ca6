//! Tests a comparison when contenders fail, the user stops it, or tests are precise enough, with a
//! DBMS that follows a script.

mod fake;
mod own_sql;

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rqps_analysis::comparison::Interim;
use rqps_dbms::{Dbms, Home};
use rqps_lab::{Event, Lab, Outcome, Restarts, run_injected};
use rqps_load::Cancel;
use rqps_observe::SessionLock;
use rqps_plan::{Comparison, Contender, Count, Design, Microbenchmark, Plan, Span, Workload};
use rqps_store::{Manifest, RoundRecord, RunDirectory};
use tempfile::TempDir;

use fake::Fake;
use fake::Fault::{self, Absent, Dead, Frozen, LosesRow, Meets};

/// The rounds of a test unless it sets others.
const ROUNDS: u32 = 3;

/// The baseline, and another that follows a script.
struct World {
    folder: TempDir,
    plan: Plan,
    /// By contender, the baseline's first.
    scripts: [Vec<(u32, Fault)>; 2],
    /// After this many rounds, all tests are precise enough.
    enough_after: Option<u32>,
}

impl World {
    fn new(base: &[(u32, Fault)], other: &[(u32, Fault)]) -> World {
        let (short, nothing) = (Span(Duration::from_millis(12)), Span(Duration::ZERO));
        let benchmark = Microbenchmark {
            tables: 1,
            rows: Count(1_000),
            clients: vec![1],
            read_time: short,
            write_time: short,
            tests: vec!["point-query".to_string(), "update-index".to_string()],
            fair_writes: true,
            pause: nothing,
            quiesce_after_each_write: false,
            check: true,
        };
        let mut comparison = Comparison::new(Workload::Microbenchmark(benchmark));
        (comparison.rounds, comparison.fewest_rounds) = (ROUNDS, ROUNDS);
        comparison.slice = Span(Duration::from_millis(1));
        comparison.warm_up = Span(Duration::from_micros(100));
        comparison.guards = false;
        let contenders: Vec<Contender> =
            ["base=sqlite", "other=sqlite"].map(|it| it.parse().unwrap()).to_vec();
        let design = Design::Comparison(comparison);
        let plan = Plan { contenders, seed: 1, cache: None, memory: None, design };
        let scripts = [base.to_vec(), other.to_vec()];
        World { folder: TempDir::new().unwrap(), plan, scripts, enough_after: None }
    }

    /// As short as a stored plan may have it.
    fn resumable() -> World {
        let mut world = World::new(&[], &[]);
        let Workload::Microbenchmark(benchmark) = &mut world.comparison().of else {
            unreachable!()
        };
        benchmark.read_time = Span(Duration::from_millis(100));
        benchmark.write_time = benchmark.read_time;
        world
    }

    fn comparison(&mut self) -> &mut Comparison {
        let Design::Comparison(comparison) = &mut self.plan.design else { unreachable!() };
        comparison
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn directory(&self) -> RunDirectory {
        let path = self.path("out");
        match path.exists() {
            true => RunDirectory::resume(&path).unwrap(),
            false => {
                let manifest = Manifest { id: "fake-1".to_string(), ..Manifest::default() };
                RunDirectory::create(&path, self.plan.clone(), manifest).unwrap()
            }
        }
    }

    /// Carries out the plan, or the rest of it, until `stop` returns true for an event.
    fn run_until(&self, stop: impl Fn(&Event) -> bool) -> Ran {
        let home = Home::at(self.path("home")).unwrap();
        let alone = SessionLock::take(&self.path("lock")).unwrap();
        let met = Arc::default();
        let fake = |(contender, script): (&Contender, &Vec<(u32, Fault)>)| {
            Box::new(Fake::new(&home, contender, script, &met)) as Box<dyn Dbms>
        };
        let ready: Vec<_> = self.plan.contenders.iter().zip(&self.scripts).map(fake).collect();
        let (cancel, mut events) = (Cancel::default(), Vec::new());
        let mut watch = |event: Event| {
            if stop(&event) {
                cancel.request();
            }
            events.push(event);
        };
        let judge = |_: &Plan, passes: &[RoundRecord]| {
            let rounds = passes.iter().map(|pass| pass.round).max().unwrap_or(0);
            let is_enough = self.enough_after.is_some_and(|enough| rounds >= enough);
            let settled = match is_enough {
                true => vec!["point-query".to_string(), "update-index".to_string()],
                false => Vec::new(),
            };
            Interim { settled, ..Interim::default() }
        };
        let mut lab = Lab {
            home: &home,
            watch: &mut watch,
            cancel: &cancel,
            keep_data: false,
            restarts: &Restarts::default(),
            judge: &judge,
        };
        let mut directory = self.directory();
        let (outcome, _) =
            run_injected(&alone, &mut lab, &mut directory, &ready, &[None, None]).unwrap();
        assert!(!is_there(&self.path("home/data/fake-1")), "no data are left");
        Ran { outcome, events, passes: directory.rounds().unwrap() }
    }

    fn run(&self) -> Ran {
        self.run_until(|_| false)
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The result.
struct Ran {
    outcome: Outcome,
    events: Vec<Event>,
    passes: Vec<RoundRecord>,
}

impl Ran {
    /// Round and test of the records that count, with the arms that were driven.
    fn counted(&self) -> Vec<(u32, &str, Vec<&str>)> {
        let counted = self.passes.iter().filter(|pass| pass.discarded.is_none());
        let mut counted: Vec<_> = counted
            .map(|pass| {
                let mut driven: Vec<&str> =
                    pass.slices.iter().map(|slice| slice.arm.as_str()).collect();
                driven.sort();
                driven.dedup();
                (pass.round, pass.test.as_str(), driven)
            })
            .collect();
        counted.sort();
        counted
    }

    /// Why a contender failed in a test, by round.
    fn failures(&self, contender: &str, test: &str) -> Vec<(u32, &str)> {
        let passes = self.passes.iter().filter(|pass| pass.test == test);
        let failed = passes.filter_map(|pass| {
            let side = pass.arms.get(contender)?;
            Some((pass.round, side.failure()?))
        });
        failed.collect()
    }
}

/// All rounds of both tests by the same.
fn by(driven: &[&'static str]) -> Vec<(u32, &'static str, Vec<&'static str>)> {
    let tests = ["point-query", "update-index"];
    let of = |round| tests.map(|test| (round, test, driven.to_vec()));
    (1..=ROUNDS).flat_map(of).collect()
}

const ALL: [&str; 3] = ["A/A control", "base", "other"];

#[test]
fn each_round_drives_everybody_in_every_test() {
    let ran = World::new(&[], &[]).run();
    assert_eq!(ran.outcome, Outcome::Complete);
    assert_eq!(ran.counted(), by(&ALL));
}

#[test]
fn who_does_not_start_in_a_round_is_left_out_from_then_on_and_the_others_go_on() {
    // In the second round: its first start in that is for the load.
    let ran = World::new(&[], &[(4, Absent)]).run();
    assert_eq!(ran.outcome, Outcome::Failed);
    let mut expected = by(&["A/A control", "base"]);
    expected.iter_mut().filter(|it| it.0 == 1).for_each(|it| it.2 = ALL.to_vec());
    assert_eq!(ran.counted(), expected);
    let why = "the fake did not start: the script says so";
    assert_eq!(ran.failures("other", "point-query"), [(2, why)]);
    let told = Event::Failed { contender: "other".to_string(), error: why.to_string() };
    assert!(ran.events.contains(&told), "{:?}", ran.events);
}

#[test]
fn a_comparison_without_a_result_of_a_contender_that_does_not_start_has_failed() {
    let why = "the fake did not start: the script says so";
    for (start, measured) in [(2, 0), (4, 1)] {
        let mut world = World::new(&[], &[(start, Absent)]);
        // Then only one server is left.
        world.comparison().control = false;
        let ran = world.run();
        assert_eq!(ran.outcome, Outcome::Failed, "start {start}");
        let expected = &by(&["base", "other"])[..2 * measured];
        assert_eq!(ran.counted(), expected, "what was measured before stays");
        for test in ["point-query", "update-index"] {
            assert_eq!(ran.failures("other", test), [(measured as u32 + 1, why)]);
        }
    }
}

#[test]
fn who_cannot_be_loaded_ends_the_run_with_its_name() {
    let ran = World::new(&[], &[(3, Absent)]).run();
    assert_eq!(ran.outcome, Outcome::Failed);
    assert_eq!(ran.counted(), by(&ALL)[..2], "what was measured before stays");
    let failed = ran.events.iter().find_map(|event| match event {
        Event::Failed { contender, error } => Some((contender.as_str(), error.as_str())),
        _ => None,
    });
    assert_eq!(failed, Some(("round 2", "other: the fake did not start: the script says so")));
}

#[test]
fn loads_are_made_side_by_side_and_servers_are_started_side_by_side() {
    // Of the first round: all three loads, and then all three servers.
    let ran = World::new(
        &[(1, Meets(3)), (2, Meets(3)), (3, Meets(6)), (4, Meets(6))],
        &[(1, Meets(3)), (2, Meets(6))],
    );
    let ran = ran.run();
    assert_eq!((ran.outcome, ran.counted()), (Outcome::Complete, by(&ALL)));
}

#[test]
fn a_load_that_fails_ends_the_others() {
    let ran = World::new(&[(5, Frozen), (6, Frozen)], &[(3, Absent)]).run();
    assert_eq!((ran.outcome, ran.counted()), (Outcome::Failed, by(&ALL)[..2].to_vec()));
    let failed = ran.events.iter().filter_map(|event| match event {
        Event::Failed { contender, error } => Some((contender.as_str(), error.as_str())),
        _ => None,
    });
    let why = "other: the fake did not start: the script says so";
    assert_eq!(failed.collect::<Vec<_>>(), [("round 2", why)]);
}

/// All servers freeze at these starts, which are in the second round. The user stops when the last
/// of them was begun, and resumes the run later.
fn frozen_and_resumed(of_base: [u32; 2], of_other: u32, is_begun: fn(&Event) -> bool) {
    let mut world = World::resumable();
    world.scripts = [of_base.map(|start| (start, Frozen)).to_vec(), vec![(of_other, Frozen)]];
    let begun = Cell::new(0);
    let stopped = world.run_until(|event| {
        begun.set(begun.get() + u32::from(is_begun(event)));
        begun.get() == 6
    });
    assert_eq!(stopped.outcome, Outcome::Interrupted);
    assert_eq!(stopped.counted(), by(&ALL)[..2]);
    world.scripts = [Vec::new(), Vec::new()];
    let resumed = world.run();
    assert_eq!((resumed.outcome, resumed.counted()), (Outcome::Complete, by(&ALL)));
}

#[test]
fn loads_end_when_the_user_stops_and_are_made_again_later() {
    frozen_and_resumed([5, 6], 3, |event| matches!(event, Event::Loading { .. }));
}

#[test]
fn starts_end_when_the_user_stops_and_are_made_again_later() {
    frozen_and_resumed([7, 8], 4, |event| matches!(event, Event::Loaded { .. }));
}

#[test]
fn a_server_that_dies_in_a_test_costs_the_others_that_attempt_only() {
    let ran = World::new(&[], &[(2, Dead)]).run();
    assert_eq!(ran.outcome, Outcome::Failed);
    // It was out of the whole round, and stays out of the test in which it died.
    let mut expected = by(&ALL);
    let is_without = |it: &&mut (u32, &str, Vec<&str>)| it.0 == 1 || it.1 == "point-query";
    expected.iter_mut().filter(is_without).for_each(|it| it.2 = vec!["A/A control", "base"]);
    assert_eq!(ran.counted(), expected);
    let failures = ran.failures("other", "point-query");
    let is_told = |(round, why): &(u32, &str)| *round == 1 && why.contains("no such table");
    assert!(!failures.is_empty() && failures.iter().all(is_told), "{failures:?}");
    let invalid: Vec<_> = ran.passes.iter().filter(|pass| pass.discarded.is_some()).collect();
    assert_eq!(invalid.len(), 1, "it is expelled in the first test of the round");
    assert_eq!(invalid[0].attempt, 1);
}

#[test]
fn a_row_that_is_missing_is_a_failure_and_no_result() {
    let ran = World::new(&[], &[(2, LosesRow)]).run();
    assert_eq!(ran.outcome, Outcome::Failed);
    let of_other = ran.counted().into_iter().filter(|(_, _, driven)| driven.contains(&"other"));
    let of_other: Vec<_> = of_other.map(|(round, test, _)| (round, test)).collect();
    let failed = ran.failures("other", "update-index");
    assert!(failed.iter().any(|(_, why)| why.contains("999")), "999 of 1000 rows: {failed:?}");
    assert!(!of_other.contains(&(1, "update-index")), "{of_other:?}");
}

#[test]
fn without_the_baseline_there_is_nothing_to_compare_with() {
    // Its starts in a round are two loads, its own and that of the A/A control, and then both.
    let ran = World::new(&[(7, Absent), (8, Absent)], &[]).run();
    assert_eq!(ran.outcome, Outcome::Failed);
    assert_eq!(ran.counted(), by(&ALL)[..2]);
}

#[test]
fn what_was_stopped_is_resumed_with_what_it_does_not_have() {
    let world = World::resumable();
    let is_second = |event: &Event| matches!(event, Event::RoundBegun { round: 2, .. });
    let stopped = world.run_until(is_second);
    assert_eq!(stopped.outcome, Outcome::Interrupted);
    assert_eq!(stopped.counted(), by(&ALL)[..2]);
    let resumed = world.run();
    assert_eq!(resumed.outcome, Outcome::Complete);
    assert_eq!(resumed.counted(), by(&ALL), "each round of each test once");
}

#[test]
fn a_test_of_which_enough_is_known_has_no_more_rounds() {
    let mut world = World::new(&[], &[]);
    world.enough_after = Some(2);
    let ran = world.run();
    assert_eq!((ran.outcome, ran.counted()), (Outcome::Complete, by(&ALL)[..4].to_vec()));
}

#[test]
fn no_round_begins_that_the_budget_does_not_allow() {
    let mut world = World::new(&[], &[]);
    world.comparison().budget = Some(Span(Duration::from_nanos(1)));
    let ran = world.run();
    assert_eq!((ran.outcome, ran.counted()), (Outcome::Complete, by(&ALL)[..2].to_vec()));
    assert!(ran.events.iter().any(|event| matches!(event, Event::BudgetSpent { rounds: 1, .. })));
}

#[test]
fn the_same_seed_has_the_same_order_of_slices() {
    // A slow machine ends a pass early, so that only the beginnings are the same.
    let order = |world: World| {
        let passes = world.run().passes.into_iter().filter(|pass| pass.test == "point-query");
        let beginning = |pass: RoundRecord| pass.slices.into_iter().take(18);
        passes.flat_map(beginning).map(|slice| slice.arm).collect::<Vec<_>>()
    };
    let first = order(World::new(&[], &[]));
    assert_eq!(first.len(), 18 * ROUNDS as usize);
    assert_eq!(first, order(World::new(&[], &[])));
    let mut other = World::new(&[], &[]);
    other.plan.seed = 2;
    assert_ne!(first, order(other));
}
