//! The sysbench microbenchmarks: tables of one shape, and tests that each do one thing to them.
//!
//! [`select`] finds tests in [`tests()`], the table of all of them. [`Benchmark`] loads the tables
//! and makes the work of each test's clients. The order of calls is: [`Benchmark::existing`]; if
//! the tables do not exist, [`Benchmark::loaders`], [`Benchmark::indexers`] and
//! [`Benchmark::finish_load`], each after the work of the one before it; then for each test
//! [`Benchmark::before`], [`Benchmark::connect`] and, when its clients have ended,
//! [`Benchmark::after`].
//!
//! Writes have two forms. As published, a faster server ends up with other tables: its deletes find
//! fewer remaining rows, and its inserts begin with fewer rows. Fair writes do the same work for
//! all contenders: see `delete.rs` for the deletes; and before inserts, the tables have as many
//! rows as were loaded, and the next id is one more than that. An insert test still makes the
//! tables of a faster server longer: to keep them short, rows would have to be deleted, and the
//! deletes would be measured. The work of one insert only grows with the logarithm of the rows.

mod check;
mod client;
mod delete;
mod dice;
mod driver;
mod explain;
mod flags;
mod ledger;
mod load;
mod rows;
mod schema;
mod statement;
mod suite;
mod zipf;

use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

use rqps_load::{Order, Schedule, Until, Work};
use rqps_plan::Microbenchmark;
use rqps_wire::{Connection, Error, Target};

pub(crate) use driver::{driver, tasks};
pub(crate) use flags::{MicroFlags, ScaleupFlags, asked, select_names, usual};
pub use statement::{Does, Draw, Event, Part, Template};
pub use suite::{Clients, Group, Keys, Purpose, Sequence, Test, Time, select, suite, tests};

use crate::Dialect;
use crate::check::CheckError;
use crate::explain::Explained;
use crate::is_numbered;
use crate::random::{Random, derive, stream};
use crate::script::Script;
use crate::task::Assigned;
use check::{Examiner, State};
use client::Client;
use delete::{Deleter, gone, missing, put_back};
use dice::Dice;
use ledger::Ledger;
use load::{Loader, Stretch, deal};
use rows::Rows;
use schema::{Mark, continue_after, create_index, create_table, exists, table_name};

/// The use of the random streams of clients; see `rows.rs` for those of rows.
const EVENTS: u64 = 2;

/// Rows are removed and read in chunks of this many ids, so that no transaction or answer is long.
const IDS_AT_ONCE: i64 = 50_000;

/// The benchmark against one DBMS.
pub struct Benchmark<'a> {
    target: &'a Target,
    dialect: Dialect,
    plan: &'a Microbenchmark,
    rows: Rows,
}

/// The tables before the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    /// The tables of the plan, loaded and indexed by rqps; tests may have run on them.
    Same,
    /// Other tables of the same names, and what they are.
    Other(String),
}

/// The clients of a test, and the ledgers that the check needs.
pub struct TestClients {
    pub work: Vec<Box<dyn Work>>,
    /// The server's threads that serve each of several clients, if known.
    pub threads: Vec<Option<u32>>,
    pub books: Books,
}

/// What is known about the tables in one test.
pub struct Books {
    /// By table; none if nothing is compared.
    before: Option<Vec<State>>,
    /// By client.
    ledgers: Vec<Arc<Ledger>>,
}

/// Whether these benchmarks create a table of this name.
pub(crate) fn is_table(name: &str) -> bool {
    name == schema::MARK || is_numbered(name, "sbtest")
}

impl<'a> Benchmark<'a> {
    pub fn new(target: &'a Target, dialect: Dialect, plan: &'a Microbenchmark, seed: u64) -> Self {
        let rows = Rows { seed, count: plan.rows.0 };
        Benchmark { target, dialect, plan, rows }
    }

    /// The names of the tables.
    pub fn tables(&self) -> Vec<String> {
        (1..=self.plan.tables).map(table_name).collect()
    }

    fn mark(&self) -> Mark {
        Mark { tables: self.plan.tables, rows: self.rows.count, seed: self.rows.seed }
    }

    /// Which tables exist.
    pub fn existing(&self) -> Result<Found, Error> {
        let connection = &mut *self.target.connect()?;
        let mark = Mark::read(connection, self.dialect)?;
        Ok(match mark {
            Some(mark) if mark == self.mark() => Found::Same,
            Some(Mark { tables, rows, seed }) => {
                let plural = if tables == 1 { "" } else { "s" };
                Found::Other(format!("{tables} table{plural} of {rows} rows, seed {seed}"))
            }
            None if self.has_tables(connection)? => {
                Found::Other("tables that rqps did not create, or did not complete".to_string())
            }
            None => Found::Nothing,
        })
    }

