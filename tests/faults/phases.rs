//! rqps killed in each of its phases, one after the other in the same run: what was measured stays,
//! no server stays, and the run ends as one that nobody disturbed.

use crate::common::result::RunResult;
use crate::common::{Rqps, Running, await_that, entries, processes};

/// Kills rqps when it says a text, and checks that nothing of it goes on.
fn kill_when_it_says(rqps: &Rqps, running: Running, text: &str) {
    running.wait_for(text);
    processes::kill(running.pid());
    assert_eq!(running.finish().status.code(), None, "it was killed");
    rqps.await_no_process();
}

/// The steps that are done so far, with what was measured.
fn done(rqps: &Rqps) -> Vec<(String, serde_json::Value)> {
    let report = rqps.run(&format!("report {} --format json", rqps.out().display())).ok();
    let result = RunResult(serde_json::from_str(&report.stdout).unwrap());
    let done = |step: &&str| result.step(step)["status"] == "done";
    let steps = result.steps().into_iter().filter(done);
    steps.map(|step| (step.to_string(), result.step(step).clone())).collect()
}

/// Kills a run in each phase, of which it says the text when it begins, and goes on.
fn killed_in_each(arguments: &str, verb: &str, phases: &[&str], steps: &[&str]) {
    let rqps = Rqps::new();
    let mut running = rqps.start(verb, arguments);
    let mut before = Vec::new();
    for phase in phases {
        kill_when_it_says(&rqps, running, phase);
        if rqps.out().join("results.sqlite").exists() {
            let now = done(&rqps);
            assert!(now.starts_with(&before), "at '{phase}' what was measured is kept");
            before = now;
        }
        running = rqps.start(verb, "--resume");
    }
    running.finish().ok();
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
        "p: starting",
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
    let arguments = "p=postgres@17.6 --rows 2K --writes 1K,100 --rates 100 --query-secs 1 --pause 1 \
                     --only l.i0,l.x,l.i1,l.i2,qr100";
    killed_in_each(arguments, "ibench", &phases, &["l.i0", "l.x", "l.i1", "l.i2", "qr100"]);
}

#[test]
fn microbenchmarks_are_killed_in_each_phase() {
    let phases = ["m: starting", "load (1 of 3)", "update-index (2 of 3)", "point-query (3 of 3)"];
    let arguments = "m=sqlite --rows 100K --secs 1 --pause 0 --tests update-index,point-query";
    killed_in_each(arguments, "micro", &phases, &["load", "update-index", "point-query"]);
}

#[test]
fn a_comparison_is_killed_in_each_phase() {
    let rqps = Rqps::new();
    // A session of its own: other tests of this machine hold the lock of the host meanwhile.
    let arguments = "sqlite other=sqlite?cache_size=1000 --rows 2K --secs 0.2 --rounds 3 --loads 1 \
                     --no-guards --no-twin --workload micro:point-query";
    let mut running = rqps.start("compare", arguments);
    for phase in ["round 1 of", "round 2 of", "round 3 of"] {
        kill_when_it_says(&rqps, running, phase);
        running = rqps.start("compare", "--resume");
    }
    let ended = running.finish();
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
    let running = fetch();
    await_that("it unpacks", || unfinished().is_some());
    processes::kill(running.pid());
    running.finish();
    let named = |name: &String| !name.starts_with('.');
    assert!(!entries(&builds).iter().any(named), "{:?}", entries(&builds));
    fetch().finish().ok();
    assert!(unfinished().is_none(), "what the killed one left is removed");
    assert_eq!(
        entries(&builds).into_iter().filter(named).collect::<Vec<_>>(),
        ["postgres-17.6-npm"]
    );
    assert_eq!(entries(&home.join("archives")), [] as [&str; 0]);
}
