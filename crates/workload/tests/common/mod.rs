//! DBMSs that end with the test, and the microbenchmarks on them.
// Each file of tests uses a part of it.
#![allow(dead_code)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rqps_dbms::{Home, Place, Server};
use rqps_load::{ClientThreads, Effect, Halt, Order, Schedule, Tally, Until, Work};
use rqps_plan::{Contender, Count, Microbenchmark, Span};
use rqps_wire::{Cancel, Connection, Target};
use rqps_workload::microbenchmark::{Benchmark, Test, tests};
use rqps_workload::{Assigned, Dialect};
use tempfile::TempDir;

pub(crate) const SEED: u64 = 42;

pub(crate) struct Fixture {
    server: Box<dyn Server>,
    pub(crate) dialect: Dialect,
    pub(crate) log: PathBuf,
    // Dropped after the server.
    _directory: TempDir,
}

impl Fixture {
    pub(crate) fn start(contender: &str) -> Fixture {
        // Builds are shared with all tests of the workspace.
        let store = std::env::var_os("RQPS_TEST_HOME")
            .map_or(PathBuf::from("/var/tmp/rqps-tests"), PathBuf::from);
        fs::create_dir_all(store.join("builds")).unwrap();
        let directory = tempfile::Builder::new().prefix("w").tempdir_in(&store).unwrap();
        open_to_all(directory.path());
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("home")).unwrap();
        open_to_all(&path("home"));
        symlink(store.join("builds"), path("home").join("builds")).unwrap();
        let home = Home::at(path("home")).unwrap();
        let contender: Contender = contender.parse().unwrap();
        let dbms = rqps_dbms::prepare(&home, &contender, &mut |_| Ok(()), &Cancel::default());
        let place = Place { data: path("data"), log: path("log"), ..Place::default() };
        let server = dbms.unwrap().start(&home, &place, &Cancel::default()).unwrap();
        let dialect = Dialect::from(&contender);
        Fixture { server, dialect, log: place.log, _directory: directory }
    }

    pub(crate) fn target(&self) -> &Target {
        self.server.target()
    }

    pub(crate) fn connect(&self) -> Box<dyn Connection> {
        self.target().connect().unwrap()
    }

    pub(crate) fn benchmark<'a>(&'a self, plan: &'a Microbenchmark) -> Benchmark<'a> {
        Benchmark::new(self.target(), self.dialect, plan, SEED)
    }

    /// A server with tables that are loaded and checked.
    pub(crate) fn loaded(contender: &str, plan: &Microbenchmark) -> Fixture {
        let fixture = Fixture::start(contender);
        load(&fixture.benchmark(plan));
        fixture
    }
}

/// Waits for something that is bound to happen.
pub(crate) fn await_that(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !happened() {
        assert!(Instant::now() < deadline, "it did not happen that {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn plan(tables: u32, rows: u64) -> Microbenchmark {
    Microbenchmark {
        tables,
        rows: Count(rows),
        clients: vec![2],
        read_time: Span(Duration::from_secs(1)),
        write_time: Span(Duration::from_secs(1)),
        tests: vec!["all".to_string()],
        fair_writes: true,
        pause: Span(Duration::ZERO),
        quiesce_after_each_write: false,
        check: true,
    }
}

pub(crate) fn named(name: &str) -> &'static Test {
    tests().iter().find(|test| test.short_name() == name).unwrap()
}

/// Makes, fills, indexes and checks the tables; answers how many rows the loaders counted.
pub(crate) fn load(benchmark: &Benchmark<'_>) -> u64 {
    let rows = total(&run(benchmark.loaders(true).unwrap())).rows;
    run(benchmark.indexers().unwrap());
    benchmark.finish_load().unwrap();
    rows
}

/// Runs work by its orders.
pub(crate) fn run(assigned: Vec<Assigned>) -> Vec<Tally> {
    let (work, orders): (Vec<_>, Vec<_>) = assigned.into_iter().unzip();
    let mut client_threads = ClientThreads::start(work).unwrap();
    client_threads.run(&orders, &mut |_, _| {}, &Cancel::default()).unwrap();
    client_threads.finish()
}

/// Runs a test as the lab does, with so many operations for each client, and checks the tables.
pub(crate) fn run_test(
    benchmark: &Benchmark<'_>,
    test: &'static Test,
    clients: u32,
    operations: u64,
) -> Tally {
    benchmark.before(test).unwrap();
    let connected = benchmark.connect(test, clients, 0).unwrap();
    let order = Order { schedule: Schedule::Closed, until: Until::Operations(operations) };
    let tallies = run(connected.work.into_iter().map(|work| (work, order)).collect());
    benchmark
        .after(test, &connected.books)
        .unwrap_or_else(|error| panic!("{}: {error}", test.name));
    total(&tallies)
}

fn total(tallies: &[Tally]) -> Tally {
    let mut total = tallies[0].clone();
    for tally in &tallies[1..] {
        total.operations += tally.operations;
        total.rows += tally.rows;
        total.statements += tally.statements;
        total.retries += tally.retries;
    }
    total
}

/// The effects of a client's operations, one by one.
pub(crate) fn effects(
    benchmark: &Benchmark<'_>,
    test: &'static Test,
    operations: usize,
) -> Vec<Effect> {
    benchmark.before(test).unwrap();
    let mut connected = benchmark.connect(test, 1, 1).unwrap();
    let work: &mut Box<dyn Work> = &mut connected.work[0];
    let halt = Halt::default();
    let mut one = || {
        work.make(&halt).unwrap();
        work.execute().unwrap()
    };
    let effects = (0..operations).map(|_| one()).collect();
    benchmark.after(test, &connected.books).unwrap();
    effects
}
