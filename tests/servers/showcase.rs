//! The schema of docs/examples/films on two releases of Postgres and of MySQL, as the tutorial has
//! it: a wrong answer and another query plan are found, and nothing else is wrong.

use std::collections::BTreeMap;
use std::fs;

use crate::common::pages::root;
use crate::common::{Rqps, Running};
use serde_json::Value;

/// Compares contenders on the films. Returns their statements by name, and what is shown.
fn compared(rqps: &Rqps, contenders: &str) -> (BTreeMap<String, Value>, String) {
    let out = rqps.out().display().to_string();
    let workload = format!("sql:{}", root().join("docs/examples/films").display());
    let fixed = ["compare", "--out", &out, "--workload", &workload, "--no-guards", "--loads", "1"];
    let few = ["--rounds", "3", "--secs", "0.1", "--instructions=none"];
    let words = fixed.into_iter().chain(few).chain(contenders.split_whitespace());
    let ended = Running::start(rqps.command(words)).finish();
    assert!([Some(0), Some(1)].contains(&ended.status.code()), "{}", ended.stderr);
    let text = fs::read_to_string(rqps.out().join("result.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    let statements = result["comparison"]["contenders"][0]["statements"].as_array().unwrap();
    let by_name = statements.iter().map(|one| (one["name"].as_str().unwrap().into(), one.clone()));
    rqps.assert_nothing_is_left();
    (by_name.collect(), ended.stdout)
}

/// The names of the statements that do not return the baseline's rows.
fn wrong(statements: &BTreeMap<String, Value>) -> Vec<&str> {
    let is_wrong = |one: &&Value| one["rows"]["verdict"] != "same rows";
    statements.values().filter(is_wrong).filter_map(|one| one["name"].as_str()).collect()
}

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn postgres_18_has_other_query_plans_than_16_and_a_draft_of_a_view_answers_wrongly() {
    let rqps = Rqps::with_own_locks();
    fs::write(rqps.path("draft.conf"), "search_path = 'draft, public'\n").unwrap();
    let draft = format!("postgres@npm-18.0:{}", rqps.path("draft.conf").display());
    let (statements, shown) = compared(&rqps, &format!("old=postgres@npm-16.10 new={draft}"));
    assert_eq!(statements.len(), 16);
    assert_eq!(wrong(&statements), ["takings"], "{shown}");
    assert_eq!(statements["takings"]["rows"]["verdict"], "different rows");
    // 18 searches an index once for all of several values, which 16 does for each value.
    let plan = &statements["customers_of_cities"]["plan"];
    assert_eq!(plan["verdict"], "plan changed", "{plan}");
    assert!(plan["changes"].to_string().contains("customer_city"), "{plan}");
    assert!(shown.contains("1 different rows"), "{shown}");
}

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn a_setting_of_mysql_that_changes_a_query_plan_is_found_beside_a_release() {
    let rqps = Rqps::with_own_locks();
    let contenders = "mysql@maven-8.0.33 mysql@debian-9.7?optimizer_switch=semijoin=off";
    let (statements, shown) = compared(&rqps, contenders);
    assert_eq!(statements.len(), 16);
    assert!(wrong(&statements).is_empty(), "{shown}");
    // A NOT EXISTS is no join then, but executed for each film.
    let plan = &statements["never_rented"]["plan"];
    assert_eq!(plan["verdict"], "plan changed", "{plan}");
    assert_eq!(statements["film"]["plan"]["verdict"], "same plan", "{}", statements["film"]);
}
