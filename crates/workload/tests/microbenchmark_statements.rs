//! What the servers were told, by their own logs: the published statements, prepared or as text, on
//! the tables and with the values that they are to have.

mod common;

use std::fs;

use common::{Fixture, effects, named, plan};
use rqps_wire::Connection;
use rqps_workload::microbenchmark::tests;

/// One statement as a server received it.
#[derive(Clone, Debug)]
struct Said {
    text: String,
    prepared: bool,
    /// Of a prepared statement, as text.
    parameters: Vec<String>,
}

impl Said {
    fn number(&self, parameter: usize) -> i64 {
        self.parameters[parameter].parse().unwrap()
    }

    /// The table's number.
    fn table(&self) -> u32 {
        let (_, name) = self.text.split_once("sbtest").unwrap();
        let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    }

    /// Without its table's number.
    fn shape(&self) -> String {
        let place = self.text.find("sbtest").map_or(self.text.len(), |place| place + 6);
        let (start, rest) = self.text.split_at(place);
        start.to_string() + rest.trim_start_matches(|c: char| c.is_ascii_digit())
    }
}

const LOGGED: &str = "postgres@17.6?log_statement=all&log_line_prefix=%c|";

/// Postgres, told what it was sent since the log was looked at last.
struct Postgres {
    fixture: Fixture,
    seen: usize,
}

impl Postgres {
    fn start(tables: u32) -> Postgres {
        let fixture = Fixture::loaded(LOGGED, &plan(tables, 1000));
        Postgres { fixture, seen: 0 }
    }

    /// The statements of so many operations of a test.
    fn said(&mut self, test: &str, tables: u32, operations: usize) -> Vec<Said> {
        let mut plan = plan(tables, 1000);
        plan.check = false;
        self.seen = fs::read_to_string(&self.fixture.log).unwrap().len();
        effects(&self.fixture.benchmark(&plan), named(test), operations);
        // The log is written by the server's own process, which may still be at it.
        let mut said = Vec::new();
        common::await_that("all is logged", || {
            let log = fs::read_to_string(&self.fixture.log).unwrap();
            said = parse(&log[self.seen..]);
            said.len() >= operations * named(test).event.statements().total() as usize
        });
        said
    }
}

fn parse(log: &str) -> Vec<Said> {
    let mut said: Vec<Said> = Vec::new();
    for line in log.lines() {
        let Some((_, message)) = line.split_once('|') else { continue };
        if let Some(list) = message.strip_prefix("DETAIL:  Parameters: ") {
            let values = list.split(", $").map(|one| one.split('\'').nth(1).unwrap().to_string());
            said.last_mut().unwrap().parameters = values.collect();
        } else if let Some(text) = message.strip_prefix("LOG:  statement: ") {
            said.push(Said { text: text.into(), prepared: false, parameters: Vec::new() });
        } else if let Some(rest) = message.strip_prefix("LOG:  execute s") {
            let text = rest.split_once(": ").unwrap().1.to_string();
            said.push(Said { text, prepared: true, parameters: Vec::new() });
        }
    }
    said
}

fn list(count: usize, first: usize) -> String {
    let placeholders: Vec<String> = (first..first + count).map(|n| format!("${n}")).collect();
    placeholders.join(", ")
}

const POINT: &str = "SELECT c FROM sbtest WHERE id=$1";
const BETWEEN: &str = "FROM sbtest WHERE id BETWEEN $1 AND $2";

