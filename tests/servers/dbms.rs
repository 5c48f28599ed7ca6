//! `rqps dbms`, and the servers that it starts as contenders of a benchmark.

use std::fs;
use std::process::Stdio;

use crate::common::result::{Finished, RunResult};
use crate::common::{Rqps, Running, entries, processes};

/// Starts a server that stays up, and answers its URL.
fn start(rqps: &Rqps) -> String {
    let ended = rqps.run("dbms start postgres@17.6").ok();
    let ended = ended.says(&["to run SQL: rqps dbms shell", "to stop it: rqps dbms stop "]);
    assert_eq!(ended.stdout.lines().count(), 1, "the URL and nothing else: {}", ended.stdout);
    ended.stdout.trim().to_string()
}

fn shell(rqps: &Rqps, contender: &str, statements: &str) -> Finished {
    let mut command = rqps.command(["dbms", "shell", contender]);
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    running.type_in(statements);
    running.finish()
}

#[test]
fn a_server_is_started_looked_into_and_stopped() {
    let rqps = Rqps::new();
    let url = start(&rqps);
    assert!(url.starts_with("postgres://rqps@localhost:"), "{url}");
    let servers = processes::below(&rqps.home());
    assert!(!servers.is_empty(), "it stays up when rqps has ended");
    rqps.run("dbms start postgres@17.6").refuses(2, &["already running", &url]);

    let ended = shell(
        &rqps,
        &url,
        "create table t (n int)\ninsert into t values (41), (null)\nselect n + 1 from t\nselct 1\n\
         select 'still' || 'there'\nexit\nselect 'after' || 'exit'\n",
    )
    .ok();
    for text in ["42", "NULL", "stillthere"] {
        assert!(ended.stdout.contains(text), "{text}:\n{}", ended.stdout);
    }
    assert!(!ended.stdout.contains("afterexit"), "{}", ended.stdout);
    let ended = ended.says(&["error: syntax error"]);
    drop(ended);
    let listed = rqps.run("dbms list --installed").ok().stdout;
    assert!(listed.contains(&url) && !listed.contains("can be fetched"), "{listed}");
    let ended = rqps.run("dbms prune --data").ok();
    assert!(processes::below(&rqps.home()).len() >= 4, "what is in use stays: {}", ended.stderr);
    rqps.run("dbms prune --builds").refuses(2, &["cannot remove builds", "rqps dbms stop --all"]);

    rqps.run("dbms stop 1").refuses(2, &["rqps has started no server with process id 1"]);
    let pid = servers.iter().find(|&&pid| !processes::children(pid, "postgres").is_empty());
    rqps.run(&format!("dbms stop {}", pid.unwrap())).ok().says(&["stopped postgres@17.6"]);
    rqps.assert_no_server_is_left();
    // Its data stay, and are there at the next start.
    let url = start(&rqps);
    assert!(
        shell(&rqps, &url, "select count(*) || ' rows' from t\n").ok().stdout.contains("2 rows")
    );
    rqps.run("dbms stop --all").ok();
    rqps.assert_no_server_is_left();
    rqps.run("dbms prune").ok();
    assert!(rqps.home().join("data/postgres_17.6").exists(), "it was promised to stay");
    rqps.run("dbms prune --data").ok();
    let left = entries(&rqps.home().join("data"));
    assert!(left.is_empty(), "prune leaves {left:?}");
}

#[test]
fn a_running_server_is_measured_and_left_as_it_was() {
    let rqps = Rqps::new();
    let url = start(&rqps);
    let own = "create table pi1 (mine text)\ninsert into pi1 values ('untouched')\n";
    shell(&rqps, &url, own).ok();
    rqps.ibench(&format!("{url} --rows 2K --writes 500,50 --rates 100 --query-secs 1")).ok();
    let result = RunResult::of(&rqps.out());
    assert_eq!(result.states().len(), 6);
    result.assert_all_done();
    assert_eq!(result.0["contenders"][0]["source"], "running server");
    assert_eq!(result.0["contenders"][0]["version"], "17.6");
    let ask = "select string_agg(mine, ',') from public.pi1\n\
               select 'schemas: ' || count(*) from pg_namespace where nspname = 'rqps'\n\
               select 'tables: ' || count(*) from pg_class where relname like 'pi_' \n";
    let answers = shell(&rqps, &url, ask).ok().stdout;
    for text in ["untouched", "schemas: 0", "tables: 1"] {
        assert!(answers.contains(text), "{text}:\n{answers}");
    }
    // A schema of the user's own with rqps's name is not taken.
    shell(&rqps, &url, "create schema rqps\ncreate table rqps.pi1 (mine text)\n").ok();
    let out = rqps.path("again").display().to_string();
    let refused = rqps.run(&format!("ibench {url} --rows 1K --only l.i0 --out {out}"));
    refused.expect_code(2).says(&["schema 'rqps'", "was not created by rqps"]);
    let answer = shell(&rqps, &url, "select 'kept ' || count(*) from rqps.pi1\n").ok().stdout;
    assert!(answer.contains("kept 0"), "{answer}");
    rqps.run("dbms stop --all").ok();
    rqps.assert_no_server_is_left();
}

