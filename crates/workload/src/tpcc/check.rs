//! Checks the tables: their sizes after the load, the consistency conditions, and after
//! transactions the sums that must have grown by what the clients know that they did.

use rqps_wire::{Connection, Error};

use super::conditions::CONDITIONS;
use super::ledger::{Commits, SUMS, sums};
use super::money::DecimalForm;
use super::{Cardinality, DISTRICTS};
use crate::check::CheckError;

/// The tables of a server and how to read them.
pub(super) struct ConsistencyCheck<'a> {
    pub(super) connection: &'a mut dyn Connection,
    pub(super) numbers: DecimalForm,
    pub(super) scale: Cardinality,
    pub(super) warehouses: u32,
}

impl ConsistencyCheck<'_> {
    pub(super) fn sums(&mut self) -> Result<Vec<i64>, Error> {
        sums(self.connection, self.numbers)
    }

    /// Compares the tables with what was loaded.
    pub(super) fn loaded(&mut self) -> Result<(), CheckError> {
        let Cardinality { items, customers, undelivered } = self.scale;
        let districts = self.warehouses * DISTRICTS;
        let sizes = [
            ("item", items),
            ("warehouse", self.warehouses),
            ("stock", self.warehouses * items),
            ("district", districts),
            ("customer", districts * customers),
            ("history", districts * customers),
            ("orders", districts * customers),
            ("new_order", districts * undelivered),
        ];
        for (table, expected) in sizes {
            let sql = format!("select count(*) from {table}");
            let found = rqps_wire::scalar(self.connection, &sql)?.unwrap_or_default();
            if found != expected.to_string() {
                return Err(differs(table, "row count", expected, found));
            }
        }
        self.conditions()
    }

    /// Compares the tables with their sums before and what was done since.
    pub(super) fn after(&mut self, before: &[i64], done: &Commits) -> Result<(), CheckError> {
        let after = self.sums()?;
        for ((sum, before), after) in SUMS.iter().zip(before).zip(after) {
            let expected = before + (sum.growth)(done);
            if after != expected {
                return Err(differs(sum.table, sum.what, expected, after));
            }
        }
        self.conditions()
    }

    /// The consistency conditions.
    pub(super) fn conditions(&mut self) -> Result<(), CheckError> {
        let delivered = self.scale.customers - self.scale.undelivered;
        for condition in &CONDITIONS {
            let sql = condition.sql.replace("{delivered}", &delivered.to_string());
            let rows = self.connection.query(&format!("{sql} limit 1"))?;
            let Some(row) = rows.into_iter().next() else { continue };
            let mut fields = row.into_iter().map(|field| field.unwrap_or("NULL".to_string()));
            let mut field = || fields.next().unwrap_or_default();
            let (warehouse, district, expected, found) = (field(), field(), field(), field());
            let place = match &district[..] {
                "0" => format!("warehouse {warehouse}"),
                _ => format!("warehouse {warehouse}, district {district}"),
            };
            let (number, what) = (condition.number, condition.what);
            let what = format!("{what} (consistency condition {number}, {place})");
            return Err(differs(condition.table, &what, expected, found));
        }
        Ok(())
    }
}

fn differs(table: &str, what: &str, expected: impl ToString, found: impl ToString) -> CheckError {
    CheckError::Differs {
        table: table.to_string(),
        what: what.to_string(),
        expected: expected.to_string(),
        found: found.to_string(),
    }
}
