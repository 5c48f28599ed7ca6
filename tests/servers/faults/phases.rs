//! rqps killed in each of its phases, one after the other in the same run: what was measured stays,
//! no server stays, and the run ends as one that nobody disturbed.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;

use rusqlite::{Connection, OpenFlags};

use super::killed::SLOW;
use crate::common::result::{Finished, RunResult};
use crate::common::{Rqps, Running, await_that, entries, lock, processes};

/// One comparison or selftest measures on a machine at a time, so their tests take turns.
static SESSION: Mutex<()> = Mutex::new(());

/// Kills a run in each phase, of which it says the text when it begins, and goes on. Phases that
/// are over when the signal arrives are not said again: then the next has its turn.
fn killed_in_each(
    rqps: &Rqps,
    verb: &str,
    arguments: &str,
    phases: &[&str],
    mut look: impl FnMut(&str),
) -> Finished {
    let mut running = rqps.start(verb, arguments);
    let (mut left, mut killed) = (phases, 0);
    let ended = loop {
        let said = running.wait_for_one_of(left);
        if said.is_some() {
            processes::kill(running.pid());
        }
        let ended = running.finish();
        let Some(place) = said.filter(|_| ended.status.code().is_none()) else { break ended };
        rqps.await_no_process();
        look(left[place]);
        killed += 1;
        left = &left[place + 1..];
        running = rqps.start(verb, "--resume");
    };
    assert!(killed * 2 > phases.len(), "killed in {killed} of {phases:?}:\n{}", ended.stderr);
    ended
}

/// The steps that are done so far, with what was measured.
fn done(rqps: &Rqps) -> Vec<(String, serde_json::Value)> {
    let result = rqps.so_far();
    let done = |step: &&str| result.step(step)["status"] == "done";
    let steps = result.steps().into_iter().filter(done);
    steps.map(|step| (step.to_string(), result.step(step).clone())).collect()
}

/// Kills a run of steps in each phase: what was measured stays, and in the end all is done.
fn steps_outlive_kills(verb: &str, arguments: &str, phases: &[&str], steps: &[&str]) {
    let rqps = Rqps::new();
    let mut before = Vec::new();
    let ended = killed_in_each(&rqps, verb, arguments, phases, |phase| {
        if rqps.out().join("results.sqlite").exists() {
            let now = done(&rqps);
            assert!(now.starts_with(&before), "at '{phase}' what was measured is kept");
            before = now;
            fs::write(rqps.out().join("notes"), phase).unwrap();
        }
    });
    ended.ok();
    assert!(rqps.out().join("notes").exists(), "what somebody else put into the run stays");
    let result = RunResult::of(&rqps.out());
    assert_eq!(result.steps(), steps);
    result.assert_all_done();
    for (step, value) in &before {
        assert_eq!(result.step(step), value, "what was measured is kept");
    }
    rqps.assert_nothing_is_left();
}

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn the_insert_benchmark_is_killed_in_each_phase() {
    let phases = [
        "slow: starting",
        "l.i0 (1 of 5)",
        "checking l.i0",
        "l.x (2 of 5)",
        "l.i1 (3 of 5)",
        "checking l.i1",
        "l.i2 (4 of 5)",
        "maintenance and a pause",
        "quiesced after",
        "qr100 (5 of 5)",
        "checking qr100",
    ];
    let steps = ["l.i0", "l.x", "l.i1", "l.i2", "qr100"];
    let arguments = format!(
        "{SLOW} --rows 2K --writes 1K,100 --rates 100 --query-secs 4 --pause 1 --only {}",
        steps.join(",")
    );
    steps_outlive_kills("ibench", &arguments, &phases, &steps);
}

/// A run of the microbenchmarks.
struct Suite {
    verb: &'static str,
    who: &'static str,
    phases: &'static [&'static str],
    steps: &'static [&'static str],
}

const SUITES: [Suite; 2] = [
    Suite {
        verb: "micro",
        who: "m=sqlite",
        phases: &["m: starting", "load (1 of 3)", "update-index (2 of 3)", "point-query (3 of 3)"],
        steps: &["load", "update-index", "point-query"],
    },
    Suite {
        verb: "scaleup",
        who: "s=sqlite --clients 1,2",
        phases: &[
            "s: starting",
            "load (1 of 5)",
            "update-index@1 (2 of 5)",
            "update-index@2 (3 of 5)",
            "point-query@1 (4 of 5)",
            "point-query@2 (5 of 5)",
        ],
        steps: &["load", "update-index@1", "update-index@2", "point-query@1", "point-query@2"],
    },
];

