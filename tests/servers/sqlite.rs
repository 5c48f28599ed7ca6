//! The Insert Benchmark on SQLite: its steps, its files, and the rows that it stores.

use std::fs;
use std::time::Duration;

use crate::common::result::RunResult;
use crate::common::{Rqps, processes};
use rusqlite::{Connection, OpenFlags};

const WRITES: &str = "--only l.i0,l.x,l.i1,l.i2";

/// The database that `--keep-data` left.
fn database(rqps: &Rqps, contender: usize) -> Connection {
    let file = rqps.data(contender).join("ib.sqlite");
    Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

fn number(database: &Connection, sql: &str) -> i64 {
    database.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn numbers(database: &Connection, sql: &str) -> Vec<i64> {
    let mut select = database.prepare(sql).unwrap();
    let rows = select.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

/// All that the client chooses about each row: everything but the time.
fn rows(database: &Connection) -> Vec<String> {
    let sql = "select transactionid || ' ' || cashregisterid || ' ' || customerid || ' ' || \
               productid || ' ' || price || ' ' || data from pi1 order by transactionid";
    let mut select = database.prepare(sql).unwrap();
    let rows = select.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn ten_steps_tables_and_every_file() {
    let rqps = Rqps::new();
    let ended = rqps.ibench("sqlite --rows 5K --query-secs 1").ok();
    let result = RunResult::of(&rqps.out());
    let ten = "l.i0 l.x l.i1 l.i2 qr100 qp100 qr500 qp500 qr1000 qp1000";
    assert_eq!(result.steps().join(" "), ten);
    result.assert_all_done();
    for file in [
        "result.json",
        "report.html",
        "summary.md",
        "metrics.csv",
        "seconds.csv",
        "plan.toml",
        "manifest.json",
        "results.sqlite",
    ] {
        let size = fs::metadata(rqps.out().join(file)).map_or(0, |file| file.len());
        assert!(size > 0, "{file}");
    }
    for text in ten.split(' ').chain(["target"]) {
        assert!(ended.stdout.contains(text), "{text}:\n{}", ended.stdout);
    }
    let report = rqps.out().join("report.html").display().to_string();
    assert!(ended.stderr.contains(&format!("wrote {report}")), "{}", ended.stderr);
    rqps.assert_nothing_is_left();

    reports_are_made_again(&rqps, &ended.stdout);
}

/// `rqps report` needs nothing but the run directory.
fn reports_are_made_again(rqps: &Rqps, tables: &str) {
    let out = rqps.out().display().to_string();
    let files = ["result.json", "summary.md", "metrics.csv", "seconds.csv", "report.html"];
    let read = || files.map(|file| fs::read_to_string(rqps.out().join(file)).unwrap());
    let before = read();
    files.iter().for_each(|file| fs::remove_file(rqps.out().join(file)).unwrap());
    assert_eq!(rqps.run(&format!("report {out}")).ok().stdout, tables);
    assert!(read() == before, "the reports differ from those made at the end of the run");

    let format = |format: &str| rqps.run(&format!("report {out} --format {format}")).ok().stdout;
    let post = format("text");
    assert!(post.contains("\nTables and indexes, MiB\n") && post.contains("p99.9"), "{post}");
    for (name, text) in ["json", "markdown", "csv", "seconds-csv", "html"].iter().zip(&before) {
        assert!(format(name) == *text, "--format {name} is not what the file holds");
    }
    let [_, _, metrics, seconds, html] = &before;
    assert_eq!(metrics.lines().count(), 1 + 10, "{metrics}");
    assert!(seconds.lines().count() > 10, "{seconds}");
    assert!(html.starts_with("<!DOCTYPE html>"));
    for outside in ["src=\"http", "href=\"http", "url(http"] {
        assert!(!html.contains(outside), "the page needs nothing from outside");
    }
}

#[test]
fn json_is_the_result_alone() {
    let rqps = Rqps::new();
    let ended = rqps.ibench(&format!("sqlite --rows 1K --json {WRITES}")).ok();
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).expect(&ended.stdout);
    assert_eq!(json["schema"], rqps_report::SCHEMA);
    assert_eq!(json, RunResult::of(&rqps.out()).0);
}

/// Chi-square of values in equal classes over [0, end).
fn chi_square(values: &[i64], end: i64, classes: usize) -> f64 {
    let mut counts = vec![0.0; classes];
    for value in values {
        counts[(value * classes as i64 / end) as usize] += 1.0;
    }
    let expected = values.len() as f64 / classes as f64;
    counts.iter().map(|count: &f64| (count - expected).powi(2) / expected).sum()
}

#[test]
fn stored_values_have_the_published_distributions() {
    let rqps = Rqps::new();
    let arguments = "sqlite --rows 20K --seed 5 --only l.i0 --keep-data";
    rqps.ibench(arguments).ok();
    let database = database(&rqps, 0);
    let domains =
        [("cashregisterid", 1_000), ("productid", 10_000), ("customerid", 100_000), ("price", 500)];
    for (column, end) in domains {
        let values = numbers(&database, &format!("select {column} from pi1"));
        assert_eq!(values.len(), 20_000);
        assert!(values.iter().all(|value| (0..end).contains(value)), "{column} in [0, {end})");
        // With 19 degrees of freedom, 43.8 is exceeded once in a thousand.
        let chi_square = chi_square(&values, end, 20);
        assert!(chi_square < 43.8, "{column} is uniform: {chi_square}");
        let kind = format!("select count(*) from pi1 where typeof({column}) != 'integer'");
        assert_eq!(number(&database, &kind), 0, "{column} is an integer");
    }
    let lengths = numbers(&database, "select length(data) - 10 from pi1");
    assert!(lengths.iter().all(|length| (0..11).contains(length)), "10 to 20 characters");
    // With 10 degrees of freedom, 29.6 is exceeded once in a thousand.
    assert!(chi_square(&lengths, 11, 11) < 29.6, "lengths are uniform");

    data_are_padded_and_random(&database);
    let times = "select count(distinct dateandtime) from pi1 group by (transactionid - 1) / 100";
    assert!(numbers(&database, times).iter().all(|&times| times == 1), "a time per statement");
    let odd = "select count(*) from pi1 where dateandtime not glob \
               '20[0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9][0-9]:[0-9][0-9]:[0-9][0-9]'";
    assert_eq!(number(&database, odd), 0, "whole seconds");
}

/// So many letters a, then base64 text; spec section 2 has the lengths.
fn data_are_padded_and_random(database: &Connection) {
    let random = [3, 4, 4, 4, 5, 5, 6, 6, 6, 7, 7];
    let mut select = database.prepare("select data from pi1").unwrap();
    let data = select.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let mut letters = std::collections::HashMap::<u8, u32>::new();
    for data in data.map(Result::unwrap) {
        let (padding, tail) = data.split_at(data.len() - random[data.len() - 10]);
        assert!(padding.bytes().all(|byte| byte == b'a'), "{data}");
        tail.bytes().for_each(|byte| *letters.entry(byte).or_default() += 1);
    }
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    assert!(letters.keys().all(is_base64), "{letters:?}");
    assert!(letters.len() >= 64, "all of base64 is used: {letters:?}");
}

#[test]
fn a_seed_decides_the_rows_and_another_gives_others() {
    let rows_of_seed = |seed: u32| {
        let rqps = Rqps::new();
        let arguments = format!("a=sqlite b=sqlite --rows 2K --seed {seed} --keep-data {WRITES}");
        rqps.ibench(&arguments).ok();
        let [a, b] = [0, 1].map(|contender| rows(&database(&rqps, contender)));
        assert_eq!(a.len(), 2_100);
        assert!(a == b, "contenders get the same work");
        a
    };
    let first = rows_of_seed(7);
    assert!(first == rows_of_seed(7), "the same seed, the same rows");
    let other = rows_of_seed(8);
    let equal = first.iter().filter(|row| other.contains(row)).count();
    assert!(equal < 20, "{equal} rows are the same with another seed");
}

#[test]
fn every_insert_is_paid_for_with_a_delete() {
    let rqps = Rqps::new();
    let arguments = "sqlite --rows 5K --writes 3K,777 --rates 1000 --query-secs 1 --keep-data";
    rqps.ibench(arguments).ok();
    let result = RunResult::of(&rqps.out());
    // 777 rows in batches of 5 are 156 batches.
    let written =
        [("l.i0", 5_000), ("l.x", 100), ("l.i1", 3_000), ("l.i2", 780), ("qr1000", 1_000)];
    for (step, rows) in written {
        let work = &result.step(step)["work"];
        assert_eq!(work["insert"]["rows"], rows, "{step}");
        let deleted = if step == "l.i0" || step == "l.x" { None } else { Some(rows) };
        assert_eq!(work["delete"]["rows"].as_i64(), deleted, "{step}");
    }
    let database = database(&rqps, 0);
    assert_eq!(number(&database, "select count(*) from pi1"), 5_100);
    let deleted = 3_000 + 780 + 2 * 1_000;
    assert_eq!(number(&database, "select min(transactionid) from pi1"), deleted + 1);
    assert_eq!(number(&database, "select max(transactionid) from pi1"), deleted + 5_100);
}

#[test]
fn the_smallest_table_that_is_taken_works() {
    // Deletes may run nine statements of 50 rows ahead of the inserts.
    let arguments = format!("--writes 1K,500 --keep-data {WRITES}");
    let too_few = Rqps::new().ibench(&format!("sqlite --rows 999 {arguments}"));
    too_few.refuses(2, &["rows must be at least 1000"]);
    let rqps = Rqps::new();
    rqps.ibench(&format!("sqlite --rows 1000 {arguments}")).ok();
    let count = number(&database(&rqps, 0), "select count(*) from pi1");
    assert_eq!(count, 1_100, "the number of rows is constant from l.i1 on");
}

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn profiles_have_their_steps() {
    let p2020 = "l.i0 l.x l.i1 q100.1 q100.2 q200.1 q200.2 q400.1 q400.2 q600.1 q600.2 q800.1 \
                 q800.2 q1000.1 q1000.2";
    let p2024 = "l.i0 l.x l.i1 l.i2 qr100 qp100 qr500 qp500 qr1000 qp1000";
    for (profile, steps, deletes, price) in [
        ("p2020", p2020, false, "REAL"),
        ("p2023", "l.i0 l.x l.i1 q100.1 q500.1 q1000.1", false, "REAL"),
        ("p2024", p2024, true, "INT"),
    ] {
        let rqps = Rqps::new();
        let arguments = "--rows 1K --query-secs 1 --pause 0 --keep-data";
        rqps.ibench(&format!("sqlite --profile {profile} {arguments}")).ok();
        let result = RunResult::of(&rqps.out());
        assert_eq!(result.steps().join(" "), steps);
        result.assert_all_done();
        assert_eq!(result.step("l.i1")["work"]["delete"].is_object(), deletes, "{profile}");
        let database = database(&rqps, 0);
        let kind = "select upper(type) from pragma_table_info('pi1') where name = 'price'";
        let kind: String = database.query_row(kind, [], |row| row.get(0)).unwrap();
        assert_eq!(kind, price, "{profile}");
        let index = "select group_concat(name) from pragma_index_info('pi1_marketsegment')";
        let index: String = database.query_row(index, [], |row| row.get(0)).unwrap();
        let expected = if deletes { "productid,customerid,price" } else { "price,customerid" };
        assert_eq!(index, expected, "{profile}");
    }
}

#[test]
fn clients_have_a_table_each_or_share_one() {
    let small = "--rows 1K --rates 100 --query-secs 1 --keep-data";
    let rqps = Rqps::new();
    rqps.ibench(&format!("sqlite --clients 2 {small}")).ok();
    let result = RunResult::of(&rqps.out());
    let of_one = [("l.i0", 1_000), ("l.x", 100), ("l.i1", 400), ("l.i2", 100), ("qr100", 100)];
    for (step, rows) in of_one {
        assert_eq!(result.step(step)["work"]["insert"]["rows"], 2 * rows, "{step}");
    }
    assert_eq!(result.step("qr100")["sla"]["target"], 200.0);
    let two = database(&rqps, 0);
    for table in ["pi1", "pi2"] {
        assert_eq!(number(&two, &format!("select count(*) from {table}")), 1_100);
    }
    let same = "select count(*) from pi1 join pi2 using (transactionid, customerid, productid)";
    assert_eq!(number(&two, same), 0, "each client has random numbers of its own");

    let shared = Rqps::new();
    shared.ibench(&format!("sqlite --clients 2 --one-table --profile p2023 {small}")).ok();
    let one = database(&shared, 0);
    // Loaded and then written by each client; l.x inserts 100,000 over all clients, from one.
    let rows = number(&one, "select count(*) from pi1");
    assert_eq!(rows, 2 * 1_000 + 50_000 + 2 * 1_000 + 2 * 100);
    assert_eq!(number(&one, "select count(*) from sqlite_master where type = 'table'"), 1);
}

#[test]
fn pacing_decides_when_writes_start() {
    // In a second 40 statements: at once, or spread over it.
    let paced = |pacing: &str| {
        let rqps = Rqps::new();
        let arguments = "--rows 2K --rates 2000 --query-secs 2 --seed 3";
        let only = "--only l.i0,l.x,l.i1,l.i2,qp2000";
        let ended = rqps.ibench(&format!("sqlite --pacing {pacing} {arguments} {only}")).ok();
        let words: Vec<&str> = ended.stdout.split_whitespace().collect();
        assert!(words.join(" ").contains(&format!("Pacing {pacing}.")), "{}", ended.stdout);
        let result = RunResult::of(&rqps.out());
        let step = result.step("qp2000");
        assert_eq!(step["work"]["insert"]["rows"], 4_000, "{pacing}");
        assert_eq!(step["work"]["delete"]["rows"], 4_000, "{pacing}");
        let median =
            |times: &str| step["work"]["insert"][times]["percentiles_ns"]["p50"].as_f64().unwrap();
        (median("response") / median("service"), step["seconds"].as_f64().unwrap())
    };
    // Each statement of a burst waits for those before it: 20 in the median.
    let (waits, _) = paced("burst");
    assert!(waits > 5.0, "response is {waits} times service");
    let (_, seconds) = paced("uniform");
    assert!(seconds >= 2.0, "80 statements in 2 s: {seconds} s");
    // Random gaps, but as many arrivals in as much time.
    let (_, seconds) = paced("poisson");
    assert!(seconds >= 2.0, "80 statements in 2 s: {seconds} s");
}

#[test]
fn memory_does_not_grow_with_the_number_of_operations() {
    let rqps = Rqps::new();
    let arguments = "sqlite --rows 5K --rates 100 --query-secs 10 --only l.i0,l.x,l.i1,l.i2,qp100";
    let running = rqps.start_ibench(arguments);
    running.wait_for("qp100 (5 of 5)");
    std::thread::sleep(Duration::from_secs(2));
    let early = processes::memory(running.pid());
    std::thread::sleep(Duration::from_secs(4));
    let late = processes::memory(running.pid());
    running.finish().ok();
    let result = RunResult::of(&rqps.out());
    let seconds = &result.step("qp100")["work"]["query"]["seconds"]["operations"];
    let queries: u64 = (2..6).map(|second| seconds[second].as_u64().unwrap()).sum();
    assert!(queries > 10_000, "{queries} queries between the two looks");
    let growth = late.saturating_sub(early);
    assert!(growth <= queries + (256 << 10), "from {early} to {late} bytes in {queries} queries");
}

/// Whether this machine has a SQLite of its own, which Debian's has as a library.
pub(crate) fn system_library() -> Option<std::path::PathBuf> {
    let folders = fs::read_dir("/usr/lib").unwrap().flatten();
    let mut libraries = folders.map(|folder| folder.path().join("libsqlite3.so.0"));
    let found = libraries.find(|library| library.is_file());
    if found.is_none() {
        eprintln!("not checked: there is no libsqlite3");
    }
    found
}

#[test]
fn another_sqlite_is_loaded_and_does_the_same_work() {
    let Some(library) = system_library() else { return };
    let by_path = format!("path=sqlite@{}", library.display());
    let rqps = Rqps::new();
    let arguments = format!(
        "sqlite sqlite@system {by_path} --tests point-query,update-index --rows 1K --secs 0.3"
    );
    rqps.micro(&arguments).ok();
    let result = RunResult::of(&rqps.out());
    result.assert_all_done();
    let of =
        |index: usize, key: &str| result.0["contenders"][index][key].as_str().unwrap_or_default();
    assert_ne!(of(0, "version"), of(1, "version"), "the system's is older than that of rqps");
    assert_eq!(of(1, "version"), of(2, "version"));
    assert_eq!((of(0, "source"), of(1, "source")), ("in rqps", "system"));
    assert_eq!(of(1, "server_sha256").len(), 64);
    rqps.assert_nothing_is_left();
}

#[test]
fn what_is_no_sqlite_or_could_be_changed_by_others_is_not_loaded() {
    let rqps = Rqps::new();
    let refused = |build: &str, texts: &[&str]| {
        rqps.run(&format!("micro sqlite@{build} --out {}", rqps.out().display())).refuses(2, texts);
    };
    refused("3.46.1", &["cannot fetch sqlite@3.46.1", "a library as in"]);
    refused("/etc/hostname", &["cannot load '/etc/hostname' as SQLite: "]);
    refused("/nowhere.so", &["'/nowhere.so'"]);
    refused("/etc", &["lib/libsqlite3.so"]);
    let Some(library) = system_library() else { return };
    let copy = rqps.path("libsqlite3.so");
    fs::copy(library, &copy).unwrap();
    fs::set_permissions(&copy, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    refused(
        &copy.display().to_string(),
        &["rqps does not load", "others could change what rqps runs"],
    );
    assert!(!rqps.out().exists());
}
