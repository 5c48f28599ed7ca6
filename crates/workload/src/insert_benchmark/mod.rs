//! The Insert Benchmark: a table that is a queue. Rows go in at the high end of the key and out at
//! the low end at the same rate, while three secondary indexes take the writes in random places.
//!
//! A client is one table with a connection that inserts, one that deletes and one that queries.
//! [`Benchmark`] makes their work for each step; it does not know what runs it and what it costs.

mod check;
mod driver;
mod flags;
mod query;
mod rows;
mod schema;
mod write;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use rqps_load::{Order, Pair, Schedule, Until, Work};
use rqps_plan::{InsertBenchmark, Operation, Pacing, Profile, Query, Step, StepKind};
use rqps_wire::{Connection, Error, Target};

pub use check::Before;
pub(crate) use driver::{driver, tasks};
pub(crate) use flags::{InsertFlags, asked};

use crate::Dialect;
use crate::check::CheckError;
use crate::explain::{self, Explained};
use crate::is_numbered;
use crate::random::{derive, stream};
use crate::script::Script;
use crate::task::{Assigned, Part};
use check::Examiner;
use query::{PointQuery, ROWS_PER_QUERY, RangeQuery, point_query, range_query};
use rows::{RandomText, Rows, Sums, insert_head};
use schema::{Layout, create_indexes, create_table, secondary_indexes};
use write::{DeleteForm, Deleter, Inserter, Ledger, delete};

/// What the random streams of a step are for.
const INSERTS: u64 = 1;
const QUERIES: u64 = 2;
const ARRIVALS: u64 = 3;

/// The benchmark against one DBMS.
pub struct Benchmark<'a> {
    target: &'a Target,
    dialect: Dialect,
    plan: &'a InsertBenchmark,
    seed: u64,
    text: RandomText,
}

/// The clients of a step, and the ledger that the check needs.
pub struct StepClients {
    pub parts: Vec<Part>,
    pub books: Books,
}

/// What is known about every table in one step.
pub struct Books(Vec<Book>);

/// What is known about one table in one step.
struct Book {
    table: String,
    /// None when the data are not checked.
    before: Option<Before>,
    ledger: Arc<Ledger>,
    /// Rows that the step will insert.
    planned: u64,
}

/// Whether this benchmark creates a table, or a partition, of this name.
pub(crate) fn is_table(name: &str) -> bool {
    match name.split_once('_') {
        Some((table, part)) => is_numbered(table, "pi") && is_numbered(part, "p"),
        None => is_numbered(name, "pi"),
    }
}

impl<'a> Benchmark<'a> {
    pub fn new(target: &'a Target, dialect: Dialect, plan: &'a InsertBenchmark, seed: u64) -> Self {
        Benchmark { target, dialect, plan, seed, text: RandomText::new(seed) }
    }

    /// The tables, in the order of the clients.
    pub fn tables(&self) -> Vec<String> {
        (1..=self.plan.tables()).map(|table| format!("pi{table}")).collect()
    }

    /// The tables, or the parts of them, that maintenance can take one by one.
    pub fn parts(&self) -> Vec<String> {
        let parts = |table: String| self.layout().parts(self.dialect, &table);
        self.tables().into_iter().flat_map(parts).collect()
    }

    fn layout(&self) -> Layout {
        Layout::of(self.plan)
    }

    /// Creates the empty tables for the first step.
    pub fn create_tables(&self) -> Result<(), Error> {
        let mut connection = self.target.connect()?;
        for table in self.tables() {
            for statement in create_table(self.dialect, self.plan.profile, self.layout(), &table) {
                connection.run(&statement)?;
            }
        }
        Ok(())
    }

    /// Drops indexes that an interrupted attempt has created.
    pub fn drop_indexes(&self) -> Result<(), Error> {
        let mut connection = self.target.connect()?;
        for table in self.tables() {
            for index in secondary_indexes(self.plan.profile) {
                let name = format!("{table}_{}", index.suffix);
                (self.dialect.drop_index)(&mut *connection, &table, &name)?;
            }
        }
        Ok(())
    }

