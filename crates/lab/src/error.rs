//! Why a run, or a contender's part of it, ends early.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rqps_dbms::DbmsError;
use rqps_load::{Cancelled, Failure, Overdue};
use rqps_plan::{CacheError, ServiceLevel};
use rqps_store::StoreError;
use rqps_workload::{CheckError, WorkloadError};

use crate::arrivals::TooFewArrivals;
use crate::compare::stored_baseline_error::StoredBaselineError;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(transparent)]
    Dbms(DbmsError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("{0}")]
    Wire(#[source] rqps_wire::Error),
    #[error("the data are wrong: {0}")]
    Check(#[source] CheckError),
    #[error(transparent)]
    Workload(WorkloadError),
    #[error("this comparison has no test '{0}'")]
    NoTest(String),
    #[error(
        "{needed} connections are needed, but max_connections is {allowed}. Use fewer clients, or set \
         ?max_connections={needed}"
    )]
    Connections { needed: u64, allowed: u64 },
    #[error("cannot resume: its data directory '{0}' is missing. Start a new run in another --out")]
    DataGone(String),
    #[error(
        "cannot keep one load of {0} for all rounds: tests write, so a remote server is loaded anew in \
         each round. Drop --loads, or choose tests that only read"
    )]
    RemoteWrites(String),
    #[error(
        "{} and {} have the same settings: {values} in the sessions of both. Choose another value",
        contenders.0, contenders.1
    )]
    SameSettings { contenders: (String, String), values: String },
    #[error(
        "this comparison restarts '{0}' in each round. Give its command again, as in --restart-cmd \
         '{0}=ssh db1 sudo systemctl restart postgresql'"
    )]
    NoRestartCommand(String),
    #[error("it was not restarted: {why}{said}")]
    Restart { why: String, said: String },
    #[error("line {line} of the file of its place was refused: {error}")]
    PlaceFile { line: u32, error: rqps_wire::Error },
    #[error(
        "the file of its place has changed since this run began. Restore it, or begin another run"
    )]
    PlaceChanged,
    #[error("its tables were not loaded in this round")]
    NotLoaded,
    #[error(transparent)]
    StoredBaseline(#[from] StoredBaselineError),
    #[error(transparent)]
    TooFewArrivals(#[from] TooFewArrivals),
    #[error("cannot bind threads to CPUs: {0}")]
    Placement(std::io::Error),
    #[error(transparent)]
    Group(#[from] rqps_observe::GroupError),
    #[error(transparent)]
    Lock(#[from] rqps_observe::LockError),
    #[error(transparent)]
    Profile(#[from] rqps_observe::ProfileError),
    #[error(transparent)]
    Callgrind(#[from] rqps_observe::CallgrindError),
    /// Its data could not be loaded, or its server does not start.
    #[error("{contender}: {error}")]
    Contender { contender: String, error: Box<LabError> },
    /// An arm failed while it took turns with the others.
    #[error("{error}")]
    Driven { slot: usize, error: Box<LabError> },
    #[error(
        "after the load, table '{}' has {} rows in {}, but {} in {}. Correct the folder, or leave one \
         of them out",
        table, rows.0, contenders.0, rows.1, contenders.1
    )]
    OtherRows { table: String, contenders: (String, String), rows: (u64, u64) },
    /// An execution of an arm took too long and was ended; with the time of the same execution of
    /// the baseline.
    #[error(
        "an execution was ended after {:.1} s{}",
        limit.as_secs_f64(),
        base.map_or(String::new(), |base| format!(
            ", of which the baseline takes {:.3} s", base.as_secs_f64()
        ))
    )]
    Overdue { slot: usize, limit: Duration, base: Option<Duration> },
    /// The same on the baseline takes so long that contenders may take longer: the measurement is
    /// made again with that limit.
    #[error("an execution takes {:.1} s on the baseline, too", .0.as_secs_f64())]
    SlowOnAll(Duration),
    #[error(
        "the servers of {base} and {contender} need about {needed} MB together, but {most} MB of memory \
         are available. Use smaller caches or tables, or run one server at a time (--method runs)"
    )]
    Memory { base: String, contender: String, needed: u64, most: u64 },
    /// The error of a step, with the related lines of the server's log.
    #[error("{step}: {reason}")]
    Step { step: String, reason: String, is_disconnect: bool },
    #[error(
        "{test}: at {rate} operations per second there are too few to judge {level}. Use --secs \
         {seconds} or more, or a longer limit"
    )]
    TooFewToJudge { test: String, level: ServiceLevel, rate: u64, seconds: u64 },
    #[error(
        "{test}: {level} is not kept at {rate:.0} operations per second, the smallest rate that was \
         tried. Use a longer limit"
    )]
    NeverKept { test: String, level: ServiceLevel, rate: f64 },
    #[error("its instructions could not be read: {0}")]
    Uncounted(String),
    #[error("interrupted")]
    Interrupted,
}