    fn has_tables(&self, connection: &mut dyn Connection) -> Result<bool, Error> {
        for table in self.tables() {
            if exists(connection, self.dialect, &table)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Creates the tables again, and makes the work that fills them: an operation is a batch of
    /// rows, and the rows of its effect are rows of the tables. All tables of an earlier load by
    /// rqps are dropped. Rows are stored in the order of their keys: if the DBMS stores them in the
    /// order of arrival, one connection fills each table. A server that rqps owns (`own`) has no
    /// replicas, so its binary log does not need the rows.
    pub fn loaders(&self, own: bool) -> Result<Vec<Assigned>, Error> {
        let connection = &mut *self.target.connect()?;
        let earlier = Mark::read(connection, self.dialect)?.map_or(0, |mark| mark.tables);
        Mark::remove(connection)?;
        for table in 1..=self.plan.tables.max(earlier) {
            connection.run(&format!("drop table if exists {}", table_name(table)))?;
        }
        for table in 1..=self.plan.tables {
            connection.run(&create_table(self.dialect, table))?;
        }
        let shares = match self.dialect.is_clustered {
            true => deal(self.plan.tables, self.rows.count, self.connections() as u64),
            false => {
                let whole = |table| Stretch { table, keys: 1..self.rows.count + 1 };
                let share = |tables: Vec<u32>| tables.into_iter().map(whole).collect();
                self.shares().into_iter().map(share).collect()
            }
        };
        let assign = |share: Vec<Stretch>| {
            let mut connection = self.target.connect()?;
            if let Some(skip) = self.dialect.skip_binary_log.filter(|_| own) {
                connection.run(skip)?;
            }
            let loader = Loader::new(connection, self.dialect, self.rows, share);
            let until = Until::Operations(loader.batches());
            let order = Order { schedule: Schedule::Closed, until };
            Ok((Box::new(loader) as Box<dyn Work>, order))
        };
        shares.into_iter().map(assign).collect()
    }

    /// Work that builds the indexes of the filled tables: an operation is an index.
    pub fn indexers(&self) -> Result<Vec<Assigned>, Error> {
        let assign = |tables: Vec<u32>| {
            let statements = tables.into_iter().map(create_index).collect();
            Ok(Script::assigned(self.target.connect()?, statements))
        };
        self.shares().into_iter().map(assign).collect()
    }

    /// The tables in as many shares as connections are useful at once; no share is empty.
    fn shares(&self) -> Vec<Vec<u32>> {
        let count = self.connections().min(self.plan.tables as usize);
        let share = |first: usize| (first as u32 + 1..=self.plan.tables).step_by(count).collect();
        (0..count).map(share).collect()
    }

    /// How many connections are useful at once.
    fn connections(&self) -> usize {
        match self.dialect.has_one_writer {
            true => 1,
            false => available_parallelism().map_or(1, NonZero::get),
        }
    }

    /// Marks the tables as complete, after a check if the plan has checks.
    pub fn finish_load(&self) -> Result<(), CheckError> {
        let connection = &mut *self.target.connect()?;
        if self.plan.check {
            for table in 1..=self.plan.tables {
                self.examiner(connection, table).loaded(&self.rows)?;
            }
        }
        Ok(self.mark().write(connection)?)
    }

    /// For a test that is repeated after an interruption, before [`Benchmark::before`]: restores
    /// the rows that its clients had deleted. Only the tables show which these are: rqps may have
    /// been killed, and a server may have executed a delete whose answer was not read. Returns
    /// their number.
    pub fn restore(&self, test: &Test) -> Result<usize, Error> {
        if !self.puts_back(test) {
            return Ok(0);
        }
        let connection = &mut *self.target.connect()?;
        let mut all = 0;
        for table in 1..=self.plan.tables {
            let mut missing = missing(connection, table, &self.rows)?;
            all += missing.len();
            // The ledgers of the test begin after this.
            put_back(connection, &self.rows, &mut missing, &Ledger::new(self.plan.tables))?;
        }
        Ok(all)
    }

    /// Prepares the tables for a test: with fair writes, inserts begin with as many rows as were
    /// loaded.
    pub fn before(&self, test: &Test) -> Result<(), Error> {
        if !self.plan.fair_writes || test.event.does(Does::Delete) || !test.event.does(Does::Insert)
        {
            return Ok(());
        }
        let connection = &mut *self.target.connect()?;
        let loaded = self.rows.count as i64;
        for table in 1..=self.plan.tables {
            let max = format!("select max(id) from {}", table_name(table));
            let max = rqps_wire::scalar(connection, &max)?.and_then(|max| max.parse().ok());
            let mut last = max.unwrap_or(loaded);
            while last > loaded {
                let first = (last - IDS_AT_ONCE).max(loaded);
                let name = table_name(table);
                connection
                    .run(&format!("delete from {name} where id > {first} and id <= {last}"))?;
                last = first;
            }
            connection.run(&continue_after(self.dialect, table, self.rows.count))?;
        }
        Ok(())
    }

    /// The statements of a test, and their query plans.
    pub fn explained(&self, test: &Test) -> Result<Vec<Explained>, Error> {
        let connection = &mut *self.target.connect()?;
        let middle = (self.rows.count / 2).max(1) as i64;
        explain::explained(connection, self.dialect, test, &table_name(1), middle)
    }

    /// Connects the clients of a test. `place` is the test's place in the run; with the seed, the
    /// test's name and the client's number it decides every random draw.
    pub fn connect(
        &self,
        test: &'static Test,
        clients: u32,
        place: u64,
    ) -> Result<TestClients, Error> {
        let before = match self.plan.check && test.writes() {
            true => Some(self.states()?),
            false => None,
        };
        let books = Books { before, ledgers: Vec::new() };
        let mut connected = TestClients { work: Vec::new(), threads: Vec::new(), books };
        for client in 1..=clients {
            let ledger = Arc::new(Ledger::new(self.plan.tables));
            let random = self.random(test, client, place);
            connected.books.ledgers.push(ledger.clone());
            let mut connection = self.target.connect()?;
            connected.threads.push(match clients {
                1 => None,
                _ => self.dialect.thread(&mut *connection)?,
            });
            connected.work.push(self.client(
                connection,
                test,
                (client, clients),
                random,
                ledger,
            )?);
        }
        Ok(connected)
    }

    /// Whether the rows that this test deletes are put back.
    fn puts_back(&self, test: &Test) -> bool {
        self.plan.fair_writes && test.event.does(Does::Delete) && !test.event.does(Does::Insert)
    }

    fn client(
        &self,
        connection: Box<dyn Connection>,
        test: &'static Test,
        (client, clients): (u32, u32),
        random: Random,
        ledger: Arc<Ledger>,
    ) -> Result<Box<dyn Work>, Error> {
        let (dialect, tables) = (self.dialect, self.plan.tables);
        if self.puts_back(test) {
            let place = (client, clients);
            let deleter =
                Deleter::new(connection, dialect, place, tables, self.rows, random, ledger)?;
            return Ok(Box::new(deleter));
        }
        // The first thread of sysbench is number 0 and reads table 1.
        let fixed_table = test.is_scan().then(|| (client - 1) % tables + 1);
        let dice = Dice::new(random, self.rows.count, tables, fixed_table, test.keys);
        Ok(Box::new(Client::new(connection, dialect, test, tables, dice, ledger)?))
    }

    fn random(&self, test: &Test, client: u32, place: u64) -> Random {
        // From the name, so that a new test does not change the draws of others.
        let name: Vec<u64> = test.name.bytes().map(u64::from).collect();
        let name = derive(self.rows.seed, &name);
        stream(name, &[EVENTS, place, u64::from(client)])
    }

    /// When the clients of a test have ended: puts back the rows that are missing, and compares the
    /// tables with what was done to them, if the plan has checks.
    pub fn after(&self, test: &Test, books: &Books) -> Result<(), CheckError> {
        let connection = &mut *self.target.connect()?;
        for ledger in &books.ledgers {
            put_back(connection, &self.rows, &mut gone(ledger), ledger)?;
        }
        let Some(before) = &books.before else { return Ok(()) };
        for (table, before) in (1..=self.plan.tables).zip(before) {
            self.examiner(connection, table).after(test, *before, &books.ledgers)?;
        }
        Ok(())
    }

    fn states(&self) -> Result<Vec<State>, Error> {
        let connection = &mut *self.target.connect()?;
        (1..=self.plan.tables).map(|table| self.examiner(connection, table).state()).collect()
    }

    fn examiner<'b>(&self, connection: &'b mut dyn Connection, table: u32) -> Examiner<'b> {
        Examiner { connection, dialect: self.dialect, table }
    }
}
