//! What the DBMSs count themselves, how large their tables and logs are, and tables that are laid
//! out in another way: on real servers.

use std::fs;
use std::path::Path;

use crate::common::Rqps;
use crate::common::result::RunResult;
use crate::common::server_log::LOGGED;
use serde_json::Value;

// The last step has to last for more than a second, so that there is one of it: for some seconds on
// a machine that stands still for a while.
const SMALL: &str = "--rows 2K --writes 500,50 --rates 100 --query-secs 4 --pause 0 \
                     --only l.i0,l.x,l.i1,l.i2,qr100";
const LARGER: &str = "--rows 20K --writes 500,50 --rates 100 --query-secs 1 --pause 0 \
                      --only l.i0,l.x,l.i1,l.i2,qr100";
/// Rows that the steps of [`SMALL`] insert.
const INSERTED: [(&str, u64); 5] =
    [("l.i0", 2000), ("l.x", 100), ("l.i1", 500), ("l.i2", 50), ("qr100", 400)];

fn run(rqps: &Rqps, arguments: &str) -> RunResult {
    rqps.ibench(arguments).ok();
    let result = RunResult::of(&rqps.out());
    result.assert_all_done();
    result
}

fn counted(step: &Value, name: &str) -> u64 {
    let engine = &step["engine"];
    let found = [&engine["counters"][name], &engine["gauges"][name]];
    found.into_iter().find_map(Value::as_u64).unwrap_or(0)
}

/// Whether a DBMS counts exactly the rows of each step under `rows`, something under all of
/// `moved`, and has seconds of `lane`.
fn counts(contender: &str, rows: Option<&str>, moved: &[&str], lane: &str) {
    let rqps = Rqps::new();
    let result = run(&rqps, &format!("{contender} {SMALL}"));
    for (step, inserted) in INSERTED {
        let step = result.step(step);
        if let Some(rows) = rows {
            assert_eq!(counted(step, rows), inserted, "{contender} {}: {rows}", step["started"]);
        }
        for name in moved {
            assert!(counted(step, name) > 0, "{contender}: {name}: {:#}", step["engine"]);
        }
    }
    let samples = &result.step("qr100")["engine"]["samples"];
    let seconds = samples["at"].as_array().unwrap().len();
    assert!(seconds >= 1, "{samples}");
    let values = samples["values"][lane].as_array();
    assert_eq!(values.map(Vec::len), Some(seconds), "{contender}: {lane}: {samples}");
}

#[test]
fn postgres_counts() {
    let moved =
        ["pg_stat_wal.wal_bytes", "pg_current_wal_insert_lsn", "pg_stat_database.xact_commit"];
    let rows = Some("pg_stat_user_tables.n_tup_ins");
    counts("postgres@17.6", rows, &moved, "pg_stat_wal.wal_bytes");
}

#[test]
#[ignore = "nightly: another DBMS or release in the same way"]
fn postgres_9_6_counts_what_it_has() {
    let moved = ["pg_current_xlog_insert_location", "pg_stat_database.xact_commit"];
    let rows = Some("pg_stat_user_tables.n_tup_ins");
    counts("postgres@9.6.24", rows, &moved, "pg_stat_user_tables.n_dead_tup");
}

const INNODB: [&str; 3] =
    ["Innodb_buffer_pool_read_requests", "Innodb_os_log_written", "Innodb_data_written"];

#[test]
#[ignore = "nightly: another DBMS or release in the same way"]
fn mysql_5_6_counts() {
    counts("mysql@5.6.14", Some("Innodb_rows_inserted"), &INNODB, "Innodb_os_log_written");
}

#[test]
#[ignore = "nightly: another DBMS or release in the same way"]
fn mysql_9_7_counts() {
    counts(
        "mysql@9.7",
        Some("Innodb_rows_inserted"),
        &INNODB,
        "innodb_metrics.trx_rseg_history_len",
    );
}

#[test]
#[ignore = "nightly: another DBMS or release in the same way"]
fn a_plan_that_is_the_same_in_two_releases_of_mysql_is_told_in_the_same_words() {
    let rqps = Rqps::new();
    let tests = "point-query,random-points_range=10,range-notcovered-si,update-index";
    let told = rqps.run(&format!(
        "micro mysql@maven-8.0.33 mysql@debian-9.7 --tests {tests} --rows 2K --secs 0.2 --no-check \
         --json"
    ));
    let result: Value = serde_json::from_str(&told.ok().stdout).unwrap();
    for step in result["steps"].as_array().unwrap() {
        let plans = |at: usize| -> Vec<&Value> {
            let statements = step["results"][at]["statements"].as_array();
            statements.into_iter().flatten().map(|statement| &statement["plan"]).collect()
        };
        assert_eq!(plans(0), plans(1), "{}", step["name"]);
        assert!(step["name"] == "load" || plans(0)[0].is_string(), "{step}");
    }
}

