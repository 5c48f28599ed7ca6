//! Verdicts about servers by URL: they are found at their size, and nothing is left on a server.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use serde_json::Value;

use super::server::{Pooler, Server};
use crate::common::result::Finished;
use crate::common::{Rqps, Running, processes};

const POINT: &str = "--workload micro:point-query --rows 2K --secs 0.2";
/// Statements that are prepared once are planned at each execution, which takes about as long as
/// the execution itself.
const SLOW: &str = "plan_cache_mode=force_custom_plan";

/// A server with a role that may do no more than it must, and a database that it may work in.
fn with_guest(rqps: &Rqps, settings: &[&str]) -> Server {
    let server = Server::postgres(rqps, "17.6", settings);
    server.sql("", &["create role guest login", "create database bench"]);
    server.sql("", &["grant create on database bench to guest"]);
    server
}

fn start(rqps: &Rqps, arguments: &[&str]) -> Running {
    let out = rqps.out().display().to_string();
    let words = ["compare", "--out", &out].into_iter().chain(arguments.iter().copied());
    Running::start(rqps.command(words))
}

fn compare(rqps: &Rqps, contenders: &str, more: &str) -> Finished {
    let _ = fs::remove_dir_all(rqps.out());
    let words: Vec<&str> = contenders.split(' ').chain(more.split_whitespace()).collect();
    start(rqps, &words).finish()
}

