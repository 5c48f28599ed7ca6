//! The microbenchmarks as a user sees them: what runs, what it does to the tables, what is kept,
//! and what is refused. What each test sends is seen to in `rqps-workload`.

use std::fs;
use std::process::Stdio;

use crate::common::result::RunResult;
use crate::common::{Rqps, Running, await_that, can_limit_memory, entries, processes};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

/// A few of each group, and the load before them.
const FEW: &str = "update-index,update-zipf,write-only,scan,read-only-sum,point-query,hot-points,\
                   range-covered-si,range-notcovered-pk,delete,insert";

/// Runs to the end into a directory of results that are all done.
fn measured(rqps: &Rqps, arguments: &str) -> RunResult {
    rqps.micro(arguments).ok();
    let result = RunResult::of(&rqps.out());
    result.assert_all_done();
    result
}

/// Statements, reads or writes, of all clients of a step.
fn sent(step: &Value, what: &str) -> u64 {
    step["work"]["transaction"][what].as_u64().unwrap()
}

/// The value of a query on the SQLite database that `--keep-data` left.
fn in_database(rqps: &Rqps, sql: &str) -> i64 {
    let file = rqps.data(0).join("ib.sqlite");
    let database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    database.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn all_38_run_on_sqlite() {
    let rqps = Rqps::new();
    let result = measured(&rqps, "sqlite --tests all --rows 10K --secs 0.1");
    let steps = result.steps();
    assert_eq!(steps.len(), 39, "{steps:?}");
    assert_eq!(steps[..3], ["load", "point-query.warm", "scan.warmpre"]);
    assert_eq!(steps[37..], ["delete", "insert"]);
    let all = result.0["steps"].as_array().unwrap();
    let reported = all.iter().filter(|step| !step["group"].is_null()).count();
    assert_eq!(reported, 32, "warm-ups and tests before the writes are in no table");
    for name in &steps[1..] {
        let step = result.step(name);
        assert!(step["throughput"].as_f64().unwrap() > 0.0, "{name}: {step}");
        assert!(step["seconds"].as_f64().unwrap() >= 0.1, "{name}: the warm-up is not measured");
    }
    let files = entries(&rqps.out());
    for file in ["plan.toml", "report.html", "result.json", "summary.md", "metrics.csv"] {
        assert!(files.iter().any(|name| name == file), "{file} is not in {files:?}");
    }
    rqps.assert_nothing_is_left();
}

/// Who has cached less than half of the data, the bytes of a page, and what keeps the page cache
/// from having the rest: direct IO, or a limit of memory.
const IO_BOUND: [(&str, &str, u64, bool); 2] = [
    ("postgres@17.6?shared_buffers=16MB", "--rows 600K --memory 96M", 8 << 10, false),
    ("mysql@8.0.33?innodb_flush_method=O_DIRECT", "--rows 260K --io-bound", 16 << 10, true),
];

/// The control groups that can limit memory here, by those that this process is in.
fn memory_groups() -> &'static str {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap();
    // `7:memory:/` is of version 1; version 2 has no names.
    let mut controllers = own.lines().filter_map(|line| line.split(':').nth(1));
    let is_of_one = controllers.any(|names| names.split(',').any(|name| name == "memory"));
    if is_of_one { "cgroup_v1" } else { "cgroup_v2" }
}

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn io_bound_means_reads_from_the_device_and_the_manifest_says_how_that_was_reached() {
    for (contender, arguments, page, is_direct) in IO_BOUND {
        if !is_direct && !can_limit_memory() {
            continue;
        }
        let rqps = Rqps::new();
        let test = "--tests point-query --secs 0.5 --pause 0";
        let result = measured(&rqps, &format!("{contender} {arguments} {test}"));
        let step = result.step("point-query");
        let read = step["totals"]["server_read_bytes"].as_u64().unwrap();
        // A page each time that it is in no cache.
        assert!(read > sent(step, "operations") / 4 * page, "{contender}: {step}");

        let manifest = fs::read_to_string(rqps.out().join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let held_by = if is_direct { "nothing" } else { memory_groups() };
        assert_eq!(manifest["memory"]["held_by"], held_by, "{manifest}");
        assert_eq!(manifest["direct_reads"][contender], is_direct, "{manifest}");
        assert_eq!(result.0["manifest"], manifest, "the result has it, too");
        let report = fs::read_to_string(rqps.out().join("report.html")).unwrap();
        let told = format!("{contender} {}", if is_direct { "yes" } else { "no" });
        assert!(report.contains(&told), "the report does not say '{told}'");
        rqps.assert_nothing_is_left();
    }
}

#[test]
fn memory_that_cannot_be_limited_is_refused() {
    let rqps = Rqps::new();
    for (contender, memory, text) in [
        ("sqlite", "96M", "cannot limit the memory of 'sqlite'"),
        ("postgres://u@h/d", "96M", "cannot limit the memory"),
        ("postgres@17.6", "much", "'much' is not a size of memory"),
    ] {
        let ended = rqps.micro(&format!("{contender} --tests point-query --memory {memory}"));
        ended.expect_code(2).says(&[text]);
    }
}

#[test]
#[ignore = "nightly: another DBMS in the same way"]
fn postgres_and_mysql_run_some_of_each_group() {
    let rqps = Rqps::new();
    let arguments = "postgres@17.6 mysql@8.0.33 --rows 2K --secs 0.2 --tables 2 --clients 2";
    let result = measured(&rqps, &format!("{arguments} --tests {FEW} --vacuum-each-write"));
    assert_eq!(result.states().len(), 2 * 12, "{:#?}", result.states());
    for step in result.0["steps"].as_array().unwrap() {
        let of = |contender: usize| &step["results"][contender];
        assert_eq!([&of(0)["contender"], &of(1)["contender"]], ["postgres@17.6", "mysql@8.0.33"]);
        for result in [of(0), of(1)] {
            assert!(result["throughput"].as_f64().unwrap() > 0.0, "{}: {result}", step["name"]);
            assert!(result["costs"]["server CPU"].as_f64().unwrap() > 0.0, "{}", step["name"]);
            assert!(result["totals"]["database_bytes"].as_u64() > Some(2 * 2_000 * 180));
        }
    }
    // sysbench counts the statements of a transaction, its begin and commit as well.
    let transaction = result.step("write-only");
    let transactions = sent(transaction, "operations");
    let (writes, others) = (sent(transaction, "writes"), sent(transaction, "others"));
    let statements = writes + others;
    // Clients of two tables seldom meet; what was sent of a transaction that must begin again
    // counts.
    let again = sent(transaction, "retries");
    assert!((6 * transactions..=6 * (transactions + again)).contains(&statements), "{transaction}");
    // A row that the other client has just replaced is not found, so nothing is changed.
    assert!((writes + 8) * 100 >= 4 * transactions * 99, "{writes} writes in {transactions}");
    let queries = transaction["throughput"].as_f64().unwrap();
    let expected = statements as f64 / transaction["seconds"].as_f64().unwrap();
    assert!((queries / expected - 1.0).abs() < 1e-6, "{queries} and {expected}");
    // A scan counts the rows that it passes.
    let scan = result.step("scan");
    let rows = scan["throughput"].as_f64().unwrap() * scan["seconds"].as_f64().unwrap();
    let scans = sent(scan, "operations");
    assert!((rows / (2_000.0 * scans as f64) - 1.0).abs() < 1e-6, "{rows} rows in {scans} scans");
    rqps.assert_nothing_is_left();
}

#[test]
fn fair_writes_leave_everybody_the_rows_that_were_loaded_and_published_ones_do_not() {
    let rows = |flag: &str, tests: &str| {
        let rqps = Rqps::new();
        let arguments = "sqlite --rows 1K --secs 0.5 --keep-data";
        measured(&rqps, &format!("{arguments} --tests {tests} {flag}"));
        in_database(&rqps, "select count(*) from sbtest1")
    };
    for flag in ["", "--fair-writes"] {
        assert_eq!(rows(flag, "delete"), 1_000, "rows that were deleted are put back {flag}");
    }
    // In half a second every row has been deleted many times over.
    assert!(rows("--as-published", "delete") < 900);
}

#[test]
fn a_pause_comes_before_reads_or_after_each_test_that_writes() {
    let pauses = |flag: &str| {
        let rqps = Rqps::new();
        let tests = "update-index,update-one,write-only,point-query,hot-points";
        let arguments = format!("sqlite --rows 1K --secs 0.1 --pause 1 --tests {tests} {flag}");
        let told = rqps.micro(&arguments).ok().stderr;
        let result = RunResult::of(&rqps.out());
        let paused: Vec<String> = told
            .lines()
            .filter_map(|line| line.split_once("a pause of at least 1 s before "))
            .map(|(_, step)| step.to_string())
            .collect();
        for step in &paused {
            assert!(result.step(step)["pause_seconds"].as_f64().unwrap() >= 1.0, "{step}");
        }
        paused
    };
    assert_eq!(pauses(""), ["point-query"], "once for the load and all writes");
    let each = pauses("--vacuum-each-write");
    assert_eq!(each, ["update-index", "update-one", "write-only", "point-query"]);
}

#[test]
fn a_killed_run_goes_on_with_the_test_that_it_was_in() {
    for (contender, name) in [("sqlite", "sqlite"), ("p=postgres@17.6", "p")] {
        let rqps = Rqps::new();
        let tests = "update-index,point-query,insert";
        let arguments = format!("{contender} --rows 1K --secs 2 --pause 0 --tests {tests}");
        let running = rqps.start("micro", &arguments);
        running.wait_for("point-query (3 of 4)");
        processes::kill(running.pid());
        running.finish();
        rqps.await_no_process();
        rqps.micro("--resume").ok();
        let result = RunResult::of(&rqps.out());
        let states =
            ["load", "update-index", "point-query", "insert"].map(|s| format!("{name} {s} done"));
        assert_eq!(result.states(), states);
        let attempts = result.steps().into_iter().map(|step| result.step(step)["attempt"].clone());
        assert_eq!(attempts.collect::<Vec<_>>(), [1, 1, 2, 1]);
        rqps.assert_nothing_is_left();
    }
}

#[test]
fn rows_that_a_killed_run_had_deleted_are_there_again() {
    let rqps = Rqps::new();
    let left = || in_database(&rqps, "select count(*) from sbtest1");
    let mut running = rqps.start("micro", "sqlite --rows 1K --secs 4 --tests delete --keep-data");
    // The moment may be one at which all rows are back.
    for _ in 0..10 {
        running.wait_for("delete (2 of 2)");
        await_that("a row is deleted", || left() < 1_000);
        processes::kill(running.pid());
        running.finish();
        rqps.await_no_process();
        if left() < 1_000 {
            break;
        }
        running = rqps.start("micro", "--resume");
    }
    let missing = 1_000 - left();
    assert!(missing > 0);
    let told = format!("restored {missing} loaded rows that an earlier attempt had deleted");
    let ended = rqps.micro("--resume").ok();
    assert!(ended.stderr.contains(&told), "{}", ended.stderr);
    assert_eq!(left(), 1_000);
    let result = RunResult::of(&rqps.out());
    assert_eq!(result.step("delete")["note"], told);
}

#[test]
fn scaleup_runs_each_test_with_each_number_of_clients_on_one_load() {
    let rqps = Rqps::new();
    let arguments = "sqlite --clients 1,2 --rows 1K --secs 0.1 --tests point-query,update-index";
    rqps.start("scaleup", arguments).finish().ok();
    let result = RunResult::of(&rqps.out());
    result.assert_all_done();
    let steps = ["load", "update-index@1", "update-index@2", "point-query@1", "point-query@2"];
    assert_eq!(result.steps(), steps);
    for (step, clients) in steps[1..].iter().zip([1, 2, 1, 2]) {
        assert_eq!(result.step(step)["clients"], clients, "{step}");
    }
    rqps.assert_nothing_is_left();
}

#[test]
fn what_cannot_be_run_is_refused_with_what_can() {
    let rqps = Rqps::new();
    for (arguments, texts) in [
        (
            "--tests pint-query",
            &["unknown test or group 'pint-query'", "did you mean 'point-query'"],
        ),
        ("--tests pont", &["unknown test or group 'pont'", "did you mean 'point'"]),
        ("--rows 5", &["rows must be at least", "1000"]),
        ("--clients 0", &["clients must be at least", "1"]),
        ("--tables 0", &["tables must be at least", "1"]),
        ("--secs 0", &["secs must be at least", "0.1"]),
        ("--order random", &["'random'", "suite, given"]),
        ("--rows 9K --tests read-only", &["reads 10000 rows at a time", "have 9000 rows"]),
    ] {
        rqps.micro(&format!("sqlite {arguments}")).refuses(2, texts);
    }
    rqps.micro("sqlite --fair-writes --as-published").expect_code(2).says(&["cannot be used with"]);
    let twice = rqps.start("scaleup", "sqlite --clients 1,2,1").finish();
    twice.refuses(2, &["the number of clients 1 is given twice"]);
    assert!(!rqps.out().exists(), "no run directory is made");
}

#[test]
fn more_clients_than_the_server_takes_are_refused_before_anything_is_measured() {
    let rqps = Rqps::new();
    let contender = "p=postgres@17.6?max_connections=20";
    let arguments = "--rows 1K --secs 0.1 --tests point-query --clients 16";
    let ended = rqps.micro(&format!("{contender} {arguments}")).expect_code(3);
    ended.says(&["error: p: 21 connections are needed", "is 20", "?max_connections=21"]);
    assert!(!rqps.out().join("result.json").exists(), "nothing was measured");
    rqps.assert_no_server_is_left();
}

#[test]
fn tables_that_are_there_are_taken_when_they_are_the_same_and_loaded_anew_otherwise() {
    let rqps = Rqps::new();
    let url = rqps.run("dbms start postgres@17.6").ok().stdout.trim().to_string();
    let into = |directory: &str, arguments: &str| {
        let mut command = rqps.command(["micro", &url, "--keep-data", "--out"]);
        command.arg(rqps.path(directory)).args(arguments.split_whitespace());
        Running::start(command).finish()
    };
    let same = "--rows 1K --secs 0.1 --tests point-query";
    into("first", same).ok();
    into("second", same).ok();
    // They have rqps's mark, so they keep nobody out.
    into("other", "--rows 2K --secs 0.1 --tests point-query").ok();

    let mut shell = rqps.command(["dbms", "shell", &url]);
    shell.stdin(Stdio::piped());
    let mut shell = Running::start(shell);
    shell.type_in("select 'rows ' || count(*) from rqps.sbtest1\n");
    let answer = shell.finish().ok().stdout;
    assert!(answer.contains("rows 2000"), "{answer}");
    rqps.run("dbms stop --all").ok();
}