#[test]
#[ignore = "nightly: another DBMS in the same way"]
fn mariadb_counts() {
    let moved = ["Handler_write", "Innodb_buffer_pool_read_requests", "Innodb_os_log_written"];
    counts("mariadb@11.4.5", None, &moved, "Innodb_checkpoint_age");
}

#[test]
fn myrocks_counts() {
    let moved = ["Rocksdb_bytes_written", "Rocksdb_wal_bytes", "Rocksdb_number_keys_written"];
    let rows = Some("Rocksdb_rows_inserted");
    counts("mariadb@10.11/rocksdb", rows, &moved, "Rocksdb_wal_bytes");
}

#[test]
fn sqlite_counts_nothing_itself() {
    let rqps = Rqps::new();
    let result = run(&rqps, &format!("sqlite {SMALL}"));
    let engine = &result.step("l.i1")["engine"];
    assert_eq!(engine["counters"], serde_json::json!({}));
}

#[test]
fn a_server_that_is_running_already_counts_as_well() {
    let rqps = Rqps::new();
    let url = rqps.run("dbms start mysql@8.0.33").ok().stdout.trim().to_string();
    let result = run(&rqps, &format!("{url} {SMALL}"));
    let step = result.step("l.i1");
    assert_eq!(counted(step, "Innodb_rows_inserted"), 500);
    assert!(step["totals"]["database_bytes"].as_u64().unwrap() > 500 * 60);
    assert_eq!(step["totals"]["log_bytes"], Value::Null, "its files are not to be seen");
    rqps.run("dbms stop --all").ok();
}

/// The sizes of the files below a directory whose names `is_meant`.
fn bytes(directory: &Path, is_meant: fn(&str) -> bool) -> u64 {
    let size = |entry: fs::DirEntry| match entry.metadata().unwrap() {
        metadata if metadata.is_dir() => bytes(&entry.path(), is_meant),
        metadata if is_meant(&entry.file_name().to_string_lossy()) => metadata.len(),
        _ => 0,
    };
    fs::read_dir(directory).unwrap().map(|entry| size(entry.unwrap())).sum()
}

/// Larger than the rows, and smaller than the directory without the logs.
fn sizes_are_sane(contender: &str, is_table: fn(&str) -> bool, is_binlog: fn(&str) -> bool) {
    let rqps = Rqps::new();
    let arguments = format!("{contender} {LARGER} --keep-data --no-check");
    let result = run(&rqps, &arguments);
    for name in ["l.i0", "l.x", "qr100"] {
        let totals = &result.step(name)["totals"];
        let of = |name: &str| totals[name].as_u64().unwrap();
        let (data, logs, all) = (of("database_bytes"), of("log_bytes"), of("directory_bytes"));
        assert!(data > 20_000 * 20, "{contender} {name}: {totals}");
        // A log may be removed between the looks at the logs and at the directory: a part of it.
        assert!(logs > 0 && data + logs <= all + all / 50, "{contender} {name}: {totals}");
    }
    let last = result.step("qr100")["totals"]["database_bytes"].as_u64().unwrap();
    let files = bytes(&rqps.data(0), is_table);
    // A server that stops may flush what it had in memory.
    assert!((files / 2..=files * 2).contains(&last), "{contender}: {last}, in files {files}");
    // The load alone writes more than a megabyte of them, and the last step some kilobytes.
    let binlogs = bytes(&rqps.data(0), is_binlog);
    assert!(binlogs < 200_000, "{contender}: binary logs of {binlogs} bytes pile up");
}

fn is_binlog(name: &str) -> bool {
    name.starts_with("binlog.")
}

fn is_innodb_table(name: &str) -> bool {
    name.starts_with("pi1") && name.ends_with(".ibd")
}

#[test]
#[ignore = "nightly: another DBMS or release in the same way"]
fn sizes_of_mysql_5_6_are_those_of_its_files() {
    sizes_are_sane("mysql@5.6.14", is_innodb_table, is_binlog);
}

