//! A folder of a user's own SQL on all DBMSs, and what a resumed run says of an edited one.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Rqps, Running, processes};
use rustix::process::Signal;
use serde_json::Value;

const FILES: [(&str, &str); 9] = [
    (
        "schema.sql",
        "create table orders (id int primary key, customer int not null, day date, \
         total numeric(10, 2), note varchar(100));",
    ),
    (
        "schema.postgres.sql",
        "create table orders (id int primary key, customer int not null, day date, \
         total numeric(10, 2), note text);\n\
         create function both_of_them() returns int language sql begin atomic select 1; select 2; \
         end;",
    ),
    ("indexes.sql", "create index of_customer on orders (customer);"),
    (
        "load/1_orders.csv",
        "id,customer,day,total,note\n1,7,2026-01-02,1.50,it's\n2,7,,2.50,\"back\\slash\"\n\
         3,8,2026-01-03,,\n",
    ),
    (
        "queries/by_customer.sql",
        "-- rqps: param customer int from \"select customer from orders\"\n\
         select * from orders where customer = :customer order by id",
    ),
    (
        "queries/by_day.sql",
        "-- rqps: param day date from \"select day, total from orders\"\n\
         -- rqps: param total numeric from \"select day, total from orders\"\n\
         select id from orders where day = :day or total > :total",
    ),
    (
        "queries/note.sql",
        "-- rqps: transaction = each\n-- rqps: param note text const x'y\\z\n\
         update orders set note = :note where id = 1",
    ),
    (
        "queries/undone.sql",
        "-- rqps: transaction = rollback\n-- rqps: param id bigint = random_zipfian(1, 3, 1.2)\n\
         delete from orders where id = $1;\nselect count(*) from orders",
    ),
    ("queries/arrays.postgres.sql", "select (array[1, 2, 3])[1 : 2]"),
];

fn write_folder(folder: &Path) {
    for (name, text) in FILES {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Compares contenders by the folder `shop`.
fn compare(rqps: &Rqps, arguments: &str) -> Running {
    let (out, folder) = (rqps.out().display().to_string(), rqps.path("shop"));
    let workload = format!("sql:{}", folder.display());
    let fixed = ["compare", "--out", &out, "--workload", &workload, "--no-control", "--no-guards"];
    let words = fixed.into_iter().chain(arguments.split_whitespace());
    Running::start(rqps.command(words))
}

fn result(rqps: &Rqps) -> Value {
    serde_json::from_str(&fs::read_to_string(rqps.out().join("result.json")).unwrap()).unwrap()
}

#[test]
fn every_dbms_runs_the_queries_of_a_folder() {
    let rqps = Rqps::with_own_locks();
    write_folder(&rqps.path("shop"));
    let contenders = "postgres@17.6 mysql@8.0.33 mariadb@11.4.5 sqlite";
    let ended = compare(&rqps, &format!("{contenders} --rounds 3 --secs 0.2")).finish();
    // Other DBMSs are slower or faster: both are answers.
    assert!([Some(0), Some(1)].contains(&ended.status.code()), "{}", ended.stderr);
    let result = result(&rqps);
    let compared = result["comparison"]["contenders"].as_array().unwrap();
    assert_eq!(compared.len(), 3);
    for contender in compared {
        let tests = contender["tests"].as_array().unwrap();
        let mut names: Vec<&str> = tests.iter().filter_map(|test| test["name"].as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["by_customer", "by_day", "note", "undone"], "{contender}");
        for test in tests {
            assert!(test["ratio"]["value"].as_f64().is_some_and(|ratio| ratio > 0.0), "{test}");
        }
    }
    assert!(ended.stdout.contains("arrays"), "what is left out is named: {}", ended.stdout);
    rqps.assert_nothing_is_left();
}

#[test]
fn an_edited_folder_is_not_resumed() {
    let rqps = Rqps::with_own_locks();
    write_folder(&rqps.path("shop"));
    let contenders = "sqlite more=sqlite?mmap_size=256M";
    let running = compare(&rqps, &format!("{contenders} --rounds 12 --secs 0.3"));
    running.wait_for("round 2");
    processes::signal(running.pid(), Signal::INT);
    running.finish();
    fs::write(rqps.path("shop/queries/note.sql"), "select 1").unwrap();
    let out = rqps.out().display().to_string();
    let words = ["compare", "--resume", "--out", &out];
    let ended = Running::start(rqps.command(words)).finish().expect_code(2);
    assert!(ended.stderr.contains("queries/note.sql: it has changed"), "{}", ended.stderr);
}

/// The test of a contender in the result.
fn test_of<'r>(result: &'r Value, name: &str) -> &'r Value {
    let tests = result["comparison"]["contenders"][0]["tests"].as_array().unwrap();
    tests.iter().find(|test| test["name"] == name).unwrap()
}