#[test]
fn single_statements_are_those_published() {
    let mut postgres = Postgres::start(1);
    let list_100 = list(100, 1);
    let cases = [
        ("point-query", POINT.to_string()),
        (
            "random-points_range=1000",
            format!("SELECT c FROM sbtest WHERE id IN ({})", list(1000, 1)),
        ),
        ("hot-points", format!("SELECT c FROM sbtest WHERE id IN ({list_100})")),
        ("points-covered-pk", format!("SELECT id FROM sbtest WHERE id IN ({list_100})")),
        ("points-notcovered-pk", format!("SELECT id, c FROM sbtest WHERE id IN ({list_100})")),
        ("points-covered-si", format!("SELECT k FROM sbtest WHERE k IN ({list_100})")),
        ("points-notcovered-si", format!("SELECT k, c FROM sbtest WHERE k IN ({list_100})")),
        ("range-covered-pk", format!("SELECT id {BETWEEN}")),
        ("range-notcovered-pk", format!("SELECT id, c {BETWEEN}")),
        ("range-covered-si", "SELECT k FROM sbtest WHERE k BETWEEN $1 AND $2".to_string()),
        ("range-notcovered-si", "SELECT k, c FROM sbtest WHERE k BETWEEN $1 AND $2".to_string()),
        ("read-only-count", format!("SELECT count(c) {BETWEEN}")),
        ("update-inlist", format!("UPDATE sbtest set c=$1 WHERE id IN ({})", list(10, 2))),
        ("update-index", "UPDATE sbtest SET k=k+1 WHERE id=$1".to_string()),
        ("update-nonindex", "UPDATE sbtest SET c=$1 WHERE id=$2".to_string()),
        ("update-one", "UPDATE sbtest SET c=$1 WHERE id=$2".to_string()),
        ("delete", "DELETE FROM sbtest WHERE id=$1".to_string()),
    ];
    for (test, expected) in cases {
        let said = postgres.said(test, 1, 5);
        let events: Vec<&Said> = said.iter().filter(|said| said.prepared).collect();
        assert_eq!(events.len(), 5, "{test}: {said:?}");
        for said in events {
            assert_eq!(said.shape(), expected, "{test}");
            match test {
                "hot-points" => {
                    let keys: Vec<i64> = (0..100).map(|n| said.number(n)).collect();
                    assert_eq!(keys, (501..=600).collect::<Vec<_>>());
                }
                "update-one" => assert_eq!(said.parameters[1], "1"),
                _ if test.starts_with("range-") => {
                    assert_eq!(said.number(1), said.number(0) + 100, "101 rows");
                }
                "read-only-count" => assert_eq!(said.number(1), said.number(0) + 999),
                _ => {}
            }
            if test.starts_with("update-") && test != "update-index" {
                assert_eq!(said.parameters[0].len(), 119, "{test}: a new c");
            }
        }
    }
}

#[test]
fn scan_and_insert_are_text() {
    let mut postgres = Postgres::start(1);
    let scan = postgres.said("scan", 1, 2);
    assert!(scan.iter().all(|said| !said.prepared));
    assert_eq!(scan[0].text, "SELECT * from sbtest1 WHERE LENGTH(c) < 0");
    let inserts = postgres.said("insert", 1, 3);
    let inserts: Vec<&Said> =
        inserts.iter().filter(|said| said.text.starts_with("INSERT")).collect();
    assert_eq!(inserts.len(), 3);
    for insert in inserts {
        assert!(!insert.prepared);
        let values = insert.text.strip_prefix("INSERT INTO sbtest1 (k, c, pad) VALUES (").unwrap();
        let fields: Vec<&str> = values.strip_suffix(")").unwrap().split(", ").collect();
        assert!((1..=1000).contains(&fields[0].parse::<i64>().unwrap()), "{fields:?}");
        assert_eq!([fields[1].len(), fields[2].len()], [119 + 2, 59 + 2], "{fields:?}");
    }
}

