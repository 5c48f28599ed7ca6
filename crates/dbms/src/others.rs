//! What others do on a remote server: what it has executed for everybody, and who is at work there.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rqps_wire::{Connection, query_if_allowed, scalar};

use crate::error::DbmsError;

/// How long the server may take to count the work of sessions that have ended.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The queries about others, in the words of a DBMS.
pub(crate) struct Asks {
    /// Begins the session.
    pub(crate) setup: Option<&'static str>,
    /// The name of the database that rqps works in; none if statements are not counted by database.
    pub(crate) here: Option<&'static str>,
    /// What has been executed: a name and a count in each row.
    pub(crate) executed: &'static str,
    /// The number of rqps's sessions whose work is not counted yet; none if counting is immediate.
    pub(crate) uncounted: Option<&'static str>,
    /// The number of sessions of others that are executing something.
    pub(crate) at_work: &'static str,
    /// A query that fails without the right to see sessions of others.
    pub(crate) may_see: Option<&'static str>,
}

/// Statements or transactions that a server has executed, by database where it counts them so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutedCounts(pub BTreeMap<String, u64>);

/// Looks at what others do, over a connection of its own.
pub struct OthersWatch {
    connection: Box<dyn Connection>,
    asks: Asks,
    sees_sessions: bool,
}

impl OthersWatch {
    pub(crate) fn new(
        mut connection: Box<dyn Connection>,
        asks: Asks,
    ) -> Result<OthersWatch, DbmsError> {
        if let Some(setup) = asks.setup {
            connection.run(setup)?;
        }
        let sees_sessions = match asks.may_see {
            Some(sql) => query_if_allowed(&mut *connection, sql)?.is_some(),
            None => true,
        };
        Ok(OthersWatch { connection, asks, sees_sessions })
    }

    /// The database that rqps works in, as [`ExecutedCounts`] has it.
    pub fn here(&mut self) -> Result<Option<String>, DbmsError> {
        let Some(sql) = self.asks.here else { return Ok(None) };
        Ok(scalar(&mut *self.connection, sql)?)
    }

    /// What has been executed so far. None if the work of some of rqps's sessions is not counted
    /// yet, as behind a pooler, which keeps them: then that of others cannot be told from it.
    pub fn executed(&mut self) -> Result<Option<ExecutedCounts>, DbmsError> {
        let deadline = Instant::now() + PATIENCE;
        if let Some(sql) = self.asks.uncounted {
            while scalar(&mut *self.connection, sql)?.is_some_and(|count| count != "0") {
                if Instant::now() > deadline {
                    return Ok(None);
                }
                std::thread::sleep(LOOK_AGAIN);
            }
        }
        let rows = query_if_allowed(&mut *self.connection, self.asks.executed)?;
        let count = |row: Vec<Option<String>>| {
            let mut fields = row.into_iter();
            let (name, count) = (fields.next()??, fields.next()??);
            Some((name, count.parse().ok()?))
        };
        Ok(rows.map(|rows| ExecutedCounts(rows.into_iter().filter_map(count).collect())))
    }

    /// How many sessions of others are executing something now; none if they are not shown.
    pub fn at_work(&mut self) -> Result<Option<u64>, DbmsError> {
        if !self.sees_sessions {
            return Ok(None);
        }
        let count = scalar(&mut *self.connection, self.asks.at_work)?;
        Ok(count.and_then(|count| count.parse().ok()))
    }
}
