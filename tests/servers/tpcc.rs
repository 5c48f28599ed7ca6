//! The workload derived from TPC-C as people run it: once by every DBMS, killed and resumed, and
//! compared.

use std::fs;

use crate::common::result::RunResult;
use crate::common::{Rqps, Running, processes};
use rustix::process::Signal;
use serde_json::Value;

fn result(rqps: &Rqps) -> Value {
    serde_json::from_str(&fs::read_to_string(rqps.out().join("result.json")).unwrap()).unwrap()
}

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn every_dbms_runs_it_once_and_is_checked() {
    let rqps = Rqps::new();
    let contenders = "postgres@17.6 mysql@8.0.33 mariadb@11.4.5 sqlite";
    let ended = rqps.start("tpcc", &format!("{contenders} --secs 2 --clients 2")).finish().ok();
    let done = RunResult::of(&rqps.out());
    assert_eq!(done.steps(), ["load", "tpcc"]);
    for name in ["postgres@17.6", "mysql@8.0.33", "mariadb@11.4.5", "sqlite"] {
        let of_it = |line: &&str| line.contains(&format!("{name}: ")) && line.contains("NOPM");
        let line = ended.stdout.lines().find(of_it);
        assert!(line.is_some_and(|line| line.contains(" tpm, ")), "{name}: {}", ended.stdout);
    }
    assert!(ended.stdout.contains("not a TPC result"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("tpmC"), "{}", ended.stdout);
    rqps.assert_nothing_is_left();
}

/// Runs it, kills the client with signal 9 in the middle of the transactions, and resumes: all
/// consistency conditions hold then, as after the load.
fn kill_and_resume(contender: &str, arguments: &str) {
    let rqps = Rqps::new();
    let running = rqps.start("tpcc", &format!("{contender} {arguments}"));
    running.wait_for("tpcc (2 of 2)");
    // In the warm-up or after it: transactions are at work all the time.
    std::thread::sleep(std::time::Duration::from_secs(2));
    processes::signal(running.pid(), Signal::KILL);
    running.finish();
    rqps.await_no_process();
    // What was committed before stays, and the rest of the check is about what follows.
    rqps.start("tpcc", "--resume").finish().ok();
    let after = RunResult::of(&rqps.out());
    assert_eq!(after.steps(), ["load", "tpcc"], "{contender}");
    let attempts = ["load", "tpcc"].map(|step| &after.step(step)["attempt"]);
    assert_eq!(attempts, [&Value::from(1), &Value::from(2)], "{contender}");
    rqps.assert_nothing_is_left();
}

#[test]
fn a_killed_client_leaves_tables_that_are_consistent() {
    kill_and_resume("postgres@17.6", "--secs 5 --clients 4");
}

#[test]
#[ignore = "nightly: takes minutes"]
fn ten_warehouses_are_consistent_after_a_kill_on_three_dbmss() {
    for contender in ["postgres@17.6", "mysql@8.0.33", "mariadb@11.4.5"] {
        kill_and_resume(contender, "--secs 30 --clients 10 --warehouses 10");
    }
}

#[test]
#[ignore = "nightly: takes a minute or more"]
fn two_releases_get_a_verdict_by_decks() {
    let rqps = Rqps::with_own_locks();
    let out = rqps.out().display().to_string();
    let fixed = ["compare", "--out", &out, "--workload", "tpcc:1", "--no-guards"];
    let arguments = "postgres@16.10 postgres@18.0 --rounds 3 --secs 1 --instructions=none";
    let words = fixed.into_iter().chain(arguments.split_whitespace());
    let ended = Running::start(rqps.command(words)).finish();
    assert!([Some(0), Some(1)].contains(&ended.status.code()), "{}", ended.stderr);
    let result = result(&rqps);
    let test = &result["comparison"]["contenders"][0]["tests"][0];
    assert_eq!((&test["name"], &test["unit"]), (&"tpcc".into(), &"transactions per second".into()));
    assert!(test["ratio"]["value"].as_f64().is_some_and(|ratio| ratio > 0.2), "{test}");
    let rounds = test["rounds"].as_array().map(Vec::len);
    assert!(rounds.is_none_or(|rounds| rounds == 3), "{test}");
    assert!(ended.stdout.contains(" NOPM"), "{}", ended.stdout);
    rqps.assert_nothing_is_left();
}

#[test]
fn keys_are_for_this_workload_and_for_those_that_have_them() {
    let rqps = Rqps::new();
    let refused = |arguments: &str| {
        rqps.run(&format!("compare {arguments} --out {}", rqps.out().display()))
            .expect_code(2)
            .stderr
    };
    let two = "sqlite more=sqlite?mmap_size=256M";
    let error = refused(&format!("{two} --workload micro:scan --foreign-keys"));
    assert!(error.contains("--foreign-keys and --think need --workload tpcc:1"), "{error}");
    let error = refused(&format!("{two} --workload tpcc:1 --foreign-keys"));
    assert!(error.contains("Drop --foreign-keys"), "{error}");
    let error = refused(&format!("{two} --workload tpcc:all"));
    assert!(error.contains("'all' is not a number of warehouses"), "{error}");
    let error = refused(&format!("{two} --workload tpcc:1 --rows 5K"));
    assert!(error.contains("Drop --rows"), "{error}");
}

#[test]
#[ignore = "nightly: clients think for most of a minute"]
fn clients_that_think_make_a_transaction_each_20_seconds() {
    let rqps = Rqps::new();
    let ended = rqps.start("tpcc", "postgres@17.6 --secs 40 --clients 20 --think").finish().ok();
    let told = ended.stdout.replace('\n', " ");
    assert!(told.contains("20 clients, keying and think times"), "{told}");
    // One per second is expected of all.
    let rate = RunResult::of(&rqps.out()).step("tpcc")["throughput"].as_f64().unwrap();
    assert!((0.4..2.0).contains(&rate), "{rate} transactions per second");
    rqps.assert_nothing_is_left();
}

#[test]
fn thinking_is_for_whole_runs_of_this_workload() {
    let rqps = Rqps::new();
    let compare = |arguments: &str| rqps.run(&format!("compare sqlite again=sqlite {arguments}"));
    compare("--workload tpcc:1 --think --method slices")
        .refuses(2, &["rest for longer than a slice", "--method runs"]);
    compare("--workload micro:point-query --think").refuses(2, &["--think", "tpcc:1"]);
    compare("--workload tpcc:1 --think --rate 10").expect_code(2);
}

#[test]
fn its_statements_are_shown_for_a_dbms() {
    let rqps = Rqps::new();
    let shown = |dbms: &str| rqps.run(&format!("tpcc show {dbms}")).ok().stdout;
    let postgres = shown("postgres");
    assert!(
        postgres.starts_with("-- new-order\nBEGIN;\nselect w_tax from warehouse"),
        "{postgres}"
    );
    assert!(postgres.contains("for update"), "{postgres}");
    assert!(!shown("sqlite").contains("for update"));
    rqps.run("tpcc show oracle").expect_code(2);
}
