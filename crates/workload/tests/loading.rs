//! Loading lines of text into real servers: counted, in chunks, refused, and by other means.

mod common;

use std::io::{self, Read};

use common::{Fixture, plan, run};
use rqps_wire::{ErrorClass, scalar};

const COLUMNS: [&str; 2] = ["id", "v"];

/// Lines of so many rows from a key on.
fn lines(first: u32, count: u32) -> Vec<u8> {
    let line = |id| format!("{id}\tvalue {id}\n");
    (first..first + count).map(line).collect::<String>().into_bytes()
}

#[test]
fn lines_are_loaded_counted_and_refused_as_one() {
    for contender in ["postgres@17.6", "mysql@8.0.33", "mariadb@11.4.5"] {
        let fixture = Fixture::start(contender);
        let connection = &mut *fixture.connect();
        connection.run("create table t (id int primary key, v varchar(20) not null)").unwrap();
        // Many chunks, and more than one packet's worth.
        assert_eq!(connection.load("t", &COLUMNS, &lines(1, 50_000)).unwrap(), 50_000);
        assert_eq!(connection.load("t", &COLUMNS, b"").unwrap(), 0, "{contender}");
        let sum = scalar(connection, "select sum(id) from t where v = concat('value ', id)");
        assert_eq!(sum.unwrap().unwrap(), "1250025000", "{contender}");

        let missing = connection.load("nowhere", &COLUMNS, &lines(1, 9)).unwrap_err();
        assert_eq!(missing.class(), ErrorClass::Stop, "{contender}: {missing}");
        assert!(missing.to_string().contains("nowhere"), "{contender}: {missing}");
        // Rows that are there already: Postgres refuses the load, the others do not count them.
        let again = connection.load("t", &COLUMNS, &lines(40_001, 100_000));
        match contender {
            "postgres@17.6" => {
                let error = again.unwrap_err().to_string();
                assert!(error.contains("duplicate key"), "{error}");
            }
            _ => assert_eq!(again.unwrap(), 90_000, "{contender}"),
        }
        // The connection is as good as before.
        assert_eq!(connection.load("t", &COLUMNS, &lines(200_001, 5)).unwrap(), 5, "{contender}");
        assert_eq!(connection.run("delete from t where id > 200000").unwrap(), 5);
        if contender != "postgres@17.6" {
            without_files_it_is_loaded_by_inserts(&fixture, contender);
        }
    }
}

/// A file that ends where it should not.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _to: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("broken"))
    }
}

#[test]
fn rows_of_a_copy_are_read_while_they_are_sent_and_added_all_or_none() {
    let fixture = Fixture::start("postgres@17.6");
    let connection = &mut *fixture.connect();
    connection.run("create table t (id int primary key, v varchar(20) not null)").unwrap();
    let copy = "copy t (id, v) from stdin";
    assert_eq!(connection.copy_in(copy, &mut &*lines(1, 50_000)).unwrap(), 50_000);
    let more = lines(50_001, 50_000);
    let broken = connection.copy_in(copy, &mut (&*more).chain(Broken)).unwrap_err();
    assert_eq!(broken.to_string(), "cannot read rows: broken");
    let refused = connection.copy_in(copy, &mut &*lines(1, 50_000)).unwrap_err();
    assert!(refused.to_string().contains("duplicate key"), "{refused}");
    // The connection is as good as before.
    assert_eq!(connection.copy_in(copy, &mut &*more).unwrap(), 50_000);
    assert_eq!(scalar(connection, "select count(*) from t").unwrap().unwrap(), "100000");
}

fn without_files_it_is_loaded_by_inserts(fixture: &Fixture, contender: &str) {
    let connection = &mut *fixture.connect();
    connection.run("set global local_infile = 0").unwrap();
    connection.run("create table u (id int primary key, v varchar(20) not null)").unwrap();
    let files = "show global status like 'Com_load'";
    let before = connection.query(files).unwrap();
    assert_eq!(connection.load("u", &COLUMNS, &lines(1, 100_000)).unwrap(), 100_000);
    let sum = scalar(connection, "select sum(id) from u where v = concat('value ', id)");
    assert_eq!(sum.unwrap().unwrap(), "5000050000", "{contender}");
    assert_eq!(connection.query(files).unwrap(), before, "{contender}");

    let plan = plan(2, 6000);
    let benchmark = fixture.benchmark(&plan);
    run(benchmark.loaders(true).unwrap());
    run(benchmark.indexers().unwrap());
    benchmark.finish_load().unwrap();
}

#[test]
fn a_load_is_in_the_binary_log_of_who_has_replicas_and_not_in_that_of_a_server_of_our_own() {
    for contender in ["mysql@8.0.33", "mariadb@11.4.5"] {
        let fixture = Fixture::start(contender);
        let plan = plan(1, 20_000);
        let benchmark = fixture.benchmark(&plan);
        let logged = |own| {
            let position = || {
                let status = fixture.connect().query("show master status").unwrap();
                status[0][1].as_ref().unwrap().parse::<u64>().unwrap()
            };
            let loaders = benchmark.loaders(own).unwrap();
            let before = position();
            run(loaders);
            position() - before
        };
        assert_eq!(logged(true), 0, "{contender}");
        let bytes = logged(false);
        assert!(bytes > 20_000 * 100, "{contender}: {bytes} bytes");
    }
}