fn comparison(rqps: &Rqps) -> Value {
    let text = fs::read_to_string(rqps.out().join("result.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["comparison"].clone()
}

fn ratio(comparison: &Value, contender: usize) -> f64 {
    comparison["contenders"][contender]["tests"][0]["ratio"]["value"].as_f64().unwrap()
}

#[test]
#[ignore = "nightly: needs the machine for itself, for a while"]
fn a_slower_server_and_a_slower_setting_of_one_server_are_found_at_the_same_size() {
    let rqps = Rqps::alone();
    let (fast, slow) = (with_guest(&rqps, &[]), with_guest(&rqps, &[SLOW]));
    let before = [fast.everything(), slow.everything()];
    let (a, b) = (fast.url("guest", "bench"), slow.url("guest", "bench"));
    let ended = compare(&rqps, &format!("a={a} b={b}"), &format!("{POINT} --rounds 4"));
    let ended = ended.expect_code(1);
    assert!(ended.stdout.contains("regression"), "{}", ended.stdout);
    let servers = comparison(&rqps);
    assert_eq!(servers["scope"], "instance");
    let remarks = servers["remarks"].to_string();
    for text in [
        "about these servers as they run",
        "a and b differ in: plan_cache_mode auto/force_custom_plan",
        "each with new sessions and tables",
        "That of b differs from it in",
    ] {
        assert!(remarks.contains(text), "no {text:?} in {remarks}");
    }
    // Nobody restarted anything, so nothing is said about what was not renewed.
    for file in ["summary.md", "report.html"] {
        let text = fs::read_to_string(rqps.out().join(file)).unwrap();
        assert!(!text.contains("restarts all servers"), "{file}");
        assert!(!text.contains("same build"), "{file}");
    }
    assert_eq!([fast.everything(), slow.everything()], before);

    let ended = compare(&rqps, &format!("a={a} b={a}&set.{SLOW}"), &format!("{POINT} --rounds 4"));
    let ended = ended.expect_code(1);
    assert!(ended.stdout.contains("regression"), "{}", ended.stdout);
    let settings = comparison(&rqps);
    assert_eq!(settings["scope"], "session");
    let remarks = settings["remarks"].to_string();
    assert!(remarks.contains("about settings of sessions on this server"), "{remarks}");
    assert!(remarks.contains("data loaded once"), "{remarks}");
    let sizes = [ratio(&servers, 0), ratio(&settings, 0)];
    assert!(sizes.iter().all(|size| (0.2..0.9).contains(size)), "{sizes:?}");
    assert!((sizes[0] / sizes[1] - 1.0).abs() < 0.15, "{sizes:?}");
    assert_eq!([fast.everything(), slow.everything()], before);
    rqps.assert_nothing_is_left();
}

#[test]
#[ignore = "nightly: needs the machine for itself, for a while"]
fn servers_that_are_alike_are_not_told_apart_and_tests_that_write_have_tables_of_their_own() {
    let rqps = Rqps::alone();
    let (one, other) = (with_guest(&rqps, &[]), with_guest(&rqps, &[]));
    let before = [one.everything(), other.everything()];
    let contenders = format!("a={} b={}", one.url("guest", "bench"), other.url("guest", "bench"));
    let more = "--workload micro:point-query,update-index --rows 2K --secs 0.2 --margin 10%";
    let ended = compare(&rqps, &contenders, &format!("{more} --rounds 4"));
    assert!(ended.status.code() == Some(0), "{}{}", ended.stdout, ended.stderr);
    let found = comparison(&rqps);
    for test in found["contenders"][0]["tests"].as_array().unwrap() {
        let label = test["label"].as_str().unwrap();
        assert!(!["regression", "improvement", "invalid"].contains(&label), "{test}");
        assert!(!test["own_control"].is_null() && !test["control"].is_null(), "{test}");
    }
    assert_eq!([one.everything(), other.everything()], before);
    // One server under two names.
    let second = one.url("guest", "bench").replace("127.0.0.1", "localhost");
    let contenders = format!("a={} b={second}", one.url("guest", "bench"));
    let ended = compare(&rqps, &contenders, &format!("{more} --rounds 3"));
    ended.says(&["a and b are one server: each has tables of its own there"]);
    assert_eq!(one.everything(), before[0]);
    rqps.assert_nothing_is_left();
}

#[test]
fn settings_that_a_session_cannot_have_are_named_before_anything_is_made() {
    let rqps = Rqps::with_own_locks();
    let server = with_guest(&rqps, &[]);
    let (before, url) = (server.everything(), server.url("guest", "bench"));
    for (set, texts) in [
        ("set.work_mem=64XB", vec!["cannot set 'work_mem' to '64XB'", "invalid value"]),
        ("set.work_men=64MB", vec!["work_men", "unrecognized configuration parameter"]),
        ("set.shared_buffers=64MB", vec!["shared_buffers", "cannot be changed"]),
        ("set.search_path=public", vec!["rqps sets 'search_path' itself"]),
        ("set.statement_timeout=1s", vec!["rqps sets 'statement_timeout' itself"]),
        ("set.jit=on", vec!["a and b have the same settings: jit = on"]),
    ] {
        let ended = compare(&rqps, &format!("a={url} b={url}&{set}"), POINT).expect_code(2);
        ended.says(&texts);
        assert!(!rqps.out().exists());
    }
    for (more, text) in [
        ("--method runs --max-rate 100", "--max-rate limits slices"),
        ("--loads 2", "cannot compare"),
        ("--memory 1G", "cannot limit the memory of 'a'"),
        ("--profile", "cannot profile a: it is a remote server"),
        ("--cached", "it is a remote server"),
        ("--restart-cmd c=true", "no contender has this name"),
    ] {
        let set = format!("a={url} b={url}&set.jit=off");
        let ended = compare(&rqps, &set, &format!("{POINT} {more}"));
        ended.expect_code(2).says(&[text]);
    }
    assert_eq!(server.everything(), before);
}

/// Of three contenders, the server of the third goes away in the first round.
fn without_the_third(method: &str) {
    let rqps = Rqps::with_own_locks();
    let (one, other, lost) =
        (with_guest(&rqps, &[]), with_guest(&rqps, &[]), with_guest(&rqps, &[]));
    let before = [one.everything(), other.everything()];
    let urls = [&one, &other, &lost].map(|server| server.url("guest", "bench"));
    let contenders = ["a", "b", "c"].into_iter().zip(&urls);
    let contenders: Vec<String> = contenders.map(|(name, url)| format!("{name}={url}")).collect();
    let mut words: Vec<&str> = contenders.iter().map(String::as_str).collect();
    words.extend(POINT.split(' '));
    words.extend(["--rounds", "3", "--method", method]);
    let running = start(&rqps, &words);
    running.wait_for("round 1:");
    drop(lost);
    let ended = running.finish().expect_code(3);
    ended.says(&["c: ", "to resume: rqps compare --resume"]);
    let found = comparison(&rqps);
    let rounds = |contender: usize| {
        let test = &found["contenders"][contender]["tests"][0];
        test["rounds"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(rounds(0), 3, "{found}");
    assert!(rounds(1) < 3, "{found}");
    // It is no failure of its tests, so a later session would include it again.
    assert_ne!(found["contenders"][1]["tests"][0]["label"], "invalid", "{found}");
    assert_eq!([one.everything(), other.everything()], before);
}

#[test]
fn others_go_on_without_a_server_that_goes_away_and_it_is_tried_again() {
    without_the_third("slices");
}

#[test]
#[ignore = "nightly: slices go on in the same way"]
fn whole_runs_go_on_without_a_server_that_goes_away() {
    without_the_third("runs");
}

#[test]
#[ignore = "nightly: takes more than a minute beside others"]
fn at_a_rate_servers_are_compared_by_whole_runs_also_with_a_build() {
    let rqps = Rqps::with_own_locks();
    // Its transactions count as those of others, and here are few of rqps's own.
    let settings = ["autovacuum=off"];
    let (one, other) = (with_guest(&rqps, &settings), with_guest(&rqps, &settings));
    let before = [one.everything(), other.everything()];
    let urls = [&one, &other].map(|server| server.url("guest", "bench"));
    let contenders = format!("a={} b={} c=postgres@17.6", urls[0], urls[1]);
    let more =
        "--workload micro:point-query --rows 2K --secs 0.5 --rate 600 --rounds 3 --no-guards";
    let ended = compare(&rqps, &contenders, more);
    assert!(matches!(ended.status.code(), Some(0 | 1)), "{}{}", ended.stdout, ended.stderr);
    let found = comparison(&rqps);
    assert_eq!(found["scope"], "instance");
    for contender in found["contenders"].as_array().unwrap() {
        let test = &contender["tests"][0];
        assert_eq!((&test["method"], &test["clock"]), (&"runs".into(), &"response".into()));
        // On a busy machine the client is late, and then there are no times.
        assert!(test["times"].is_object(), "{test}");
    }
    let remarks = found["remarks"].to_string();
    assert!(remarks.contains("Round trip to a "), "{remarks}");
    assert!(!remarks.contains("others executed"), "{remarks}");
    assert_eq!([one.everything(), other.everything()], before);
    rqps.assert_nothing_is_left();
}

#[test]
fn a_command_restarts_a_server_in_each_round_and_the_server_must_show_it() {
    let rqps = Rqps::with_own_locks();
    let (one, other) = (with_guest(&rqps, &[]), with_guest(&rqps, &[]));
    let [a, b] = [&one, &other].map(|server| server.url("guest", "bench"));
    let before = [one.everything(), other.everything()];
    let contenders = [format!("a={a}"), format!("b={b}")];
    let commands = [&one, &other].map(|server| server.restart_command());
    let [of_a, of_b] = [format!("a={}", commands[0]), format!("b={}", commands[1])];
    let mut words: Vec<&str> = contenders.iter().map(String::as_str).collect();
    words.extend(POINT.split(' '));
    words.extend(["--rounds", "3", "--margin", "20%", "--restart-cmd", &of_a]);
    let mut all = words.clone();
    all.extend(["--restart-cmd", &of_b]);
    let ended = start(&rqps, &all).finish();
    assert!(ended.status.code() == Some(0), "{}{}", ended.stdout, ended.stderr);
    let found = comparison(&rqps);
    assert_eq!(found["scope"], "instance+restart");
    let remarks = found["remarks"].to_string();
    assert!(remarks.contains("these servers over restarts"), "{remarks}");
    assert_eq!([one.everything(), other.everything()], before);

    let _ = fs::remove_dir_all(rqps.out());
    words.extend(["--restart-cmd", "b=echo done"]);
    let ended = start(&rqps, &words).finish().expect_code(3);
    ended.says(&["b: it was not restarted", "has been up for", "It said:\ndone"]);
    assert_eq!([one.everything(), other.everything()], before);
}

#[test]
#[ignore = "nightly: needs the machine for itself, for a while"]
fn what_a_pooler_costs_has_a_verdict() {
    let rqps = Rqps::alone();
    let server = with_guest(&rqps, &[]);
    let pooler = Pooler::before(&server, "pool_mode = session\ndefault_pool_size = 40");
    let before = server.everything();
    let urls = [server.port, pooler.port].map(|port| server.url_at(port, "guest", "bench"));
    let ended = compare(
        &rqps,
        &format!("direct={} pooled={}", urls[0], urls[1]),
        &format!("{POINT} --rounds 4"),
    );
    let ended = ended.expect_code(1);
    assert!(ended.stdout.contains("regression"), "{}", ended.stdout);
    ended.says(&["direct and pooled are one server"]);
    assert!(ratio(&comparison(&rqps), 0) < 0.9, "every message passes a process more");
    assert_eq!(server.everything(), before);
}

/// A session that uses no table publishes its transactions only when it ends.
const STATEMENT: &str = "select count(*) from pg_class where oid = 1";

/// Measures two settings of a server, for a second in each test, while a session of others repeats
/// a statement, until this is said. What is left is removed.
fn beside_others(
    server: &Server,
    rqps: &Rqps,
    url: &str,
    (setting, method): (&str, &str),
    statement: &str,
) {
    let said = "as many statements as rqps on the server of a (limit 10 %)";
    let before = server.everything();
    let contenders = [format!("a={url}"), format!("b={url}&{setting}")];
    let mut words: Vec<&str> = contenders.iter().map(String::as_str).collect();
    words.extend(["--workload", "micro:point-query", "--rows", "2K", "--secs", "1.5"]);
    words.extend(["--rounds", "3", "--no-control", "--method", method]);
    let _ = fs::remove_dir_all(rqps.out());
    let running = start(rqps, &words);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut connection = server.connect("");
            while !is_over.load(Ordering::Relaxed) {
                connection.run(statement).unwrap();
            }
        });
        running.wait_for(said);
        is_over.store(true, Ordering::Relaxed);
    });
    processes::signal(running.pid(), Signal::INT);
    running.finish().says(&[said, "data are kept in"]);
    rqps.run(&format!("dbms clean {url}")).ok().says(&["removed"]);
    assert_eq!(server.everything(), before);
}

