//! RocksDB: libraries from an artifact, each in a process of its own, and db_bench's workloads on
//! them, by slices, by whole runs and once.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::common::result::RunResult;
use crate::common::{Rqps, Running, await_that, entries, processes};
use rusqlite::Connection;
use serde_json::Value;

const OLD: &str = "rocksdb@9.7.3";
const NEW: &str = "rocksdb@10.4.2";
const SMALL: &str = "--rows 5K --secs 0.2 --rounds 3 --no-guards --instructions=none";

fn compare(rqps: &Rqps, arguments: &str) -> Running {
    let out = rqps.out().display().to_string();
    let words = ["compare", "--out", &out].into_iter().chain(arguments.split_whitespace());
    Running::start(rqps.command(words))
}

fn result_of(rqps: &Rqps) -> Value {
    serde_json::from_str(&fs::read_to_string(rqps.out().join("result.json")).unwrap()).unwrap()
}

fn tests(rqps: &Rqps) -> Vec<Value> {
    result_of(rqps)["comparison"]["contenders"][0]["tests"].as_array().unwrap().clone()
}

fn named<'a>(tests: &'a [Value], name: &str) -> &'a Value {
    tests.iter().find(|test| test["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

/// The library of a build in the store, which is fetched if it is not there.
fn library(rqps: &Rqps) -> PathBuf {
    rqps.run(&format!("dbms fetch {NEW}")).ok();
    rqps.home().join("builds/rocksdb-10.4.2-maven/librocksdbjni-linux64.so")
}

#[test]
fn two_versions_side_by_side_get_a_verdict_on_each_read() {
    let rqps = Rqps::with_own_locks();
    let tests_wanted = "readrandom,fwdrange,revrange,multireadrandom";
    let arguments = format!("{OLD} {NEW} --workload rocksdb:{tests_wanted} {SMALL} --loads 1");
    let ended = compare(&rqps, &arguments).finish();
    assert!([Some(0), Some(1)].contains(&ended.status.code()), "{}", ended.stderr);
    let tests = tests(&rqps);
    for name in tests_wanted.split(',') {
        let test = named(&tests, name);
        assert!(test["ratio"]["value"].as_f64().is_some_and(|ratio| ratio > 0.1), "{test}");
        assert_eq!(test["rounds"].as_array().map(Vec::len), Some(3), "{test}");
    }
    let text = fs::read_to_string(rqps.out().join("result.json")).unwrap();
    for version in ["9.7.3", "10.4.2"] {
        assert!(text.contains(&format!("\"version\":\"{version}\"")), "{version}");
    }
    // Of the artifact for all systems, too, only one library is kept.
    for build in ["rocksdb-9.7.3-maven", "rocksdb-10.4.2-maven"] {
        let mut files = entries(&rqps.home().join("builds").join(build));
        files.retain(|name| name != "rqps.empty");
        assert_eq!(files, ["installed.json", "librocksdbjni-linux64.so"], "{build}");
    }
    // A batch of ten keys counts ten operations.
    let results = Connection::open(rqps.out().join("results.sqlite")).unwrap();
    let counted = "select min(reads / operations), max(reads / operations), sum(rows) > 0 from slice \
                   join round on round.id = slice.round where test = 'multireadrandom'";
    let numbers = results.query_row(counted, [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?))
    });
    assert_eq!(numbers.unwrap(), (10, 10, true));
    // Nothing is left to background threads, whose CPU is counted apart from that of the clients'.
    for (name, least, most) in [("cpu.serving", 0.05, 60.0), ("cpu.background", 0.0, 0.1)] {
        let sql = "select max(value) / 1e9 from engine where name = ?";
        let most_of_all: f64 = results.query_row(sql, [name], |row| row.get(0)).unwrap();
        assert!((least..=most).contains(&most_of_all), "{name}: {most_of_all} s");
    }
    rqps.assert_nothing_is_left();
}

#[test]
fn a_cache_that_holds_nothing_is_a_regression_and_the_control_is_none() {
    let rqps = Rqps::with_own_locks();
    let slow = format!("slow={NEW}?cache_size=64K");
    let arguments = format!("{NEW} {slow} --workload rocksdb:readrandom {SMALL}");
    let ended = compare(&rqps, &arguments).finish().expect_code(1);
    assert!(ended.stdout.contains("regression"), "{}", ended.stdout);
    let tests = tests(&rqps);
    let test = named(&tests, "readrandom");
    assert!(test["ratio"]["high"].as_f64().unwrap() < 0.9, "{test}");
    let text = fs::read_to_string(rqps.out().join("result.json")).unwrap();
    assert!(text.contains("not all data are in RocksDB's cache"), "the reader is told");
    let causes = result_of(&rqps)["comparison"]["contenders"][0]["findings"].to_string();
    assert!(
        causes.contains("an operation reads") && causes.contains("block_read_count"),
        "{causes}"
    );
}

