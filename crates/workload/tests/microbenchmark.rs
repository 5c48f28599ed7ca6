//! The microbenchmarks against every DBMS: the same data, the published mix of statements, the rows
//! that they return, and checks that fail when something is wrong.

mod common;

use std::path::Path;

use common::{Fixture, SEED, effects, load, named, plan, run, run_test};
use rqps_load::Statements;
use rqps_plan::{Class, Microbenchmark};
use rqps_wire::{Row, scalar};
use rqps_workload::Dialect;
use rqps_workload::microbenchmark::{Benchmark, Found, Group, tests};

/// Everything that holds on every DBMS, on one server: each has its own tables, made anew.
fn all_holds_on(contender: &'static str) {
    let server = Server { contender, fixture: Fixture::start(contender) };
    server.rows_and_keys_are_those_of_sqlite();
    server.tables_of_another_shape_are_known_and_replaced();
    server.every_test_sends_the_published_mix();
    server.what_is_sent_is_told_with_its_plans();
    server.reads_return_the_rows_that_they_ask_for();
    server.fair_writes_do_the_same_work_in_every_test_of_a_run();
    server.what_a_test_cut_short_had_deleted_is_put_back();
    server.published_writes_leave_the_tables_as_they_become();
    server.victims_of_each_other_begin_again_and_the_books_stay_right();
    server.who_answers_each_of_several_clients_is_known();
    server.a_change_that_no_test_made_is_found();
}

#[test]
fn all_holds_on_sqlite() {
    all_holds_on("sqlite");
}

// Servers that do not wait long before they choose a victim.

#[test]
fn all_holds_on_postgres() {
    all_holds_on("postgres@17.6?deadlock_timeout=5ms");
}

#[test]
fn all_holds_on_mysql() {
    all_holds_on("mysql@8.0.33");
}

#[test]
fn all_holds_on_mariadb() {
    all_holds_on("mariadb@11.4.5");
}

#[test]
fn all_holds_on_myrocks() {
    all_holds_on("mariadb@10.11/rocksdb?rocksdb_deadlock_detect=on");
}

struct Server {
    contender: &'static str,
    fixture: Fixture,
}

impl Server {
    /// The benchmark with its tables as they are loaded.
    fn loaded<'a>(&'a self, plan: &'a Microbenchmark) -> Benchmark<'a> {
        let benchmark = self.fixture.benchmark(plan);
        load(&benchmark);
        benchmark
    }

    fn rows_and_keys_are_those_of_sqlite(&self) {
        let contender = self.contender;
        // Two connections load a part of the second table each, where rows are kept by key.
        let plan = plan(3, 6000);
        let benchmark = self.fixture.benchmark(&plan);
        assert_eq!(benchmark.existing().unwrap(), Found::Nothing, "{contender}");
        // The check after the load compares a checksum.
        assert_eq!(load(&benchmark), 18_000, "{contender}");
        assert_eq!(benchmark.existing().unwrap(), Found::Same, "{contender}");
        let sqlite = Fixture::loaded("sqlite", &plan);
        assert_eq!(some_rows(&self.fixture), some_rows(&sqlite), "{contender}");
        // The next id is the server's to give.
        let mut connection = self.fixture.connect();
        for table in benchmark.tables() {
            let insert = format!("insert into {table} (k, c, pad) values (1, '', '')");
            connection.run(&insert).unwrap();
            let max = format!("select max(id) from {table}");
            let max = scalar(&mut *connection, &max).unwrap().unwrap();
            assert_eq!(max, "6001", "{contender}: {table}");
        }
    }

