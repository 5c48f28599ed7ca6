//! What every workload consists of, whatever it is: tasks, each a test or a step; and how one is
//! done on a server.

use std::time::Duration;

use rqps_dbms::Quiesce;
use rqps_load::{Order, Work};
use rqps_plan::{Class, Counts, Operation};
use rqps_wire::{Error, Target};

use crate::Dialect;
use crate::check::CheckError;
use crate::explain::Explained;

/// A test or a step: what is known of it before anything is connected.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its place among the tasks of its workload.
    pub index: usize,
    /// What it is asked for by.
    pub name: String,
    /// What it does, in a few words.
    pub title: String,
    /// What it is shown together with in a comparison.
    pub group: &'static str,
    /// The short name of that, by which the selftest knows how well such tests can be measured.
    pub family: &'static str,
    /// Shown together with its group in a single run, too.
    pub is_reported: bool,
    pub class: Class,
    pub counts: Counts,
    /// How many clients do it; 0 for as many as are of use.
    pub clients: u32,
    /// Operations per second that are promised, by all clients together.
    pub target_rate: Option<f64>,
    /// What is done to the server before it.
    pub rest: Rest,
    /// Fills the tables that the others work on: in a comparison, once for several rounds.
    pub fills: bool,
    /// What is done before anything counts.
    pub warm_up: Option<Duration>,
    /// How long it is measured; nothing for a task that ends when its work is done.
    pub time: Duration,
    pub counted: Counted,
    /// What a forecast reckons with.
    pub takes: Vec<Takes>,
    /// The rows that are read to check it; 0 where nothing is checked.
    pub checked_rows: u64,
    /// It is concluded by [`Cast::end`].
    pub ends: bool,
    /// It leaves behind what may be in the way of planning: its statements are planned again.
    pub is_planned_again: bool,
    /// The bytes of its longest statement; 0 where any server takes that.
    pub statement_bytes: u64,
}

impl Task {
    /// One without maintenance before it, without time limit and without a check: what differs from
    /// that is set by who makes it.
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
            statement_bytes: 0,
        }
    }
}

/// What is done to a server before a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    Nothing,
    /// The debt of the writes is paid, and the rest of this time waited for.
    Pause(Quiesce, Duration),
    /// A vacuum has begun so long ago and goes on while the task is measured.
    Beside(Duration),
}

/// The rows that a task is said to have read or indexed, where the client does not see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    No,
    /// In all.
    All(u64),
    /// By every operation.
    Each(u64),
}

/// What a task is expected to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Rows go into tables without secondary indexes, from so many connections.
    Load { rows: u64, connections: u32 },
    /// So many secondary indexes of tables with so many rows in all are built.
    Index { rows: u64, indexes: u32, connections: u32 },
    /// Rows go into tables with secondary indexes.
    Write { rows: u64, rows_per_commit: u32, connections: u32 },
    /// As long as the plan says.
    Time(Duration),
}

/// Where a workload is done.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    pub target: &'a Target,
    pub dialect: Dialect,
    /// Of all random draws.
    pub seed: u64,
    /// The server is one that rqps started, for itself alone.
    pub is_own: bool,
}

/// One connection's part in a task.
pub struct Part {
    /// Counted from 1.
    pub client: u32,
    pub operation: Operation,
    pub work: Box<dyn Work>,
    pub order: Order,
}

/// Everybody's part in a task.
pub struct Cast<'a> {
    pub parts: Vec<Part>,
    /// Of several clients: the server's threads that answer each of them, where it tells.
    pub threads: Vec<Option<u32>>,
    /// How much of what the task counts an operation is.
    pub worth: f64,
    /// When all have done their parts: puts things in order for the next task, and compares the
    /// data with what was done to them, if the plan wants that.
    pub end: End<'a>,
}

/// See [`Cast::end`].
pub type End<'a> = Box<dyn Fn() -> Result<(), CheckError> + 'a>;

/// Work and when it is to be done.
pub type Assigned = (Box<dyn Work>, Order);

/// A workload against one DBMS. For each task the order of calls is [`Driver::prepare`],
/// [`Driver::explained`], [`Driver::cast`]; when the parts of the cast are done,
/// [`Driver::indexers`], and when they are, [`Cast::end`].
pub trait Driver {
    /// The tables, or the parts of them, that maintenance can take one by one.
    fn tables(&self) -> Vec<String>;

    /// Makes what the task finds. An `attempt` after the first finds what the one before left.
    /// Answers what a reader should know of that.
    fn prepare(&self, task: &Task, attempt: u32) -> Result<Option<String>, WorkloadError>;

    /// What clients send, and how the DBMS carries it out.
    fn explained(&self, task: &Task) -> Result<Vec<Explained>, Error>;

    /// Connects everybody who has a part. With the seed, the task and the client's number, `place`
    /// decides every random draw: it is another for each time that the task is done.
    fn cast(&self, task: &Task, clients: u32, place: u64) -> Result<Cast<'_>, Error>;

    /// Work that builds indexes after the task's operations, as a part of it.
    fn indexers(&self, task: &Task) -> Result<Vec<Assigned>, Error>;
}

/// A test that a workload does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no test or group '{name}'; {hint}")]
pub struct UnknownTest {
    pub name: String,
    /// The nearest name, and what there is.
    pub hint: String,
}

/// Why a workload cannot be done as it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    #[error(transparent)]
    Test(#[from] UnknownTest),
    #[error("{test} reads {size} rows at a time: it needs tables of as many rows, not {rows}")]
    RangeTooLarge { test: String, size: usize, rows: u64 },
    #[error("the database has other tables of the same names, which must go first: {0}")]
    OtherTables(String),
    #[error(transparent)]
    Wire(#[from] Error),
}

impl WorkloadError {
    /// It is the user's to correct, before anything is started.
    pub fn is_refusal(&self) -> bool {
        matches!(self, WorkloadError::Test(_) | WorkloadError::RangeTooLarge { .. })
    }
}
