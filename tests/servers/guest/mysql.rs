//! Servers of MySQL and MariaDB.

use std::fs;

use rustix::process::Signal;

use super::server::Server;
use crate::common::{Rqps, Running, entries, processes};

const TINY: &str = "--rows 2K --secs 1 --tests point-query,update-index";

type Start = fn(&Rqps, &[&str]) -> Server;

/// A test with a server of MySQL, and one with a server of MariaDB, whose guests are the same code.
macro_rules! on_either {
    ($($(#[$of_mysql:meta])* $test:ident)*) => {
        mod on_mysql {
            $(#[test]
            $(#[$of_mysql])*
            fn $test() {
                super::$test(super::Server::mysql);
            })*
        }

        mod on_mariadb {
            $(#[test]
            #[ignore = "nightly: the same with a server of MariaDB"]
            fn $test() {
                super::$test(super::Server::mariadb);
            })*
        }
    };
}

on_either! {
    rights_on_its_database_are_all_it_takes_and_nothing_is_left
    #[ignore = "nightly: two settings are compared in compare.rs"]
    settings_of_sessions_are_compared_and_a_second_set_of_tables_needs_its_rights
    sessions_have_what_statements_rely_on_whatever_the_server_is_set_to
    a_database_of_that_name_with_anything_in_it_is_refused_untouched
    #[ignore = "nightly: another DBMS in the same way"]
    what_a_killed_run_left_keeps_nobody_out_and_what_others_made_there_stays
    an_interrupted_run_says_where_its_data_are_and_can_be_cleaned
}

/// A server with an account that has all rights on rqps's database and none elsewhere.
fn with_guest(rqps: &Rqps, start: Start, settings: &[&str]) -> Server {
    let server = start(rqps, settings);
    let create = "create user guest@'%' identified by ''";
    server.sql("", &[create, "grant all on rqps.* to guest@'%'"]);
    server
}

#[track_caller]
fn assert_nothing_was_made(rqps: &Rqps) {
    assert!(!rqps.out().exists(), "{:?}", entries(&rqps.out()));
    assert_eq!(entries(&rqps.home().join("data")), [""; 0]);
}

fn rights_on_its_database_are_all_it_takes_and_nothing_is_left(start: Start) {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, start, &[]);
    let (before, url) = (server.everything(), server.url("guest", ""));
    rqps.micro(&format!("{url} {TINY}")).ok();
    assert_eq!(server.everything(), before);
    // One that the owner of the server made for it is found as it was.
    server.sql("", &["create database rqps"]);
    let before = server.everything();
    let _ = fs::remove_dir_all(rqps.out());
    rqps.micro(&format!("{url} {TINY}")).ok();
    assert_eq!(server.everything(), before);
    rqps.assert_nothing_is_left();
}

fn settings_of_sessions_are_compared_and_a_second_set_of_tables_needs_its_rights(start: Start) {
    let rqps = Rqps::with_own_locks();
    let server = with_guest(&rqps, start, &[]);
    let (before, url) = (server.everything(), server.url("guest", ""));
    let out = rqps.out().display().to_string();
    let compare = |others: &str, test: &str| {
        rqps.run(&format!(
            "compare a={url} {others} --workload micro:{test} --rows 2K --secs 0.2 --rounds 3 \
             --out {out}"
        ))
    };
    let ended = compare(&format!("b={url}&set.sort_buffer_size=4194304"), "point-query");
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    assert!(ended.stdout.contains("sort_buffer_size"), "{}", ended.stdout);
    assert_eq!(server.everything(), before);
    let _ = fs::remove_dir_all(rqps.out());
    let settings = format!("b={url}&set.sort_buffer_size=64M");
    let refused = compare(&settings, "point-query").expect_code(2);
    refused.says(&["cannot set 'sort_buffer_size' to '64M'"]);
    let refused = compare(&format!("b={url}&set.autocommit=0"), "point-query");
    refused.expect_code(2).says(&["rqps sets 'autocommit' itself"]);
    // Tests that write need a database for each.
    let settings = format!("b={url}&set.sort_buffer_size=4194304");
    let refused = compare(&settings, "update-index").expect_code(2);
    refused.says(&["lacks rights", "grant all on `rqps%`.* to 'guest'@'%'"]);
    assert!(!rqps.out().exists());
    server.sql("", &["grant all on `rqps%`.* to guest@'%'"]);
    let ended = compare(&settings, "update-index");
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    assert_eq!(server.everything(), before);
    rqps.assert_nothing_is_left();
}

fn sessions_have_what_statements_rely_on_whatever_the_server_is_set_to(start: Start) {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, start, &["max-allowed-packet=64K"]);
    for setting in [
        "autocommit = 0",
        "completion_type = 'CHAIN'",
        "max_execution_time = 1",
        "max_statement_time = 0.001",
        "sql_require_primary_key = ON",
        "innodb_force_primary_key = ON",
        "sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'",
        "sql_safe_updates = ON",
        "sql_select_limit = 1",
        "sql_big_selects = OFF",
        "sql_auto_is_null = ON",
        "transaction_isolation = 'SERIALIZABLE'",
        "tx_isolation = 'SERIALIZABLE'",
        "transaction_read_only = ON",
        "tx_read_only = ON",
        "time_zone = '+05:45'",
        "wait_timeout = 1",
        "net_read_timeout = 1",
        "lock_wait_timeout = 1",
        "innodb_lock_wait_timeout = 1",
        "idle_transaction_timeout = 1",
        "foreign_key_checks = OFF",
        "unique_checks = OFF",
        "auto_increment_increment = 2",
        "auto_increment_offset = 2",
    ] {
        let mut connection = server.connect("");
        // Each has some of them.
        let _ = connection.run(&format!("set global {setting}"));
    }
    let before = server.everything();
    let url = server.url("guest", "");
    rqps.micro(&format!("{url} {TINY}")).ok();
    let out = rqps.path("ibench").display().to_string();
    let _ = fs::remove_dir_all(&out);
    rqps.run(&format!("ibench --out {out} {url} --rows 2K --only l.i0,l.x")).ok();
    assert_eq!(server.everything(), before);
}

fn a_database_of_that_name_with_anything_in_it_is_refused_untouched(start: Start) {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, start, &[]);
    let url = server.url("guest", "");
    for (make, remove) in [
        ("create procedure rqps.mine() select 1", "drop procedure rqps.mine"),
        (
            "create function rqps.mine() returns int deterministic return 1",
            "drop function rqps.mine",
        ),
        ("create event rqps.mine on schedule every 1 year do select 1", "drop event rqps.mine"),
        ("create view rqps.mine as select 1", "drop view rqps.mine"),
        ("create table rqps.sbtest1 (a int)", "drop table rqps.sbtest1"),
    ] {
        server.sql("", &["create database if not exists rqps", make]);
        let before = server.everything();
        let ended = rqps.micro(&format!("{url} {TINY}")).expect_code(2);
        ended.says(&["database 'rqps' on 127.0.0.1", "was not created by rqps"]);
        rqps.run(&format!("dbms clean {url}")).ok().says(&["rqps has left nothing in"]);
        assert_nothing_was_made(&rqps);
        assert_eq!(server.everything(), before, "{make}");
        server.sql("", &[remove]);
    }
}