#[test]
fn transactions_are_those_published_and_their_parts_draw_their_tables() {
    let mut postgres = Postgres::start(4);
    let order = format!("SELECT c {BETWEEN} ORDER BY c");
    let ranges = [
        format!("SELECT c {BETWEEN}"),
        format!("SELECT SUM(k) {BETWEEN}"),
        order.clone(),
        format!("SELECT DISTINCT c {BETWEEN} ORDER BY c"),
    ];
    let writes = [
        "UPDATE sbtest SET k=k+1 WHERE id=$1",
        "UPDATE sbtest SET c=$1 WHERE id=$2",
        "DELETE FROM sbtest WHERE id=$1",
        "INSERT INTO sbtest (id, k, c, pad) VALUES ($1, $2, $3, $4)",
    ];
    let points = || vec![POINT.to_string(); 10];
    let writes = || writes.iter().map(|text| text.to_string());
    let cases: [(&str, Vec<String>, i64); 5] = [
        ("read-only_range=10", points().into_iter().chain(ranges.clone()).collect(), 10),
        ("read-only_range=10000", points().into_iter().chain(ranges.clone()).collect(), 10_000),
        ("read-only-order", points().into_iter().chain([order]).collect(), 1000),
        ("write-only", writes().collect(), 0),
        (
            "read-write_range=100",
            points().into_iter().chain(ranges.clone()).chain(writes()).collect(),
            100,
        ),
    ];
    for (test, expected, range) in cases {
        let said = postgres.said(test, 4, 20);
        assert!(said.iter().all(|said| said.prepared), "{test}");
        let mut parts_differ = false;
        for event in said.chunks(expected.len() + 2) {
            let shapes: Vec<String> = event.iter().map(Said::shape).collect();
            assert_eq!(shapes[0], "BEGIN", "{test}");
            assert_eq!(shapes[1..=expected.len()], expected, "{test}");
            assert_eq!(shapes[expected.len() + 1], "COMMIT", "{test}");
            let inner = &event[1..=expected.len()];
            let tables = |text: &str| -> Vec<u32> {
                inner.iter().filter(|said| said.shape() == text).map(Said::table).collect()
            };
            let of_points = tables(POINT);
            assert!(of_points.windows(2).all(|pair| pair[0] == pair[1]), "{of_points:?}");
            parts_differ |= inner.iter().any(|said| said.table() != inner[0].table());
            for said in inner.iter().filter(|said| said.shape().contains("BETWEEN")) {
                assert_eq!(said.number(1), said.number(0) + range - 1, "{test}");
            }
            if let Some(insert) = inner.iter().find(|said| said.text.starts_with("INSERT")) {
                let delete = &inner[expected.len() - 2];
                assert_eq!(delete.table(), insert.table());
                assert_eq!(delete.number(0), insert.number(0), "the row comes back");
                assert_eq!([insert.parameters[2].len(), insert.parameters[3].len()], [119, 59]);
            }
        }
        assert!(parts_differ, "{test}: each part of a transaction draws its own table");
    }
}

#[test]
fn parameters_are_64_bit_and_varchar() {
    let fixture = Fixture::loaded("postgres@17.6", &plan(1, 1000));
    let mut connection = fixture.connect();
    // What the planner is told is in the view of the session that prepared it.
    let mut said = Vec::new();
    for test in ["update-nonindex", "range-covered-si"] {
        said.push(types(&mut *connection, test));
    }
    assert_eq!(said, ["{\"character varying\",bigint}", "{bigint,bigint}"]);
}

/// Prepares what a test prepares, the same way; answers how the server understands it.
fn types(connection: &mut dyn Connection, test: &str) -> String {
    let template = &named(test).event.parts[0].statements[0];
    let (sql, types) = template.prepared_form(rqps_workload::Dialect::POSTGRES, 2, "sbtest1");
    connection.prepare(&sql, &types).unwrap();
    let view = "select parameter_types from pg_prepared_statements \
                order by prepare_time desc limit 1";
    rqps_wire::scalar(connection, view).unwrap().unwrap()
}

#[test]
fn zipf_updates_hit_the_first_keys_most() {
    let mut postgres = Postgres::start(1);
    let keys = |postgres: &mut Postgres, test| -> Vec<i64> {
        postgres.said(test, 1, 1000).iter().map(|said| said.number(1)).collect()
    };
    // Of 1000 ranks with exponent 0.8, the first ten have 28 %, with a standard error of 1.4 %.
    let total: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-0.8)).sum();
    let ten: f64 = (1..=10).map(|rank| f64::from(rank).powf(-0.8)).sum::<f64>() / total;
    let share = |keys: &[i64]| keys.iter().filter(|key| **key <= 10).count() as f64 / 1000.0;
    let zipf = share(&keys(&mut postgres, "update-zipf"));
    assert!((zipf - ten).abs() < 0.06, "{zipf}, not {ten}");
    let uniform = share(&keys(&mut postgres, "update-nonindex"));
    assert!(uniform < 0.03, "{uniform}");
}

