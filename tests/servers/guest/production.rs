//! Servers that others depend on: limits of what is asked of them, and tables that are there
//! already.

use std::fs;
use std::os::unix::fs::chown;
use std::process::Command;

use serde_json::Value;

use super::server::Server;
use crate::common::Rqps;
use crate::common::Running;
use crate::common::result::Finished;

const NOBODY: u32 = 65534;

fn compare(rqps: &Rqps, contenders: &[String], more: &str) -> Finished {
    let _ = fs::remove_dir_all(rqps.out());
    let out = rqps.out().display().to_string();
    let words = ["compare", "--out", &out].map(str::to_string).into_iter();
    let more = more.split_whitespace().map(str::to_string);
    Running::start(rqps.command(words.chain(more).chain(contenders.iter().cloned()))).finish()
}

fn comparison(rqps: &Rqps) -> Value {
    let text = fs::read_to_string(rqps.out().join("result.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["comparison"].clone()
}

/// A folder of queries alone.
fn queries(rqps: &Rqps, files: &[(&str, &str)]) -> String {
    let folder = rqps.path("queries");
    let _ = fs::remove_dir_all(&folder);
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    format!("--workload sql:{} --read-only --rounds 3 --secs 0.1 --no-guards", folder.display())
}

const ORDERS_OF: (&str, &str) = (
    "queries/orders_of.sql",
    "-- rqps: param customer int from \"select distinct customer from shop.orders\"
     select o.id, o.total from shop.orders o where o.customer = :customer order by o.id",
);

/// A database of others, and a role that may read it and nothing else.
fn shop(rqps: &Rqps) -> Server {
    let server = Server::postgres(rqps, "17.6", &[]);
    server.sql("", &["create role reader login", "create database prod"]);
    server.sql(
        "prod",
        &[
            "create schema shop",
            "create table shop.orders (id int primary key, customer int, total int)",
            "insert into shop.orders select i, i % 50, i from generate_series(1, 2000) i",
            "create function shop.touch() returns int language sql as \
             'insert into shop.orders values (0, 0, 0) returning id'",
            // Not the one of Postgres.
            "create function shop.random() returns int language sql as \
             'insert into shop.orders values (0, 0, 0) returning id'",
            "grant usage on schema shop to reader",
            "grant select on shop.orders to reader",
        ],
    );
    server
}

#[test]
fn limits_are_kept_and_a_test_that_is_held_back_is_judged_by_its_times() {
    let rqps = Rqps::with_own_locks();
    let server = Server::postgres(&rqps, "17.6", &[]);
    server.sql("", &["create role guest login", "create database bench"]);
    server.sql("", &["grant create on database bench to guest"]);
    let (before, url) = (server.everything(), server.url("guest", "bench"));
    let both = [format!("a={url}"), format!("b={url}&set.jit=off")];
    let point = "--workload micro:point-query --rows 2K --rounds 3 --no-guards";
    for (limit, says) in [
        (
            "--max-clients 2",
            "--max-clients allows 2 connections, and 3 are needed: 1 for each of a",
        ),
        ("--max-bytes 1K", "--max-bytes allows 1.00 KiB, and the tables of a, b, A/A control need"),
        ("--max-minutes 1 --secs 60", "the 3 rounds that a verdict needs take about"),
    ] {
        compare(&rqps, &both, &format!("{point} {limit}")).expect_code(2).says(&[says]);
        assert!(!rqps.out().exists() && server.everything() == before, "{limit}");
    }
    let kept = "--max-clients 3 --max-bytes 1G --max-minutes 60 --max-rate 300 --secs 1";
    let ended = compare(&rqps, &both, &format!("{point} {kept}"));
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}{}", ended.stdout, ended.stderr);
    let found = comparison(&rqps);
    let test = &found["contenders"][0]["tests"][0];
    assert_eq!(test["label"], "capped", "{test}");
    let rate = test["rate"].as_f64().unwrap();
    assert!((30.0..=300.0).contains(&rate), "{rate}");
    // A busy machine does too few operations for a verdict on their times.
    if rate > 250.0 {
        assert!(test["times"]["p50"]["label"].is_string(), "{test}");
        assert!(ended.stdout.contains("Service times of b"), "{}", ended.stdout);
    }
    assert_eq!(server.everything(), before);
    rqps.assert_nothing_is_left();
}

#[test]
fn tables_of_others_are_measured_by_a_role_that_may_only_read_and_on_a_standby() {
    let rqps = Rqps::with_own_locks();
    let server = shop(&rqps);
    let url = server.url("reader", "prod");
    let both = [format!("a={url}"), format!("b={url}&set.enable_indexscan=off")];
    let before = server.everything();
    for (file, says) in [
        (("queries/gone.sql", "delete from shop.orders"), "'gone' does not plainly read"),
        (("queries/new.sql", "select shop.touch()"), "touch() in 'new'"),
        (("queries/any.sql", "select shop.random()"), "random() in 'any'"),
        (("schema.sql", "create table t (i int)"), "schema.sql: with --read-only nothing is made"),
    ] {
        let more = queries(&rqps, &[ORDERS_OF, file]);
        compare(&rqps, &both, &more).expect_code(2).says(&[says]);
        assert!(!rqps.out().exists(), "{file:?}");
    }
    let more = "--workload micro:point-query --read-only";
    compare(&rqps, &both, more).expect_code(2).says(&["--read-only makes no tables"]);
    let builds = [both[0].clone(), "c=postgres@17.6".to_string()];
    let more = queries(&rqps, &[ORDERS_OF]);
    compare(&rqps, &builds, &more).expect_code(2).says(&["c is none: rqps starts it"]);

    let measured = |contenders: &[String], scope: &str| {
        let ended = compare(&rqps, contenders, &more);
        let code = ended.status.code();
        assert!(code.is_some_and(|code| code < 2), "{}{}", ended.stdout, ended.stderr);
        let found = comparison(&rqps);
        assert_eq!(found["scope"], scope, "{found}");
        let contender = &found["contenders"][0];
        assert_eq!(contender["statements"][0]["rows"]["verdict"], "same rows", "{contender}");
        assert_eq!(contender["tests"][0]["rounds"].as_array().map(Vec::len), Some(3));
        assert!(found["remarks"].to_string().contains("data the tables that the servers have"));
        ended
    };
    measured(&both, "session");
    assert_eq!(server.everything(), before);
    let sum = "select count(*), sum(id), sum(customer), sum(total) from shop.orders";
    let rows = server.sql("prod", &[sum]);

    // As a standby it is read-only by itself: nothing else is measured there.
    let signal = server.folder().join("data/standby.signal");
    fs::write(&signal, "").unwrap();
    chown(&signal, Some(NOBODY), Some(NOBODY)).unwrap();
    let restart = server.restart_command();
    let restarted = Command::new("sh").args(["-c", &restart]).output().unwrap();
    assert!(restarted.status.success(), "{restarted:?}");
    let of_rqps = "--workload micro:point-query --rows 1K --rounds 3";
    let refused = compare(&rqps, &both, of_rqps).expect_code(2);
    refused.says(&["the server is read-only: it is a standby", "--read-only"]);
    let second = server.url("reader", "prod").replace("127.0.0.1", "localhost");
    let ended = measured(&[format!("a={url}"), format!("b={second}")], "tables");
    ended.says(&["a and b are one server"]);
    assert_eq!(server.sql("prod", &[sum]), rows);
    rqps.assert_nothing_is_left();
}

#[test]
#[ignore = "nightly: another DBMS in the same way"]
fn tables_of_a_read_only_mysql_are_measured() {
    let rqps = Rqps::with_own_locks();
    let servers: [fn(&Rqps, &[&str]) -> Server; 2] = [Server::mysql, Server::mariadb];
    for (start, read_only) in servers.into_iter().zip(["super_read_only", "read_only"]) {
        let server = start(&rqps, &[]);
        server.sql("", &["create database shop", "create user reader@'%' identified by ''"]);
        server.sql(
            "shop",
            &[
                "create table orders (id int primary key, customer int, total int)",
                "insert into orders values (1, 1, 1), (2, 2, 2), (3, 2, 3)",
                "grant select on shop.* to reader@'%'",
                &format!("set global {read_only} = on"),
            ],
        );
        let (before, url) = (server.everything(), server.url("reader", "shop"));
        let second = url.replace("127.0.0.1", "localhost");
        let query = ("queries/all.sql", "select id, total from orders order by id");
        let more = queries(&rqps, &[query]);
        let both = [format!("a={url}"), format!("b={second}")];
        let ended = compare(&rqps, &both, &more);
        assert!(ended.status.code().is_some_and(|it| it < 2), "{}{}", ended.stdout, ended.stderr);
        ended.says(&["a and b are one server"]);
        let found = comparison(&rqps);
        assert_eq!(found["scope"], "tables", "{found}");
        assert_eq!(found["contenders"][0]["statements"][0]["rows"]["verdict"], "same rows");
        assert_eq!(server.everything(), before);
        rqps.assert_nothing_is_left();
    }
}
