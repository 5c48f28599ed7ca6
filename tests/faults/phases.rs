//! rqps killed in each of its phases, one after the other in the same run: what was measured stays,
//! no server stays, and the run ends as one that nobody disturbed.

use crate::common::result::{Finished, RunResult};
use crate::common::{Rqps, Running, await_that, entries, processes};
use crate::killed::SLOW;

/// Kills a run in each phase, of which it says the text when it begins, and goes on. Phases that are
/// over when the signal arrives are not said again: then the next has its turn.
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
    let report = rqps.run(&format!("report {} --format json", rqps.out().display())).ok();
    let result = RunResult(serde_json::from_str(&report.stdout).unwrap());
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
        }
    });
    ended.ok();
    let result = RunResult::of(&rqps.out());
    assert_eq!(result.steps(), steps);
    result.assert_all_done();
    for (step, value) in &before {
        assert_eq!(result.step(step), value, "what was measured is kept");
    }
    rqps.assert_nothing_is_left();
}

#[test]
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
        "at rest after",
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

#[test]
fn microbenchmarks_are_killed_in_each_phase() {
    let phases = ["m: starting", "load (1 of 3)", "update-index (2 of 3)", "point-query (3 of 3)"];
    let arguments = "m=sqlite --rows 100K --secs 4 --pause 0 --tests update-index,point-query";
    steps_outlive_kills("micro", arguments, &phases, &["load", "update-index", "point-query"]);
}

#[test]
fn a_comparison_is_killed_in_each_phase() {
    let rqps = Rqps::new();
    // A session of its own: other tests of this machine hold the lock of the host meanwhile.
    let arguments = "sqlite other=sqlite?cache_size=1000 --rows 2K --secs 2 --rounds 3 --loads 1 \
                     --no-guards --no-twin --workload micro:point-query";
    let phases = ["round 1 of", "round 2 of", "round 3 of"];
    let ended = killed_in_each(&rqps, "compare", arguments, &phases, |_| ());
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    let text = std::fs::read_to_string(rqps.out().join("result.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rounds = &found["comparison"]["contenders"][0]["tests"][0]["rounds"];
    assert_eq!(rounds.as_array().unwrap().len(), 3, "{rounds}");
    rqps.assert_nothing_is_left();
}

#[test]
fn data_that_a_killed_rqps_had_begun_to_remove_are_removed_later() {
    let rqps = Rqps::new();
    rqps.ibench("sqlite --rows 1K --only l.i0,l.x --keep-data").ok();
    let data = rqps.data(0);
    rqps.resume().ok();
    assert!(data.exists(), "they were to stay");
    // As they are when rqps dies after the last step, and nobody wanted them.
    std::fs::remove_file(data.with_file_name("kept")).unwrap();
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
        let _ = std::fs::remove_dir_all(&home);
        is_killed_in_time()
    });
    assert!(is_killed, "a build that is not complete has its name: {:?}", named());
    fetch().finish().ok();
    assert!(unfinished().is_none(), "what the killed one left is removed");
    assert_eq!(named(), ["postgres-17.6-npm"]);
    assert_eq!(entries(&home.join("archives")), [] as [&str; 0]);
}