#[test]
#[ignore = "nightly: another workload in the same way"]
fn microbenchmarks_are_killed_in_each_phase() {
    for Suite { verb, who, phases, steps } in SUITES {
        let arguments =
            format!("{who} --rows 100K --secs 2 --pause 0 --tests update-index,point-query");
        steps_outlive_kills(verb, &arguments, phases, steps);
    }
}

/// Comparisons: arguments, phases, and the rounds that they come to.
const COMPARISONS: [(&str, &[&str], usize); 2] = [
    // Every round loads its own data; after a kill the first of them is told again.
    (
        "sqlite other=sqlite?cache_size=1000 --rows 20K --secs 0.5 --workload micro:point-query",
        &["round 1 of", ": loading", "round 2 of", "round 3 of"],
        3,
    ),
    // What waits for the disk at each commit looks different, so there are fresh rounds.
    (
        "slow=sqlite?journal_mode=delete&synchronous=full sqlite --rows 2K --secs 0.2 --confirm=3 \
         --workload micro:update-index",
        &["round 4 of", "round 5 of", "round 6 of"],
        6,
    ),
];

#[test]
fn comparisons_are_killed_in_each_phase() {
    let _session = lock(&SESSION);
    for (arguments, phases, rounds) in COMPARISONS {
        let rqps = Rqps::with_own_locks();
        let arguments = format!("{arguments} --rounds 3 --no-guards --no-control");
        let ended = killed_in_each(&rqps, "compare", &arguments, phases, |_| ());
        assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
        let text = fs::read_to_string(rqps.out().join("result.json")).unwrap();
        let found: serde_json::Value = serde_json::from_str(&text).unwrap();
        let made = &found["comparison"]["contenders"][0]["tests"][0]["rounds"];
        assert_eq!(made.as_array().unwrap().len(), rounds, "{made}");
        rqps.assert_nothing_is_left();
    }
}

