//! The load and the tests as tasks, and how they are run on a database.

use std::time::Duration;

use rqps_dbms::Quiesce;
use rqps_load::{Order, Schedule, Until};
use rqps_plan::{
    Class, Counts, DBBENCH_TESTS, Dbbench, DbbenchTest, Method, Microbenchmark, Operation,
};
use rqps_wire::{Error, Row};
use rqps_worker::Kind;

use super::client::{RemoteClient, Seeds};
use crate::check::CheckError;
use crate::explain::Explained;
use crate::random::derive;
use crate::script::Script;
use crate::task::{
    Assigned, Driver, Part, Rest, Site, Takes, Task, TaskClients, TimeLimit, WorkloadError,
};

const LOAD: &str = "load";
/// One of this many keys is put again.
const OVERWRITTEN: u64 = 2;
/// Why a test that writes is not measured by slices.
const IN_BACKGROUND: &str = "it leaves work to background threads, for which only a whole run pays";
/// Bytes of a second that a writer beside a test puts, as published.
const WRITTEN: u64 = 2_000_000;
/// How long a slice may take: one is some tens of milliseconds.
const OVERDUE: Duration = Duration::from_secs(60);
/// Reading from the cache of the operating system instead of RocksDB's is another test: so much of
/// the data must be in the latter, in percent.
const CACHED: u64 = 90;

/// The uses of random draws.
#[derive(Clone, Copy)]
enum Draw {
    Values = 1,
    Clients,
    Writer,
}

pub(crate) fn tasks(plan: &Dbbench) -> Result<Vec<Task>, WorkloadError> {
    let keys = plan.keys.0;
    let checked_rows = if plan.check { keys } else { 0 };
    let writes = Task {
        counts: Counts::RowsInserted,
        checked_rows,
        ends: true,
        alone: Some(IN_BACKGROUND),
        takes: vec![Takes::Load { rows: keys, connections: 1 }],
        ..Task::new("", "Writes", Class::Update)
    };
    let load = Task {
        name: LOAD.to_string(),
        title: "put all keys in order".to_string(),
        group: "",
        class: Class::Load,
        fills: true,
        clients: 1,
        ..writes.clone()
    };
    let time = plan.time.0;
    let warm_up = Microbenchmark::warm_up(time);
    let test = |(index, name): (usize, &String)| {
        let test = DBBENCH_TESTS.iter().find(|test| test.name == name);
        let test = test.expect("an unknown test was refused");
        let common = Task {
            index: index + 1,
            name: name.clone(),
            title: test.title.to_string(),
            class: test.class,
            is_reported: true,
            clients: if test.class == Class::Load { 1 } else { plan.clients },
            family: family(test),
            takes: vec![Takes::Load { rows: puts(kind(name), keys), connections: 1 }],
            ..writes.clone()
        };
        match test.class.writes() {
            true => common,
            false => Task {
                group: "Reads",
                counts: Counts::Statements,
                rest: Rest::Pause(Quiesce::Full, Duration::ZERO),
                warm_up: Some(warm_up),
                time,
                takes: vec![Takes::Time(warm_up + time)],
                ends: false,
                checked_rows: 0,
                alone: None,
                works_in_turns: test.is_beside_writer(),
                ..common
            },
        }
    };
    Ok([load].into_iter().chain(plan.tests.iter().enumerate().map(test)).collect())
}

/// What a task does: a test, or the load, which is one of them under another name.
fn kind(task: &str) -> Kind {
    Kind::from_name(task).unwrap_or(Kind::FillSeq)
}

/// How many keys a test of writes puts.
fn puts(kind: Kind, keys: u64) -> u64 {
    if kind == Kind::Overwrite { keys / OVERWRITTEN } else { keys }
}

/// Tests of a class have a noise of their own, which the selftest measures.
fn family(test: &DbbenchTest) -> &'static str {
    match test.class {
        _ if test.is_beside_writer() => "rocksdb-beside-writer",
        Class::Point => "rocksdb-point",
        Class::Range => "rocksdb-range",
        _ => "rocksdb-write",
    }
}

pub(crate) fn driver<'a>(
    plan: &'a Dbbench,
    site: Site<'a>,
) -> Result<Box<dyn Driver + 'a>, WorkloadError> {
    Ok(Box::new(DbbenchDriver { plan, site }))
}

struct DbbenchDriver<'a> {
    plan: &'a Dbbench,
    site: Site<'a>,
}

/// What a request for a number was answered with.
fn number(rows: Vec<Row>) -> u64 {
    let field = rows.into_iter().flatten().flatten().next();
    field.and_then(|field| field.parse().ok()).unwrap_or(0)
}