impl LabError {
    /// Adds the name of the contender, unless the error belongs to none.
    pub(crate) fn of(self, contender: &str) -> Self {
        match self {
            LabError::Interrupted | LabError::Store(_) => self,
            error => {
                LabError::Contender { contender: contender.to_string(), error: Box::new(error) }
            }
        }
    }

    /// Without the name of the step, for callers that have reported it.
    pub(crate) fn reason(&self) -> String {
        match self {
            LabError::Step { reason, .. } => reason.clone(),
            other => other.to_string(),
        }
    }

    /// Whether a connection ended, so that the server's log may have the cause.
    pub(crate) fn is_disconnect(&self) -> bool {
        match self {
            LabError::Driven { error, .. } | LabError::Contender { error, .. } => {
                error.is_disconnect()
            }
            LabError::Step { is_disconnect, .. } => *is_disconnect,
            LabError::Wire(error)
            | LabError::Dbms(DbmsError::Wire(error))
            | LabError::Check(CheckError::Wire(error)) => error.is_disconnect(),
            _ => false,
        }
    }
}

impl From<Cancelled> for LabError {
    fn from(_: Cancelled) -> Self {
        LabError::Interrupted
    }
}

impl From<rqps_wire::Error> for LabError {
    fn from(error: rqps_wire::Error) -> Self {
        match error {
            rqps_wire::Error::Interrupted(_) => LabError::Interrupted,
            other => LabError::Wire(other),
        }
    }
}

impl From<DbmsError> for LabError {
    fn from(error: DbmsError) -> Self {
        match error {
            DbmsError::Cancelled(_) | DbmsError::Wire(rqps_wire::Error::Interrupted(_)) => {
                LabError::Interrupted
            }
            other => LabError::Dbms(other),
        }
    }
}

impl From<CheckError> for LabError {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Wire(rqps_wire::Error::Interrupted(_)) => LabError::Interrupted,
            other => LabError::Check(other),
        }
    }
}

impl From<WorkloadError> for LabError {
    fn from(error: WorkloadError) -> Self {
        match error {
            WorkloadError::Wire(error) => error.into(),
            other => LabError::Workload(other),
        }
    }
}

impl From<Failure> for LabError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Cancelled => LabError::Interrupted,
            Failure::Worker { error, .. } => LabError::Wire(error),
            Failure::Overdue(Overdue { contender, limit, .. }) => {
                LabError::Overdue { slot: contender, limit, base: None }
            }
        }
    }
}

pub(crate) fn file_error(
    what: &'static str,
    path: &Path,
) -> impl FnOnce(std::io::Error) -> LabError {
    let path = PathBuf::from(path);
    move |source| LabError::Dbms(rqps_dbms::DbmsError::File { what, path, source })
}

#[cfg(test)]
mod tests {
    use rqps_wire::Error;

    use super::*;

    #[test]
    fn what_was_interrupted_has_not_failed() {
        for error in [
            LabError::from(Error::Interrupted(Cancelled)),
            DbmsError::from(Error::Interrupted(Cancelled)).into(),
            CheckError::from(Error::Interrupted(Cancelled)).into(),
            WorkloadError::from(Error::Interrupted(Cancelled)).into(),
        ] {
            assert!(matches!(error, LabError::Interrupted), "{error}");
        }
        assert!(LabError::from(Error::Closed).is_disconnect());
    }
}