/// Nanoseconds of the whole runs that are kept of the first round, by contender.
fn kept_runs(rqps: &Rqps) -> BTreeMap<String, i64> {
    let file = rqps.out().join("results.sqlite");
    let sql = "select arm, nanos from slice s join round r on r.id = s.round where r.round = 1";
    let read = || -> rusqlite::Result<BTreeMap<String, i64>> {
        let results = Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut select = results.prepare(sql)?;
        select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    // There may be no file yet.
    read().unwrap_or_default()
}

/// A whole run may take hours: it is kept when it is done, and not only when its round is.
#[test]
#[ignore = "nightly: takes a minute or more"]
fn whole_runs_that_are_done_outlive_a_kill_in_their_round() {
    let _session = lock(&SESSION);
    let rqps = Rqps::with_own_locks();
    let arguments = "sqlite other=sqlite?cache_size=1000 third=sqlite?cache_size=1001 --method runs \
                     --workload micro:point-query --rows 2K --secs 1 --rounds 3 --loads 1 \
                     --no-guards --no-control";
    let running = rqps.start("compare", arguments);
    await_that("a run is kept", || !kept_runs(&rqps).is_empty());
    processes::kill(running.pid());
    running.finish();
    let before = kept_runs(&rqps);
    assert!(before.len() < 3, "the round is not done: {before:?}");
    let ended = rqps.start("compare", "--resume").finish();
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    let after = kept_runs(&rqps);
    assert_eq!(after.len(), 3);
    assert!(before.iter().all(|(name, nanos)| after[name] == *nanos), "{before:?} {after:?}");
    rqps.assert_nothing_is_left();
}

/// Needs perf, as the test of profiles does.
#[test]
#[ignore = "nightly: takes a minute or more"]
fn a_comparison_is_killed_while_a_server_is_profiled() {
    let _session = lock(&SESSION);
    let rqps = Rqps::with_own_locks();
    let arguments = "postgres@17.6 again=postgres@17.6 --workload micro:point-query --rows 2K \
                     --secs 0.2 --rounds 3 --loads 1 --no-guards --no-control --profile=point-query";
    let running = rqps.start("compare", arguments);
    running.wait_for("profiles: round 2 of 4");
    let pid = running.pid();
    let is_at_work = || !processes::children(pid, "perf").is_empty();
    await_that("perf is at work", || is_at_work() || !processes::is_alive(pid));
    processes::kill(pid);
    let ended = running.finish();
    assert_eq!(ended.status.code(), None, "it was killed:\n{}", ended.stderr);
    rqps.await_no_process();
    let ended = rqps.start("compare", "--resume").finish();
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    let begun_again = ended.stderr.contains("round 1 of");
    assert!(!begun_again, "rounds and profiles that are made are kept:\n{}", ended.stderr);
    assert_eq!(entries(&rqps.out().join("profiles")).len(), 8, "each of two, four times");
    rqps.assert_nothing_is_left();
}

#[test]
#[ignore = "nightly: takes a minute or more"]
fn a_selftest_is_killed_in_each_phase_and_another_is_made_elsewhere() {
    let _session = lock(&SESSION);
    let rqps = Rqps::with_own_locks();
    let start = |out: &str| {
        let mut command = rqps.command(["selftest", "--quick", "--dbms", "sqlite", "--out", out]);
        command.args(["--rows", "2K", "--secs", "0.1", "--rounds", "3", "--controls", "2"]);
        command.arg("--no-guards");
        Running::start(command)
    };
    for (out, phase) in
        [("first", "synthetic rounds come first"), ("second", ": loading"), ("third", "(3 of 3)")]
    {
        let running = start(out);
        running.wait_for(phase);
        processes::kill(running.pid());
        let ended = running.finish();
        assert_eq!(ended.status.code(), None, "killed at '{phase}':\n{}", ended.stderr);
        rqps.await_no_process();
        assert!(!rqps.home().join("selftest.json").exists(), "half a selftest says nothing");
    }
    // Nobody goes on with it.
    start("third").finish().expect_code(2).says(&["is not empty", "another --out"]);
    let resumed = rqps.run("compare --resume --out third/sqlite-equals-by-slices");
    resumed.refuses(2, &["part of a selftest", "Start another selftest"]);
    let ended = start("fourth").finish();
    assert!([Some(0), Some(5)].contains(&ended.status.code()), "{}", ended.stderr);
    assert!(rqps.work().join("fourth/selftest.json").exists());
    let left = entries(&rqps.home().join("data"));
    assert!(!left.is_empty(), "the killed ones left data");
    rqps.run("dbms prune").ok().says(&["removed ", &left[0]]);
    rqps.assert_nothing_is_left();
}

#[test]
fn data_that_a_killed_rqps_had_begun_to_make_or_to_remove_are_removed_later() {
    let rqps = Rqps::new();
    rqps.ibench("sqlite --rows 1K --only l.i0,l.x --keep-data").ok();
    let data = rqps.data(0);
    rqps.resume().ok();
    assert!(data.exists(), "they were to stay");
    // As they are when rqps dies after the last step, and nobody wanted them.
    fs::remove_file(data.with_file_name("kept")).unwrap();
    // And when it died before while a data directory was made.
    fs::create_dir_all(data.with_file_name(".rqps-a1B2c3").join("data/base")).unwrap();
    rqps.resume().ok();
    rqps.assert_nothing_is_left();
}

#[test]
fn a_fetch_is_killed_while_it_unpacks() {
    let rqps = Rqps::new();
    let home = rqps.path("empty");
    let fetch = || {
        let mut command = rqps.command(["dbms", "fetch", "postgres@17.6"]);
        command.env("RQPS_HOME", &home);
        Running::start(command)
    };
    let builds = home.join("builds");
    let unfinished = || {
        let folders = entries(&builds).into_iter().filter(|name| name.starts_with(".tmp-"));
        folders.map(|name| builds.join(name)).find(|folder| !entries(folder).is_empty())
    };
    let named = || {
        let names = entries(&builds).into_iter().filter(|name| !name.starts_with('.'));
        names.collect::<Vec<_>>()
    };
    let is_killed_in_time = || {
        let running = fetch();
        await_that("it unpacks", || unfinished().is_some() || !named().is_empty());
        processes::kill(running.pid());
        running.finish();
        named().is_empty()
    };
    // A build that is complete when the signal arrives is fetched anew.
    let is_killed = (0..5).any(|_| {
        let _ = fs::remove_dir_all(&home);
        is_killed_in_time()
    });
    assert!(is_killed, "a build that is not complete has its name: {:?}", named());
    fetch().finish().ok();
    assert!(unfinished().is_none(), "what the killed one left is removed");
    assert_eq!(named(), ["postgres-17.6-npm"]);
    assert_eq!(entries(&home.join("archives")), [] as [&str; 0]);
}