impl DbbenchDriver<'_> {
    fn values(&self) -> u64 {
        derive(self.site.seed, &[Draw::Values as u64])
    }

    /// Reads all keys, so that they are in the cache. Returns a note if they do not fit.
    fn warm(&self) -> Result<Option<String>, Error> {
        let connection = &mut *self.site.target.connect()?;
        let mut property =
            |name: &str| connection.query(&format!("property rocksdb.{name}")).map(number);
        let data = property("total-sst-files-size")?;
        let is_cached = |usage: u64| usage.saturating_mul(100) >= data.saturating_mul(CACHED);
        if is_cached(property("block-cache-usage")?) {
            return Ok(None);
        }
        self.read()?;
        let connection = &mut *self.site.target.connect()?;
        let usage = connection.query("property rocksdb.block-cache-usage").map(number)?;
        Ok((!is_cached(usage)).then(|| {
            format!(
                "not all data are in RocksDB's cache: {} MB of {} MB",
                usage / 1_000_000,
                data / 1_000_000
            )
        }))
    }

    /// Reads and checks all keys: how many there are, and how many are as loaded.
    fn read(&self) -> Result<(u64, u64), Error> {
        let request = format!("read {}", self.values());
        let rows = self.site.target.connect()?.query(&request)?;
        let mut numbers = rows.into_iter().flatten().flatten().map(|it| it.parse().unwrap_or(0));
        Ok((numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)))
    }

    fn check(&self, kind: Kind) -> Result<(), CheckError> {
        if !self.plan.check {
            return Ok(());
        }
        let (keys, as_loaded) = self.read()?;
        let expected = self.plan.keys.0;
        let counts = [("keys", keys), ("keys with the loaded value", as_loaded)];
        // Whatever is put again has a value of the workload, which reading has checked.
        let counts = if kind == Kind::FillSeq { &counts[..] } else { &counts[..1] };
        for (what, found) in counts {
            if *found != expected {
                return Err(CheckError::Differs {
                    table: "the database".to_string(),
                    what: format!("the number of {what}"),
                    expected: expected.to_string(),
                    found: found.to_string(),
                });
            }
        }
        Ok(())
    }
}

impl Driver for DbbenchDriver<'_> {
    fn tables(&self) -> Vec<String> {
        Vec::new()
    }

    fn prepare(&self, task: &Task, attempt: u32) -> Result<Option<String>, WorkloadError> {
        match kind(&task.name) {
            // The directory of a load is new, unless an attempt was interrupted.
            Kind::FillSeq if task.fills && attempt == 1 => Ok(None),
            Kind::FillSeq => {
                self.site.target.connect()?.run("recreate")?;
                Ok(None)
            }
            kind if kind.writes() => Ok(None),
            _ => Ok(self.warm()?),
        }
    }

    fn explained(&self, _task: &Task) -> Result<Vec<Explained>, Error> {
        Ok(Vec::new())
    }

    fn connect(&self, task: &Task, clients: u32, place: u64) -> Result<TaskClients<'_>, Error> {
        let (kind, keys) = (kind(&task.name), self.plan.keys.0);
        let (operation, until) = match kind.writes() {
            true => {
                let own = puts(kind, keys).div_ceil(u64::from(clients));
                (Operation::Insert, Until::Operations(own))
            }
            false => (Operation::Transaction, Until::Elapsed(task.time)),
        };
        let order = Order { schedule: Schedule::Closed, until };
        let (mut parts, mut threads) = (Vec::new(), Vec::new());
        for client in 1..=clients {
            let mut connection = self.site.target.connect()?;
            threads.push(match clients {
                1 => None,
                _ => self.site.dialect.thread(&mut *connection)?,
            });
            let numbers = [Draw::Clients as u64, task.index as u64, u64::from(client), place];
            let seeds = Seeds { client: derive(self.site.seed, &numbers), values: self.values() };
            let work = RemoteClient::new(connection, (kind, keys), seeds)?;
            parts.push(Part { client, operation, work: Box::new(work), order });
        }
        if kind.is_beside_writer() {
            let seed = derive(self.site.seed, &[Draw::Writer as u64, task.index as u64, place]);
            let when = match self.site.method {
                Method::Slices => "in-turns",
                Method::Runs => "always",
            };
            let request = format!("write {keys} {seed} {} {WRITTEN} {when}", self.values());
            self.site.target.connect()?.run(&request)?;
        }
        let end = move || {
            if kind.is_beside_writer() {
                let connection = &mut *self.site.target.connect()?;
                connection.run("write end")?;
                if self.site.method == Method::Slices {
                    // The next test begins as this one did. In whole runs each quiesces before it.
                    connection.run("compact")?;
                }
            }
            self.check(kind)
        };
        Ok(TaskClients { parts, threads, worth: kind.worth() as f64, end: Box::new(end) })
    }

    fn time_limit(&self, task: &Task) -> Option<TimeLimit> {
        (!task.class.writes()).then_some(TimeLimit::After(OVERDUE))
    }

    /// Compaction is a part of a test that writes.
    fn indexers(&self, task: &Task) -> Result<Vec<Assigned>, Error> {
        match task.class.writes() {
            true => {
                let connection = self.site.target.connect()?;
                Ok(vec![Script::assigned(connection, vec!["wait".to_string()])])
            }
            false => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use rqps_plan::{Count, Span};

    use super::*;

    #[test]
    fn tests_that_write_are_whole_runs_and_reads_beside_a_writer_have_turns() {
        let plan = Dbbench {
            keys: Count(1_000),
            clients: 2,
            time: Span(Duration::from_secs(10)),
            tests: DBBENCH_TESTS.iter().map(|test| test.name.to_string()).collect(),
            check: true,
        };
        let tasks = tasks(&plan).unwrap();
        assert!(tasks[0].fills && tasks[0].index == 0);
        for (index, task) in tasks.iter().enumerate() {
            assert_eq!(task.index, index);
            let is_beside = task.name.ends_with("whilewriting");
            assert_eq!(task.alone.is_some(), task.class.writes(), "{}", task.name);
            assert_eq!(task.works_in_turns, is_beside, "{}", task.name);
            assert_eq!(task.rest == Rest::Nothing, task.class.writes(), "{}", task.name);
            assert_eq!(task.ends, task.class.writes(), "{}", task.name);
            assert_eq!(task.clients, if task.class == Class::Load { 1 } else { 2 });
            let rows = if task.name == "overwrite" { 500 } else { 1_000 };
            let puts = task.takes == [Takes::Load { rows, connections: 1 }];
            assert_eq!(puts, task.class.writes(), "{}: {:?}", task.name, task.takes);
        }
        assert_eq!(plan.tests.len() + 1, tasks.len());
    }
}
