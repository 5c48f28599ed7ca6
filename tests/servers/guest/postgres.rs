//! Servers of Postgres, and what stands in front of them.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::server::{Pooler, Server};
use crate::common::result::Finished;
use crate::common::{Rqps, Running, await_that, entries, processes};

const TINY: &str = "--rows 2K --secs 1 --tests point-query,update-index";
/// Long enough to be met at work.
const LONG: &str = "--rows 2K --secs 60 --tests point-query,update-index";

/// A server with a role that may do no more than it must, and a database that it may work in.
fn with_guest(rqps: &Rqps, version: &str, settings: &[&str]) -> Server {
    let server = Server::postgres(rqps, version, settings);
    server.sql("", &["create role guest login", "create database bench"]);
    server.sql("", &["grant create on database bench to guest"]);
    server
}

fn micro(rqps: &Rqps, url: &str) -> Finished {
    rqps.micro(&format!("{url} {TINY}"))
}

/// Nothing was made, on the server or here.
#[track_caller]
fn assert_nothing_was_made(rqps: &Rqps) {
    assert!(!rqps.out().exists(), "{:?}", entries(&rqps.out()));
    assert_eq!(entries(&rqps.home().join("data")), [""; 0]);
}

/// Waits until a run measures, so that its tables are there.
fn measuring(rqps: &Rqps, url: &str) -> Running {
    let running = rqps.start("micro", &format!("{url} {LONG}"));
    running.wait_for("(2 of 3)");
    running
}

#[test]
fn a_role_that_may_create_is_all_it_takes_and_nothing_is_left() {
    let rqps = Rqps::new();
    for version in ["12", "17.6"] {
        let server = with_guest(&rqps, version, &[]);
        let before = server.everything();
        let out = rqps.path(version);
        let mut command = rqps.command(["micro", &server.url("guest", "bench"), "--out"]);
        command.arg(&out).args(TINY.split(' '));
        let ended = Running::start(command).finish().ok();
        // Nobody could grant the checkpoint before 15; it is said once, and in the report.
        let notes = ended.stderr.matches("may not write a checkpoint").count();
        assert_eq!(notes, 1, "{}", ended.stderr);
        let report = fs::read_to_string(out.join("report.html")).unwrap();
        assert!(report.contains("may not write a checkpoint"), "{version}");
        assert_eq!(server.everything(), before);
        rqps.assert_nothing_is_left();
    }
}

#[test]
fn a_second_run_is_told_who_is_there_and_the_first_goes_on() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "17.6", &[]);
    let (before, url) = (server.everything(), server.url("guest", "bench"));
    let first = rqps.start("micro", &format!("{url} --rows 2K --secs 8 --tests point-query"));
    first.wait_for("(2 of 2)");
    let second = rqps.path("second");
    let out = second.display().to_string();
    let ended = rqps.run(&format!("micro --out {out} {url} {TINY}"));
    let ended = ended.expect_code(2);
    ended.says(&[
        "another rqps is using schema 'rqps' of database 'bench'",
        "of 'guest'",
        "since 20",
        // By another name than measured sessions, whose end counters are waited for.
        "rqps control",
    ]);
    assert!(!second.exists());
    rqps.run(&format!("dbms clean {url}")).expect_code(2).says(&["another rqps is using"]);
    first.finish().ok();
    assert_eq!(server.everything(), before);
}

#[test]
fn two_contenders_may_be_on_one_server() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "17.6", &[]);
    let (before, url) = (server.everything(), server.url("guest", "bench"));
    rqps.micro(&format!("a={url} b={url} {TINY}")).ok();
    assert_eq!(server.everything(), before);
    rqps.assert_nothing_is_left();
}

