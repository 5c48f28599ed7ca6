//! The load and the tests of the microbenchmarks as tasks, and how they are run on a server.

use rqps_dbms::Quiesce;
use rqps_load::{Order, Schedule, Until};
use rqps_plan::{Class, Counts, Microbenchmark, Operation};
use rqps_wire::Error;

use super::{Benchmark, Found, Sequence, Test, select};
use crate::explain::Explained;
use crate::task::{
    Assigned, Counted, Driver, Part, Rest, Site, Takes, Task, TaskClients, WorkloadError,
};

/// The name of the task that fills the tables.
const LOAD: &str = "load";

/// A test with a number of clients.
struct Turn {
    test: &'static Test,
    /// The number in the plan; some tests run with as many as there are tables.
    planned: u32,
    /// The server is quiesced first, because of writes before it.
    pays: bool,
}

fn turns(plan: &Microbenchmark) -> Result<Vec<Turn>, WorkloadError> {
    let mut turns = Vec::new();
    // The load is a write as well.
    let mut owes = true;
    for test in select(&plan.tests, Sequence::Given)? {
        let (size, rows) = (test.size, plan.rows.0);
        if size as u64 > rows {
            let test = test.short_name().to_string();
            return Err(WorkloadError::RangeTooLarge { test, size, rows });
        }
        for &planned in &plan.clients {
            let pays = owes && (!test.writes() || plan.quiesce_after_each_write);
            turns.push(Turn { test, planned, pays });
            owes = (owes && !pays) || test.writes();
        }
    }
    Ok(turns)
}

/// The load, then every test with every number of clients.
pub(crate) fn tasks(plan: &Microbenchmark) -> Result<Vec<Task>, WorkloadError> {
    let turns = turns(plan)?;
    let turns = (1..).zip(&turns).map(|(index, turn)| of_turn(plan, index, turn));
    Ok(std::iter::once(load(plan)).chain(turns).collect())
}

fn load(plan: &Microbenchmark) -> Task {
    let rows = plan.rows.0.saturating_mul(u64::from(plan.tables));
    let connections = plan.tables;
    Task {
        title: "fill the tables, then create the secondary indexes".to_string(),
        counts: Counts::RowsInserted,
        fills: true,
        takes: vec![
            Takes::Load { rows, connections },
            Takes::Index { rows, indexes: 1, connections },
        ],
        ends: true,
        ..Task::new(LOAD, "", Class::Load)
    }
}

fn of_turn(plan: &Microbenchmark, index: usize, turn: &Turn) -> Task {
    let test = turn.test;
    let rows = plan.rows.0.saturating_mul(u64::from(plan.tables));
    let time = test.measured(plan);
    let warm_up = Microbenchmark::warm_up(time);
    let name = test.short_name();
    let name = match plan.clients[..] {
        [_] => name.to_string(),
        _ => format!("{name}@{}", turn.planned),
    };
    Task {
        index,
        family: test.group.name(),
        is_reported: test.is_reported(),
        counts: if test.is_scan() { Counts::RowsScanned } else { Counts::Statements },
        clients: test.clients(turn.planned, plan.tables),
        rest: match turn.pays {
            true => Rest::Pause(Quiesce::Full, plan.pause.0),
            false => Rest::Nothing,
        },
        warm_up: Some(warm_up),
        time,
        counted: if test.is_scan() { Counted::Each(plan.rows.0) } else { Counted::No },
        takes: vec![Takes::Time(warm_up + time)],
        checked_rows: if plan.check && test.writes() { rows } else { 0 },
        ends: test.writes(),
        ..Task::new(name, test.group.title(), test.class())
    }
}

pub(crate) fn driver<'a>(
    plan: &'a Microbenchmark,
    site: Site<'a>,
) -> Result<Box<dyn Driver + 'a>, WorkloadError> {
    let benchmark = Benchmark::new(site.target, site.dialect, plan, site.seed);
    Ok(Box::new(Tests { plan, benchmark, turns: turns(plan)?, is_own: site.is_own }))
}

struct Tests<'a> {
    plan: &'a Microbenchmark,
    benchmark: Benchmark<'a>,
    turns: Vec<Turn>,
    is_own: bool,
}

impl Tests<'_> {
    /// None is the load.
    fn test(&self, task: &Task) -> Option<&'static Test> {
        task.index.checked_sub(1).map(|turn| self.turns[turn].test)
    }

    fn clients_of_load(&self) -> Result<TaskClients<'_>, Error> {
        let loaders = self.benchmark.loaders(self.is_own)?;
        let batches = |order: &Order| match order.until {
            Until::Operations(batches) | Until::OperationsWithin(batches, _) => batches,
            Until::Elapsed(_) | Until::LeadersDone => 0,
        };
        let all: u64 = loaders.iter().map(|(_, order)| batches(order)).sum();
        let rows = self.plan.rows.0 * u64::from(self.plan.tables);
        let operation = Operation::Insert;
        let part = |(client, (work, order))| Part { client, operation, work, order };
        Ok(TaskClients {
            parts: (1..).zip(loaders).map(part).collect(),
            threads: Vec::new(),
            worth: rows as f64 / all as f64,
            end: Box::new(|| self.benchmark.finish_load()),
        })
    }
}

impl Driver for Tests<'_> {
    fn tables(&self) -> Vec<String> {
        self.benchmark.tables()
    }

    fn prepare(&self, task: &Task, attempt: u32) -> Result<Option<String>, WorkloadError> {
        let Some(test) = self.test(task) else {
            // The data directory is rqps's own, or its schema in a remote server is.
            return match self.benchmark.existing()? {
                Found::Other(what) => Err(WorkloadError::OtherTables(what)),
                Found::Nothing | Found::Same => Ok(None),
            };
        };
        let restored = if attempt > 1 { self.benchmark.restore(test)? } else { 0 };
        self.benchmark.before(test)?;
        Ok((restored > 0).then(|| {
            format!("restored {restored} loaded rows that an earlier attempt had deleted")
        }))
    }

    fn explained(&self, task: &Task) -> Result<Vec<Explained>, Error> {
        self.test(task).map_or(Ok(Vec::new()), |test| self.benchmark.explained(test))
    }

    fn connect(&self, task: &Task, clients: u32, place: u64) -> Result<TaskClients<'_>, Error> {
        let Some(test) = self.test(task) else { return self.clients_of_load() };
        let super::TestClients { work, threads, books } =
            self.benchmark.connect(test, clients, place)?;
        let order = Order { schedule: Schedule::Closed, until: Until::Elapsed(task.time) };
        let operation = Operation::Transaction;
        let part = |(client, work)| Part { client, operation, work, order };
        Ok(TaskClients {
            parts: (1..).zip(work).map(part).collect(),
            threads,
            worth: match test.is_scan() {
                true => self.plan.rows.0 as f64,
                false => test.event.statements().total() as f64,
            },
            end: Box::new(move || self.benchmark.after(test, &books)),
        })
    }

    fn indexers(&self, task: &Task) -> Result<Vec<Assigned>, Error> {
        match task.fills {
            true => self.benchmark.indexers(),
            false => Ok(Vec::new()),
        }
    }
}