#[test]
#[ignore = "nightly: slices are discarded in the same way"]
fn work_of_others_on_a_server_discards_a_whole_run() {
    let rqps = Rqps::with_own_locks();
    let server = with_guest(&rqps, &[]);
    let url = server.url("guest", "bench");
    beside_others(&server, &rqps, &url, ("set.jit=off", "runs"), STATEMENT);
}

#[test]
fn work_of_others_on_a_server_discards_a_measurement() {
    let rqps = Rqps::with_own_locks();
    let server = with_guest(&rqps, &[]);
    let url = server.url("guest", "bench");
    beside_others(&server, &rqps, &url, ("set.jit=off", "slices"), STATEMENT);
}

#[test]
#[ignore = "nightly: another DBMS in the same way"]
fn work_of_others_on_a_server_of_mysql_discards_a_measurement() {
    let rqps = Rqps::with_own_locks();
    let server = Server::mysql(&rqps, &[]);
    server.sql("", &["create user guest@'127.0.0.1'", "grant all on rqps.* to guest@'127.0.0.1'"]);
    let url = server.url("guest", "");
    beside_others(&server, &rqps, &url, ("set.sort_buffer_size=65536", "slices"), "select 1");
}

/// Prepared statements, those of transactions and those of control are all its own.
#[test]
fn no_work_of_rqps_is_taken_for_that_of_others() {
    let rqps = Rqps::with_own_locks();
    let server = Server::mysql(&rqps, &[]);
    server
        .sql("", &["create user guest@'127.0.0.1'", "grant all on `rqps%`.* to guest@'127.0.0.1'"]);
    let url = server.url("guest", "");
    let contenders = format!("a={url} b={url}&set.sort_buffer_size=65536");
    let more = "--workload micro:point-query,read-write_range=10 --rows 2K --secs 0.2 --rounds 3 \
                --clients 2 --no-control --margin 50%";
    let ended = compare(&rqps, &contenders, more);
    assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(!ended.stderr.contains("others executed"), "{}", ended.stderr);
    let remarks = comparison(&rqps)["remarks"].to_string();
    assert!(!remarks.contains("others executed"), "{remarks}");
    assert!(remarks.contains("Round trip to a "), "{remarks}");
}

