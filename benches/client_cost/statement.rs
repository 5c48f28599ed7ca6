//! The statements that clients are compared on, a row each.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rqps_load::{Effect, Halt, Work};
use rqps_plan::Dbms;
use rqps_wire::{Connection, Error, Interrupter, Statement as Prepared, Type, Value};
use rqps_workload::Dialect;

use crate::server::ROWS;

/// Makes the work of one connection, whose random numbers come from a seed.
type Prepare = fn(Box<dyn Connection>, Dialect, u64) -> Result<Box<dyn Work>, Error>;

/// One kind of query, the same for all clients.
pub(crate) struct Statement {
    pub(crate) name: &'static str,
    /// rqps's way of doing it.
    pub(crate) work: Prepare,
    /// Rows that each query returns or changes.
    pub(crate) rows: u64,
    /// sysbench's script for it, and the options that are the script's own.
    pub(crate) sysbench: &'static [&'static str],
    /// pgbench's script for it, a file beside this one.
    pub(crate) pgbench: &'static str,
    /// The most that rqps's CPU may be, as a part of sysbench's.
    pub(crate) cpu: f64,
    /// The most user-space instructions per query.
    pub(crate) instructions: &'static [(Dbms, f64)],
}

pub(crate) static STATEMENTS: [Statement; 1] = [Statement {
    name: "point-query",
    work: PointQuery::prepare,
    rows: 1,
    sysbench: &["oltp_point_select"],
    pgbench: "point_query.sql",
    cpu: 0.85,
    instructions: &[(Dbms::Postgres, 800.0), (Dbms::Mysql, 900.0)],
}];

/// A statement by its name.
pub(crate) fn named(name: &str) -> Option<&'static Statement> {
    STATEMENTS.iter().find(|statement| statement.name == name)
}

struct PointQuery {
    connection: Box<dyn Connection>,
    statement: Prepared,
    random: Xoshiro256PlusPlus,
    id: i64,
}

impl PointQuery {
    fn prepare(
        mut connection: Box<dyn Connection>,
        dialect: Dialect,
        seed: u64,
    ) -> Result<Box<dyn Work>, Error> {
        let sql = format!("SELECT c FROM sbtest1 WHERE id={}", dialect.placeholder(1));
        let statement = connection.prepare(&sql, &[Type::Int4])?;
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Ok(Box::new(PointQuery { connection, statement, random, id: 0 }))
    }
}

impl Work for PointQuery {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        self.id = self.random.random_range(1..=ROWS as i64);
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        Ok(Effect::read(self.connection.execute(self.statement, &[Value::Int(self.id)])?))
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.interrupter()
    }
}
