//! The Insert Benchmark on real MySQL, MariaDB and MyRocks servers: it passes its own checks, and
//! the servers see the statements that the spec has.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::common::result::RunResult;
use crate::common::{Rqps, Running, processes};
use rustix::process::Signal;

const SMALL: &str = "--rows 2K --writes 500,50 --rates 100 --query-secs 1";

fn passes(contender: &str, version: &str) {
    let rqps = Rqps::new();
    let ended = rqps.ibench(&format!("{contender} {SMALL}")).ok();
    ended.says(&[&format!("version {version}")]);
    let result = RunResult::of(&rqps.out());
    assert_eq!(result.steps(), ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100"]);
    result.assert_all_done();
    rqps.assert_nothing_is_left();
}

#[test]
#[ignore = "nightly: another DBMS or release in the same way"]
fn mysql_5_6_passes() {
    passes("mysql@5.6.14", "5.6.14");
}

#[test]
fn mysql_8_0_passes() {
    passes("mysql@8.0.33", "8.0.33");
}

#[test]
#[ignore = "nightly: another DBMS or release in the same way"]
fn mysql_9_7_passes() {
    passes("mysql@9.7", "9.7.");
}

#[test]
fn mariadb_11_4_passes() {
    passes("mariadb@11.4.5", "11.4.5-MariaDB");
}

#[test]
fn myrocks_in_mariadb_10_11_passes() {
    passes("mariadb@10.11/rocksdb", "10.11.");
}

#[test]
#[ignore = "nightly: another DBMS or release in the same way"]
fn myrocks_in_mariadb_11_8_passes() {
    passes("mariadb@11.8/rocksdb", "11.8.");
}

/// The statements of a run that changed or read the benchmark's table, from the general log.
fn statements(contender: &str) -> Vec<String> {
    let rqps = Rqps::new();
    let folder = rqps.path("general");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let log = folder.join("log");
    let settings = format!("general_log=1&general_log_file={}", log.display());
    rqps.ibench(&format!("{contender}?{settings} {SMALL} --no-check")).ok();
    let text = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
    let found = text.lines().filter_map(|line| line.split_once("Query\t")).map(|(_, sql)| sql);
    found.map(str::to_string).collect()
}

fn count(statements: &[String], start: &str) -> usize {
    statements.iter().filter(|sql| sql.starts_with(start)).count()
}

#[test]
fn innodb_sees_the_statements_of_the_spec() {
    let seen = statements("mysql@8.0.33");
    let inserts =
        "insert into pi1 (dateandtime, cashregisterid, customerid, productid, price, data)";
    // l.i0: 20 of 100 rows; l.x: 1; l.i1: 10 of 50; l.i2: 10 of 5; two steps of 2 of 50.
    assert_eq!(count(&seen, inserts), 20 + 1 + 10 + 10 + 2 * 2);
    let deletes: Vec<&String> = seen.iter().filter(|sql| sql.starts_with("delete")).collect();
    assert_eq!(deletes.len(), 10 + 10 + 2 * 2, "one for each insert from l.i1 on");
    let first = "delete from pi1 where transactionid >= 1 order by transactionid asc limit 50";
    assert_eq!(deletes[0], first);
    assert_eq!(count(&seen, "alter table pi1 add index"), 1, "all indexes at once");
    for index in ["marketsegment", "registersegment", "pdc"] {
        let hint = format!("from pi1 force index (pi1_{index}) where ");
        let ranges = seen.iter().filter(|sql| sql.contains(&hint));
        assert!(ranges.clone().count() > 0, "{index}");
        assert!(ranges.into_iter().all(|sql| sql.ends_with(" limit 10")), "{index}");
    }
    let points = "select transactionid, productid, data from pi1 where transactionid in (";
    let point = seen.iter().find(|sql| sql.starts_with(points)).expect("a point query");
    assert_eq!(point.matches(',').count(), 2 + 9, "ten keys: {point}");
    assert_eq!(count(&seen, "begin") + count(&seen, "commit"), 0);
}

#[test]
fn myrocks_builds_one_index_at_a_time() {
    let seen = statements("mariadb@10.11/rocksdb");
    assert_eq!(count(&seen, "alter table pi1 add index"), 3);
    assert_eq!(count(&seen, "create table pi1"), 1);
    assert!(seen.iter().any(|sql| sql.ends_with("engine = rocksdb")));
}

#[test]
#[ignore = "nightly: another DBMS or release in the same way"]
fn old_row_versions_that_mysql_5_6_keeps_after_it_has_purged_them_are_not_waited_for() {
    let rqps = Rqps::new();
    // Four thousand transactions that delete, of which its history has more than a thousand
    // afterwards.
    let arguments = "mysql@5.6.14 --rows 20K --writes 5K,20K --rates 100 --query-secs 1 --pause 0 \
                     --only l.i0,l.x,l.i1,l.i2,qr100";
    rqps.ibench(arguments).ok();
    let result = RunResult::of(&rqps.out());
    assert!(result.step("qr100")["note"].is_null(), "{}", result.step("qr100")["note"]);
}

#[test]
fn a_setting_that_the_build_does_not_know_is_named() {
    let rqps = Rqps::new();
    let ended = rqps.ibench(&format!("mysql@5.6.14?innodb_redo_log_capacity=1G {SMALL}"));
    ended.refuses(2, &["mysql 5.6.14 has no setting 'innodb_redo_log_capacity'"]);
}

/// A run that is in the middle of qr100, and its server.
fn in_qr100(rqps: &Rqps, contender: &str, program: &str) -> (Running, i32) {
    let arguments = "--rows 2K --writes 500,50 --rates 100 --query-secs 6 --pause 0 \
                     --only l.i0,l.x,l.i1,l.i2,qr100";
    let running = rqps.start_ibench(&format!("{contender} {arguments}"));
    let server = server_in_qr100(&running, program);
    (running, server)
}

fn server_in_qr100(running: &Running, program: &str) -> i32 {
    running.wait_for("qr100 (5 of 5)");
    // The step lasts for six seconds; a moment later it has done something.
    std::thread::sleep(Duration::from_millis(300));
    processes::children(running.pid(), program)[0]
}

const SERVERS: [(&str, &str); 3] = [
    ("mysql@8.0.33", "mysqld"),
    ("mariadb@11.4.5", "mariadbd"),
    ("mariadb@debian-10.11/rocksdb", "ld-linux-x86-64"),
];

#[test]
#[ignore = "nightly: another DBMS or release in the same way"]
fn a_killed_rqps_takes_its_server_along_and_a_killed_server_can_be_gone_on_with() {
    for (contender, program) in SERVERS {
        let rqps = Rqps::new();
        let (running, _) = in_qr100(&rqps, contender, program);
        processes::kill(running.pid());
        rqps.await_no_process();
        assert_eq!(running.finish().status.code(), None, "it was killed");
        let before = rqps.so_far();
        assert_eq!(before.last_state(), format!("{contender} qr100 running"));

        let running = rqps.start_ibench("--resume");
        let server = server_in_qr100(&running, program);
        processes::kill(server);
        let ended = running.finish().expect_code(3);
        let error = format!("error: {contender}: qr100: ");
        ended.says(&[&error, "signal: 9", "its log ends with", "--resume"]);
        rqps.assert_no_server_is_left();
        rqps.resume().ok();
        let after = RunResult::of(&rqps.out());
        after.assert_completes(&before);
        assert_eq!(after.step("qr100")["attempt"], 3);
        rqps.assert_nothing_is_left();
    }
}

#[test]
#[ignore = "nightly: another DBMS or release in the same way"]
fn a_frozen_server_costs_time_and_no_data() {
    for (contender, program) in SERVERS {
        let rqps = Rqps::new();
        let (running, server) = in_qr100(&rqps, contender, program);
        processes::signal(server, Signal::STOP);
        std::thread::sleep(Duration::from_secs(2));
        processes::signal(server, Signal::CONT);
        running.finish().ok();
        let result = RunResult::of(&rqps.out());
        result.assert_all_done();
        // The operations that were due meanwhile were late, and none was dropped.
        let work = result.step("qr100")["work"].as_object().unwrap();
        let lags = work.values().map(|work| work["max_lag_ns"].as_u64().unwrap());
        assert!(lags.max().unwrap() > 1_000_000_000, "{work:#?}");
        rqps.assert_nothing_is_left();
    }
}

#[test]
#[ignore = "nightly: another DBMS in the same way"]
fn a_frozen_server_does_not_hold_up_the_second_interrupt() {
    for (contender, program) in SERVERS {
        let rqps = Rqps::new();
        let (running, server) = in_qr100(&rqps, contender, program);
        processes::signal(server, Signal::STOP);
        running.interrupted_twice();
        processes::signal(server, Signal::CONT);
        rqps.await_no_process();
        let before = rqps.so_far();
        rqps.resume().ok();
        RunResult::of(&rqps.out()).assert_completes(&before);
        rqps.assert_nothing_is_left();
    }
}
