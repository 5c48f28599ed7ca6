//! The load and the queries of a folder as tasks, and how they are run on a server.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use rqps_dbms::PreparedExecution;
use rqps_load::{Order, Schedule, Until, Work};
use rqps_plan::{
    Class, Counts, Dbms, Method, Microbenchmark, Operation, Specification, SqlTest, SqlWorkload,
};
use rqps_system::printable;
use rqps_wire::{Connection, Error, scalar};

use super::client::{Encoded, QueryClient, bound, encoded};
use super::faults::FolderError;
use super::folder::{FolderScope, SqlFolder};
use super::guest;
use super::limited::drawn_rows;
use super::load::{fill, literal};
use super::placeholders::Bound;
use super::query::SqlQuery;
use super::sets::draw;
use super::source::{check_unchanged, folder};
use super::watched::WatchedClient;
use crate::Dialect;
use crate::explain::{Explained, explained};
use crate::script::Script;
use crate::task::{
    Assigned, Driver, Part, Site, Takes, Task, TaskClients, TimeLimit, WorkloadError,
};

/// Statements that were left out of a load and are named.
const NAMED_ERRORS: usize = 3;

/// In front of a plan for all values.
const GENERIC: &str = "Generic Plan";

/// Sets of values of a query.
pub(super) const SETS: usize = 1000;

pub(crate) fn tasks(plan: &SqlWorkload) -> Result<Vec<Task>, WorkloadError> {
    check_unchanged(&plan.source)?;
    let load = Task {
        title: "create the schema, load the data, create the indexes".to_string(),
        counts: Counts::RowsInserted,
        fills: true,
        takes: vec![Takes::Load { rows: plan.most_rows(), connections: 1 }],
        ..Task::new("load", "", Class::Load)
    };
    let test = |(index, test): (usize, &SqlTest)| {
        let (class, time) = (test.class, plan.time.0);
        let warm_up = Microbenchmark::warm_up(time);
        Task {
            index,
            family: "sql",
            is_reported: true,
            clients: plan.clients,
            is_numbered: true,
            warm_up: Some(warm_up),
            time,
            takes: vec![Takes::Time(warm_up + time)],
            ..Task::new(&test.id, if class.writes() { "Writes" } else { "Queries" }, class)
        }
    };
    Ok(std::iter::once(load).chain((1..).zip(&plan.tests).map(test)).collect())
}

pub(crate) fn driver<'a>(
    plan: &'a SqlWorkload,
    site: Site<'a>,
) -> Result<Box<dyn Driver + 'a>, WorkloadError> {
    let folder = folder(&plan.source, (site.dbms, site.dialect), FolderScope::WithoutData)?;
    Ok(Box::new(Queries { plan, site, folder, sets: RefCell::default() }))
}

/// What a reader must know of statements that were left out.
fn load_errors(skipped: &[String]) -> Option<String> {
    let (named, more) = skipped.split_at(skipped.len().min(NAMED_ERRORS));
    let more = match more.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let what = if skipped.len() == 1 { "load error" } else { "load errors" };
    (!skipped.is_empty())
        .then(|| format!("with {} {what}: {}{more}", skipped.len(), named.join("; ")))
}

/// The tables that are created on a remote server, and nothing else may be.
pub(crate) fn made_tables(
    plan: &SqlWorkload,
    (dbms, dialect): (Dbms, Dialect),
) -> Result<Vec<String>, WorkloadError> {
    let folder = folder(&plan.source, (dbms, dialect), FolderScope::Everything)?;
    Ok(guest::tables(&folder, dialect.lexis)?)
}

/// The functions that queries may call, each with such a query.
pub(crate) fn calls(
    plan: &SqlWorkload,
    (dbms, dialect): (Dbms, Dialect),
) -> Result<Vec<(String, String)>, WorkloadError> {
    let folder = folder(&plan.source, (dbms, dialect), FolderScope::WithoutData)?;
    Ok(guest::calls(&folder, dialect.lexis))
}