#[test]
fn every_contender_gets_the_same_work_and_every_client_its_own() {
    let mut first = Postgres::start(2);
    let mut second = Postgres::start(2);
    let values = |postgres: &mut Postgres, test| -> Vec<(String, Vec<String>)> {
        let said = postgres.said(test, 2, 20);
        said.into_iter().map(|said| (said.text, said.parameters)).collect()
    };
    for test in ["read-write_range=10", "points-covered-si", "insert"] {
        let one = values(&mut first, test);
        assert_eq!(one, values(&mut second, test), "{test}");
    }
    assert_ne!(values(&mut first, "update-index"), values(&mut first, "update-nonindex"));
}

/// Text and whether it was prepared, of what MySQL and MariaDB executed in one test.
fn general_log(fixture: &Fixture, test: &str) -> Vec<(bool, String)> {
    let mut plan = plan(1, 1000);
    plan.check = false;
    let mut control = fixture.connect();
    control.run("truncate table mysql.general_log").unwrap();
    control.run("set global general_log = on").unwrap();
    effects(&fixture.benchmark(&plan), named(test), 2);
    control.run("set global general_log = off").unwrap();
    let sql = "select command_type, convert(argument using utf8mb4) from mysql.general_log \
               where command_type in ('Execute', 'Query') order by event_time";
    let rows = control.query(sql).unwrap();
    let said = rows.into_iter().map(|row| {
        let [kind, text] = <[_; 2]>::try_from(row).unwrap().map(Option::unwrap);
        (kind == "Execute", text)
    });
    said.filter(|(_, text)| !text.starts_with("set global")).collect()
}

#[test]
fn mysql_and_mariadb_get_transactions_inserts_and_scans_as_text() {
    for contender in ["mysql@8.0.33", "mariadb@11.4.5"] {
        let fixture = Fixture::loaded(contender, &plan(1, 1000));
        fixture.connect().run("set global log_output = 'TABLE'").unwrap();
        let write_only = general_log(&fixture, "write-only");
        assert_eq!(write_only.len(), 12, "{contender}: {write_only:?}");
        let starts = [
            (false, "BEGIN"),
            (true, "UPDATE sbtest1 SET k=k+1 WHERE id="),
            (true, "UPDATE sbtest1 SET c='"),
            (true, "DELETE FROM sbtest1 WHERE id="),
            (true, "INSERT INTO sbtest1 (id, k, c, pad) VALUES ("),
            (false, "COMMIT"),
        ];
        for ((prepared, text), (is_prepared, start)) in write_only.iter().zip(starts.repeat(2)) {
            assert!(text.starts_with(start), "{contender}: {text}");
            assert_eq!(*prepared, is_prepared, "{contender}: {text}");
        }
        let inserts = general_log(&fixture, "insert");
        let start = "INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, ";
        let inserts: Vec<_> =
            inserts.into_iter().filter(|(_, text)| text.starts_with(start)).collect();
        assert_eq!(inserts.len(), 2, "{contender}: {inserts:?}");
        assert!(inserts.iter().all(|(prepared, _)| !prepared), "{contender}");
        let scans = general_log(&fixture, "scan");
        let scan = (false, "SELECT * from sbtest1 WHERE LENGTH(c) < 0".to_string());
        assert_eq!(scans, [scan.clone(), scan], "{contender}");
        for test in ["point-query", "points-notcovered-si", "update-inlist", "delete"] {
            let said = general_log(&fixture, test);
            let executed = said.iter().filter(|(prepared, _)| *prepared).count();
            assert_eq!(executed, 2, "{contender}: {test}: {said:?}");
        }
    }
}

#[test]
fn every_test_has_a_short_name_that_names_it_alone() {
    for test in tests() {
        assert_eq!(named(test.short_name()).name, test.name);
    }
}
