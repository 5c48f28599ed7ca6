//! A connection with all statements prepared, and the rows of the last one.

use rqps_wire::{Connection, Error, FetchedRows, Interrupter, Statement, Value};

use super::money::DecimalForm;
use super::statements::{STATEMENTS, StatementId};
use crate::Dialect;

pub(super) struct TerminalSession {
    connection: Box<dyn Connection>,
    dialect: Dialect,
    pub(super) numbers: DecimalForm,
    /// In the order of [`StatementId`], by district where there is a text for each.
    statements: Vec<Vec<Statement>>,
    pub(super) rows: FetchedRows,
    is_in_transaction: bool,
    /// Rows returned or changed in the transaction.
    pub(super) touched: u64,
}

impl TerminalSession {
    pub(super) fn new(
        mut connection: Box<dyn Connection>,
        dialect: Dialect,
    ) -> Result<TerminalSession, Error> {
        let mut statements = Vec::new();
        for (_, template) in STATEMENTS {
            let mut variants = Vec::new();
            for district in 1..=template.variants() {
                let (text, types) = template.prepared(dialect, district);
                variants.push(connection.prepare(&text, &types)?);
            }
            statements.push(variants);
        }
        Ok(TerminalSession {
            connection,
            dialect,
            numbers: DecimalForm::of(dialect),
            statements,
            rows: FetchedRows::default(),
            is_in_transaction: false,
            touched: 0,
        })
    }

    pub(super) fn begin(&mut self, writes: bool) -> Result<(), Error> {
        self.touched = 0;
        self.connection.run(self.dialect.begin(writes))?;
        self.is_in_transaction = true;
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<(), Error> {
        self.connection.run("COMMIT")?;
        self.is_in_transaction = false;
        Ok(())
    }

    /// Undoes the transaction, if there is one.
    pub(super) fn roll_back(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.is_in_transaction) {
            self.connection.run("ROLLBACK")?;
        }
        Ok(())
    }

    /// Executes a statement that returns rows, which are kept.
    pub(super) fn find(&mut self, sql: StatementId, values: &[Value<'_>]) -> Result<u64, Error> {
        self.find_in(sql, 1, values)
    }

    /// The same of a statement that has a text for each district.
    pub(super) fn find_in(
        &mut self,
        sql: StatementId,
        district: u32,
        values: &[Value<'_>],
    ) -> Result<u64, Error> {
        let statement = self.statements[sql as usize][district as usize - 1];
        let rows = self.connection.fetch(statement, values, &mut self.rows)?;
        self.touched += rows;
        Ok(rows)
    }

    /// The same of one that returns one row.
    pub(super) fn get(&mut self, sql: StatementId, values: &[Value<'_>]) -> Result<(), Error> {
        match self.find(sql, values)? {
            1 => Ok(()),
            rows => Err(unexpected(sql, rows, "returned")),
        }
    }

    /// Executes a statement that changes one row.
    pub(super) fn change(&mut self, sql: StatementId, values: &[Value<'_>]) -> Result<(), Error> {
        match self.change_some(sql, values)? {
            1 => Ok(()),
            rows => Err(unexpected(sql, rows, "changed")),
        }
    }

    /// Executes a statement that changes any number of rows.
    pub(super) fn change_some(
        &mut self,
        sql: StatementId,
        values: &[Value<'_>],
    ) -> Result<u64, Error> {
        let rows = self.connection.execute(self.statements[sql as usize][0], values)?;
        self.touched += rows;
        Ok(rows)
    }

    pub(super) fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.hand_over()
    }
}

#[cold]
fn unexpected(sql: StatementId, rows: u64, what: &str) -> Error {
    Error::Protocol(format!("{sql:?} {what} {rows} rows, not one"))
}