#[test]
fn a_pool_of_sessions_works_whatever_it_does_with_parameters() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "17.6", &[]);
    let before = server.everything();
    for more in ["", "ignore_startup_parameters = search_path", "server_reset_query ="] {
        let pooler = Pooler::before(&server, &format!("pool_mode = session\n{more}"));
        let _ = fs::remove_dir_all(rqps.out());
        micro(&rqps, &server.url_at(pooler.port, "guest", "bench")).ok();
        drop(pooler);
        assert_eq!(server.everything(), before, "{more}");
    }
}

#[test]
fn a_pool_of_transactions_or_statements_is_refused_before_anything_is_made() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "17.6", &[]);
    let before = server.everything();
    for mode in ["transaction", "transaction\nserver_round_robin = 1", "statement"] {
        let pooler = Pooler::before(&server, &format!("pool_mode = {mode}"));
        let url = server.url_at(pooler.port, "guest", "bench");
        let ended = micro(&rqps, &url).expect_code(2);
        ended.says(&["a pooler is in between", "pool_mode = session"]);
        assert_nothing_was_made(&rqps);
        drop(pooler);
        assert_eq!(server.everything(), before, "{mode}");
    }
}

#[test]
fn what_somebody_made_beside_rqps_s_tables_is_named_and_stays() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "17.6", &[]);
    let (before, url) = (server.everything(), server.url("guest", "bench"));
    let running = measuring(&rqps, &url);
    processes::signal(running.pid(), Signal::KILL);
    drop(running);
    rqps.run("dbms prune --data").ok().says(&["rqps dbms clean 'postgres://guest@"]);
    for (make, remove, name) in [
        ("create table rqps.mine (a int)", "drop table rqps.mine", "table mine"),
        ("create view rqps.mine as select 1", "drop view rqps.mine", "view rqps.mine"),
        ("create sequence rqps.mine", "drop sequence rqps.mine", "sequence rqps.mine"),
        ("create type rqps.mine as enum ('a')", "drop type rqps.mine", "type rqps.mine"),
        (
            "create function rqps.mine() returns int language sql as 'select 1'",
            "drop function rqps.mine",
            "function rqps.mine()",
        ),
        (
            "create rule mine as on insert to rqps.sbtest1 do also notify mine",
            "drop rule mine on rqps.sbtest1",
            "rule mine on rqps.sbtest1",
        ),
        (
            "create view public.mine as select * from rqps.sbtest1",
            "drop view public.mine",
            "view public.mine",
        ),
    ] {
        server.sql("bench", &[make]);
        let made = server.everything();
        let _ = fs::remove_dir_all(rqps.out());
        for ended in [rqps.run(&format!("dbms clean {url}")), micro(&rqps, &url)] {
            ended.says(&["contains objects that rqps did not create", name]);
            assert_eq!(server.everything(), made, "{make}");
        }
        server.sql("bench", &[remove]);
    }
    rqps.run(&format!("dbms clean {url}")).ok().says(&["removed schema 'rqps'", "created at 20"]);
    assert_eq!(server.everything(), before);
    rqps.run(&format!("dbms clean {url}")).ok().says(&["rqps has left nothing in"]);
}

#[test]
fn a_schema_of_that_name_that_rqps_did_not_make_is_refused_untouched() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "17.6", &[]);
    server.sql(
        "bench",
        &["create schema rqps authorization guest", "create table rqps.sbtest1 (a int)"],
    );
    let before = server.everything();
    let url = server.url("guest", "bench");
    micro(&rqps, &url)
        .expect_code(2)
        .says(&["schema 'rqps' of database 'bench'", "was not created by rqps"]);
    rqps.run(&format!("dbms clean {url}")).ok().says(&["rqps has left nothing in"]);
    assert_nothing_was_made(&rqps);
    assert_eq!(server.everything(), before);
}

