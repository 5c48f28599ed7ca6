//! Response times at a rate: a longer tail is found, a rate that is too high is told, and times are
//! those of pgbench.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::result::Finished;
use crate::common::{Rqps, Running};
use crate::pgbench::{Logged, pgbench};

/// One in so many statements sleeps for as large a part of this time as a setting says that changes
/// nothing else.
fn script(path: &Path, one_in: u32, most_ms: u32) {
    let sleeps = format!("current_setting('geqo_seed')::float * {most_ms} / 1000");
    let text =
        format!("select pg_sleep(case when random() < 1.0 / {one_in} then {sleeps} else 0 end);\n");
    fs::write(path, text).unwrap();
}

fn compare(rqps: &Rqps, arguments: &str) -> Finished {
    let out = rqps.out().display().to_string();
    let fixed = ["compare", "--out", &out, "--no-control", "--no-guards"];
    Running::start(rqps.command(fixed.into_iter().chain(arguments.split_whitespace()))).finish()
}

/// The first test of the first contender.
fn test(rqps: &Rqps) -> Value {
    let text = fs::read_to_string(rqps.out().join("result.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    result["comparison"]["contenders"][0]["tests"][0].clone()
}

/// Twice as long in one of ten statements: a verdict on p95 needs 2,000 of them in each round. On a
/// busy machine the client is late, and there is no verdict.
#[test]
#[ignore = "nightly: needs the machine for itself, for a while"]
fn a_longer_tail_is_a_regression_of_the_tail() {
    let rqps = Rqps::alone();
    let file = rqps.path("sleeps.sql");
    script(&file, 10, 10);
    let contenders = "old=postgres@17.6?geqo_seed=0.2 slow=postgres@17.6?geqo_seed=0.4";
    let workload = format!("--workload pgbench:{} --clients 4", file.display());
    // Ranks of fewer rounds are never significant in two percentiles.
    let at = "--rate 1400 --secs 1.6 --rounds 5 --fail-on latency";
    let ended = compare(&rqps, &format!("{contenders} {workload} {at}")).expect_code(1);
    let found = test(&rqps);
    assert_eq!(found["clock"], "response");
    let p95 = &found["times"]["p95"];
    assert_eq!(p95["label"], "regression", "{found}");
    let ratio = p95["ratio"]["value"].as_f64().unwrap();
    assert!((1.3..2.6).contains(&ratio), "2 ms became 4 ms, and both wait: {p95}");
    let rate = found["rate"].as_f64().unwrap();
    assert!((rate / 1_400.0 - 1.0).abs() < 0.01, "both keep the rate: {found}");
    assert!(found["times"]["p99"]["label"].is_null(), "{found}");
    for words in ["Response times of slow", "p99 needs 10000 operations", "p95 +"] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    let table = fs::read_to_string(rqps.out().join("latency.csv")).unwrap();
    assert!(table.lines().any(|row| row.contains(",p95,") && row.contains(",regression,")));
    rqps.assert_nothing_is_left();
}

#[test]
fn a_rate_that_cannot_be_reached_is_told_with_the_rate_that_was() {
    let rqps = Rqps::with_own_locks();
    let contenders = "sqlite again=sqlite --workload micro:point-query --rows 1K";
    let ended = compare(&rqps, &format!("{contenders} --rate 9000000 --secs 0.3 --rounds 3"));
    assert!([Some(0), Some(1)].contains(&ended.status.code()), "{}", ended.stderr);
    let found = test(&rqps);
    let why = found["times"]["p50"]["verdict"].as_str().unwrap();
    assert!(why.contains("does not sustain 9000000 operations per second: it reached"), "{why}");
    assert!(found["times"]["p50"]["label"].is_null(), "{found}");
    assert!(ended.stdout.contains("does not sustain 9000000"), "{}", ended.stdout);
    rqps.assert_nothing_is_left();
}

/// A statement takes a fifth longer, and so does the client that waits for it.
#[test]
#[ignore = "nightly: needs the machine for itself, for a while"]
fn the_largest_rate_that_keeps_a_level_is_found_for_each_contender() {
    let rqps = Rqps::alone();
    let file = rqps.path("sleeps.sql");
    script(&file, 1, 10);
    let contenders = "old=postgres@17.6?geqo_seed=0.2 slow=postgres@17.6?geqo_seed=0.3";
    let workload = format!("--workload pgbench:{}", file.display());
    let at = "--slo p50=9ms --secs 0.7 --rounds 5";
    let ended = compare(&rqps, &format!("{contenders} {workload} {at}")).expect_code(1);
    let found = test(&rqps);
    let [old, slow] = ["baseline_rate", "rate"].map(|key| found[key].as_f64().unwrap());
    // Of 500 and of 333 per second at most, less what waiting in a queue takes.
    assert!((200.0..500.0).contains(&old) && (100.0..333.0).contains(&slow), "{found}");
    assert_eq!(found["label"], "regression", "{found}");
    assert!(found["times"]["p50"]["label"].is_null(), "{found}");
    let words = "Largest rates that keep p50=9ms";
    assert!(ended.stdout.contains(words), "{}", ended.stdout);
    rqps.assert_nothing_is_left();
}

#[test]
#[ignore = "nightly: takes minutes"]
fn contenders_search_for_their_largest_rates_in_turn() {
    let rqps = Rqps::with_own_locks();
    let contenders = "sqlite again=sqlite --workload micro:point-query --rows 1K";
    let few = compare(&rqps, &format!("{contenders} --slo p50<50ms --secs 0.1 --rounds 4"));
    few.refuses(2, &["rounds", "5"]);
    let ended = compare(&rqps, &format!("{contenders} --slo p50<50ms --secs 0.1 --rounds 5"));
    assert!([Some(0), Some(1)].contains(&ended.status.code()), "{}", ended.stderr);
    let found = test(&rqps);
    for key in ["baseline_rate", "rate"] {
        assert!(found[key].as_f64().is_some_and(|rate| rate > 100.0), "{key}: {found}");
    }
    let words = "Largest rates that keep p50=50ms";
    assert!(ended.stdout.contains(words), "{}", ended.stdout);
    rqps.assert_nothing_is_left();
}

#[test]
fn slices_have_times_of_every_contender() {
    let rqps = Rqps::with_own_locks();
    let contenders = "sqlite again=sqlite --workload micro:point-query --rows 1K";
    compare(&rqps, &format!("{contenders} --secs 0.3 --rounds 3"));
    let found = test(&rqps);
    assert_eq!((&found["method"], &found["clock"]), (&"slices".into(), &"service".into()));
    let times = &found["times"];
    for name in ["p50", "p95", "p99"] {
        for side in ["baseline_ns", "contender_ns"] {
            let nanos = times[name][side].as_f64().unwrap();
            assert!((100.0..10e6).contains(&nanos), "{name}: {times}");
        }
    }
    assert!(times["p50"]["label"].is_string() && times["p99"]["label"].is_null(), "{times}");
    rqps.assert_nothing_is_left();
}

/// Of as many microseconds, those that this share of them do not exceed.
fn within(micros: &[u64], share: f64) -> f64 {
    micros[(micros.len() as f64 * share) as usize] as f64
}

#[test]
#[ignore = "nightly: takes minutes"]
fn times_at_a_rate_are_those_of_pgbench() {
    let at = ["-R", "500", "-c", "4", "-j", "4", "-n"];
    let mut theirs: Vec<u64> = {
        let server = Logged::start();
        server.run("alter system set geqo_seed = 0.5");
        // The servers that rqps is timed on log none either.
        server.run("alter system set log_statement = 'none'");
        server.run("select pg_reload_conf()");
        let file = server.rqps.path("sleeps.sql");
        script(&file, 50, 10);
        let log = server.rqps.path("transactions");
        let (folder, port) = server.socket();
        let ended = Command::new(pgbench())
            .args(at)
            .args(["-T", "22", "-l", "--log-prefix"])
            .arg(&log)
            .arg("-f")
            .arg(&file)
            .args(["-h", &folder, "-p", &port, "-U", &server.login.user, &server.login.database])
            .output()
            .unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        let files = fs::read_dir(log.parent().unwrap()).unwrap().flatten();
        let logs = files.filter(|it| it.file_name().to_string_lossy().starts_with("transactions"));
        let text: String = logs.map(|log| fs::read_to_string(log.path()).unwrap()).collect();
        // Client, number, time from when it was due, …
        text.lines().map(|line| line.split(' ').nth(2).unwrap().parse().unwrap()).collect()
    };
    assert!(theirs.len() > 10_000, "{}", theirs.len());
    theirs.sort_unstable();
    let rqps = Rqps::alone();
    let file = rqps.path("sleeps.sql");
    script(&file, 50, 10);
    let contenders = "old=postgres@17.6?geqo_seed=0.5 same=postgres@17.6?geqo_seed=0.5";
    let workload = format!("--workload pgbench:{} --clients 4", file.display());
    compare(&rqps, &format!("{contenders} {workload} --rate 500 --secs 22 --rounds 3")).ok();
    let times = test(&rqps)["times"].clone();
    // One in fifty sleeps for 5 ms, and little else takes long. The usual time is that of a
    // wake-up.
    for (name, share, most) in [("p50", 0.50, 2.0), ("p99", 0.99, 1.15)] {
        let (ours, theirs) =
            (times[name]["baseline_ns"].as_f64().unwrap() / 1e3, within(&theirs, share));
        let ratio = (ours / theirs).max(theirs / ours);
        assert!(ratio < most, "{name}: {ours:.0} us, and {theirs:.0} us by pgbench");
    }
    assert!(times["p99"]["label"] == "no_change", "{times}");
}

/// In five minutes: 6 rounds of 9 s for each of baseline, control and contender. `pg_sleep` waits
/// in whole milliseconds, rounded up: one in fifty takes 11 ms (10.7) and not 10 (9.7).
#[test]
#[ignore = "nightly: takes minutes"]
fn ten_percent_of_a_p99_are_found_in_five_minutes() {
    let rqps = Rqps::alone();
    let file = rqps.path("sleeps.sql");
    script(&file, 50, 20);
    let contenders = "old=postgres@17.6?geqo_seed=0.485 slow=postgres@17.6?geqo_seed=0.535";
    let out = rqps.out().display().to_string();
    let fixed = format!(
        "compare --out {out} {contenders} --workload pgbench:{} --clients 4 --rate 1200 --secs 9 \
         --rounds 6",
        file.display()
    );
    let began = std::time::Instant::now();
    Running::start(rqps.command(fixed.split_whitespace())).finish();
    let text = fs::read_to_string(rqps.out().join("result.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    let slow = result["comparison"]["contenders"][0]["tests"][0]["times"]["p99"].clone();
    println!("after {:?}: {slow}", began.elapsed());
    assert!(slow["ratio"]["low"].as_f64().unwrap() > 1.0, "{slow}");
    // Most often a small one: the margin of percentiles is ten percent.
    assert!(slow["label"].as_str().unwrap().ends_with("regression"), "{slow}");
    assert!(began.elapsed() < std::time::Duration::from_secs(300));
}