#[test]
#[ignore = "nightly: other runs go on in the same way"]
fn a_run_on_a_running_server_goes_on_after_an_interrupt() {
    let rqps = Rqps::new();
    let url = start(&rqps);
    let arguments = "--rows 2K --writes 500,50 --rates 100 --query-secs 6";
    let running = rqps.start_ibench(&format!("db={url} {arguments}"));
    running.wait_for("db: qr100 (5 of 6)");
    processes::signal(running.pid(), rustix::process::Signal::INT);
    running.finish().expect_code(130);
    rqps.resume().ok();
    let result = RunResult::of(&rqps.out());
    result.assert_all_done();
    assert_eq!(result.step("qr100")["attempt"], 2);
    let ask = "select 'schemas: ' || count(*) from pg_namespace where nspname = 'rqps'\n";
    let answer = shell(&rqps, &url, ask).ok().stdout;
    assert!(answer.contains("schemas: 0"), "{answer}");
    rqps.run("dbms stop --all").ok();
    rqps.assert_no_server_is_left();
}

#[test]
fn a_temporary_server_leaves_nothing() {
    let rqps = Rqps::new();
    for (contender, question, answer) in [
        ("postgres@17.6?work_mem=7MB", "show work_mem", "7MB"),
        ("sqlite?cache_size=-777", "pragma cache_size", "-777"),
    ] {
        let ended = shell(&rqps, contender, &format!("{question}\n")).ok();
        assert!(ended.stdout.contains(answer), "{contender}:\n{}", ended.stdout);
        rqps.assert_nothing_is_left();
    }
}

#[test]
fn builds_are_fetched_listed_and_pruned() {
    let rqps = Rqps::new();
    let ended = rqps.run("dbms fetch postgres@17.6 sqlite").ok();
    assert!(ended.stdout.contains("postgres@17.6: postgres 17.6 in "), "{}", ended.stdout);
    assert!(ended.stdout.contains("sha256"), "{}", ended.stdout);
    assert!(ended.stdout.contains("sqlite: nothing to fetch"), "{}", ended.stdout);
    for text in ["flags -Os", "built for size (-Os), unlike the builds", "THREADSAFE=1"] {
        assert!(ended.stdout.contains(text), "'{text}' is not told:\n{}", ended.stdout);
    }
    let listed = rqps.run("dbms list").ok().stdout;
    let row = listed.lines().find(|line| line.contains("postgres-17.6-npm")).unwrap();
    let columns: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(columns[1..5], ["npm", "-Os", "gcc", "7.5.0"], "{row}");
    for text in ["postgres@17.6", "npm", "gcc", "configs of postgres: base, stock", "18.0"] {
        assert!(listed.contains(text), "'{text}' is not listed:\n{listed}");
    }
    // A home with a build of its own to remove: the others are not to lose theirs.
    let own = rqps.path("own");
    fs::create_dir_all(own.join("builds")).unwrap();
    let build = fs::canonicalize(rqps.home().join("builds/postgres-17.6-npm")).unwrap();
    let mut copy = std::process::Command::new("cp");
    assert!(copy.arg("-a").arg(build).arg(own.join("builds")).status().unwrap().success());
    let mut command = rqps.command(["dbms", "prune", "--builds"]);
    command.env("RQPS_HOME", &own);
    Running::start(command).finish().ok().says(&["removed ", "postgres-17.6-npm"]);
    let left = entries(&own.join("builds"));
    assert!(left.iter().all(|name| name == ".lock"), "{left:?}");
}

#[test]
fn prune_keeps_what_a_run_can_be_resumed_with() {
    let rqps = Rqps::new();
    let arguments = "sqlite --rows 1K --writes 500K,5 --only l.i0,l.x,l.i1,l.i2";
    let running = rqps.start_ibench(arguments);
    running.wait_for("l.i1 (3 of 4)");
    rqps.run("dbms prune --data").ok();
    assert!(rqps.data(0).exists(), "a run is at work with it");
    processes::kill(running.pid());
    running.finish();
    rqps.run("dbms prune").ok();
    assert!(rqps.data(0).exists(), "it can be resumed");
    fs::rename(rqps.out(), rqps.path("moved")).unwrap();
    rqps.run("dbms prune").ok().says(&["removed "]);
    rqps.assert_nothing_is_left();
}