#[test]
fn sizes_of_mysql_8_0_are_those_of_its_files() {
    sizes_are_sane("mysql@8.0.33", is_innodb_table, is_binlog);
}

#[test]
#[ignore = "nightly: another DBMS or release in the same way"]
fn sizes_of_mysql_9_7_are_those_of_its_files() {
    sizes_are_sane("mysql@9.7", is_innodb_table, is_binlog);
}

#[test]
fn sizes_of_mariadb_are_those_of_its_files() {
    sizes_are_sane("mariadb@11.4.5", is_innodb_table, is_binlog);
}

#[test]
fn sizes_of_myrocks_are_those_of_its_files() {
    sizes_are_sane("mariadb@10.11/rocksdb", |name| name.ends_with(".sst"), is_binlog);
}

#[test]
fn sizes_of_postgres_are_those_of_its_tables() {
    let rqps = Rqps::new();
    let result = run(&rqps, &format!("postgres@17.6 {SMALL}"));
    let totals = &result.step("l.i0")["totals"];
    let data = totals["database_bytes"].as_u64().unwrap();
    // 2000 rows of 98 bytes and 27 in the index, and not the catalogue's megabytes.
    assert!((200_000..1_000_000).contains(&data), "{totals}");
    assert!(totals["log_bytes"].as_u64().unwrap() >= 16 << 20, "{totals}");
}

#[test]
fn postgres_passes_with_partitions() {
    let rqps = Rqps::new();
    run(&rqps, &format!("postgres@17.6?{LOGGED} {SMALL} --partitions 3"));
    let logs = rqps.out().join("logs");
    let log = fs::read_to_string(logs.join(&crate::common::entries(&logs)[0])).unwrap();
    // 2000 + 100 + 500 + 50 + 2 x 400, and 100 more, in three.
    assert!(log.contains("pi1_p2 partition of pi1 for values from (1184) to (2367)"), "{log}");
    for part in ["pi1_p1", "pi1_p2", "pi1_p3"] {
        assert!(log.contains(&format!("vacuum (analyze, index_cleanup on) {part}")), "{part}");
    }
}

#[test]
#[ignore = "nightly: another profile in the same way"]
fn the_2024_profile_passes_with_partitions() {
    let rqps = Rqps::new();
    run(&rqps, &format!("postgres@17.6 mysql@8.0.33 {SMALL} --partitions 3 --profile p2024"));
}

#[test]
#[ignore = "nightly: another engine in the same way"]
fn innodb_and_myrocks_pass_with_partitions() {
    for contender in ["mysql@8.0.33", "mariadb@10.11/rocksdb"] {
        let rqps = Rqps::new();
        run(&rqps, &format!("{contender} {SMALL} --partitions 4 --keep-data"));
        let is_part = |name: &String| name.to_lowercase().starts_with("pi1#p#p");
        let parts =
            crate::common::entries(&rqps.data(0).join("ib")).into_iter().filter(is_part).count();
        // The files of a partition of MyRocks are shared with others.
        assert_eq!(parts, if contender.starts_with("mysql") { 4 } else { 0 }, "{contender}");
    }
}

#[test]
fn what_cannot_be_laid_out_so_is_refused() {
    let rqps = Rqps::new();
    rqps.ibench(&format!("sqlite {SMALL} --partitions 4"))
        .refuses(2, &["sqlite has no partitioned tables"]);
    rqps.ibench(&format!("mysql@8.0.33 {SMALL} --column-families"))
        .refuses(2, &["mysql@8.0.33 has no column families"]);
}

#[test]
fn each_index_of_myrocks_has_a_column_family_and_all_are_compacted() {
    let rqps = Rqps::new();
    let contender = "mariadb@10.11/rocksdb";
    run(&rqps, &format!("{contender} {LARGER} --column-families --keep-data"));
    let rocksdb = rqps.data(0).join("#rocksdb");
    let files = crate::common::entries(&rocksdb);
    let options = files.iter().rfind(|name| name.starts_with("OPTIONS-")).unwrap();
    let options = fs::read_to_string(rocksdb.join(options)).unwrap();
    for family in ["default", "xms", "xrs", "xpdc"] {
        assert!(options.contains(&format!("[CFOptions \"{family}\"]")), "{family}: {options}");
    }
    let log = fs::read_to_string(rocksdb.join("LOG")).unwrap_or_default();
    for family in ["default", "xms", "xrs", "xpdc"] {
        let compacted = format!("[{family}] Manual compaction");
        assert!(log.contains(&compacted), "{compacted}");
    }
}
