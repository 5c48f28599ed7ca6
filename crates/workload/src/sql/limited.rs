//! Executions that are ended after a time.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rqps_wire::{Connection, Interrupter};

use super::csv::Record;
use super::faults::FolderError;
use crate::task::{TimeLimit, WorkloadError};

/// How long a server may take to end a statement, before its connection is closed.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// How long the SELECT of a parameter may take.
const LONGEST_DRAW: Duration = Duration::from_secs(120);

impl TimeLimit {
    /// Where there is no time of a baseline.
    pub(super) fn or(self, usual: Duration) -> Duration {
        match self {
            TimeLimit::Auto => usual,
            TimeLimit::After(limit) => limit,
        }
    }
}

/// Executes something on a connection, and ends it in the server after the limit. Returns what it
/// came to, and whether it was ended.
pub(crate) fn within<T>(
    limit: Duration,
    interrupter: &Interrupter,
    execute: impl FnOnce() -> T,
) -> (T, bool) {
    let (ended, is_over) = channel::<()>();
    thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let goes_on = |time| is_over.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            let is_late = goes_on(limit);
            if is_late {
                interrupter.cancel_statement();
                if goes_on(GRACE) {
                    interrupter.interrupt();
                }
            }
            is_late
        });
        let done = execute();
        drop(ended);
        (done, watch.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// The rows of a parameter's SELECT, which is ended if it takes too long.
pub(super) fn drawn_rows(
    connection: &mut dyn Connection,
    sql: &str,
) -> Result<Vec<Record>, WorkloadError> {
    rows_within(connection, sql, LONGEST_DRAW)
}

fn rows_within(
    connection: &mut dyn Connection,
    sql: &str,
    limit: Duration,
) -> Result<Vec<Record>, WorkloadError> {
    let interrupter = connection.interrupter()?;
    match within(limit, &interrupter, || connection.query(sql)) {
        (rows, false) => Ok(rows?),
        (_, true) => {
            let limit = limit.as_secs_f64();
            let what = format!("a parameter's SELECT does not end within {limit} s: {sql}");
            Err(FolderError::new("", what).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use rqps_wire::{SqliteLibrary, Target};

    use super::*;

    #[test]
    fn the_select_of_a_parameter_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let target =
            Target::Sqlite { library: SqliteLibrary::bundled(), path, pragmas: Vec::new() };
        let connection = &mut *target.connect().unwrap();
        let endless = "with recursive c(n) as (select 1 union all select n + 1 from c) \
                       select max(n) from c";
        let error = rows_within(connection, endless, Duration::from_millis(200)).unwrap_err();
        let begin = "a parameter's SELECT does not end within 0.2 s: with recursive";
        assert!(error.to_string().starts_with(begin), "{error}");
        let rows = rows_within(connection, "select 1", Duration::from_secs(60)).unwrap();
        assert_eq!(rows, [[Some("1".to_string())]], "the connection goes on");
    }
}
