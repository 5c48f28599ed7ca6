//! A folder of a user's own SQL on all DBMSs, and what a resumed run says of an edited one.

use std::fs;
use std::path::Path;

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
    let running = compare(&rqps, &format!("{contenders} --rounds 12 --secs 1"));
    running.wait_for("round 2");
    processes::signal(running.pid(), Signal::INT);
    running.finish();
    fs::write(rqps.path("shop/queries/note.sql"), "select 1").unwrap();
    let out = rqps.out().display().to_string();
    let words = ["compare", "--resume", "--out", &out];
    let ended = Running::start(rqps.command(words)).finish().expect_code(2);
    assert!(ended.stderr.contains("queries/note.sql: it has changed"), "{}", ended.stderr);
}
