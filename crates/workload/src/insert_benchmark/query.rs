//! Range queries on the secondary indexes and point queries on the primary key.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rand::RngExt;
use rqps_load::{Effect, Halt, Work};
use rqps_wire::{Connection, Error, Interrupter, Statement, Type, Value, scalar};

use super::rows::{CUSTOMERS, legacy_price_cents};
use super::schema::{SecondaryIndex, Start, index_hint};
use crate::Dialect;
use crate::random::Random;

/// Rows that a query asks for.
pub(super) const ROWS_PER_QUERY: usize = 10;
/// Point queries between two reads of the largest key.
const QUERIES_BETWEEN_READS: u32 = 100;

/// The range query on an index; `value` is a placeholder or a number.
pub(crate) fn range_query(
    dialect: Dialect,
    table: &str,
    index: &SecondaryIndex,
    value: &str,
) -> String {
    let columns = index.columns.join(", ");
    let (first, from) = (index.columns[0], index.from);
    let hint = index_hint(dialect, table, index);
    format!(
        "select {columns} from {table}{hint} where {first} {from} {value} order by {columns} \
         limit {ROWS_PER_QUERY}"
    )
}

/// One of the three range queries, chosen at random each time.
pub(super) struct RangeQuery {
    connection: Box<dyn Connection>,
    dialect: Dialect,
    indexes: &'static [SecondaryIndex; 3],
    table: String,
    /// In the order of the indexes; empty when queries are sent as text.
    statements: Vec<Statement>,
    random: Random,
    shape: usize,
    start: i64,
    sql: String,
}

impl RangeQuery {
    pub(super) fn new(
        mut connection: Box<dyn Connection>,
        dialect: Dialect,
        indexes: &'static [SecondaryIndex; 3],
        table: &str,
        prepared: bool,
        random: Random,
    ) -> Result<Self, Error> {
        let mut statements = Vec::new();
        if prepared {
            for index in indexes {
                let sql = range_query(dialect, table, index, &dialect.placeholder(1));
                statements.push(connection.prepare(&sql, &[Type::Int4])?);
            }
        }
        Ok(RangeQuery {
            connection,
            dialect,
            indexes,
            table: table.to_string(),
            statements,
            random,
            shape: 0,
            start: 0,
            sql: String::new(),
        })
    }
}

impl Work for RangeQuery {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        self.shape = self.random.random_range(0..self.indexes.len());
        let index = &self.indexes[self.shape];
        self.start = match index.start {
            Start::Below(end) => i64::from(self.random.random_range(0..end)),
            Start::LegacyPrice => {
                let customer = self.random.random_range(0..CUSTOMERS);
                i64::from(legacy_price_cents(&mut self.random, customer) / 100)
            }
        };
        if self.statements.is_empty() {
            self.sql = range_query(self.dialect, &self.table, index, &self.start.to_string());
        }
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let rows = match self.statements.get(self.shape) {
            Some(statement) => self.connection.execute(*statement, &[Value::Int(self.start)]),
            None => self.connection.run(&self.sql),
        };
        Ok(Effect::read(rows?))
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.hand_over()
    }
}

/// Rows of ten random keys, repetition allowed. Deleted keys return nothing.
pub(super) struct PointQuery {
    connection: Box<dyn Connection>,
    table: String,
    /// None when queries are sent as text.
    statement: Option<Statement>,
    random: Random,
    /// The deleter's lower bound of the keys; 0 until it has one.
    bound: Arc<AtomicI64>,
    /// One more than the largest key that is drawn.
    end: i64,
    queries_left: u32,
    keys: [i64; ROWS_PER_QUERY],
    sql: String,
}

/// The point query for keys that are placeholders or numbers.
pub(crate) fn point_query(table: &str, keys: &[String]) -> String {
    format!(
        "select transactionid, productid, data from {table} where transactionid in ({})",
        keys.join(", ")
    )
}

impl PointQuery {
    pub(super) fn new(
        mut connection: Box<dyn Connection>,
        dialect: Dialect,
        table: &str,
        prepared: bool,
        bound: Arc<AtomicI64>,
        random: Random,
    ) -> Result<Self, Error> {
        let mut statement = None;
        if prepared {
            let keys: Vec<String> = (1..=ROWS_PER_QUERY).map(|n| dialect.placeholder(n)).collect();
            // The original declares 32-bit keys, which end at 2.1 billion rows; the column is
            // bigint.
            let types = [Type::Int8; ROWS_PER_QUERY];
            statement = Some(connection.prepare(&point_query(table, &keys), &types)?);
        }
        Ok(PointQuery {
            connection,
            table: table.to_string(),
            statement,
            random,
            bound,
            end: 1,
            queries_left: 0,
            keys: [0; ROWS_PER_QUERY],
            sql: String::new(),
        })
    }
}

impl Work for PointQuery {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        if self.queries_left == 0 {
            self.queries_left = QUERIES_BETWEEN_READS;
            let sql = format!("select max(transactionid) from {}", self.table);
            let max = scalar(&mut *self.connection, &sql)?;
            self.end = max.and_then(|max| max.parse().ok()).unwrap_or(1);
        }
        self.queries_left -= 1;
        let start = self.bound.load(Ordering::Relaxed).min(self.end - 1);
        for key in &mut self.keys {
            *key = self.random.random_range(start..self.end);
        }
        if self.statement.is_none() {
            self.sql = point_query(&self.table, &self.keys.map(|key| key.to_string()));
        }
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let rows = match self.statement {
            Some(statement) => self.connection.execute(statement, &self.keys.map(Value::Int)),
            None => self.connection.run(&self.sql),
        };
        Ok(Effect::read(rows?))
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.hand_over()
    }
}

#[cfg(test)]
mod tests {
    use rqps_plan::Profile;

    use super::*;
    use crate::insert_benchmark::schema::secondary_indexes;

    #[test]
    fn range_queries_read_ten_rows_of_an_index_in_its_order() {
        let [market, register, pdc] = secondary_indexes(Profile::P2025);
        assert_eq!(
            range_query(Dialect::POSTGRES, "pi1", market, "$1"),
            "select productid, customerid, price from pi1 where productid >= $1 \
             order by productid, customerid, price limit 10"
        );
        assert!(
            range_query(Dialect::POSTGRES, "pi1", register, "$1")
                .contains("where cashregisterid > $1 ")
        );
        assert!(range_query(Dialect::INNODB, "pi1", pdc, "7").contains(
            "from pi1 force index (pi1_pdc) where price >= 7 order by price, dateandtime"
        ));
    }

    #[test]
    fn point_queries_ask_for_ten_keys() {
        assert_eq!(
            point_query("pi2", &(1..=10).map(|n| format!("${n}")).collect::<Vec<_>>()),
            "select transactionid, productid, data from pi2 \
             where transactionid in ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
        );
    }
}