    fn tables_of_another_shape_are_known_and_replaced(&self) {
        let contender = self.contender;
        let (small, large) = (plan(1, 1000), plan(3, 1500));
        self.loaded(&large);
        let benchmark = self.fixture.benchmark(&small);
        let other = Found::Other(format!("3 tables of 1500 rows, seed {SEED}"));
        assert_eq!(benchmark.existing().unwrap(), other, "{contender}");
        let other_seed =
            Benchmark::new(self.fixture.target(), self.fixture.dialect, &large, SEED + 1);
        assert!(matches!(other_seed.existing().unwrap(), Found::Other(_)), "{contender}");
        // A load that was not brought to its end leaves no tables that count as loaded.
        run(benchmark.loaders(true).unwrap());
        assert!(matches!(benchmark.existing().unwrap(), Found::Other(_)), "{contender}");
        load(&benchmark);
        assert_eq!(benchmark.existing().unwrap(), Found::Same, "{contender}");
        let gone = self.fixture.connect().query("select * from sbtest2").unwrap_err().to_string();
        assert!(gone.contains("sbtest2"), "{contender}: {gone}");
    }

    /// Every test with two clients, and the statements they are counted as.
    fn every_test_sends_the_published_mix(&self) {
        let contender = self.contender;
        let plan = plan(2, 1000);
        let benchmark = self.loaded(&plan);
        const OPERATIONS: u64 = 40;
        for test in tests() {
            let tally = run_test(&benchmark, test, 2, OPERATIONS);
            assert_eq!(tally.operations, 2 * OPERATIONS, "{}", test.name);
            let Statements { reads, writes, others } = test.event.statements();
            let each = 2 * OPERATIONS;
            let expected =
                Statements { reads: reads * each, writes: writes * each, others: others * each };
            if tally.retries == 0 && test.class() == Class::ReadWrite {
                // A row that the other client has just replaced is not found, so nothing is
                // changed.
                let found = tally.statements;
                assert_eq!(found.total(), expected.total(), "{contender}: {}", test.name);
                assert_eq!(found.reads, expected.reads, "{contender}: {}", test.name);
                assert!(found.writes * 100 >= expected.writes * 95, "{contender}: {}", test.name);
            } else if tally.retries == 0 {
                assert_eq!(tally.statements, expected, "{contender}: {}", test.name);
            } else {
                // What was sent before a deadlock is counted, too.
                assert_eq!(test.group, Group::Write, "{contender}: {} retries", test.name);
                assert!(tally.statements.total() >= expected.total(), "{}", test.name);
            }
        }
    }

    fn what_is_sent_is_told_with_its_plans(&self) {
        let contender = self.contender;
        let plan = plan(1, 1000);
        let benchmark = self.loaded(&plan);
        for test in tests() {
            let told = benchmark.explained(test).unwrap();
            let sent: u32 = told.iter().map(|one| one.times).sum();
            assert_eq!(u64::from(sent), test.event.statements().total(), "{}", test.name);
            for one in told {
                let has_plan =
                    !["INSERT", "BEGIN", "COMMIT"].iter().any(|w| one.text.starts_with(w));
                assert_eq!(one.plan.is_some(), has_plan, "{contender}: {one:?}");
                let tells_time = has_plan && contender.starts_with("postgres");
                assert_eq!(one.planning.is_some(), tells_time, "{contender}: {one:?}");
                assert!(one.text.len() < 120, "a list is not written out: {}", one.text);
            }
        }
    }

