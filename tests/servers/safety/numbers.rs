//! Numbers and texts of a database, a plan and a manifest that rqps never writes: every report of
//! them is made, or they are refused.

use std::fs;
use std::io::sink;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use rqps_report::{Report, Terminal};
use rqps_store::Run;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::files::copied;
use crate::common::Rqps;

/// Answers whether the run is read; then all formats of it have been made.
fn reported(run: &Path) -> bool {
    let Ok(run) = Run::open(run) else { return false };
    let report = Report::new(&run);
    let texts: [fn(&Report<'_>) -> String; 8] = [
        |report| rqps_report::post(report, Terminal::PLAIN),
        rqps_report::summary_markdown,
        rqps_report::csv,
        rqps_report::html,
        rqps_report::otava,
        rqps_report::sysbench,
        |report| rqps_report::junit(report).unwrap_or_default(),
        |report| rqps_report::suite_files(report).into_iter().map(|(_, text)| text).collect(),
    ];
    texts.iter().for_each(|make| drop(make(&report)));
    rqps_report::write_result_json(&report, &mut sink()).unwrap();
    rqps_report::write_seconds_csv(&report, &mut sink()).unwrap();
    drop((rqps_report::hdr(&report), rqps_report::parquet(&report)));
    true
}

/// Tries something, and answers what it is if it panics.
fn panics(what: String, run: &Path) -> Option<String> {
    catch_unwind(AssertUnwindSafe(|| reported(run))).is_err().then_some(what)
}

/// Values that fit a type and no measurement, and some that do not fit.
fn hostile(kind: &str) -> Vec<Value> {
    match kind {
        "INTEGER" => {
            [0, 1, -1, u32::MAX.into(), 1 << 52, i64::MAX, i64::MIN].map(Value::Integer).into()
        }
        "REAL" => [0.0, -1.0, 1e-300, 1e15, f64::INFINITY].map(Value::Real).into(),
        "BLOB" => {
            [&b""[..], b"\x1c\x84\x93\x13\xff\xff\xff\xff"].map(|of| Value::Blob(of.into())).into()
        }
        _ => [
            "",
            "[]",
            "[18446744073709551614]",
            "[null]",
            "\u{1b}",
            "../../x",
            "9999-99-99T99:99:99Z",
        ]
        .map(|text| Value::Text(text.into()))
        .into(),
    }
}

/// Each column of each table in turn.
fn columns(results: &Connection) -> Vec<(String, String, String)> {
    let sql = "select t.name, c.name, c.type from pragma_table_list t, pragma_table_info(t.name) c
        where t.schema = 'main' and t.name not like 'sqlite_%'";
    let mut select = results.prepare(sql).unwrap();
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Of the tables in `of`; of all if there is none.
fn assert_no_value_panics(run: &Path, hostile_run: &Path, of: &[&str]) {
    copied(run, hostile_run);
    assert!(reported(hostile_run), "as it was written");
    let path = hostile_run.join("results.sqlite");
    let whole = fs::read(&path).unwrap();
    let mut panicked = Vec::new();
    for (table, column, kind) in columns(&Connection::open(run.join("results.sqlite")).unwrap()) {
        for value in hostile(&kind) {
            if !of.is_empty() && !of.contains(&table.as_str()) {
                continue;
            }
            // Of all rows, and of one.
            for part in ["", " where rowid = 1"] {
                fs::write(&path, &whole).unwrap();
                let results = Connection::open(&path).unwrap();
                results
                    .execute_batch("pragma foreign_keys = off; pragma synchronous = off")
                    .unwrap();
                let sql = format!("update or ignore {table} set {column} = ?1{part}");
                let changed = results.execute(&sql, [&value]).unwrap_or(0);
                drop(results);
                if changed > 0 {
                    panicked
                        .extend(panics(format!("{table}.{column} = {value:?}{part}"), hostile_run));
                }
            }
        }
    }
    fs::write(&path, &whole).unwrap();
    for name in ["plan.toml", "manifest.json"] {
        let path = hostile_run.join(name);
        let text = fs::read_to_string(&path).unwrap();
        for (at, number) in numbers(&text) {
            for value in ["0", "1", "4294967295", "18446744073709551615", "-1", "1e300"] {
                let changed = format!("{}{value}{}", &text[..at], &text[at + number..]);
                fs::write(&path, changed).unwrap();
                panicked.extend(panics(format!("{name} at {at}: {value}"), hostile_run));
            }
        }
        fs::write(&path, &text).unwrap();
    }
    assert!(panicked.is_empty(), "{panicked:#?}");
}

/// Where numbers begin, and how long they are.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    for word in text.split(|c: char| !c.is_ascii_digit() && c != '.') {
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            found.push((at, word.len()));
        }
        at += word.len() + 1;
    }
    found
}

#[test]
#[ignore = "nightly: tries every column with every value"]
fn no_number_of_steps_makes_a_report_panic() {
    let rqps = Rqps::new();
    rqps.ibench("sqlite --rows 1K --writes 100,50 --query-secs 1 --only l.i0,l.x,l.i1").ok();
    assert_no_value_panics(&rqps.out(), &rqps.path("hostile"), &[]);
}

#[test]
#[ignore = "nightly: tries every column with every value"]
fn no_number_of_slices_makes_a_report_panic() {
    let rqps = Rqps::with_own_locks();
    let out = rqps.out().display().to_string();
    let words = "compare sqlite again=sqlite --rows 1K --rounds 3 --secs 0.2 --no-guards";
    let ended = rqps.run(&format!("{words} --workload micro:point-query --out {out}"));
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    assert_no_value_panics(&rqps.out(), &rqps.path("hostile"), &[]);
}

#[test]
#[ignore = "nightly: tries every column with every value"]
fn no_number_of_whole_runs_makes_a_report_panic() {
    let rqps = Rqps::with_own_locks();
    let out = rqps.out().display().to_string();
    let words =
        "compare sqlite again=sqlite --rows 1K --rounds 3 --secs 1 --no-guards --method runs";
    let ended = rqps.run(&format!("{words} --workload micro:point-query --out {out}"));
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    let of_runs = ["work", "second", "series"];
    assert_no_value_panics(&rqps.out(), &rqps.path("hostile"), &of_runs);
}