    /// Connects the clients of a step. `order` is its place in the benchmark; with the seed it
    /// decides every random draw.
    pub fn connect(&self, step: &Step, order: u64) -> Result<StepClients, Error> {
        let tables = self.tables();
        let clients_per_table = u64::from(self.plan.clients / self.plan.tables());
        let batch = u64::from(step.rows_per_commit);
        let rounds = step.rows.div_ceil(batch);
        // With one table for all, the batch of one client is enough before the indexes.
        let clients = match step.kind {
            StepKind::Index => tables.len() as u32,
            _ => self.plan.clients,
        };
        let sessions = if step.kind == StepKind::Index { 1 } else { clients_per_table };

        let mut books = Vec::new();
        let mut control = self.target.connect()?;
        for table in &tables {
            let deletes = step.deletes.then(|| (rounds * batch, self.delete_form()));
            let before = match self.plan.check {
                true => Some(self.examiner(&mut *control, table).before(deletes)?),
                false => None,
            };
            let planned = rounds * batch * sessions;
            let ledger = Arc::new(Ledger::default());
            books.push(Book { table: table.clone(), before, ledger, planned });
        }

        let mut parts = Vec::new();
        for client in 1..=clients {
            let book = &books[(client as usize - 1) % books.len()];
            let schedule = self.schedule(step, order, client);
            let writes = Order { schedule, until: Until::Operations(rounds) };
            let pair = step.deletes.then(|| Arc::new(Pair::default()));
            let bound = Arc::new(AtomicI64::new(0));
            let part = |operation, work, order| Part { client, operation, work, order };

            let random = stream(self.seed, &[INSERTS, order, u64::from(client)]);
            let legacy = self.plan.profile.is_legacy();
            let inserter = Inserter {
                connection: self.target.connect()?,
                rows: Rows::new(&book.table, legacy, random, self.text.clone()),
                rows_per_commit: step.rows_per_commit,
                ledger: book.ledger.clone(),
                pair: pair.clone(),
                sql: String::new(),
                sums: Sums::default(),
            };
            parts.push(part(Operation::Insert, Box::new(inserter), writes));
            if let Some(pair) = pair {
                let deleter = Deleter {
                    connection: self.target.connect()?,
                    dialect: self.dialect,
                    form: self.delete_form(),
                    table: book.table.clone(),
                    rows_per_commit: step.rows_per_commit,
                    ledger: book.ledger.clone(),
                    pair,
                    bound: bound.clone(),
                    rounds_left: 0,
                    sql: String::new(),
                };
                parts.push(part(Operation::Delete, Box::new(deleter), writes));
            }
            if let StepKind::Query { query, .. } = step.kind {
                let random = stream(self.seed, &[QUERIES, order, u64::from(client)]);
                let work = self.query(query, &book.table, bound, random)?;
                let order = Order { schedule: Schedule::Closed, until: Until::LeadersDone };
                parts.push(part(Operation::Query, work, order));
            }
        }
        Ok(StepClients { parts, books: Books(books) })
    }

    fn query(
        &self,
        query: Query,
        table: &str,
        bound: Arc<AtomicI64>,
        random: crate::random::Random,
    ) -> Result<Box<dyn Work>, Error> {
        let connection = self.target.connect()?;
        let (dialect, profile) = (self.dialect, self.plan.profile);
        let prepared = !dialect.transactions.is_text() && profile != Profile::P2020;
        Ok(match query {
            Query::Range => {
                let indexes = secondary_indexes(profile);
                Box::new(RangeQuery::new(connection, dialect, indexes, table, prepared, random)?)
            }
            Query::Point => {
                Box::new(PointQuery::new(connection, dialect, table, prepared, bound, random)?)
            }
        })
    }