    fn reads_return_the_rows_that_they_ask_for(&self) {
        let contender = self.contender;
        let plan = plan(2, 2000);
        let benchmark = self.loaded(&plan);
        let rows = |name: &str| -> Vec<u64> {
            effects(&benchmark, named(name), 30).iter().map(|effect| effect.rows).collect()
        };
        let always = |name: &str, count: u64| {
            assert_eq!(rows(name), vec![count; 30], "{contender}: {name}");
        };
        always("point-query", 1);
        always("hot-points", 100);
        always("read-only-count", 1);
        always("read-only-sum", 11);
        always("scan", 0);
        // A range is shorter where the table ends; most are not.
        let usually = |name: &str, count: u64| {
            let rows = rows(name);
            let whole = rows.iter().filter(|rows| **rows == count).count();
            assert_eq!(rows.iter().max(), Some(&count), "{contender}: {name}");
            assert!(whole > 20, "{contender}: {name}: {rows:?}");
        };
        usually("range-covered-pk", 101);
        usually("range-notcovered-pk", 101);
        usually("read-only_range=10", 10 + 10 + 1 + 10 + 10);
        usually("read-only_range=100", 10 + 100 + 1 + 100 + 100);
        // Half of the ranges of 1000 rows begin in the upper half.
        let half = rows("read-only-simple");
        assert_eq!(half.iter().max(), Some(&1010), "{contender}");
        // Lists may name a key twice. Expected is n(1 - (1 - 1/n)^m).
        let about = |name: &str, expected: f64, tolerance: f64| {
            let rows = rows(name);
            let mean = rows.iter().sum::<u64>() as f64 / 30.0;
            assert!((mean - expected).abs() < tolerance, "{contender}: {name}: {rows:?}");
        };
        about("random-points_range=10", 9.98, 0.1);
        about("random-points_range=1000", 787.0, 10.0);
        about("points-covered-pk", 97.6, 1.0);
        // Not every value is there, and others more than once: on average it is one row.
        about("points-covered-si", 97.6, 10.0);
        about("range-covered-si", 99.0, 10.0);
        about("range-notcovered-si", 99.0, 10.0);
    }

    fn fair_writes_do_the_same_work_in_every_test_of_a_run(&self) {
        let contender = self.contender;
        let plan = plan(2, 1000);
        let benchmark = self.loaded(&plan);
        for _ in 0..2 {
            // More than there are rows: all of them hit.
            let deletes = run_test(&benchmark, named("delete"), 2, 1500);
            assert_eq!(deletes.statements.writes, 3000, "{contender}");
        }
        for _ in 0..2 {
            run_test(&benchmark, named("insert"), 2, 50);
            let sql = "select count(*), min(id), max(id) from sbtest1";
            let row = self.fixture.connect().query(sql).unwrap().remove(0);
            let [rows, min, max] = [0, 1, 2].map(|n| row[n].as_ref().unwrap().parse().unwrap());
            assert_eq!(min, 1);
            assert!((1001..1101).contains(&rows), "{contender}: {rows} rows");
            // Every time the ids go on where the load ended.
            assert_eq!(max, rows, "{contender}");
        }
    }

    fn what_a_test_cut_short_had_deleted_is_put_back(&self) {
        // More than are looked for at once, where that does not take long.
        let rows = if self.fixture.dialect == Dialect::SQLITE { 50_001 } else { 1000 };
        let mut plan = plan(2, rows);
        let lose = |sql: &str| self.fixture.connect().run(sql).unwrap();
        {
            let benchmark = self.loaded(&plan);
            lose(&format!("delete from sbtest1 where id in (1, 2, {}, {rows})", rows - 1));
            lose("delete from sbtest2 where id = 7");
            assert_eq!(benchmark.restore(named("insert")).unwrap(), 0, "it deletes nothing");
            assert_eq!(benchmark.restore(named("delete")).unwrap(), 5, "{}", self.contender);
            assert_eq!(benchmark.restore(named("delete")).unwrap(), 0, "nothing is missing");
            benchmark.finish_load().expect("each row is as it was loaded");
        }
        plan.fair_writes = false;
        lose("delete from sbtest1 where id = 9");
        let published = self.fixture.benchmark(&plan);
        assert_eq!(published.restore(named("delete")).unwrap(), 0, "what is deleted stays away");
    }

    fn published_writes_leave_the_tables_as_they_become(&self) {
        let contender = self.contender;
        let mut plan = plan(1, 1000);
        plan.fair_writes = false;
        let benchmark = self.loaded(&plan);
        let deletes = run_test(&benchmark, named("delete"), 1, 1000);
        // A part e^-1 of the rows is left, and a delete that finds nothing is not a write.
        let left = 1000 - deletes.statements.writes;
        assert!((330..405).contains(&left), "{contender}: {left}");
        assert_eq!(deletes.statements.others, left, "{contender}");
        run_test(&benchmark, named("insert"), 1, 20);
        let rows = scalar(&mut *self.fixture.connect(), "select count(*) from sbtest1").unwrap();
        assert_eq!(rows.unwrap(), (left + 20).to_string(), "{contender}");
    }

