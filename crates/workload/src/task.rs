//! The tasks that every workload consists of, each a test or a step; and how one is run on a
//! server.

use std::collections::BTreeMap;
use std::time::Duration;

use rqps_dbms::Quiesce;
use rqps_load::{Order, Work};
use rqps_plan::{Class, Counts, Dbms, Method, Operation};
use rqps_wire::{Error, Target};

use crate::Dialect;
use crate::check::CheckError;
use crate::explain::Explained;
use crate::sql::{FolderFaults, RefusedStatement};

/// A test or a step: what is known about it before any connection.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its place among the tasks of its workload.
    pub index: usize,
    /// The name that selects it.
    pub name: String,
    /// What it does, in a few words.
    pub title: String,
    /// The group that a comparison shows it in.
    pub group: &'static str,
    /// The short name of that group; selftest results are kept by it.
    pub family: &'static str,
    /// Shown in its group in a single run, too.
    pub is_reported: bool,
    pub class: Class,
    pub counts: Counts,
    /// The number of clients; 0 for as many as are of use.
    pub clients: u32,
    /// The promised operations per second, of all clients together.
    pub target_rate: Option<f64>,
    /// Maintenance before it.
    pub rest: Rest,
    /// Fills the tables for the other tasks: in a comparison, once for several rounds.
    pub fills: bool,
    /// The unmeasured time before it.
    pub warm_up: Option<Duration>,
    /// The measured time; zero for a task that ends when its work is done.
    pub time: Duration,
    pub counted: Counted,
    /// What a forecast is made from.
    pub takes: Vec<Takes>,
    /// The rows that are read to check it; 0 where nothing is checked.
    pub checked_rows: u64,
    /// [`TaskClients::end`] concludes it.
    pub ends: bool,
    /// What it leaves behind may slow down planning: its statements are planned again.
    pub is_planned_again: bool,
    /// The number of an operation decides what it does, on every server: slices of long operations
    /// are cut by count.
    pub is_numbered: bool,
    /// Why it is measured by whole runs, unless slices are asked for.
    pub alone: Option<&'static str>,
    /// Its background work is a part of it: by slices, a server is frozen while it is not its turn.
    pub works_in_turns: bool,
    /// The bytes of its longest statement; 0 if any server accepts that.
    pub statement_bytes: u64,
}

impl Task {
    /// A task without maintenance, time limit and check; its creator sets what differs.
    pub(crate) fn new(name: impl Into<String>, group: &'static str, class: Class) -> Task {
        Task {
            index: 0,
            name: name.into(),
            title: group.to_string(),
            group,
            family: "",
            is_reported: false,
            class,
            counts: Counts::Statements,
            clients: 0,
            target_rate: None,
            rest: Rest::Nothing,
            fills: false,
            warm_up: None,
            time: Duration::ZERO,
            counted: Counted::No,
            takes: Vec::new(),
            checked_rows: 0,
            ends: false,
            is_planned_again: false,
            is_numbered: false,
            alone: None,
            works_in_turns: false,
            statement_bytes: 0,
        }
    }
}

/// Maintenance before a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    Nothing,
    /// The server is quiesced, then is idle for the rest of this time.
    Pause(Quiesce, Duration),
    /// A vacuum starts this long before the task and continues while it is measured.
    Beside(Duration),
}

/// The rows that a task reads or indexes, if the client does not see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    No,
    /// In all.
    All(u64),
    /// By every operation.
    Each(u64),
}

/// What a forecast of a task depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Rows are loaded into tables without secondary indexes.
    Load { rows: u64, connections: u32 },
    /// Secondary indexes are built; `rows` are those of all tables.
    Index { rows: u64, indexes: u32, connections: u32 },
    /// Rows are written to tables with secondary indexes.
    Write { rows: u64, rows_per_commit: u32, connections: u32 },
    /// The time in the plan.
    Time(Duration),
}

/// Where a workload runs.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    pub target: &'a Target,
    pub dbms: Dbms,
    pub dialect: Dialect,
    /// The seed of all random draws.
    pub seed: u64,
    /// rqps started the server for this workload alone.
    pub is_own: bool,
    /// How clients are driven.
    pub method: Method,
}

