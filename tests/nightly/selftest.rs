//! `rqps selftest` on real builds, and the use of its result in comparisons.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Rqps, Running, processes};
use rqps_stats::verdict::ESTIMATOR;
use rustix::process::Signal;
use serde_json::Value;

/// Too small for findings: tests only that everything is measured, stored and used.
const TINY: &str =
    "selftest --quick --rows 2K --secs 0.1 --rounds 3 --controls 2 --no-guards --out st";

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_selftest_slows_a_real_server_down_by_a_known_amount() {
    let rqps = Rqps::alone();
    let ended = rqps.run(&format!("{TINY} --dbms postgres@17.6 --json"));
    assert!([Some(0), Some(5)].contains(&ended.status.code()), "{}", ended.stderr);
    assert!(ended.stderr.contains("3 comparisons, about "), "{}", ended.stderr);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(found, json(&rqps.work().join("st/selftest.json")));
    let (made_up, cells): (Vec<&Value>, Vec<&Value>) =
        found["cells"].as_array().unwrap().iter().partition(|cell| cell["engine"] == "synthetic");
    let treated = |of: &str| {
        let own = cells.iter().filter(|cell| !cell["treatment"][of].is_null());
        own.map(|cell| cell["expected"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    // Three tests, of 2 and 5 %; the time of an operation was measured in each round.
    for (of, count) in [("server", 6), ("client", 3)] {
        let expected = treated(of);
        assert_eq!(expected.len(), count, "{cells:?}");
        assert!(expected.iter().all(|ratio| (0.0..0.999).contains(ratio)), "{expected:?}");
    }
    let equals = cells.iter().filter(|cell| cell["treatment"] == "same").count();
    assert_eq!(equals, 5, "an A/A control in four tests by slices and in one by runs: {cells:?}");

    // These are independent of the machine.
    for method in ["slices", "runs"] {
        let equals = made_up.iter().filter(|cell| cell["treatment"] == "same");
        let equals = equals.filter(|cell| cell["method"] == method).count();
        assert!(equals >= 200, "{equals} by {method}");
    }
    let checks = found["checks"].as_array().unwrap();
    let broken = |check: &&Value| check["engine"] == "synthetic" && check["is_kept"] == false;
    assert_eq!(checks.iter().find(broken), None);
    let fitness = found["fitness"].as_array().unwrap();
    assert!(fitness.iter().all(|one| one["engine"] == "postgres"), "{fitness:?}");
    assert_eq!(json(&rqps.home().join("selftest.json"))["results"], found["fitness"]);

    let doses = json(&rqps.work().join("st/postgres_17.6-slowed-by-slices/doses.json"));
    // The median of all rounds and tests, since a stall of the machine affects one of them.
    let spent = |contender: &str, of: &str| {
        let own = doses.as_array().unwrap().iter();
        let own = own.filter(|dose| dose["contender"] == contender);
        let mut each: Vec<f64> = own.map(|dose| dose[of].as_f64().unwrap()).collect();
        each.sort_by(f64::total_cmp);
        each[each.len() / 2]
    };
    assert!(spent("server-2", "server") > 2.0 * spent("carrier", "server"), "{doses}");
    assert!(spent("server-5", "server") > 1.3 * spent("server-2", "server"), "{doses}");
    assert!(spent("client-5", "client") > 2.0 * spent("carrier", "client"), "{doses}");
    assert!(spent("client-5", "server") < spent("server-2", "server") / 2.0, "{doses}");
    rqps.assert_nothing_is_left();
}

/// Twice what a quick selftest takes where nothing is discarded.
const LONG: Duration = Duration::from_secs(900);

/// What the default selftest of this machine must show: no bound is broken. It needs a machine with
/// nothing else to do, since one that is too noisy shows nothing.
#[test]
fn a_quick_selftest_keeps_its_bounds() {
    let rqps = Rqps::alone();
    let begun = Instant::now();
    let running = Running::start(rqps.command("selftest --quick --out st --json".split(' ')));
    let ended = running.finish_within(LONG);
    let took = begun.elapsed();
    let found: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| {
        panic!("no result: {error}\n{}", ended.stderr);
    });
    let checks = found["checks"].as_array().unwrap();
    let broken: Vec<&Value> = checks.iter().filter(|check| check["is_kept"] == false).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert_eq!(found["conclusion"], "sound", "was anything else running? {}", ended.stderr);
    assert_eq!(ended.status.code(), Some(0));
    // Bounds of servers were asked, not only those of synthetic rounds.
    let asked: Vec<&str> = checks.iter().map(|check| check["what"].as_str().unwrap()).collect();
    for what in [
        "synthetic by runs: A/A comparisons seldom differ",
        "postgres by slices: A/A comparisons seldom differ",
        "postgres by slices, slower server: intervals contain the truth",
        "sqlite by slices: A/A comparisons seldom differ",
        "sqlite by slices, slower client: no wrong sign",
    ] {
        assert!(asked.contains(&what), "not asked: {what}: {asked:#?}");
    }
    let kept = json(&rqps.home().join("selftest.json"));
    assert!(!kept["results"].as_array().unwrap().is_empty(), "comparisons go by it: {kept:#}");
    println!("{:.0} s, {} bounds kept", took.as_secs_f64(), checks.len());
    rqps.assert_nothing_is_left();
}

#[test]
fn an_interrupted_selftest_keeps_the_comparisons_that_were_done() {
    let rqps = Rqps::with_own_locks();
    let arguments = format!("{TINY} --dbms sqlite");
    let running = Running::start(rqps.command(arguments.split_whitespace()));
    running.wait_for("(2 of 3)");
    processes::signal(running.pid(), Signal::INT);
    let told = "the selftest has no result: the completed comparisons are in st, and rqps report shows each";
    running.finish().expect_code(130).says(&[told]);
    assert_eq!(crate::common::entries(&rqps.work().join("st")), ["sqlite-equals-by-slices"]);
    rqps.run("report st/sqlite-equals-by-slices --format text").ok();
}

#[test]
fn comparisons_go_by_what_the_selftest_has_found() {
    let rqps = Rqps::with_own_locks();
    let host = rqps_store::selftest::host(&rqps_observe::machine_facts(&rqps.home()));
    // A finding depends on the machine, so this is a possible one.
    let class = |class: &str, is_fit: bool| {
        serde_json::json!({
            "host": host, "engine": "sqlite", "class": class, "method": "slices",
            "date": "2026-11-22T03:00:00Z", "rqps_version": "0", "estimator": ESTIMATOR, "quick": true,
            "is_fit": is_fit, "why": "A/A comparisons differ in 9 of 20"
        })
    };
    // With a number of clients that is not used below.
    let mut of_two = class("range", false);
    of_two["clients"] = Value::from(2);
    // Like those from before estimators had numbers.
    let mut earlier = class("aggregate", false);
    earlier.as_object_mut().unwrap().remove("estimator");
    let results = [class("point", true), class("write", false), of_two, earlier];
    let text = serde_json::json!({ "version": 1, "results": results }).to_string();
    fs::write(rqps.home().join("selftest.json"), text).unwrap();
    let ended = rqps.run(
        "compare sqlite again=sqlite --no-control --workload micro:point-query,range-covered-pk,read-only-sum,update-index \
         --rows 2K --secs 0.2 --rounds 3 --no-guards --out out",
    );
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    let compared = json(&rqps.work().join("out/result.json"))["comparison"].clone();
    let tests = compared["contenders"][0]["tests"].as_array().unwrap();
    for (name, method, because) in [
        ("point-query", "slices", "by selftest of 2026-11-22"),
        ("range-covered-pk", "slices", "by default: no selftest of sqlite here"),
        (
            "read-only-sum",
            "slices",
            "by default: the selftest of sqlite here was made with an earlier estimate: run rqps selftest again",
        ),
        (
            "update-index",
            "runs",
            "by selftest of 2026-11-22: sqlite by slices: A/A comparisons differ in 9 of 20",
        ),
    ] {
        let test = tests.iter().find(|test| test["name"] == name).unwrap();
        assert_eq!((&test["method"], &test["method_because"]), (&method.into(), &because.into()));
        assert_eq!(test["rounds"].as_array().unwrap().len(), 3, "{name}");
        let remark = Value::from(format!("Measured by {method}, {because}: {name}."));
        assert!(compared["remarks"].as_array().unwrap().contains(&remark), "{compared}");
    }
    rqps.assert_nothing_is_left();
}

#[test]
fn parts_of_a_selftest_are_slowdowns_and_settings_whose_cause_is_known() {
    let rqps = Rqps::with_own_locks();
    let tiny = TINY.replace(" --quick", "");
    let ended = rqps.run(&format!("{tiny} --dbms sqlite --only slowed,settings --json"));
    assert!([Some(0), Some(5)].contains(&ended.status.code()), "{}", ended.stderr);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(found["partial"], true);
    assert_eq!(found["fitness"], Value::Array(Vec::new()), "comparisons go by equals");
    let cells = found["cells"].as_array().unwrap();
    let mut of_sqlite = cells.iter().filter(|cell| cell["engine"] == "sqlite");
    assert!(of_sqlite.all(|cell| cell["treatment"] != "same"), "{cells:?}");
    let varied = cells.iter().filter(|cell| cell["treatment"]["setting"] == "R11");
    let varied: Vec<&Value> = varied.collect();
    let tests: Vec<&Value> = varied.iter().map(|cell| &cell["test"]).collect();
    assert_eq!(tests, ["update-nonindex", "insert"]);
    for cell in varied {
        assert_eq!(cell["settings"], "synchronous=full");
        assert!(cell["expected"].is_null() && cell["measured"].is_number(), "{cell}");
        // Whether three rounds find anything depends on the machine.
        assert_eq!(cell["is_cause_right"].is_null(), cell["is_verdict"] == false, "{cell}");
    }
    let plan = rqps.work().join("st/sqlite-commit-by-slices/plan.toml");
    let plan = fs::read_to_string(plan).unwrap();
    for side in ["baseline=sqlite?journal_mode=wal&synchronous=normal", "synchronous=full"] {
        assert!(plan.contains(side), "{plan}");
    }
    let text = fs::read_to_string(rqps.work().join("st/selftest.txt")).unwrap();
    assert!(text.contains("R11 slower commits"), "{text}");
    assert!(text.contains("skipped  sqlite: a slower server"), "{text}");
    let none = "no part remains: --quick leaves out settings";
    rqps.run("selftest --quick --dbms sqlite --only settings").expect_code(2).says(&[none]);
    rqps.assert_nothing_is_left();
}

#[test]
fn several_clients_have_equals_only_and_a_result_of_their_own() {
    let rqps = Rqps::with_own_locks();
    let ended = rqps.run(&format!("{TINY} --dbms sqlite --clients 2 --json"));
    assert!([Some(0), Some(5)].contains(&ended.status.code()), "{}", ended.stderr);
    assert!(ended.stderr.contains("2 comparisons, about "), "{}", ended.stderr);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(found["clients"], 2);
    let cells = found["cells"].as_array().unwrap();
    let mut of_servers = cells.iter().filter(|cell| cell["engine"] != "synthetic");
    assert!(of_servers.clone().count() > 0 && of_servers.all(|cell| cell["treatment"] == "same"));
    let skipped = found["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    assert!(skipped[0].as_str().unwrap().contains("slowdowns, limits"), "{skipped:?}");
    let fitness = found["fitness"].as_array().unwrap();
    assert!(fitness.iter().all(|one| one["clients"] == 2), "{fitness:?}");
    for part in ["sqlite-equals-by-slices", "sqlite-equals-by-runs"] {
        let plan = fs::read_to_string(rqps.work().join("st").join(part).join("plan.toml")).unwrap();
        assert!(plan.contains("clients = [2]"), "{plan}");
    }
    rqps.assert_nothing_is_left();
}
