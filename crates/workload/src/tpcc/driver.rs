//! The load and the transactions as tasks, and how they are run on a server.

use std::cell::RefCell;
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

use rqps_dbms::Quiesce;
use rqps_load::{Order, Schedule, Until};
use rqps_plan::{Class, Counts, Method, Microbenchmark, Operation, Specification, Tpcc};
use rqps_wire::{Connection, Error};

use super::Cardinality;
use super::check::ConsistencyCheck;
use super::client::{CardPlayer, Played};
use super::data::Population;
use super::deck::{CARDS, Dealer};
use super::ledger::CommitLedger;
use super::load::{BatchLoader, shares};
use super::money::DecimalForm;
use super::schema::{TABLES, finish};
use super::session::TerminalSession;
use super::statements::STATEMENTS;
use super::times::TransactionTimes;
use crate::explain::{self, Explained};
use crate::script::Script;
use crate::task::{Assigned, Driver, Part, Rest, Site, Takes, Task, TaskClients, WorkloadError};

/// Indexes beside the primary keys, in rows of all tables about.
const INDEXES: u32 = 1;

pub(crate) fn tasks(plan: &Tpcc) -> Vec<Task> {
    let rows = plan.most_rows();
    let load = Task {
        title: "fill the tables, then create the indexes".to_string(),
        counts: Counts::RowsInserted,
        fills: true,
        takes: vec![
            Takes::Load { rows, connections: 1 },
            Takes::Index { rows, indexes: INDEXES, connections: 1 },
        ],
        checked_rows: if plan.check { rows } else { 0 },
        ends: true,
        ..Task::new("load", "", Class::Load)
    };
    let time = plan.time.0;
    let warm_up = Microbenchmark::warm_up(time);
    let name = plan.tests().concat();
    let transactions = Task {
        index: 1,
        title: "new-order, payment, order-status, delivery, stock-level".to_string(),
        family: "tpcc",
        is_reported: true,
        counts: Counts::Transactions,
        clients: plan.clients,
        rest: Rest::Pause(Quiesce::Full, std::time::Duration::ZERO),
        warm_up: Some(warm_up),
        time,
        takes: vec![Takes::Time(warm_up + time)],
        checked_rows: if plan.check { rows } else { 0 },
        ends: true,
        is_numbered: true,
        alone: plan.think.then_some("clients rest for longer than a slice lasts"),
        ..Task::new(name, "Transactions", Class::ReadWrite)
    };
    vec![load, transactions]
}

pub(crate) fn driver<'a>(
    plan: &'a Tpcc,
    site: Site<'a>,
) -> Result<Box<dyn Driver + 'a>, WorkloadError> {
    if plan.foreign_keys && !site.dialect.has_foreign_keys {
        return Err(WorkloadError::ForeignKeys(site.dialect.name));
    }
    Ok(Box::new(TpccDriver { plan, site, scale: Cardinality::STANDARD, times: RefCell::default() }))
}

pub(super) struct TpccDriver<'a> {
    pub(super) plan: &'a Tpcc,
    pub(super) site: Site<'a>,
    pub(super) scale: Cardinality,
    /// Of the last transactions, where these are operations.
    pub(super) times: RefCell<Arc<TransactionTimes>>,
}