#[test]
fn a_schema_that_another_role_made_and_marked_is_refused_untouched() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "12", &[]);
    server.sql("", &["create role other login", "grant create on database bench to other"]);
    server.sql("", &["create role boss login superuser"]);
    // Before 16 a role may make any other a member of itself.
    server.sql("", &["grant other to guest"]);
    server.sql(
        "bench",
        &[
            "create schema rqps authorization other",
            "comment on schema rqps is 'made by rqps 1-2 since 2026-01-01 00:00:00 UTC'",
            "create table rqps.sbtest1 (a int)",
        ],
    );
    let before = server.everything();
    for role in ["guest", "boss"] {
        let url = server.url(role, "bench");
        for ended in [micro(&rqps, &url), rqps.run(&format!("dbms clean {url}"))] {
            ended.expect_code(2).says(&["schema 'rqps'", "belongs to 'other'"]);
            assert_eq!(server.everything(), before, "{role}");
        }
        assert_nothing_was_made(&rqps);
    }
    // That of a superuser can be trusted.
    server.sql("bench", &["alter schema rqps owner to boss", "drop table rqps.sbtest1"]);
    server.sql("bench", &["grant create, usage on schema rqps to guest"]);
    let ended = rqps.run(&format!("dbms clean {}", server.url("boss", "bench")));
    ended.ok().says(&["removed schema 'rqps'"]);
}

#[test]
fn what_a_killed_run_left_keeps_nobody_out() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "17.6", &[]);
    let (before, url) = (server.everything(), server.url("guest", "bench"));
    let running = measuring(&rqps, &url);
    processes::signal(running.pid(), Signal::KILL);
    drop(running);
    assert_ne!(server.everything(), before);
    let other = rqps.path("other").display().to_string();
    rqps.run(&format!("micro --out {other} {url} {TINY}")).ok();
    assert_eq!(server.everything(), before);
    // The other run has taken the place of the first one's data.
    let ended = rqps.micro("--resume").expect_code(3);
    ended.says(&["the data of this run are no longer in schema 'rqps'", "they were removed"]);
    assert_eq!(server.everything(), before);
}

#[test]
fn an_interrupted_run_says_where_its_data_are_and_goes_on() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "17.6", &[]);
    let (before, url) = (server.everything(), server.url("guest", "bench"));
    let running = measuring(&rqps, &url);
    processes::signal(running.pid(), Signal::INT);
    let ended = running.finish().expect_code(130);
    ended.says(&[
        "its data are kept in schema 'rqps' of database 'bench' on 127.0.0.1",
        "rqps dbms clean 'postgres://guest@127.0.0.1",
        "--resume",
    ]);
    assert!(!server.everything().iter().any(|thing| thing.contains(": lock ")));
    let resumed = rqps.start("micro", "--resume");
    resumed.wait_for("(2 of 3)");
    processes::signal(resumed.pid(), Signal::INT);
    resumed.finish().expect_code(130);
    let cleaned = rqps.run(&format!("dbms clean {url}")).ok();
    assert!(cleaned.stdout.contains("sbtest1"), "{}", cleaned.stdout);
    assert_eq!(server.everything(), before);
}

#[test]
fn a_run_that_has_lost_its_lock_drops_nothing() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "17.6", &[]);
    let (before, url) = (server.everything(), server.url("guest", "bench"));
    let running = rqps.start("micro", &format!("{url} --rows 2K --secs 3 --tests point-query"));
    running.wait_for("(2 of 2)");
    server.sql(
        "bench",
        &["select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'"],
    );
    let ended = running.finish().expect_code(3);
    ended.says(&["the connection that keeps other runs out", "was lost", "rqps dbms clean"]);
    let left = server.everything();
    assert!(left.iter().any(|thing| thing.contains("sbtest1")), "{left:?}");
    rqps.run(&format!("dbms clean {url}")).ok();
    assert_eq!(server.everything(), before);
}