pub(crate) fn tables(
    connection: &mut dyn Connection,
    dialect: Dialect,
) -> Result<Vec<String>, Error> {
    let rows = connection.query(dialect.tables)?;
    Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

/// The rows of each table.
pub(crate) fn rows_of_tables(
    connection: &mut dyn Connection,
    dialect: Dialect,
) -> Result<BTreeMap<String, u64>, Error> {
    let tables = tables(connection, dialect)?;
    let count = |table: String| {
        let rows = scalar(connection, &format!("select count(*) from {table}"))?;
        Ok((plain_name(&table), rows.and_then(|rows| rows.parse().ok()).unwrap_or_default()))
    };
    tables.into_iter().map(count).collect()
}

/// The name of a table as other DBMSs have it: without schema, quotes and capitals.
fn plain_name(table: &str) -> String {
    let name = table.rsplit('.').next().unwrap_or(table);
    printable(&name.trim_matches(['"', '`']).to_lowercase()).into_owned()
}

/// The sets of a query by its id.
type Sets = BTreeMap<String, Arc<Vec<Vec<Encoded>>>>;

struct Queries<'a> {
    plan: &'a SqlWorkload,
    site: Site<'a>,
    folder: SqlFolder,
    sets: RefCell<Sets>,
}

impl Queries<'_> {
    fn query(&self, task: &Task) -> Result<&SqlQuery, FolderError> {
        let found = self.folder.queries.iter().find(|query| query.id == task.name);
        found.ok_or_else(|| FolderError::new("queries", format!("'{}' has gone", task.name)))
    }

    /// Draws the sets of a query, once.
    fn draw(&self, query: &SqlQuery) -> Result<Option<String>, WorkloadError> {
        if self.sets.borrow().contains_key(&query.id) {
            return Ok(None);
        }
        let mut connection = self.site.target.connect()?;
        let select = &mut |sql: &str| drawn_rows(&mut *connection, sql);
        let drawn = draw(query, &self.folder.columns, self.site.seed, SETS, select)?;
        let sets = Arc::new(encoded(query, &drawn.sets));
        self.sets.borrow_mut().insert(query.id.clone(), sets);
        Ok(drawn.remark)
    }

    fn sets_of(&self, query: &SqlQuery) -> Arc<Vec<Vec<Encoded>>> {
        self.sets.borrow().get(&query.id).cloned().unwrap_or_default()
    }
}