    /// The statements of the clients of the first table in a step, and their query plans.
    pub fn explained(&self, step: &Step) -> Result<Vec<Explained>, Error> {
        let (dialect, profile, table) = (self.dialect, self.plan.profile, "pi1");
        let connection = &mut *self.target.connect()?;
        let rows = match step.rows_per_commit {
            1 => "(?, ?, ?, ?, ?, ?)".to_string(),
            rows => format!("(?, ?, ?, ?, ?, ?), … {rows} rows"),
        };
        let mut found = vec![Explained::plain(insert_head(table) + &rows)];
        let mut planned: Vec<[String; 2]> = Vec::new();
        if step.deletes {
            let (form, count) = (self.delete_form(), step.rows_per_commit);
            let end = count.to_string();
            let ends = [["?", "?"], ["0", &end]];
            planned.push(ends.map(|ends| delete(form, dialect, table, ends, count)));
        }
        match step.kind {
            StepKind::Index => {
                let statements = create_indexes(dialect, profile, self.layout(), table);
                found.extend(statements.into_iter().map(Explained::plain));
            }
            StepKind::Query { query: Query::Range, .. } => {
                let indexes = secondary_indexes(profile).iter();
                let queries = indexes
                    .map(|index| ["?", "1"].map(|value| range_query(dialect, table, index, value)));
                planned.extend(queries);
            }
            StepKind::Query { query: Query::Point, .. } => {
                let keys = |key: &str| vec![key.to_string(); ROWS_PER_QUERY];
                planned.push(["?", "1"].map(|key| point_query(table, &keys(key))));
            }
            StepKind::Load | StepKind::Write => {}
        }
        for [text, filled_in] in planned {
            found.push(explain::explained(connection, dialect, text, &filled_in)?);
        }
        Ok(found)
    }

    /// Work that builds the indexes, a connection for each table.
    pub fn index_builders(&self) -> Result<Vec<Assigned>, Error> {
        let builder = |table: String| {
            let statements = create_indexes(self.dialect, self.plan.profile, self.layout(), &table);
            Ok(Script::assigned(self.target.connect()?, statements))
        };
        self.tables().into_iter().map(builder).collect()
    }

    /// Compares every table with what was done to it in a step, if the plan has checks.
    pub fn check(&self, step: &Step, books: &Books) -> Result<(), CheckError> {
        let mut connection = self.target.connect()?;
        let indexed = step.kind != StepKind::Load;
        for book in &books.0 {
            let Book { table, before, ledger, planned } = book;
            if let Some(before) = before {
                let mut examiner = self.examiner(&mut *connection, table);
                examiner.after(before, ledger, *planned, indexed)?;
            }
        }
        Ok(())
    }

    fn examiner<'b>(&self, connection: &'b mut dyn Connection, table: &'b str) -> Examiner<'b> {
        Examiner { connection, dialect: self.dialect, profile: self.plan.profile, table }
    }

    fn delete_form(&self) -> DeleteForm {
        match self.plan.profile {
            Profile::P2024 => DeleteForm::KeyRange,
            _ => DeleteForm::LowestKeys,
        }
    }

    /// When the writes of a step start. Inserts and deletes of a client have the same times, as
    /// deletes inherit the pacing of the inserts.
    fn schedule(&self, step: &Step, order: u64, client: u32) -> Schedule {
        let Some(rate) = step.kind.rate() else { return Schedule::Closed };
        let per_second = f64::from(rate) / f64::from(step.rows_per_commit);
        let seed = derive(self.seed, &[ARRIVALS, order, u64::from(client)]);
        match self.plan.pacing {
            Pacing::Uniform => Schedule::Uniform { per_second },
            Pacing::Poisson => Schedule::Poisson { per_second, seed },
            // The original rounds the number of statements per second up.
            Pacing::Burst => Schedule::Burst { per_second: per_second.ceil() as u64 },
        }
    }
}
