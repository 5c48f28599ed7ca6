//! Comparisons: a difference is found with the right sign, spoilt measurements are discarded, and
//! nothing is lost when a process dies.

use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::common::{Rqps, Running, await_that, processes};
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::Value;

/// Each commit of this one waits for the disk, which no machine does for nothing.
const SLOW: &str = "slow=sqlite?journal_mode=delete&synchronous=full";
const SMALL: &str = "--rows 2K --secs 0.2 --rounds 3 --no-guards";

fn start(rqps: &Rqps, arguments: &str) -> Running {
    let out = rqps.out().display().to_string();
    let words = ["compare", "--out", &out].into_iter().chain(arguments.split_whitespace());
    Running::start(rqps.command(words))
}

fn comparison(rqps: &Rqps) -> Value {
    let text = std::fs::read_to_string(rqps.out().join("result.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["comparison"].clone()
}

fn test<'a>(comparison: &'a Value, name: &str) -> &'a Value {
    let tests = comparison["contenders"][0]["tests"].as_array().unwrap();
    tests.iter().find(|test| test["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_slower_contender_is_a_regression() {
    let rqps = Rqps::with_own_locks();
    let junit = rqps.path("verdicts.xml");
    let slower = format!(
        "sqlite {SLOW} --workload micro:update-index --no-control {SMALL} --strict --junit {}",
        junit.display()
    );
    let ended = start(&rqps, &slower).finish().expect_code(1);
    let xml = std::fs::read_to_string(junit).unwrap();
    assert!(xml.contains(r#"failures="1""#) && xml.contains(r#"name="update-index""#), "{xml}");
    let summary = std::fs::read_to_string(rqps.out().join("summary.md")).unwrap();
    assert!(summary.contains("**regression**"), "{summary}");
    assert!(ended.stdout.contains("update-index"), "{}", ended.stdout);
    assert!(ended.stdout.contains("regression"), "{}", ended.stdout);
    let found = comparison(&rqps);
    let update = test(&found, "update-index");
    assert_eq!(update["label"], "regression");
    assert!(update["ratio"]["high"].as_f64().unwrap() < 0.9, "{update}");
    assert_eq!(update["rounds"].as_array().unwrap().len(), 3, "every round is told");
    let out = rqps.out().display().to_string();
    assert!(rqps.run(&format!("report {out}")).ok().stdout.contains("regression"));
    assert_eq!(rqps.run(&format!("report {out} --format junit")).ok().stdout, xml);
    assert_eq!(rqps.run(&format!("report {out} --format markdown")).ok().stdout, summary);
    rqps.run(&format!("report {out} --format hdr"))
        .refuses(2, &["needs steps or whole runs", "--format json"]);
    let sent = &update["statements"];
    assert_eq!(sent["baseline"][0]["text"], "UPDATE sbtest1 SET k=k+1 WHERE id=?", "{sent}");
    assert_eq!(sent["baseline"], sent["contender"], "statements and query plans are the same");
    let files = crate::common::entries(&rqps.out());
    for name in ["verdicts.csv", "rounds.csv"] {
        assert!(files.contains(&name.to_string()), "{files:?}");
    }
    assert!(!files.iter().any(|file| ["metrics.csv", "seconds.csv"].contains(&file.as_str())));
    rqps.assert_nothing_is_left();
}

#[test]
fn a_faster_contender_is_an_improvement() {
    let rqps = Rqps::with_own_locks();
    let faster =
        format!("{SLOW} sqlite --workload micro:update-index --no-control {SMALL} --confirm=3");
    let ended = start(&rqps, &faster).finish().ok();
    ended.says(&["round 6 of at most 6"]);
    let found = comparison(&rqps);
    let update = test(&found, "update-index");
    assert_eq!(update["label"], "improvement");
    assert_eq!(update["stage"], "fresh", "the screen flagged it");
    assert_eq!(update["rounds"].as_array().unwrap().len(), 6);
}

#[test]
fn slices_are_in_balanced_random_order_and_all_are_kept() {
    let rqps = Rqps::with_own_locks();
    let arguments = format!("sqlite again=sqlite --workload micro:point-query {SMALL}");
    let ended = start(&rqps, &arguments).finish();
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    let results = Connection::open(rqps.out().join("results.sqlite")).unwrap();
    let mut select = results
        .prepare("select arm from slice where round = ?1 and client = 1 order by place")
        .unwrap();
    let mut orders = Vec::new();
    for pass in 1..=3 {
        let rows = select.query_map([pass], |row| row.get::<_, String>(0)).unwrap();
        let order: Vec<String> = rows.collect::<Result<_, _>>().unwrap();
        // 0.2 s in slices of 10 ms, of three: the contenders and the A/A control. Fewer on a slow
        // machine.
        assert!(order.len() <= 3 * 20 && order.len() >= 3 * 6, "{} slices", order.len());
        for pair in order.chunks(6) {
            assert_eq!(pair.len(), 6, "cycles come in pairs");
            let mut cycle = pair[..3].to_vec();
            cycle.sort();
            assert_eq!(cycle, ["A/A control", "again", "sqlite"]);
            let mirrored: Vec<&String> = pair[..3].iter().rev().collect();
            assert_eq!(pair[3..].iter().collect::<Vec<_>>(), mirrored);
        }
        orders.push(order);
    }
    assert_ne!(orders[0], orders[1], "every round has an order of its own");
    assert_eq!(loads(&rqps), [(1, 1), (2, 2), (3, 3)], "and data of its own");
}

/// The rounds and the loads that they worked on.
fn loads(rqps: &Rqps) -> Vec<(u32, u32)> {
    let results = Connection::open(rqps.out().join("results.sqlite")).unwrap();
    let mut select = results.prepare("select round, load from round order by round").unwrap();
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn rounds_take_turns_with_as_many_loads_as_are_named() {
    let rqps = Rqps::with_own_locks();
    let arguments =
        format!("sqlite again=sqlite --workload micro:point-query --no-control --loads 2 {SMALL}");
    let ended = start(&rqps, &arguments).finish();
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    assert_eq!(loads(&rqps), [(1, 1), (2, 2), (3, 1)]);
    let told = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for remark in ["loaded 2 times; rounds use the loads in turn", "Intervals hold for these loads"]
    {
        assert!(told.contains(remark), "{told}");
    }
}

/// Processes that take all the CPU there is.
struct Burners(Vec<Child>);

impl Burners {
    fn start() -> Burners {
        let burner = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let count = std::thread::available_parallelism().map_or(2, |cpus| cpus.get());
        Burners((0..count).map(|_| burner()).collect())
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for burner in &mut self.0 {
            let _ = burner.kill();
            let _ = burner.wait();
        }
    }
}

#[test]
fn what_is_measured_on_a_busy_machine_does_not_count() {
    let rqps = Rqps::with_own_locks();
    let burners = Burners::start();
    let arguments = "sqlite again=sqlite --workload micro:point-query --rows 2K --secs 0.2 \
                     --rounds 3 --loads 1 --strict";
    let ended = start(&rqps, arguments).finish().expect_code(5);
    drop(burners);
    let ended = ended.says(&["attempt 1 was discarded", "attempt 3 was discarded", "of the CPUs"]);
    assert!(ended.stdout.contains("invalid"), "{}", ended.stdout);
    let found = comparison(&rqps);
    let point = test(&found, "point-query");
    assert_eq!(point["label"], "invalid");
    assert_eq!(point["discarded"].as_array().unwrap().len(), 9, "three attempts in three rounds");
    let told = point["discarded"].to_string();
    assert!(!told.contains("clock"), "reading counters takes a while, which is no jump: {told}");
}

/// Stops all processes of all servers of rqps for a second at a time, until it is dropped.
struct Stopper(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Stopper {
    fn start(rqps: i32) -> Stopper {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let servers = processes::children(rqps, "postgres");
                let all: Vec<i32> = servers.into_iter().flat_map(processes::server).collect();
                all.iter().for_each(|pid| processes::signal(*pid, Signal::STOP));
                std::thread::sleep(Duration::from_secs(1));
                all.iter().for_each(|pid| processes::signal(*pid, Signal::CONT));
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        Stopper(is_over, Some(thread))
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        let _ = self.1.take().map(JoinHandle::join);
    }
}

/// The target of qr100 is 100 rows per second; rows that are late at the end are missing.
#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn a_whole_run_whose_server_stands_still_does_not_count_and_is_told() {
    let rqps = Rqps::with_own_locks();
    let arguments = "postgres@17.6 again=postgres@17.6 --workload ibench:l.i0,l.x,l.i1,l.i2,qr100 \
                     --rows 1K --secs 3 --rounds 3 --no-control";
    let running = start(&rqps, arguments);
    let stopper = Stopper::start(running.pid());
    running.wait_for("rows per second, below the target of 100");
    drop(stopper);
    running.wait_for("round 1: ");
    processes::signal(running.pid(), Signal::INT);
    let ended = running.finish().expect_code(130);
    // A run that was discarded for its rate only is not repeated in the round.
    let results = Connection::open(rqps.out().join("results.sqlite")).unwrap();
    let (first, _) = ended.stderr.split_once("round 1: ").unwrap();
    for name in ["postgres@17.6", "again"] {
        let start = format!("{name}: attempt ");
        let mut why = first.lines().filter_map(|line| line.split_once(&start)?.1.split_once(": "));
        let of_rate = |why: &str| why.starts_with("qr100: inserts reached ") && !why.contains("; ");
        if why.next_back().is_some_and(|(_, why)| of_rate(why)) {
            let sql = "select count(*) from slice s join round r on r.id = s.round \
                       where test = 'qr100' and r.round = 1 and discarded is null and arm = ?1";
            let counted: i64 = results.query_row(sql, [name], |row| row.get(0)).unwrap();
            assert_eq!(counted, 0, "{name}: {}", ended.stderr);
        }
    }
    let found = comparison(&rqps)["discarded"].clone();
    let missed = |one: &Value| {
        one["why"].as_str().unwrap().contains("rows per second, below the target of 100")
    };
    let told: Vec<&Value> = found.as_array().unwrap().iter().filter(|one| missed(one)).collect();
    assert!(!told.is_empty(), "{found}");
    assert_eq!(told[0]["test"], "qr100");
    let summary = std::fs::read_to_string(rqps.out().join("summary.md")).unwrap();
    for text in [&ended.stdout, &summary] {
        assert!(text.contains("discarded: "), "{text}");
    }
}

#[test]
fn a_server_that_dies_between_slices_is_out_of_the_test_and_the_others_go_on() {
    let rqps = Rqps::with_own_locks();
    let arguments = "postgres@17.6 fit=postgres@17.6 ill=postgres@17.6 --no-control --rows 2K --secs 1.2 \
                     --workload micro:point-query --rounds 3 --loads 1 --no-guards";
    let running = start(&rqps, arguments);
    running.wait_for("round 2 of at most 3");
    let victim = || {
        let servers = processes::children(running.pid(), "postgres");
        let of_third = processes::below(&rqps.data(2).with_file_name("2-round"));
        servers.into_iter().find(|pid| of_third.contains(pid))
    };
    // The connections that a server is asked over while it starts are short.
    await_that("clients are at work on three servers", || {
        let clients = || victim().map_or(Vec::new(), processes::backends);
        let before = clients();
        std::thread::sleep(Duration::from_millis(500));
        processes::children(running.pid(), "postgres").len() == 3
            && clients().iter().any(|client| before.contains(client))
    });
    processes::kill(victim().unwrap());
    let ended = running.finish().expect_code(3);
    ended.says(&["error: ill: point-query: ", "the server ended with signal: 9", "round 3"]);
    rqps.assert_no_server_is_left();
    let found = comparison(&rqps);
    let of = |contender: usize| &found["contenders"][contender]["tests"][0];
    let rounds = |contender: usize| of(contender)["rounds"].as_array().unwrap().len();
    assert_eq!((of(1)["label"].as_str(), rounds(0)), (Some("invalid"), 3), "{found}");
    let why = of(1)["verdict"].as_str().unwrap();
    assert!(why.contains("ill failed") && why.contains("its log ends with"), "{why}");
    assert_ne!(of(0)["label"], "invalid");
    let ended = start(&rqps, "--resume").finish().expect_code(3);
    assert!(!ended.stderr.contains("round "), "there is nothing left to do:\n{}", ended.stderr);
}

#[test]
fn a_contender_whose_data_cannot_be_loaded_is_named() {
    let rqps = Rqps::with_own_locks();
    let arguments = "postgres@17.6 few=postgres@17.6?max_connections=20 --no-control --rows 1K \
                     --workload micro:point-query --clients 16";
    let ended = start(&rqps, arguments).finish().expect_code(3);
    ended.says(&["few: 21 connections are needed, but max_connections is 20"]);
    assert!(!rqps.out().join("result.json").exists(), "nothing was measured");
    rqps.assert_no_server_is_left();
}

#[test]
fn servers_that_do_not_fit_into_the_memory_together_take_turns_with_the_base() {
    let available = 4 << 20;
    let rqps = Rqps::with_memory(available);
    // A cache that SQLite would only take when it had as much to read.
    let large = available * 3 / 10;
    let pairs = format!(
        "sqlite one=sqlite?cache_size=-{large} two=sqlite?cache_size=-{large} \
         three=sqlite?cache_size=-{large} --workload micro:point-query {SMALL}"
    );
    let ended = start(&rqps, &pairs).finish();
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    let ended = ended.says(&["5 need about", "measured in pairs with the baseline"]);
    assert!(
        ended.stdout.contains("Not all servers fit in memory: measured in pairs"),
        "{}",
        ended.stdout
    );
    let found = comparison(&rqps);
    assert_eq!(found["pairs"], true);
    for contender in found["contenders"].as_array().unwrap() {
        let test = &contender["tests"][0];
        assert_eq!(test["rounds"].as_array().unwrap().len(), 3, "{contender}");
        assert!(test["control"].is_object(), "the A/A control is there where it fits");
    }

    let too_large = available * 9 / 10;
    rqps.run(&format!("compare sqlite a=sqlite?cache_size=-{too_large}"))
        .refuses(2, &["the servers of sqlite and a need about", "--method runs"]);
}

#[test]
fn a_budget_that_is_too_small_says_what_would_fit() {
    let rqps = Rqps::with_own_locks();
    let arguments = "sqlite again=sqlite --workload micro:point-query,hot-points --rows 2K --secs 0.2 \
                     --loads 1 --no-guards --budget 1s";
    let ended = start(&rqps, arguments).finish();
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    let ended = ended.says(&[
        "a budget of 1s may be too small: the 6 rounds that a verdict needs",
        "ended the comparison after 1 round;",
        "the rounds that a verdict needs take",
    ]);
    let told = "again is the same build as the baseline: any difference is noise";
    assert!(ended.stdout.contains(told), "{}", ended.stdout);
}

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn what_contenders_cost_is_told_apart_although_they_share_a_machine() {
    let rqps = Rqps::with_own_locks();
    let arguments = format!(
        "postgres@17.6 more=postgres@17.6?wal_level=logical&synchronous_commit=on \
         --workload micro:point-query,update-index --clients 2 {SMALL}"
    );
    let ended = start(&rqps, &arguments).finish();
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    let results = Connection::open(rqps.out().join("results.sqlite")).unwrap();
    let count = |sql: &str| results.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let of_updates = "from engine join measurement m on m.id = measurement \
                      join round r on r.id = m.round where test = 'update-index'";
    assert_eq!(
        count(&format!("select count(*) {of_updates} and name = 'pg_stat_wal.wal_bytes'")),
        9,
        "three rounds of two contenders and the A/A control"
    );
    // Each operation of the window is in the counters of its DBMS: the warm-up, too.
    let updated = "select sum(value) from engine where name = 'pg_stat_user_tables.n_tup_upd'";
    let watched = "select sum(watched) from measurement m join round r on r.id = m.round \
                   where test = 'update-index'";
    assert_eq!(count(updated), count(watched));
    let plans = "select count(distinct statements ->> '$[0].plan') from measurement";
    assert_eq!(count(plans), 2, "a plan of each test");
    let cpus = "select count(*) from round where json_array_length(cpus) != 2";
    assert_eq!(count(cpus), 0, "each client shares a CPU with its server processes");
    let flushes = "select sum(value) from slice_cost join measurement m on m.id = measurement \
                   where metric = 'device_flushes' and arm = 'more'";
    assert!(count(flushes) >= 0);
    let found = comparison(&rqps);
    let update = test(&found, "update-index");
    assert!(update["idle"].is_array() && update["background"].is_array(), "{update}");
    let bytes = update["database_bytes"]["baseline"].as_array().unwrap();
    assert!(bytes.iter().all(|bytes| bytes.as_u64().unwrap() > 100_000), "{bytes:?}");
    let share = found["reading"]["share"].as_f64().unwrap();
    assert!(share > 0.0 && share < 0.5, "readings are a small part of the client's work: {share}");
}

/// Planning a statement anew each time takes much more CPU of the server, on any machine. Waits on
/// a busy machine may leave the cause or the verdict open, and the machine may be named; no other
/// cause is.
#[test]
#[ignore = "nightly: a busy machine leaves its cause open"]
fn a_server_that_does_more_for_each_statement_is_a_longer_code_path() {
    let rqps = Rqps::with_own_locks();
    let arguments = "postgres@17.6 anew=postgres@17.6?plan_cache_mode=force_custom_plan --no-control \
                     --workload micro:point-query --rows 2K --secs 0.5 --rounds 3 --loads 1 --no-guards";
    let ended = start(&rqps, arguments).finish();
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    let found = comparison(&rqps);
    let point = test(&found, "point-query");
    assert!(point["costs"]["cpu/o"]["value"].as_f64().unwrap() > 1.1, "{point}");
    let label = point["label"].as_str().unwrap();
    assert!(["regression", "inconclusive"].contains(&label), "{point}");
    let findings = found["contenders"][0]["findings"].as_array().unwrap();
    let rules: Vec<&str> = findings.iter().map(|one| one["rule"].as_str().unwrap()).collect();
    assert!(
        rules.iter().all(|rule| ["R0", "R1", "R17"].contains(rule)),
        "{rules:?}: {findings:#?}"
    );

    let budget = &point["time_budget"];
    let added = budget["contender"].as_f64().unwrap() - budget["baseline"].as_f64().unwrap();
    let share = |name: &str| {
        let part = budget["parts"].as_array().unwrap().iter().find(|part| part["name"] == name);
        part.map_or(0.0, |part| part["change"].as_f64().unwrap() / added)
    };
    let is_waiting = share("run queue").max(share("other waiting")) > 0.3;
    let is_cpu = share("user CPU") + share("system CPU") > 0.8 && !is_waiting;
    if label == "regression" && is_cpu {
        assert_eq!(rules, ["R1"], "{point}: {findings:#?}");
    }
}

#[test]
fn two_comparisons_do_not_measure_each_other() {
    let rqps = Rqps::with_own_locks();
    let long = "sqlite again=sqlite --workload micro:point-query --rows 2K --secs 60 --rounds 3";
    let first = start(&rqps, long);
    first.wait_for("round 1 of at most 3");
    let second = rqps.run("compare sqlite again=sqlite --rows 20K --out other");
    second.expect_code(3).says(&["another session is measuring", &first.pid().to_string()]);
    processes::signal(first.pid(), Signal::INT);
    first.finish().expect_code(130);
    rqps.assert_no_server_is_left();
}

#[test]
fn whole_runs_are_compared_where_slices_cannot_be() {
    let rqps = Rqps::with_own_locks();
    let arguments = "slow=sqlite?journal_mode=delete&synchronous=full sqlite --workload ibench:l.i0,l.x,l.i1,l.i2 \
                     --rows 1K --writes 600,150 --rounds 3 --no-guards --no-control";
    start(&rqps, arguments).finish().ok();
    let found = comparison(&rqps);
    let writes = test(&found, "l.i2");
    assert_eq!(found["method"], "runs");
    assert_eq!(writes["rounds"].as_array().unwrap().len(), 3);
    assert!(writes["ratio"]["value"].as_f64().unwrap() > 1.5, "{}", writes["ratio"]);
    let tests = found["contenders"][0]["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 4, "every step has a verdict");
    let results = Connection::open(rqps.out().join("results.sqlite")).unwrap();
    let count = |condition: &str| {
        let sql = format!("select count(*) from measurement where {condition}");
        results.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(count("statements like '%insert into pi1%'"), 4 * 3 * 2);
    assert_eq!(
        count("statements like '%\"text\":\"delete%\"plan\":\"SEARCH%'"),
        2 * 3 * 2,
        "l.i1, l.i2"
    );
    let have = |operation: &str| {
        count(&format!("id in (select measurement from work where operation = '{operation}')"))
    };
    assert_eq!((have("insert"), have("delete")), (4 * 3 * 2, 2 * 3 * 2));
    let sql = "select distinct rows from work join measurement m on m.id = measurement \
               join round r on r.id = m.round where operation = 'insert' and test in ('l.i1', 'l.i2') order by 1";
    let mut sql = results.prepare(sql).unwrap();
    let inserted = sql.query_map([], |row| row.get(0)).unwrap();
    let inserted: Vec<i64> = inserted.collect::<Result<_, _>>().unwrap();
    assert_eq!(inserted, [150, 600], "l.i2, l.i1");
    assert_eq!(count("id in (select measurement from series where source = 'host')"), 4 * 3 * 2);
    let out = rqps.out();
    rqps.run(&format!("report {} --format hdr", out.display())).ok();
    assert_eq!(
        crate::common::entries(&out.join("hdr")).len(),
        4 * 2,
        "a log for each step and contender"
    );
    rqps.assert_nothing_is_left();
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_started() {
    let rqps = Rqps::with_own_locks();
    let refused = |arguments: &str, texts: &[&str]| {
        rqps.run(&format!("compare {arguments}")).refuses(2, texts);
    };
    refused("sqlite", &["two contenders", "again=sqlite"]);
    refused("sqlite sqlite", &["given twice", "again=sqlite"]);
    refused("sqlite a=sqlite --workload micro:pont-query", &["did you mean 'point-query'"]);
    refused("sqlite a=sqlite --workload mikro:point", &["unknown workload 'mikro:point'"]);
    refused("sqlite a=sqlite --precision 0", &["precision must be at least 0.01%"]);
    refused("sqlite a=sqlite --precision wide", &["'wide' is not a percentage"]);
    refused("sqlite a=sqlite --rounds 2", &["rounds must be at least 3"]);
    refused("sqlite a=sqlite --method slice", &["did you mean 'slices'"]);
    refused("sqlite a=sqlite --writes 1K", &["needs the Insert Benchmark. Add --workload ibench"]);
    refused("sqlite a=sqlite --workload ibench --writes 3,2,1", &["--writes has 3 values"]);
    refused(
        "sqlite a=sqlite --workload ibench --loads 2",
        &["cannot be used with the Insert Benchmark"],
    );
    refused("sqlite a=sqlite --workload ibench --secs 0.5", &["--secs must be at least 1"]);
    refused("sqlite a=sqlite --method runs --slice 5ms", &["--slice needs --method slices"]);
    let refused_test = |arguments: &str, texts: &[&str]| {
        rqps.run(&format!("selftest {arguments}")).refuses(2, texts);
    };
    refused_test("--dbms postgres://h/db", &["cannot test 'postgres://h/db'", "Name a build"]);
    refused_test("--dbms sqlite --controls 1", &["--controls must be at least 2"]);
    refused_test("--dbms sqlite --rounds 2", &["rounds must be at least 3"]);
    refused_test("--dbms sqlit", &["did you mean 'sqlite'"]);
    refused("sqlite a=postgres://h/db --workload ibench", &["begins with an empty data directory"]);
    refused("a=mysql://h/?set.x=1 b=mysql://h/?set.x", &["setting 'x' has no value"]);
    refused("sqlite a=sqlite --restart-cmd a=true", &["cannot restart 'a'", "starts it itself"]);
    refused("sqlite a=sqlite --restart-cmd true", &["write LABEL=COMMAND"]);
    refused("sqlite a=sqlite --profile", &["cannot profile sqlite: it runs inside rqps"]);
    let servers = "postgres@17.6 a=postgres@17.6";
    refused(
        &format!("{servers} --workload ibench --profile"),
        &["cannot profile the Insert Benchmark"],
    );
    refused(
        &format!("{servers} --workload micro:scan --profile=hot-points"),
        &["cannot profile 'hot-points', which is not compared here", "there are: scan"],
    );
    refused(&format!("{servers} --profile=hot-point"), &["did you mean 'hot-points'"]);
    refused(
        "sqlite a=sqlite --workload micro:read-only_range=10000 --rows 5K",
        &["read-only_range=10000 reads 10000 rows at a time"],
    );
}

const RUNS: &str =
    "--workload micro:point-query --rows 2K --secs 1 --rounds 3 --loads 1 --no-guards";

fn compare(rqps: &Rqps, out: &str, arguments: &[&str]) -> crate::common::result::Finished {
    let out = rqps.path(out).display().to_string();
    let words = ["compare", "--out", &out].into_iter().chain(arguments.iter().copied());
    Running::start(rqps.command(words.chain(RUNS.split_whitespace()))).finish()
}

#[test]
fn a_stored_base_stands_for_one_of_now_and_is_told() {
    let rqps = Rqps::with_own_locks();
    let runs = ["--method", "runs"];
    let first = compare(&rqps, "first", &[&["sqlite", "again=sqlite"], &runs[..]].concat());
    assert!(first.status.code().is_some_and(|code| code < 2), "{}", first.stderr);
    let stored = rqps.path("first").display().to_string();
    let from = ["--baseline-from", &stored];
    let new = ["sqlite", "new=sqlite?cache_size=-4000"];
    let second = compare(&rqps, "second", &[&new[..], &runs, &from].concat());
    assert!(second.status.code().is_some_and(|code| code < 2), "{}", second.stderr);
    let summary = std::fs::read_to_string(rqps.path("second/summary.md")).unwrap();
    for text in [&second.stdout, &summary] {
        assert!(text.contains("The baseline was not measured"), "{text}");
    }

    let results = |out: &str| Connection::open(rqps.path(out).join("results.sqlite")).unwrap();
    let of_rounds = |out: &str, what: &str, who: &str| -> Vec<(i64, i64)> {
        let results = results(out);
        let sql = format!(
            "select {what} join round r on r.id = m.round where m.arm = ?1 order by r.round"
        );
        let mut select = results.prepare(&sql).unwrap();
        let rows = select.query_map([who], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let slices = "operations, nanos from slice m";
    let work = "operations, rows from work join measurement m on m.id = measurement";
    for who in ["sqlite", "A/A control"] {
        for what in [slices, work] {
            let [then, now] = ["first", "second"].map(|out| of_rounds(out, what, who));
            assert_eq!(then.len(), 3);
            assert_eq!(then, now, "these are the runs of then");
        }
    }
    let text = std::fs::read_to_string(rqps.path("second/result.json")).unwrap();
    let found = serde_json::from_str::<Value>(&text).unwrap()["comparison"].clone();
    let drift = found["baseline_from"]["drift"].as_f64().unwrap();
    assert!(drift >= 0.0299, "the reference loop is no more precise: {found}");
    let interval = &test(&found, "point-query")["plain"];
    let (low, high) = (interval["low"].as_f64().unwrap(), interval["high"].as_f64().unwrap());
    assert!((high / low).ln() / 2.0 >= drift.ln_1p() - 1e-9, "{interval}");

    // Each difference from the stored run is named.
    let other = |arguments: &[&str], says: &[&str]| {
        compare(&rqps, "other", &[arguments, &from].concat()).refuses(2, says);
    };
    other(&new, &["--baseline-from cannot be used with slices", "--method runs"]);
    let seed = [&new[..], &runs, &["--seed", "2"]].concat();
    other(&seed, &["differs: the seed.", "Measure the baseline again"]);
    let base = ["sqlite?cache_size=-2000", new[1], "--method", "runs"];
    other(&base, &["differs: the baseline."]);
    other(&[&new[..], &runs, &["--confirm"]].concat(), &["--confirm", "--baseline-from"]);
    let stored = rqps.path("second").display().to_string();
    let chain = [&new[..], &runs, &["--baseline-from", &stored]].concat();
    compare(&rqps, "other", &chain).refuses(2, &["took its baseline from another run"]);
}
