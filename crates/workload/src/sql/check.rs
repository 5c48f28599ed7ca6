//! Checks a folder without measuring: it is loaded, and each query is executed once.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rqps_dbms::Dialect;
use rqps_plan::Dbms;

use super::answer::unexpected;
use super::client::{QueryClient, encoded};
use super::driver::rows_of_tables;
use super::faults::{FolderError, FolderFaults};
use super::folder::{FolderScope, SqlFolder, read};
use super::limited::{drawn_rows, within};
use super::load::fill;
use super::query::SqlQuery;
use super::sets::draw;
use crate::task::{Site, WorkloadError};

/// How long a query may take that has no timeout of its own.
const LONGEST: Duration = Duration::from_secs(60);

/// A folder on one server.
pub struct CheckedFolder {
    /// Rows by table.
    pub rows: BTreeMap<String, u64>,
    /// Queries that were executed.
    pub queries: usize,
    /// The ids of those for other DBMSs.
    pub left_out: Vec<String>,
    /// Statements of the load that were refused, with file and line.
    pub load_errors: Vec<String>,
    /// What is wrong with queries, the same.
    pub faults: Vec<String>,
}

/// Everything that is wrong in the files of a folder, for one DBMS.
pub fn check_files(root: &Path, dbms: Dbms, dialect: Dialect) -> Result<(), FolderFaults> {
    read(root, (dbms, dialect), FolderScope::Everything).map(drop)
}

/// Loads a folder into a server and executes each query once, whatever was refused before.
pub fn check_folder(root: &Path, site: Site<'_>) -> Result<CheckedFolder, WorkloadError> {
    let folder = read(root, (site.dbms, site.dialect), FolderScope::Everything)?;
    let (mut faults, mut load_errors) = (Vec::new(), Vec::new());
    let connection = &mut *site.target.connect()?;
    fill(connection, &folder, site.dialect, &mut |refused| {
        load_errors.push(refused.to_string());
        Ok(())
    })?;
    let rows = rows_of_tables(connection, site.dialect)?;
    let mut queries = 0;
    for query in &folder.queries {
        match execute_once(query, &folder, site) {
            Ok(()) => queries += 1,
            Err(WorkloadError::Wire(error)) if error.is_disconnect() => return Err(error.into()),
            Err(WorkloadError::Wire(error)) => {
                let line = query.statements.first().map_or(1, |first| first.line);
                let (file, what) = (query.file.clone(), error.to_string());
                faults.push(FolderError { file, line: Some(line), what }.to_string());
            }
            Err(error) => faults.push(error.to_string()),
        }
    }
    Ok(CheckedFolder { rows, queries, left_out: folder.left_out, load_errors, faults })
}

/// On a connection of its own, since a query that is refused may leave a transaction open.
fn execute_once(query: &SqlQuery, folder: &SqlFolder, site: Site<'_>) -> Result<(), WorkloadError> {
    let mut connection = site.target.connect()?;
    let select = &mut |sql: &str| drawn_rows(&mut *connection, sql);
    let drawn = draw(query, &folder.columns, site.seed, 1, select)?;
    let sets = Arc::new(encoded(query, &drawn.sets));
    let mut client = QueryClient::new(connection, query, site.dialect, sets, 0)?;
    let limit = query.options.timeout.or(LONGEST);
    let interrupter = client.connection().interrupter()?;
    let what = match within(limit, &interrupter, || client.execute_and_read()) {
        (_, true) => Some(format!("it does not end within {} s", limit.as_secs_f64())),
        (answers, false) => unexpected(query.options.rows, &answers?),
    };
    match what {
        Some(what) => Err(FolderError::new(&query.file, what).into()),
        None => Ok(()),
    }
}