/// A setting without any effect is what the queries below take for another build.
const SLOWER: &str = "postgres@17.6 slower=postgres@17.6?geqo_seed=0.5";

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn a_statement_that_waits_for_ever_is_a_regression_and_others_are_measured() {
    let cases = [
        (
            SLOWER,
            "select pg_sleep(case current_setting('geqo_seed') when '0.5' then 1000 else 0 end)",
        ),
        (
            "mysql@8.0.33 slower=mysql@8.0.33?join_buffer_size=1M",
            "select sleep(if(@@join_buffer_size = 1048576, 1000, 0)) from orders where id = 1",
        ),
    ];
    for (contenders, sql) in cases {
        let rqps = Rqps::with_own_locks();
        write_folder(&rqps.path("shop"));
        fs::write(rqps.path("shop/queries/waits.sql"), format!("-- rqps: timeout = 1\n{sql}"))
            .unwrap();
        let ended =
            compare(&rqps, &format!("{contenders} --rounds 3 --secs 0.2 --instructions=none"))
                .finish();
        assert_eq!(ended.status.code(), Some(1), "{}\n{}", ended.stdout, ended.stderr);
        let label = "regression (more than ";
        assert!(ended.stdout.contains(label), "{}", ended.stdout);
        let result = result(&rqps);
        let verdict = test_of(&result, "waits")["verdict"].as_str().unwrap();
        assert!(verdict.starts_with(label), "{verdict}");
        for name in ["by_customer", "note"] {
            let test = test_of(&result, name);
            assert!(test["ratio"]["value"].as_f64().is_some_and(|ratio| ratio > 0.0), "{test}");
        }
        rqps.assert_nothing_is_left();
    }
}

/// The folder with this query alone.
fn write_query(folder: &Path, text: &str) {
    write_folder(folder);
    fs::remove_dir_all(folder.join("queries")).unwrap();
    fs::create_dir(folder.join("queries")).unwrap();
    fs::write(folder.join("queries/only.sql"), text).unwrap();
}

#[test]
fn a_long_statement_ends_when_the_user_stops() {
    let rqps = Rqps::with_own_locks();
    write_query(&rqps.path("shop"), "select pg_sleep(1000)");
    let running = compare(&rqps, &format!("{SLOWER} --rounds 3 --secs 0.2"));
    running.wait_for("round 1");
    // The load, the start of the servers, and some of the statement.
    std::thread::sleep(Duration::from_secs(15));
    let asked = Instant::now();
    processes::signal(running.pid(), Signal::INT);
    running.finish().expect_code(130);
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
}

#[test]
fn a_long_statement_that_takes_twice_as_long_has_half_the_rate() {
    let rqps = Rqps::with_own_locks();
    // From some milliseconds to a tenth of a second, without a file or a sort. Twice as long,
    // which the load of the other tests does not hide: tests of `lab` on an exact clock hold how
    // precise slices by count are.
    let long = "-- rqps: param n int = random(20000, 600000)\n\
                select count(*) from (select generate_series(1, :n * \
                case current_setting('geqo_seed') when '0.5' then 2 else 1 end)) as s";
    write_query(&rqps.path("shop"), long);
    let ended =
        compare(&rqps, &format!("{SLOWER} --rounds 3 --secs 1 --instructions=none")).finish();
    let result = result(&rqps);
    let ratio = test_of(&result, "only")["ratio"]["value"].as_f64().unwrap();
    assert!((0.35..0.71).contains(&ratio), "{ratio}\n{}", ended.stdout);
}