impl Driver for Queries<'_> {
    fn tables(&self) -> Vec<String> {
        let Ok(mut connection) = self.site.target.connect() else { return Vec::new() };
        tables(&mut *connection, self.site.dialect).unwrap_or_default()
    }

    fn prepare(&self, task: &Task, _attempt: u32) -> Result<Option<String>, WorkloadError> {
        if task.fills {
            check_unchanged(&self.plan.source)?;
            let Site { target, dbms, dialect, .. } = self.site;
            let folder = folder(&self.plan.source, (dbms, dialect), FolderScope::Everything)?;
            let mut skipped = Vec::new();
            fill(&mut *target.connect()?, &folder, dialect, &mut |refused| {
                if !self.plan.skips_load_errors {
                    return Err(refused);
                }
                skipped.push(refused.to_string());
                Ok(())
            })?;
            return Ok(load_errors(&skipped));
        }
        self.draw(self.query(task)?)
    }

    fn explained(&self, task: &Task) -> Result<Vec<Explained>, Error> {
        let Ok(query) = self.query(task) else { return Ok(Vec::new()) };
        let connection = &mut *self.site.target.connect()?;
        let sets = self.sets_of(query);
        explained_query(connection, self.site.dialect, query, sets.first().map(Vec::as_slice))
    }

    fn connect(&self, task: &Task, clients: u32, _place: u64) -> Result<TaskClients<'_>, Error> {
        let mut connected = TaskClients::none();
        let Some(query) = self.query(task).ok().filter(|_| !task.fills) else {
            // The tables are full already.
            let count = self.site.dialect.tables.to_string();
            let (work, order) = Script::assigned(self.site.target.connect()?, vec![count]);
            connected.parts.push(Part { client: 1, operation: Operation::Insert, work, order });
            return Ok(connected);
        };
        let (sets, dialect) = (self.sets_of(query), self.site.dialect);
        for client in 1..=clients {
            let mut connection = self.site.target.connect()?;
            connected.threads.push(match clients {
                1 => None,
                _ => dialect.thread(&mut *connection)?,
            });
            // Clients that begin at different sets do not wait for each other's rows.
            let first = sets.len() * (client as usize - 1) / clients as usize;
            let sets = Arc::clone(&sets);
            let work = QueryClient::new(connection, query, dialect, sets, first)?;
            let order = Order { schedule: Schedule::Closed, until: Until::Elapsed(task.time) };
            let operation = Operation::Transaction;
            let work: Box<dyn Work> = match self.site.method {
                Method::Slices => Box::new(work),
                Method::Runs => {
                    Box::new(WatchedClient::new(work, &query.id, query.options.timeout)?)
                }
            };
            connected.parts.push(Part { client, operation, work, order });
        }
        // As for the microbenchmarks, the rate is one of statements.
        connected.worth = query.statements_of_an_execution() as f64;
        Ok(connected)
    }

    fn row_counts(&self) -> Result<BTreeMap<String, u64>, Error> {
        rows_of_tables(&mut *self.site.target.connect()?, self.site.dialect)
    }

    fn time_limit(&self, task: &Task) -> Option<TimeLimit> {
        self.query(task).ok().map(|query| query.options.timeout)
    }

    fn indexers(&self, _task: &Task) -> Result<Vec<Assigned>, Error> {
        Ok(Vec::new())
    }
}

/// The statements of a query with their query plans for one set of values.
pub(super) fn explained_query(
    connection: &mut dyn Connection,
    dialect: Dialect,
    query: &SqlQuery,
    set: Option<&[Encoded]>,
) -> Result<Vec<Explained>, Error> {
    let parameters = &query.options.parameters;
    let mut one = |statement: &Bound| {
        let text = statement.filled(|place| format!(":{}", parameters[place].name));
        let sql = statement.filled(|place| {
            let kind = parameters[place].kind;
            match set {
                Some(set) => set[place].literal(kind, dialect),
                None => literal(None, kind, dialect.lexis),
            }
        });
        let Some((execution, of)) = execution(connection, dialect, query, statement, set)? else {
            return explained(connection, dialect, text, &sql);
        };
        let mut told = explained(connection, dialect, text, &execution)?;
        if (of.is_generic)(connection)? {
            told.plan = told.plan.map(|plan| format!("{GENERIC} <- {plan}"));
        }
        Ok(told)
    };
    query.statements.iter().map(&mut one).collect()
}

/// What is explained of a statement that clients prepare, in place of its text with values.
fn execution(
    connection: &mut dyn Connection,
    dialect: Dialect,
    query: &SqlQuery,
    statement: &Bound,
    set: Option<&[Encoded]>,
) -> Result<Option<(String, PreparedExecution)>, Error> {
    let (Some(execution), Some(set)) = (dialect.execution, set) else { return Ok(None) };
    let declared = &query.options.parameters;
    let value = |place: usize| set[place].literal(declared[place].kind, dialect);
    let literal = |place: usize| declared[place].is_literal.then(|| value(place));
    let (text, parameters) = statement.prepared(dialect, literal);
    if parameters.is_empty() {
        return Ok(None);
    }
    let types: Vec<_> = parameters.iter().map(|place| bound(declared[*place].kind)).collect();
    let values: Vec<String> = parameters.iter().map(|place| value(*place)).collect();
    let explained = (execution.explained)(connection, &text, &types, &values)?;
    Ok(explained.map(|explained| (explained, execution)))
}
