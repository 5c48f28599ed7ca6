//! pgbench's scripts in comparisons, and with builds of rqps's own.

use std::fs;

use serde_json::Value;

use crate::common::{Rqps, Running};

fn result(rqps: &Rqps) -> Value {
    serde_json::from_str(&fs::read_to_string(rqps.out().join("result.json")).unwrap()).unwrap()
}

fn compare(rqps: &Rqps, arguments: &str) -> crate::common::result::Finished {
    let out = rqps.out().display().to_string();
    let fixed = ["compare", "--out", &out, "--no-control", "--no-guards"];
    Running::start(rqps.command(fixed.into_iter().chain(arguments.split_whitespace()))).finish()
}

/// The names of the tests of each contender, all of which were measured.
fn tests(result: &Value) -> Vec<Vec<String>> {
    let contenders = result["comparison"]["contenders"].as_array().unwrap();
    let names = |contender: &Value| {
        let tests = contender["tests"].as_array().unwrap();
        for test in tests {
            assert!(test["ratio"]["value"].as_f64().is_some_and(|ratio| ratio > 0.0), "{test}");
        }
        tests.iter().map(|test| test["name"].as_str().unwrap().to_string()).collect()
    };
    contenders.iter().map(names).collect()
}

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn every_dbms_runs_the_builtin_scripts() {
    let rqps = Rqps::with_own_locks();
    let contenders = "postgres@17.6 mysql@8.0.33 mariadb@11.4.5 sqlite";
    let workload = "--workload pgbench:tpcb-like,se --query-mode prepared --rounds 3 --secs 0.1";
    let ended = compare(&rqps, &format!("{contenders} {workload}"));
    assert!([Some(0), Some(1)].contains(&ended.status.code()), "{}", ended.stderr);
    for mut names in tests(&result(&rqps)) {
        names.sort_unstable();
        assert_eq!(names, ["mix", "select-only", "tpcb-like"]);
    }
    rqps.assert_nothing_is_left();
}

#[test]
fn a_script_of_a_file_is_a_test_of_its_name_and_is_kept_with_the_run() {
    let rqps = Rqps::with_own_locks();
    let file = rqps.path("mine.sql");
    fs::write(
        &file,
        "\\set aid random(1, 100000)\nselect 1 as one \\gset\nselect abalance + :one \
                      from pgbench_accounts where aid = :aid;\n",
    )
    .unwrap();
    let workload = format!("--workload pgbench:{} --rounds 3 --secs 0.2", file.display());
    let contenders = "postgres@17.6 more=postgres@17.6?work_mem=64MB";
    let ended = compare(&rqps, &format!("{contenders} {workload} --clients 2"));
    assert!([Some(0), Some(1)].contains(&ended.status.code()), "{}", ended.stderr);
    assert_eq!(tests(&result(&rqps)), [["mine"]]);
    let plan = fs::read_to_string(rqps.out().join("plan.toml")).unwrap();
    assert!(plan.contains("\\gset"), "{plan}");
    rqps.assert_nothing_is_left();
}

#[test]
fn a_build_gets_tables_of_its_own_and_a_report_like_pgbench() {
    let rqps = Rqps::new();
    let words = "pgbench -S -N -c 2 -t 20 -r -M prepared postgres@17.6";
    let ended = rqps.run(words);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    for part in [
        "transaction type: multiple scripts\n",
        "number of transactions actually processed: 40/40\n",
        "SQL script 1: <builtin: select only>\n",
        "SQL script 2: <builtin: simple update>\n",
        " \\set aid random(1, 100000 * :scale)\n",
        "tps = ",
    ] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    sums_up(&rqps);
    rqps.assert_nothing_is_left();
    let ended = rqps.run("pgbench -t 20 sqlite");
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("actually processed: 20/20\n"), "{}", ended.stdout);
}

/// The latencies of commands add up to that of the transaction.
fn sums_up(rqps: &Rqps) {
    let ended = rqps.run("pgbench -b tpcb -t 2000 -r -M prepared postgres@17.6");
    let latency = ended.stdout.lines().find_map(|line| line.strip_prefix("latency average = "));
    let latency: f64 = latency.unwrap().trim_end_matches(" ms").parse().unwrap();
    let commands = ended.stdout.split_once("statement latencies").unwrap().1.lines().skip(1);
    let sum: f64 =
        commands.filter_map(|line| line.split_whitespace().next()?.parse::<f64>().ok()).sum();
    assert!((sum / latency - 1.0).abs() < 0.02, "{sum} of {latency}: {}", ended.stdout);
}