    fn victims_of_each_other_begin_again_and_the_books_stay_right(&self) {
        let contender = self.contender;
        // So few rows that clients meet.
        let plan = plan(1, 10);
        let benchmark = self.loaded(&plan);
        // SQLite has its writers wait for each other.
        let has_victims = self.fixture.dialect != Dialect::SQLITE;
        let mut retries = 0;
        // Once, unless the clients happened to run one after the other.
        for _ in 0..20 {
            for test in ["write-only", "read-write_range=10", "update-inlist", "update-index"] {
                let tally = run_test(&benchmark, named(test), 4, 60);
                assert_eq!(tally.operations, 240, "{contender}: {test}");
                retries += tally.retries;
            }
            if (retries > 0) == has_victims {
                break;
            }
        }
        assert_eq!(retries > 0, has_victims, "{contender}: {retries}");
    }

    fn who_answers_each_of_several_clients_is_known(&self) {
        let plan = plan(1, 10);
        let benchmark = self.loaded(&plan);
        let threads =
            |clients: u32| benchmark.connect(named("point-query"), clients, 0).unwrap().threads;
        assert_eq!(threads(1), [None], "one client is placed with its whole server");
        if self.fixture.dialect == Dialect::SQLITE {
            assert_eq!(threads(2), [None, None], "it is the client itself");
            return;
        }
        let connected = benchmark.connect(named("point-query"), 2, 0).unwrap();
        let [Some(one), Some(other)] = connected.threads[..] else {
            panic!("{:?}", connected.threads)
        };
        assert_ne!(one, other);
        for thread in [one, other] {
            assert!(Path::new(&format!("/proc/{thread}")).exists(), "{}: {thread}", self.contender);
        }
    }

    fn a_change_that_no_test_made_is_found(&self) {
        let contender = self.contender;
        let plan = plan(1, 1000);
        let fixture = &self.fixture;
        let benchmark = self.loaded(&plan);
        let fails_with = |sql: &str, what: &str| {
            let test = named("update-index");
            let connected = benchmark.connect(test, 1, 0).unwrap();
            fixture.connect().run(sql).unwrap();
            let error = benchmark.after(test, &connected.books).unwrap_err().to_string();
            assert!(error.starts_with(&format!("sbtest1: {what}")), "{contender}: {error}");
        };
        fails_with("update sbtest1 set k = k + 1 where id = 7", "sum of k should be ");
        fails_with("delete from sbtest1 where id = 500", "row count should be 1000, but is 999");
        // After a load the texts are compared, too.
        load(&benchmark);
        let change = match fixture.dialect == Dialect::POSTGRES {
            true => "update sbtest1 a set c = b.c from sbtest1 b where a.id = 7 and b.id = 8",
            false => "update sbtest1 set c = '00000000000-11111111111' where id = 7",
        };
        fixture.connect().run(change).unwrap();
        let error = benchmark.finish_load().unwrap_err().to_string();
        assert!(error.starts_with("sbtest1: checksum should be "), "{contender}: {error}");
    }
}

/// Rows of the second table, without the blanks that some DBMSs fill up with.
fn some_rows(fixture: &Fixture) -> Vec<Row> {
    let sql = "select id, k, c, pad from sbtest2 where id in (1, 2, 5000, 5001, 6000)";
    let mut rows = fixture.connect().query(sql).unwrap();
    rows.iter_mut().flatten().flatten().for_each(|text| *text = text.trim_end().to_string());
    rows.sort();
    assert_eq!(rows.len(), 5);
    rows
}
