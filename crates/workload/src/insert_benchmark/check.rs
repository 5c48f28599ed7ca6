//! Checks the data: after a step, compares the tables with what the clients know that they did, and
//! every index with its table, so that a lost or doubled row fails the run.

use rqps_dbms::Forced;
use rqps_plan::Profile;
use rqps_wire::{Connection, Error};

use super::rows::Sums;
use super::schema::{SecondaryIndex, secondary_indexes};
use super::write::{DeleteForm, Ledger};
use crate::Dialect;
use crate::check::CheckError;
use crate::index_only;

/// A table before a step.
#[derive(Clone, Debug)]
pub struct Before {
    rows: u64,
    /// 0 in an empty table.
    max: i64,
    /// The smallest key that the step's deletes will leave; none if they will leave no old key.
    survivor: Option<i64>,
}

/// One table and how to read it.
pub(super) struct Examiner<'a> {
    pub(super) connection: &'a mut dyn Connection,
    pub(super) dialect: Dialect,
    pub(super) profile: Profile,
    pub(super) table: &'a str,
}

impl Examiner<'_> {
    /// Reads what a check after the step needs. `deletes` is how many rows will be deleted, and
    /// how.
    pub(super) fn before(&mut self, deletes: Option<(u64, DeleteForm)>) -> Result<Before, Error> {
        let table = self.table;
        let [rows, max] = self
            .numbers(&format!("select count(*), coalesce(max(transactionid), 0) from {table}"))?;
        let survivor = match deletes {
            None => Some(format!("select min(transactionid) from {table}")),
            Some((count, DeleteForm::LowestKeys)) if count >= rows as u64 => None,
            Some((count, DeleteForm::LowestKeys)) => Some(format!(
                "select transactionid from {table} order by transactionid limit 1 offset {count}"
            )),
            Some((count, DeleteForm::KeyRange)) => Some(format!(
                "select min(transactionid) from {table} where transactionid >= \
                 (select min(transactionid) from {table}) + {count}"
            )),
        };
        let survivor = match survivor {
            Some(sql) => rqps_wire::scalar(self.connection, &sql)?.and_then(|id| id.parse().ok()),
            None => None,
        };
        Ok(Before { rows: rows as u64, max, survivor })
    }

    /// Compares the table with `before` and what `ledger` says was done since.
    pub(super) fn after(
        &mut self,
        before: &Before,
        ledger: &Ledger,
        planned: u64,
        indexed: bool,
    ) -> Result<(), CheckError> {
        let table = self.table;
        let inserted = ledger.inserted();
        self.expect("rows inserted in the step", planned, inserted.rows)?;
        let [rows, min, max] = self.numbers(&format!(
            "select count(*), coalesce(min(transactionid), 0), coalesce(max(transactionid), 0) \
             from {table}"
        ))?;
        let (rows, left) = (rows as u64, before.rows + inserted.rows);
        self.expect("row count", left.saturating_sub(ledger.deleted()), rows)?;
        match before.survivor {
            Some(survivor) => self.expect("smallest key", survivor, min)?,
            None if before.rows == 0 => {}
            None => self.expect("smallest key is newer than the step", true, min > before.max)?,
        }
        let least = before.max + inserted.rows as i64;
        let last = (self.dialect.last_key)(self.connection, table, "transactionid")?;
        let most = last.unwrap_or(least);
        if !(least..=most).contains(&max) {
            self.expect("largest key", format!("{least} to {most}"), max.to_string())?;
        }
        // Rows that the step inserted are compared by value where none of them was deleted again.
        if ledger.deleted() <= before.rows {
            let found = self.sums(&format!("where transactionid > {}", before.max))?;
            self.expect("sums over the rows inserted", inserted, found)?;
        }
        if indexed {
            let all = self.sums("")?;
            for index in secondary_indexes(self.profile) {
                self.check_index(index, &all)?;
            }
        }
        Ok(())
    }

    /// Reads an index from end to end, and nothing but the index.
    fn check_index(&mut self, index: &SecondaryIndex, all: &Sums) -> Result<(), CheckError> {
        let name = format!("{}_{}", self.table, index.suffix);
        let forced = match self.dialect.forced {
            Forced::ByName(forced) => forced(&name),
            Forced::BySettings => String::new(),
        };
        let from = format!("{}{forced}", self.table);
        // A column that this index alone has makes it the only one that can answer by itself.
        let (column, expected) = match index.suffix {
            "registersegment" => ("cashregisterid", all.cash_registers),
            "marketsegment" if !self.profile.is_legacy() => ("productid", all.products),
            _ => ("customerid", all.customers),
        };
        let dates = if index.columns.contains(&"dateandtime") { ", max(dateandtime)" } else { "" };
        let sql = format!("select count(*), coalesce(sum({column}), 0){dates} from {from}");
        let rows = match self.dialect.forced {
            Forced::BySettings => {
                let parts = self.index_parts(&name)?;
                let table = self.table.to_string();
                index_only::rows(self.connection, &sql, &parts)?
                    .map_err(|index| CheckError::IndexNotRead { table, index })?
            }
            Forced::ByName(_) => self.connection.query(&sql)?,
        };
        let number = |column: usize| {
            rows.first().and_then(|row| row[column].as_deref()).and_then(|text| text.parse().ok())
        };
        let found = (number(0).unwrap_or(0), number(1).unwrap_or(0));
        self.expect(&format!("rows and sum of {column} in {name}"), (all.rows, expected), found)
    }

    /// The indexes of the partitions that make up an index, or the index itself.
    fn index_parts(&mut self, index: &str) -> Result<Vec<String>, Error> {
        let sql = format!(
            "select c.relname from pg_catalog.pg_inherits i \
             join pg_catalog.pg_class c on c.oid = i.inhrelid \
             where i.inhparent = '{index}'::pg_catalog.regclass"
        );
        let parts: Vec<String> =
            self.connection.query(&sql)?.into_iter().flatten().flatten().collect();
        Ok(if parts.is_empty() { vec![index.to_string()] } else { parts })
    }

    fn sums(&mut self, condition: &str) -> Result<Sums, Error> {
        // Real prices do not add up exactly, so only integer ones are compared.
        let price = if self.profile.is_legacy() { "0" } else { "price" };
        let columns = ["cashregisterid", "customerid", "productid", price, "length(data)"];
        let sums = columns.map(|column| format!("coalesce(sum({column}), 0)")).join(", ");
        let sql = format!("select count(*), {sums} from {} {condition}", self.table);
        let [rows, cash_registers, customers, products, prices, data_lengths] =
            self.numbers(&sql)?.map(|number| number as u64);
        Ok(Sums { rows, cash_registers, customers, products, prices, data_lengths })
    }

    /// A row of integers.
    fn numbers<const N: usize>(&mut self, sql: &str) -> Result<[i64; N], Error> {
        let odd = || Error::Protocol(format!("expected {N} numbers from: {sql}"));
        let row = self.connection.query(sql)?.into_iter().next().ok_or_else(odd)?;
        let parse = |field: &Option<String>| field.as_deref().and_then(|text| text.parse().ok());
        let numbers: Option<Vec<i64>> = row.iter().map(parse).collect();
        numbers.and_then(|numbers| numbers.try_into().ok()).ok_or_else(odd)
    }

    fn expect<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        expected: T,
        found: T,
    ) -> Result<(), CheckError> {
        if expected == found {
            return Ok(());
        }
        Err(CheckError::Differs {
            table: self.table.to_string(),
            what: what.to_string(),
            expected: format!("{expected:?}"),
            found: format!("{found:?}"),
        })
    }
}
