//! Instructions of real servers, under valgrind.

use std::process::Stdio;

use crate::common::result::RunResult;
use crate::common::{Rqps, Running};

/// The counts of a comparison by instructions alone, by test.
fn counts(rqps: &Rqps, contenders: &str, tests: &str) -> Vec<serde_json::Value> {
    let arguments = format!("{contenders} --workload micro:{tests} --rows 2K --instructions-only");
    let ended = rqps.start("compare", &arguments).finish();
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    let found = &RunResult::of(&rqps.out()).0["comparison"]["contenders"][0];
    found["instructions"].as_array().unwrap().clone()
}

/// Its clocks were once read in a way that ended it there with SIGSEGV.
#[test]
fn rqps_itself_runs_under_valgrind() {
    let rqps = Rqps::new();
    let mut command = rqps.program("valgrind");
    command.args(["--tool=none", "--quiet", env!("CARGO_BIN_EXE_rqps"), "micro", "sqlite"]);
    command.args("--rows 1K --secs 0.1 --pause 0 --tests point-query --out".split(' '));
    command.arg(rqps.out()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running::start(command).finish().ok();
    assert_eq!(
        RunResult::of(&rqps.out()).states(),
        ["sqlite load done", "sqlite point-query done"]
    );
}

fn change(count: &serde_json::Value) -> f64 {
    count["change"].as_f64().unwrap_or_else(|| panic!("{count}"))
}

#[test]
#[ignore = "nightly: four servers under valgrind"]
fn the_same_build_executes_the_same_instructions() {
    let rqps = Rqps::new();
    let all = counts(&rqps, "postgres@17.6 again=postgres@17.6", "point-query,range-covered-pk");
    assert_eq!(all.len(), 2);
    for count in &all {
        assert!(change(count).abs() < 0.003, "{count}");
        assert_eq!(count["verdict"], "same");
    }
    rqps.assert_no_server_is_left();
}

#[test]
#[ignore = "nightly: takes a minute or more"]
fn a_server_with_threads_executes_the_same_instructions() {
    let rqps = Rqps::new();
    let all = counts(&rqps, "mysql@8.0.33 again=mysql@8.0.33", "point-query");
    assert!(change(&all[0]).abs() < 0.01, "{}", all[0]);
    rqps.assert_no_server_is_left();
}

#[test]
fn a_plan_that_is_made_anew_for_each_statement_is_more_instructions() {
    let rqps = Rqps::new();
    let anew = "postgres@17.6 anew=postgres@17.6?plan_cache_mode=force_custom_plan";
    let all = counts(&rqps, anew, "point-query");
    assert_eq!(all[0]["verdict"], "more", "{}", all[0]);
    let functions = all[0]["functions"].as_array().unwrap();
    let planner = functions.iter().find(|one| one["name"] == "standard_planner").unwrap();
    assert_eq!(planner["baseline"].as_f64(), Some(0.0), "its plan is made once");
    assert!(planner["contender"].as_f64().unwrap() > 0.0);
}
