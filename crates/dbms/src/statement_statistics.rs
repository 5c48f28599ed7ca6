//! What a server has counted of the statements that it executed, and the columns of its tables. All
//! of it is read from catalogs: nothing here executes a statement of somebody else's.

use rqps_system::printable;
use rqps_wire::{Connection, Error};

/// What a server has counted.
#[derive(Clone, Debug, Default)]
pub struct StatementStatistics {
    /// Where: the name of the view or table.
    pub source: &'static str,
    /// Since when, as the server writes it.
    pub since: Option<String>,
    /// How many days that was before.
    pub days: Option<f64>,
    pub statements: Vec<CountedStatement>,
    /// What a reader must know, such as statements that the server has forgotten.
    pub remarks: Vec<String>,
}

/// A statement with all of its executions.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedStatement {
    /// With placeholders in place of constants, and perhaps of parameters.
    pub text: String,
    /// One execution as it was written, where the server keeps one.
    pub example: Option<String>,
    pub calls: u64,
    pub seconds: f64,
    /// Rows that all executions returned or changed.
    pub rows: u64,
}

/// A column of a table on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogColumn {
    pub table: String,
    pub name: String,
    /// In the words of the DBMS.
    pub kind: String,
    /// It is the last one of a unique index.
    pub is_unique: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum StatisticsError {
    #[error(transparent)]
    Wire(#[from] Error),
    /// What is missing, and what to do about it.
    #[error("{}", printable(.0))]
    Missing(String),
}

/// See [`crate::Sql::statement_statistics`].
pub type StatisticsReader = fn(&mut dyn Connection) -> Result<StatementStatistics, StatisticsError>;

/// The columns of the tables of the database that a connection uses.
pub(crate) fn catalog_columns(
    connection: &mut dyn Connection,
    query: &str,
) -> Result<Vec<CatalogColumn>, Error> {
    let rows = connection.query(query)?;
    let columns = rows.into_iter().filter_map(|row| {
        let [table, name, kind, indexes] = <[Option<String>; 4]>::try_from(row).ok()?;
        let is_unique = indexes.is_some_and(|count| count != "0");
        Some(CatalogColumn { table: table?, name: name?, kind: kind?, is_unique })
    });
    Ok(columns.collect())
}

/// A number of a row; 0 where there is none.
pub(crate) fn number<T: std::str::FromStr + Default>(field: Option<&String>) -> T {
    field.and_then(|text| text.parse().ok()).unwrap_or_default()
}
