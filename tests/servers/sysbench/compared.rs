//! Scripts in comparisons.

use std::fs;

use serde_json::Value;

use crate::common::result::Finished;
use crate::common::{Rqps, Running, await_that, processes};
use rustix::process::Signal;

fn compare(rqps: &Rqps, words: &str) -> Finished {
    let out = rqps.out().display().to_string();
    let fixed = ["compare", "--out", &out, "--no-control", "--no-guards", "--instructions=none"];
    Running::start(rqps.command(fixed.into_iter().chain(words.split_whitespace()))).finish()
}

fn result(rqps: &Rqps) -> Value {
    serde_json::from_str(&fs::read_to_string(rqps.out().join("result.json")).unwrap()).unwrap()
}

#[test]
fn scripts_of_sysbench_are_tests_and_are_kept_with_the_run() {
    let rqps = Rqps::with_own_locks();
    let contenders = "postgres@17.6 more=postgres@17.6?work_mem=64MB";
    let workload = "--workload lua:oltp_point_select,oltp_update_index --define tables=2 \
                    --rows 1000 --clients 2 --rounds 3 --secs 0.2";
    let ended = compare(&rqps, &format!("{contenders} {workload}"));
    assert!([Some(0), Some(1)].contains(&ended.status.code()), "{}", ended.stderr);
    let result = result(&rqps);
    let tests = result["comparison"]["contenders"][0]["tests"].as_array().unwrap();
    let mut names: Vec<&str> = tests.iter().map(|test| test["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["oltp_point_select", "oltp_update_index"]);
    for test in tests {
        assert!(test["ratio"]["value"].as_f64().is_some_and(|ratio| ratio > 0.0), "{test}");
    }
    let plan = fs::read_to_string(rqps.out().join("plan.toml")).unwrap();
    assert!(plan.contains("oltp_common") && plan.contains("execute_point_selects"), "{plan}");
    rqps.assert_nothing_is_left();
}

#[test]
fn one_ctrl_c_ends_a_comparison_of_a_script_that_never_returns() {
    let rqps = Rqps::new();
    let path = rqps.path("endless.lua");
    fs::write(&path, "print('begun')\nfunction event() while true do end end\n").unwrap();
    let words = format!("compare a=sqlite b=sqlite --workload lua:{}", path.display());
    let mut command = rqps.command(words.split(' '));
    command.arg("--out").arg(rqps.out());
    let running = Running::start(command);
    // It is tried without a server first, and never comes back from that.
    let is_busy = || processes::cpu(running.pid()).is_some_and(|seconds| seconds > 0.5);
    await_that("the script runs", is_busy);
    processes::signal(running.pid(), Signal::INT);
    let ended = running.finish().expect_code(130);
    ended.says(&["a script does not return from Lua"]);
    rqps.assert_nothing_is_left();
}

#[test]
fn a_statement_that_fails_on_one_contender_is_a_finding_of_that() {
    let rqps = Rqps::with_own_locks();
    let path = rqps.path("casts.lua");
    // MySQL has no such cast.
    let script = "function thread_init() con = sysbench.sql.driver():connect() end\n\
                  function event() con:query('select 1::int') end\n";
    fs::write(&path, script).unwrap();
    let workload = format!("--workload lua:{} --rounds 3 --secs 0.1", path.display());
    let ended = compare(&rqps, &format!("postgres@17.6 mysql@8.0.33 {workload}"));
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains("casts.lua:2: SQL error"), "{said}");
    assert!(said.contains("mysql@8.0.33"), "{said}");
    rqps.assert_no_server_is_left();
}