#[test]
fn a_long_statement_of_others_is_told_and_a_setting_that_changes_is_refused() {
    let rqps = Rqps::with_own_locks();
    let server = with_guest(&rqps, &[]);
    let (before, url) = (server.everything(), server.url("guest", "bench"));
    let contenders = [format!("a={url}"), format!("b={url}&set.jit=off")];
    let mut words: Vec<&str> = contenders.iter().map(String::as_str).collect();
    words.extend(["--workload", "micro:point-query", "--rows", "2K", "--secs", "0.6"]);
    words.extend(["--rounds", "3", "--no-control", "--margin", "50%"]);
    let running = start(&rqps, &words);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let mut connection = server.connect("");
            connection.run("set application_name = 'nightly'").unwrap();
            // Ended below.
            connection.run("select pg_sleep(60)").unwrap_err();
        });
        running.wait_for("round 1:");
        let end = "select pg_terminate_backend(pid) from pg_stat_activity \
                   where application_name = 'nightly'";
        server.sql("", &[end]);
        sleeper.join().unwrap();
    });
    let ended = running.finish();
    assert!(matches!(ended.status.code(), Some(0 | 1)), "{}{}", ended.stdout, ended.stderr);
    let remarks = comparison(&rqps)["remarks"].to_string();
    for text in [
        "On the server of a, sessions of others were at work in round 1",
        "Not seen on remote servers (a, b): ",
        "Round trip to a ",
    ] {
        assert!(remarks.contains(text), "no {text:?} in {remarks}");
    }
    assert_eq!(server.everything(), before);

    let _ = fs::remove_dir_all(rqps.out());
    let running = start(&rqps, &words);
    running.wait_for("round 1:");
    server.sql("", &["alter system set work_mem = '5MB'", "select pg_reload_conf()"]);
    let ended = running.finish().expect_code(3);
    ended.says(&["have changed since the run began: work_mem from '4096 x kB' to '5120 x kB'"]);
    rqps.run(&format!("dbms clean {url}")).ok();
    assert_eq!(server.everything(), before);
}