/// One connection's part in a task.
pub struct Part {
    /// Counted from 1.
    pub client: u32,
    pub operation: Operation,
    pub work: Box<dyn Work>,
    pub order: Order,
}

/// The clients of a task.
pub struct TaskClients<'a> {
    pub parts: Vec<Part>,
    /// The server's threads that serve each of several clients, if known.
    pub threads: Vec<Option<u32>>,
    /// How many units of what the task counts are in an operation.
    pub worth: f64,
    /// Called when all parts are done: prepares the tables for the next task, and compares the data
    /// with what was done to them, if the plan has checks.
    pub end: End<'a>,
}

impl TaskClients<'_> {
    /// Before the first is connected.
    pub(crate) fn none() -> Self {
        let end = Box::new(|| Ok(()));
        TaskClients { parts: Vec::new(), threads: Vec::new(), worth: 1.0, end }
    }
}

/// See [`TaskClients::end`].
pub type End<'a> = Box<dyn Fn() -> Result<(), CheckError> + 'a>;

/// How long an execution may take before it is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimit {
    /// A multiple of the time that the baseline takes.
    Auto,
    After(Duration),
}

/// Work and when it is to be done.
pub type Assigned = (Box<dyn Work>, Order);

/// A workload against one DBMS. For each task the order of calls is [`Driver::prepare`],
/// [`Driver::explained`], [`Driver::connect`]; after the parts of the clients
/// [`Driver::indexers`]; and after these [`TaskClients::end`].
pub trait Driver {
    /// The tables, or the parts of them, that maintenance can take one by one.
    fn tables(&self) -> Vec<String>;

    /// Creates what the task needs. An `attempt` after the first finds what the one before left.
    /// Returns a note for the reader.
    fn prepare(&self, task: &Task, attempt: u32) -> Result<Option<String>, WorkloadError>;

    /// The statements of the clients, and their query plans.
    fn explained(&self, task: &Task) -> Result<Vec<Explained>, Error>;

    /// Connects the clients. The seed, the task, the number of a client and `place` decide every
    /// random draw: `place` differs each time that the task is run.
    fn connect(&self, task: &Task, clients: u32, place: u64) -> Result<TaskClients<'_>, Error>;

    /// The rows of each table after the load, which must be the same for all contenders; empty if
    /// the workload makes sure of that by itself.
    fn row_counts(&self) -> Result<BTreeMap<String, u64>, Error> {
        Ok(BTreeMap::new())
    }

    /// How long an operation of the task may take; none if as long as it likes.
    fn time_limit(&self, _task: &Task) -> Option<TimeLimit> {
        None
    }

    /// What the clients have to say of the task's operations, for the reader, when these are done.
    fn told(&self) -> Option<String> {
        None
    }

    /// Work that builds indexes after the task's operations, as a part of it.
    fn indexers(&self, task: &Task) -> Result<Vec<Assigned>, Error>;
}

/// A test that a workload does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown test or group '{name}': {hint}")]
pub struct UnknownTest {
    pub name: String,
    /// The nearest name, and what there is.
    pub hint: String,
}

/// Why a workload cannot be run as asked for.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    #[error(transparent)]
    Test(#[from] UnknownTest),
    #[error(
        "{test} reads {size} rows at a time, but tables have {rows} rows. Use --rows {size} or more"
    )]
    RangeTooLarge { test: String, size: usize, rows: u64 },
    #[error("the database has other tables of the same names: {0}. Remove them")]
    OtherTables(String),
    #[error("{0} does not check foreign keys that are added to tables. Drop --foreign-keys")]
    ForeignKeys(&'static str),
    #[error(transparent)]
    Folder(#[from] FolderFaults),
    #[error(transparent)]
    Refused(#[from] RefusedStatement),
    #[error(transparent)]
    Wire(#[from] Error),
}

impl WorkloadError {
    /// The user can correct it, before anything is started.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            WorkloadError::Test(_)
                | WorkloadError::RangeTooLarge { .. }
                | WorkloadError::ForeignKeys(_)
                | WorkloadError::Folder(_)
        )
    }
}