#[test]
fn writes_are_whole_runs_that_pay_for_their_compaction() {
    let rqps = Rqps::with_own_locks();
    let arguments =
        format!("{OLD} {NEW} --workload rocksdb:fillseq,overwrite --no-control {SMALL} --loads 1");
    let ended = compare(&rqps, &arguments).finish();
    assert!([Some(0), Some(1)].contains(&ended.status.code()), "{}", ended.stderr);
    assert!(ended.stdout.contains("leaves work to background threads"), "{}", ended.stdout);
    let tests = tests(&rqps);
    for name in ["fillseq", "overwrite"] {
        let test = named(&tests, name);
        assert_eq!(test["unit"], "rows inserted per second", "{test}");
        assert!(test["ratio"]["value"].as_f64().is_some_and(|ratio| ratio > 0.05), "{test}");
    }
    compare(&rqps, &format!("{OLD} {NEW} --workload rocksdb:overwrite --method slices {SMALL}"))
        .finish()
        .refuses(2, &["'overwrite' leaves work to background threads", "--method runs"]);
    rqps.assert_nothing_is_left();
}

#[test]
fn between_its_turns_a_database_with_a_writer_is_frozen() {
    let rqps = Rqps::with_own_locks();
    let tests_wanted = "readwhilewriting,fwdrange";
    let arguments = format!(
        "{OLD}?statistics=true {NEW}?statistics=true --workload rocksdb:{tests_wanted} --secs 1 \
         --no-control --rows 5K --rounds 3 --no-guards --instructions=none --loads 1"
    );
    let mut running = compare(&rqps, &arguments);
    let folder = rqps.home().join("data");
    let seen = |version: &str| {
        let build = format!("rocksdb-{version}-maven");
        let is_of = |pid: &i32| {
            let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.contains("rocksdb-worker") && words.contains(&build)
        };
        processes::below(&folder).into_iter().find(is_of)
    };
    // How often either one was frozen while the other was not, and both were.
    let (mut of_one, mut of_other, mut of_both) = (0, 0, 0);
    while !running.has_ended() {
        if let (Some(one), Some(other)) = (seen("9.7.3"), seen("10.4.2")) {
            match [one, other].map(processes::is_stopped) {
                [true, false] => of_one += 1,
                [false, true] => of_other += 1,
                [true, true] => of_both += 1,
                [false, false] => {}
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    let ended = running.finish();
    assert!([Some(0), Some(1)].contains(&ended.status.code()), "{}", ended.stderr);
    assert!(of_one > 10 && of_other > 10, "{of_one} and {of_other} times, both {of_both} times");
    let tests = tests(&rqps);
    for name in tests_wanted.split(',') {
        let test = named(&tests, name);
        assert!(test["ratio"]["value"].as_f64().is_some_and(|ratio| ratio > 0.1), "{test}");
        assert_eq!(test["rounds"].as_array().map(Vec::len), Some(3), "{test}");
    }
    // The writer has put keys for the time in which reads were performed, and for no other.
    let results = Connection::open(rqps.out().join("results.sqlite")).unwrap();
    let sql = "select engine.value, measurement.watched, \
                   (select sum(nanos) * 1.0 / sum(operations) from slice \
                    where slice.round = round.id and slice.arm = measurement.arm) \
               from engine join measurement on measurement.id = engine.measurement \
               join round on round.id = measurement.round \
               where test = 'readwhilewriting' and name = 'rocksdb.number.keys.written'";
    let mut rows = results.prepare(sql).unwrap();
    let rates = rows.query_map([], |row| {
        let (keys, reads, nanos): (f64, f64, f64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(keys * 420.0 / (reads * nanos / 1e9))
    });
    let mut rates: Vec<f64> = rates.unwrap().map(Result::unwrap).collect();
    assert_eq!(rates.len(), 6);
    rates.sort_by(f64::total_cmp);
    // Those in the middle: beside other tests, one of six was seen at 1.5 times the rate. A writer
    // that went on in the turns of the other would have twice the rate in each.
    let usual = 1.4e6..2.6e6;
    assert!(rates[2..4].iter().all(|rate| usual.contains(rate)), "bytes/s: {rates:?}");
    rqps.assert_nothing_is_left();
}

#[test]
fn reads_beside_a_writer_alone_are_whole_runs_and_the_writer_keeps_its_rate() {
    let rqps = Rqps::with_own_locks();
    let tests = "readwhilewriting,fwdrangewhilewriting,revrangewhilewriting";
    let arguments = format!("{NEW}?statistics=true --rows 20K --secs 3 --tests {tests}");
    rqps.start("dbbench", &arguments).finish().ok();
    RunResult::of(&rqps.out()).assert_all_done();
    let results = Connection::open(rqps.out().join("results.sqlite")).unwrap();
    let sql = "select value, measurement.seconds from engine \
               join measurement on measurement.id = engine.measurement \
               join round on round.id = measurement.round \
               where test = 'readwhilewriting' and name = 'rocksdb.number.keys.written'";
    let (keys, seconds) = results
        .query_row(sql, [], |row| Ok((row.get::<_, f64>(0)?, row.get::<_, f64>(1)?)))
        .unwrap();
    let rate = keys / seconds * 420.0;
    assert!((1.8e6..2.4e6).contains(&rate), "{rate} bytes/s");
}

#[test]
fn all_tests_run_once_and_the_data_are_checked() {
    let rqps = Rqps::new();
    let arguments = format!("{NEW}?statistics=true --rows 100K --secs 0.3");
    let ended = rqps.start("dbbench", &arguments).finish().ok();
    let done = RunResult::of(&rqps.out());
    let steps = ["load", "readrandom", "fwdrange", "revrange", "multireadrandom", "overwrite"];
    assert_eq!(done.steps(), steps);
    done.assert_all_done();
    assert!(ended.stdout.contains("multireadrandom"), "{}", ended.stdout);
    rqps.assert_nothing_is_left();

    rqps.run(&format!("report {} --format db-bench", rqps.out().display())).ok();
    let folder = rqps.out().join("db_bench");
    let file = entries(&folder).into_iter().find(|name| name.ends_with(".report.tsv"));
    let text = fs::read_to_string(folder.join(file.expect("a file of the contender"))).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let cell = |test: &str, column: &str| {
        let place = rows[0].iter().position(|name| *name == column).expect("there is the column");
        let is_of = |row: &&Vec<&str>| row.contains(&test);
        rows.iter().find(is_of).unwrap_or_else(|| panic!("{test} is in {text}"))[place]
    };
    let number =
        |test, column| cell(test, column).parse::<f64>().unwrap_or_else(|_| panic!("{text}"));
    for test in ["readrandom", "fwdrange", "revrange", "multireadrandom", "overwrite"] {
        // A batch has ten operations, and few take much longer than the mean.
        let (mean, median) = (number(test, "usec_op"), number(test, "p50"));
        assert!(median > 0.1 && median < 100.0 * mean, "{test}: {text}");
        // A percentile of too few operations is not there, and a busy machine does few.
        let known = ["p50", "p99", "pmax"].into_iter().filter(|of| cell(test, of) != "NA");
        let times: Vec<f64> = known.map(|column| number(test, column)).collect();
        assert!(
            times.is_sorted() && times.len() > 1 && times[0] < times[times.len() - 1],
            "{text}"
        );
    }
    assert!(number("load", "p99.9") > 0.0, "the load has 100,000 operations: {text}");
    // Half of 42 MB are put again, in memtables of 16 MB: they are flushed and compacted.
    assert!(number("overwrite", "c_wsecs") > 0.0 && number("overwrite", "c_csecs") > 0.0, "{text}");
    assert_eq!((cell("overwrite", "b_rgb"), cell("overwrite", "githash")), ("NA", "NA"), "{text}");
    for column in ["stall%", "Nstall"] {
        assert!(number("overwrite", column) >= 0.0, "{column}: {text}");
    }
    assert_eq!(cell("readrandom", "blob_sz"), "0GB", "{text}");
}

#[test]
fn a_library_by_its_path_is_known_by_what_it_says() {
    let rqps = Rqps::new();
    let library = library(&rqps);
    let own = rqps.path("mine.so");
    fs::copy(&library, &own).unwrap();
    let arguments = format!("rocksdb@{} --rows 1K --secs 0.1 --tests readrandom", own.display());
    rqps.start("dbbench", &arguments).finish().ok();
    let text = fs::read_to_string(rqps.out().join("result.json")).unwrap();
    assert!(text.contains("\"version\":\"10.4.2\""), "{text}");
    // Maven's builds compute checksums in software.
    assert!(text.contains("\"crc32\":false"), "{text}");
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_started() {
    let rqps = Rqps::new();
    let library = library(&rqps);
    let refused = |arguments: &str, code: i32, words: &[&str]| {
        compare(&rqps, arguments).finish().refuses(code, words);
    };
    let reads = "--workload rocksdb:readrandom";
    refused(
        &format!("{NEW} other={NEW}?wirte_buffer_size=1M {reads}"),
        2,
        &["no setting 'wirte_buffer_size'", "did you mean 'write_buffer_size'"],
    );
    refused(
        &format!("{NEW} other={NEW}?write_buffer_size=much {reads}"),
        2,
        &["does not accept the settings", "write_buffer_size"],
    );
    refused(
        &format!("{NEW} other={NEW}?cache=fifo {reads}"),
        2,
        &["cache = fifo: write lru or hyper"],
    );
    // Nothing leaves the directory of a database, and a value brings no option with it.
    let elsewhere = rqps.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o777)).unwrap();
    let folder = elsewhere.display();
    refused(
        &format!("{NEW} other={NEW}?write_buffer_size=1M;db_log_dir={folder} {reads}"),
        2,
        &["write_buffer_size = 1M;db_log_dir", "write ; only within braces"],
    );
    refused(
        &format!("{NEW} other={NEW}?compaction_options_universal={{db_log_dir={folder}}} {reads}"),
        2,
        &["cannot set 'db_log_dir'", "in the directory that rqps makes for it"],
    );
    for name in ["db_log_dir", "wal_dir", "db_paths"] {
        refused(
            &format!("{NEW} other={NEW}?{name}={folder} {reads}"),
            2,
            &[&format!("cannot set '{name}'"), "in the directory that rqps makes for it"],
        );
    }
    assert_eq!(entries(&elsewhere), Vec::<String>::new());
    // An option of a later release is told with a release that has it.
    refused(
        &format!("{OLD} other={OLD}?memtable_op_scan_flush_trigger=1 {reads}"),
        2,
        &[
            "rocksdb 9.7.3 has no setting 'memtable_op_scan_flush_trigger'",
            "it is in rocksdb 10.4.2",
        ],
    );
    refused(
        &format!("{NEW} again={NEW} --workload micro:scan"),
        2,
        &["has no SQL", "rqps dbbench"],
    );
    refused(&format!("sqlite again=sqlite {reads}"), 2, &["are for RocksDB"]);
    refused(
        &format!("{NEW} again={NEW} --workload rocksdb:readrandm"),
        2,
        &["did you mean 'readrandom'"],
    );
    // A build that does not run is a failure and no wrong usage, as for the other DBMSs.
    let math = rqps.path("math.so");
    fs::copy("/lib/x86_64-linux-gnu/libm.so.6", &math).unwrap();
    refused(
        &format!("{NEW} other=rocksdb@{} {reads}", math.display()),
        3,
        &["it has no function rocksdb_"],
    );
    let cut = rqps.path("cut.so");
    fs::write(&cut, &fs::read(library).unwrap()[..100_000]).unwrap();
    refused(&format!("{NEW} other=rocksdb@{} {reads}", cut.display()), 3, &["does not run"]);
    rqps.assert_nothing_is_left();
}

#[test]
#[ignore = "nightly: a server that dies is told in the same way"]
fn a_database_that_dies_is_told_and_no_process_is_left() {
    let rqps = Rqps::with_own_locks();
    let arguments = format!(
        "{OLD} {NEW} --workload rocksdb:readrandom --no-control --rows 5K --secs 5 --rounds 3 \
         --no-guards --instructions=none"
    );
    let running = compare(&rqps, &arguments);
    running.wait_for("round 2 of at most 3");
    let folder = rqps.data(1).with_file_name("1-round");
    let is_contender = |pid: &i32| {
        let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.contains("rocksdb-10.4.2-maven")
    };
    let victim = || processes::below(&folder).into_iter().find(is_contender);
    // One that has not started yet is another error. A load of so few keys takes less than this.
    let is_reading = |pid| processes::cpu(pid).is_some_and(|cpu| cpu > 1.0);
    await_that("the contender's database reads", || victim().is_some_and(is_reading));
    processes::kill(victim().unwrap());
    let ended = running.finish().expect_code(3);
    ended.says(&["error: rocksdb@10.4.2: ", "signal: 9"]);
    rqps.assert_no_server_is_left();
}