#[test]
fn missing_rights_are_named_with_what_grants_them_before_anything_is_made() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "17.6", &[]);
    server.sql("", &["create role \"o'Brien \"\"x\"\"\" login"]);
    let before = server.everything();
    let url = server.url("o%27Brien%20%22x%22", "bench");
    let ended = micro(&rqps, &url).expect_code(2);
    ended.says(&[
        "lacks rights that the benchmark needs: CREATE on database \"bench\"",
        "grant create on database \"bench\" to \"o'Brien \"\"x\"\"\"",
    ]);
    assert_nothing_was_made(&rqps);
    server.sql("", &["grant create on database \"bench\" to \"o'Brien \"\"x\"\"\""]);
    micro(&rqps, &url).ok();
    assert_eq!(server.everything(), before);
}

#[test]
fn names_may_have_anything_in_them() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "17.6", &[]);
    server.sql("", &[r#"create database "My ""odd"" Db" owner guest"#]);
    let before = server.everything();
    micro(&rqps, &server.url("guest", "My%20%22odd%22%20Db")).ok();
    assert_eq!(server.everything(), before);
}

#[test]
fn limits_of_connections_are_found_before_the_load_with_what_raises_them() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "17.6", &["max_connections=14"]);
    let before = server.everything();
    let url = server.url("guest", "bench");
    for (set, reset, remedy) in [
        ("", "", "alter system set max_connections"),
        (
            "alter role guest connection limit 6",
            "alter role guest connection limit -1",
            "alter role \"guest\" connection limit",
        ),
        (
            "alter database bench connection limit 6",
            "alter database bench connection limit -1",
            "alter database \"bench\" connection limit",
        ),
    ] {
        let clients = if set.is_empty() { 16 } else { 4 };
        if !set.is_empty() {
            server.sql("", &[set]);
        }
        let ended = rqps.micro(&format!("{url} --clients {clients} {TINY}")).expect_code(2);
        ended.says(&["fewer --clients", remedy]);
        assert_nothing_was_made(&rqps);
        if !reset.is_empty() {
            server.sql("", &[reset]);
        }
    }
    assert_eq!(server.everything(), before);
}

#[test]
fn sessions_have_what_statements_rely_on_whatever_the_role_is_set_to() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "17.6", &[]);
    for setting in [
        "statement_timeout = '100ms'",
        "lock_timeout = '1ms'",
        "idle_session_timeout = '1s'",
        "transaction_timeout = '1s'",
        "default_transaction_read_only = on",
        "default_transaction_isolation = 'serializable'",
        "default_transaction_deferrable = on",
        "search_path = public, pg_catalog",
        "DateStyle = 'German'",
        "IntervalStyle = 'iso_8601'",
        "TimeZone = 'Asia/Kathmandu'",
        "bytea_output = 'escape'",
        "standard_conforming_strings = off",
        "client_min_messages = 'debug5'",
    ] {
        server.sql("", &[&format!("alter role guest set {setting}")]);
    }
    let before = server.everything();
    micro(&rqps, &server.url("guest", "bench")).ok();
    let out = rqps.path("ibench").display().to_string();
    let url = server.url("guest", "bench");
    rqps.run(&format!("ibench --out {out} {url} --rows 2K --only l.i0,l.x")).ok();
    assert_eq!(server.everything(), before);
}

#[test]
fn a_server_that_waits_for_a_standby_is_left_at_once_and_can_be_cleaned() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, "17.6", &[]);
    let (before, url) = (server.everything(), server.url("guest", "bench"));
    server.sql("", &["alter system set synchronous_standby_names = 'nosuch'"]);
    server.sql("", &["select pg_reload_conf()"]);
    let running = rqps.start("micro", &format!("{url} {TINY}"));
    let waits = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'";
    let is_waiting = || server.sql("bench", &[waits])[0][0].as_deref() != Some("0");
    await_that("a commit waits for the standby", is_waiting);
    let begun = Instant::now();
    processes::signal(running.pid(), Signal::INT);
    running.finish().expect_code(130);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    await_that("no session of rqps waits any more", || !is_waiting());
    rqps.run(&format!("dbms clean {url}")).ok();
    server.sql("", &["alter system reset synchronous_standby_names"]);
    server.sql("", &["select pg_reload_conf()"]);
    assert_eq!(server.everything(), before);
}