impl TpccDriver<'_> {
    fn numbers(&self) -> DecimalForm {
        DecimalForm::of(self.site.dialect)
    }

    /// Creates the empty tables, in place of those that an interrupted attempt has left.
    fn create_tables(&self, attempt: u32) -> Result<(), WorkloadError> {
        let (dialect, connection) = (self.site.dialect, &mut *self.site.target.connect()?);
        if attempt == 1 && !self.site.is_own {
            for table in TABLES {
                if rqps_wire::scalar(connection, &(dialect.exists)(table.name))?.is_some() {
                    return Err(WorkloadError::OtherTables(table.name.to_string()));
                }
            }
        }
        // Those that refer to others go first.
        for table in TABLES.iter().rev() {
            connection.run(&format!("drop table if exists {}", table.name))?;
        }
        for table in TABLES {
            connection.run(&table.create(dialect, self.plan.stock_key))?;
        }
        Ok(())
    }

    pub(super) fn examiner<'b>(&self, connection: &'b mut dyn Connection) -> ConsistencyCheck<'b> {
        let (scale, warehouses) = (self.scale, self.plan.warehouses);
        ConsistencyCheck { connection, numbers: self.numbers(), scale, warehouses }
    }

    fn clients_of_load(&self) -> Result<TaskClients<'_>, Error> {
        let connections = match self.site.dialect.has_one_writer {
            true => 1,
            false => available_parallelism().map_or(1, NonZero::get),
        };
        let (mut parts, mut batches) = (Vec::new(), 0);
        let shares = shares(self.plan.warehouses, self.scale, connections);
        for (client, share) in (1..).zip(shares) {
            batches += share.len();
            let mut connection = self.site.target.connect()?;
            if let Some(skip) = self.site.dialect.skip_binary_log.filter(|_| self.site.is_own) {
                connection.run(skip)?;
            }
            let data = Population::new(self.site.seed, self.scale, self.numbers());
            let (work, order) = BatchLoader::assigned(connection, data, share);
            parts.push(Part { client, operation: Operation::Insert, work, order });
        }
        let end = Box::new(|| match self.plan.check {
            true => self.examiner(&mut *self.site.target.connect()?).loaded(),
            false => Ok(()),
        });
        let worth = self.plan.most_rows() as f64 / batches as f64;
        Ok(TaskClients { parts, threads: Vec::new(), worth, end })
    }

    fn client(
        &self,
        connection: Box<dyn Connection>,
        (client, place): (u32, u64),
        ledger: Arc<CommitLedger>,
    ) -> Result<CardPlayer, Error> {
        let session = TerminalSession::new(connection, self.site.dialect)?;
        let (seed, warehouses) = (self.site.seed, self.plan.warehouses);
        let dealer = Dealer::new(seed, place, client, warehouses, self.scale);
        Ok(match self.site.method {
            Method::Slices => CardPlayer::new(session, dealer, ledger, Played::Deck),
            Method::Runs => {
                let times = self.times.borrow().clone();
                let player = CardPlayer::new(session, dealer, ledger, Played::Transaction);
                player.timed(times).resting(self.plan.think)
            }
        })
    }
}

impl Driver for TpccDriver<'_> {
    fn tables(&self) -> Vec<String> {
        TABLES.map(|table| table.name.to_string()).to_vec()
    }

    fn prepare(&self, task: &Task, attempt: u32) -> Result<Option<String>, WorkloadError> {
        if task.fills {
            self.create_tables(attempt)?;
        }
        Ok(None)
    }

    fn explained(&self, task: &Task) -> Result<Vec<Explained>, Error> {
        if task.fills {
            return Ok(Vec::new());
        }
        let (dialect, connection) = (self.site.dialect, &mut *self.site.target.connect()?);
        let explained = STATEMENTS.iter().map(|(_, template)| {
            let text = template.shown(dialect);
            let explained = match template.is_insert() {
                true => Explained::plain(text),
                false => {
                    let sql = template.with_values(dialect);
                    explain::explained(connection, dialect, text, &sql)?
                }
            };
            Ok(Explained { times: template.times, ..explained })
        });
        explained.collect()
    }

    fn connect(&self, task: &Task, clients: u32, place: u64) -> Result<TaskClients<'_>, Error> {
        if task.fills {
            return self.clients_of_load();
        }
        let before = match self.plan.check {
            true => Some(self.examiner(&mut *self.site.target.connect()?).sums()?),
            false => None,
        };
        let ledger = Arc::new(CommitLedger::default());
        self.times.replace(Arc::default());
        let (mut parts, mut threads) = (Vec::new(), Vec::new());
        for client in 1..=clients {
            let mut connection = self.site.target.connect()?;
            threads.push(match clients {
                1 => None,
                _ => self.site.dialect.thread(&mut *connection)?,
            });
            let work = Box::new(self.client(connection, (client, place), ledger.clone())?);
            let order = Order { schedule: Schedule::Closed, until: Until::Elapsed(task.time) };
            parts.push(Part { client, operation: Operation::Transaction, work, order });
        }
        let end = Box::new(move || match &before {
            Some(before) => {
                let connection = &mut *self.site.target.connect()?;
                self.examiner(connection).after(before, &ledger.total())
            }
            None => Ok(()),
        });
        let worth = match self.site.method {
            Method::Slices => CARDS as f64,
            Method::Runs => 1.0,
        };
        Ok(TaskClients { parts, threads, worth, end })
    }

    fn told(&self) -> Option<String> {
        self.times.borrow().told()
    }

    fn indexers(&self, task: &Task) -> Result<Vec<Assigned>, Error> {
        match task.fills {
            true => Ok(vec![Script::assigned(self.site.target.connect()?, finish(self.plan))]),
            false => Ok(Vec::new()),
        }
    }
}