fn what_a_killed_run_left_keeps_nobody_out_and_what_others_made_there_stays(start: Start) {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, start, &[]);
    let (before, url) = (server.everything(), server.url("guest", ""));
    let running = rqps.start("micro", &format!("{url} --rows 2K --secs 60 --tests point-query"));
    running.wait_for("(2 of 2)");
    let second = rqps.path("second").display().to_string();
    let ended = rqps.run(&format!("micro --out {second} {url} {TINY}")).expect_code(2);
    ended.says(&["another rqps is using database 'rqps'", "of 'guest'", "at work since 20"]);
    processes::signal(running.pid(), Signal::KILL);
    drop(running);
    for (make, remove, name) in [
        ("create procedure rqps.mine() select 1", "drop procedure rqps.mine", "procedure mine"),
        (
            "create event rqps.mine on schedule every 1 year do select 1",
            "drop event rqps.mine",
            "event mine",
        ),
        ("create view rqps.mine as select 1", "drop view rqps.mine", "view mine"),
        ("create table rqps.mine (a int)", "drop table rqps.mine", "table mine"),
        (
            "create trigger rqps.mine before insert on rqps.sbtest1 for each row set new.k = 1",
            "drop trigger rqps.mine",
            "trigger mine",
        ),
    ] {
        server.sql("", &[make]);
        let made = server.everything();
        for ended in [
            rqps.run(&format!("dbms clean {url}")).expect_code(2),
            rqps.run(&format!("micro --out {second} {url} {TINY}")).expect_code(2),
        ] {
            ended.says(&["contains objects that rqps did not create", name]);
            assert_eq!(server.everything(), made, "{make}");
        }
        server.sql("", &[remove]);
    }
    rqps.run(&format!("micro --out {second} {url} {TINY}")).ok();
    assert_eq!(server.everything(), before);
    let _ = fs::remove_dir_all(&second);
    rqps.run("dbms prune --data").ok();
}

#[test]
fn missing_rights_and_limits_are_named_before_anything_is_made() {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, Server::mysql, &["max-connections=12"]);
    server.sql(
        "",
        &[
            "create user lim@'%' identified by ''",
            "grant select, insert, create on rqps.* to lim@'%'",
            "create user few@'%' identified by '' with max_user_connections 4",
            "grant all on rqps.* to few@'%'",
        ],
    );
    let before = server.everything();
    for (account, more, said) in [
        (
            "lim",
            "",
            [
                "ALTER, DELETE, DROP, EVENT, EXECUTE, INDEX, TRIGGER, UPDATE on rqps.*",
                "grant all on rqps.* to 'lim'@'%'",
            ],
        ),
        ("few", "--clients 2", ["max_user_connections of this account is 4", "fewer --clients"]),
        ("guest", "--clients 32", ["max_connections is 12", "set global max_connections"]),
    ] {
        let url = server.url(account, "");
        let ended = rqps.micro(&format!("{url} {TINY} {more}")).expect_code(2);
        ended.says(&said);
        assert_nothing_was_made(&rqps);
    }
    assert_eq!(server.everything(), before);
}

fn an_interrupted_run_says_where_its_data_are_and_can_be_cleaned(start: Start) {
    let rqps = Rqps::new();
    let server = with_guest(&rqps, start, &[]);
    let (before, url) = (server.everything(), server.url("guest", ""));
    let running: Running =
        rqps.start("micro", &format!("{url} --rows 2K --secs 60 --tests point-query"));
    running.wait_for("(2 of 2)");
    processes::signal(running.pid(), Signal::INT);
    let ended = running.finish().expect_code(130);
    ended.says(&[
        "its data are kept in database 'rqps' on 127.0.0.1",
        "rqps dbms clean 'mysql://guest@",
    ]);
    let cleaned = rqps.run(&format!("dbms clean {url}")).ok();
    assert!(cleaned.stdout.contains("sbtest1"), "{}", cleaned.stdout);
    assert_eq!(server.everything(), before);
}
