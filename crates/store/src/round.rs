//! What is measured: one test in one round, arm by arm. A single run has one round, with one
//! contender in each record.

use std::collections::BTreeMap;

use rqps_observe::{EngineReading, Metric, Reading};
use rqps_plan::{Class, Counts, QueryPlan};
use serde::{Deserialize, Serialize};

use crate::series::Series;
use crate::work::WorkRecord;

/// One test in one round, with the arms that were measured in it.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundRecord {
    /// Counted from 1.
    pub round: u32,
    /// As in the posts: `l.i0`, `qr100`, `point-query`. Tests that differ in the number of clients
    /// have it appended: `point-query@4`.
    pub test: String,
    /// What the test does, in a few words.
    pub title: String,
    /// The group that it is shown in, such as `point queries`; none where it is not reported.
    pub group: Option<String>,
    pub class: Class,
    /// What the throughput counts and costs are divided by.
    pub counts: Counts,
    /// Its place among the tests of the plan, from 0.
    pub place: u32,
    /// Which arms are in it, from 1: of a comparison whose servers do not all fit in memory, those
    /// that were started together; of a single run, the place of the contender.
    pub part: u32,
    /// Which of the independent loads the data came from, from 1.
    pub load: u32,
    /// From 1; higher when it was measured again after an interruption, or because a guard
    /// discarded the attempt before.
    pub attempt: u32,
    /// Why it was discarded; none if it counts. Guards do not look at the result.
    pub discarded: Option<String>,
    /// RFC 3339.
    pub started: String,
    /// Wall seconds in which the arms were measured.
    pub seconds: f64,
    /// By client: the CPU that it and the server's side of its connection were bound to; empty if
    /// they were not bound to the same one.
    pub cpus: Vec<u32>,
    /// Nanoseconds of the reference loop before and after each whole run; empty for slices.
    pub reference_loop: Vec<u64>,
    /// Cost of the whole machine, where several arms share it.
    pub machine: Reading,
    pub arms: BTreeMap<String, Measurement>,
    /// In the order in which arms were driven; for several clients, one client after the other.
    pub slices: Vec<SliceRecord>,
}

impl RoundRecord {
    /// Nothing is measured in it yet.
    pub fn new(class: Class, counts: Counts) -> Self {
        RoundRecord {
            round: 1,
            test: String::new(),
            title: String::new(),
            group: None,
            class,
            counts,
            place: 0,
            part: 1,
            load: 1,
            attempt: 1,
            discarded: None,
            started: String::new(),
            seconds: 0.0,
            cpus: Vec::new(),
            reference_loop: Vec::new(),
            machine: Reading::default(),
            arms: BTreeMap::new(),
            slices: Vec::new(),
        }
    }
}

/// What one arm did and cost in one round of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Its place among the servers of the round, in the order in which they were started, from 0.
    pub slot: u32,
    pub status: Status,
    /// Why it failed: what the check found, and how its server ended.
    pub error: Option<String>,
    pub clients: u32,
    /// Wall seconds of its measured windows. Connections are made before them, and checks run after
    /// them. 0 where arms took turns in slices, which have times of their own. Where an execution
    /// was ended because it took too long, its time, and that of the same one of the baseline.
    pub seconds: f64,
    /// Seconds of maintenance and pause before the window.
    pub pause_seconds: f64,
    /// Seconds the check took after the window.
    pub check_seconds: f64,
    /// Seconds of the window that building the indexes took.
    pub index_seconds: Option<f64>,
    /// Target rows per second over all clients; none if unlimited.
    pub target_rate: Option<f64>,
    /// Rows that were indexed or scanned, where throughput counts these: the DBMS does not report
    /// them.
    pub counted_rows: Option<u64>,
    /// What its clients did; in a comparison, the sum for each kind of operation.
    pub work: Vec<WorkRecord>,
    /// Cost of its server over the window, or over all slices of all arms.
    pub cost: Reading,
    /// Cost in the measured parts of its slices only, where it was read at their edges.
    pub slice_cost: Reading,
    /// Cost of each second of the window, about; the last may be shorter. A comparison keeps only
    /// what charts show.
    pub samples: Series<Metric>,
    /// Counters of the DBMS over the window, under its own names.
    pub engine: EngineReading,
    /// A few of these counters, about once a second.
    pub engine_samples: Series<String>,
    /// Operations while the DBMS's counters were read, including those of the warm-up.
    pub watched: u64,
    /// Bytes of the database's files before; the cost has the bytes after.
    pub bytes_before: Option<u64>,
    /// The statements of its clients, and how the DBMS executes them.
    pub statements: Vec<StatementRecord>,
    /// A note for the reader, such as maintenance before it that was given up.
    pub note: Option<String>,
}

impl Default for Measurement {
    /// Nothing is measured in it yet.
    fn default() -> Self {
        Measurement {
            slot: 0,
            status: Status::Running,
            error: None,
            clients: 0,
            seconds: 0.0,
            pause_seconds: 0.0,
            check_seconds: 0.0,
            index_seconds: None,
            target_rate: None,
            counted_rows: None,
            work: Vec::new(),
            cost: Reading::default(),
            slice_cost: Reading::default(),
            samples: Series::default(),
            engine: EngineReading::default(),
            engine_samples: Series::default(),
            watched: 0,
            bytes_before: None,
            statements: Vec::new(),
            note: None,
        }
    }
}

impl Measurement {
    /// For an arm that could not continue.
    pub fn fail(&mut self, why: String) {
        if self.status != Status::Overdue {
            self.status = Status::Failed;
        }
        self.error = Some(why);
    }

    /// Why it could not continue, if so.
    pub fn failure(&self) -> Option<&str> {
        self.error.as_deref().filter(|_| matches!(self.status, Status::Failed | Status::Overdue))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Started but not ended, as after a kill of rqps.
    Running,
    Done,
    /// An error ended it.
    Failed,
    /// An execution took too long and was ended.
    Overdue,
    /// The user ended it.
    Interrupted,
}

impl Status {
    pub const ALL: [Status; 5] =
        [Status::Running, Status::Done, Status::Failed, Status::Overdue, Status::Interrupted];

    pub fn name(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Overdue => "overdue",
            Status::Interrupted => "interrupted",
        }
    }
}

/// A statement that the clients of a test sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatementRecord {
    /// With `?` for values; of a long list, only the first.
    pub text: String,
    /// How often an operation sends it.
    pub times: u32,
    /// The shape of its query plan for people: nodes and indexes, outermost first, where the DBMS
    /// reports it.
    pub plan: Option<String>,
    /// The query plan as a tree, to compare it; none where it is not known, as in runs of an
    /// earlier rqps.
    #[serde(default)]
    pub tree: Option<QueryPlan>,
    /// Planning times, where the DBMS reports them.
    #[serde(default)]
    pub planning: Option<Planning>,
}

/// Microseconds that the DBMS took to plan a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Planning {
    /// Before the first operation.
    pub before: f64,
    /// After the last; none where it was not read again.
    pub after: Option<f64>,
}

/// What one client did with one arm in one slice; a whole run is a single slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceRecord {
    /// Its place in the round of the test, the same for all clients.
    pub place: u32,
    /// Counted from 1.
    pub client: u32,
    pub arm: String,
    /// Nanoseconds of the monotonic clock.
    pub began: u64,
    /// Nanoseconds of the measured part.
    pub nanos: u64,
    pub operations: u64,
    /// Before the measured part.
    pub warm_up_operations: u64,
    pub rows: u64,
    pub reads: u64,
    pub writes: u64,
    pub others: u64,
    pub retries: u64,
    /// Nanoseconds of CPU.
    pub client_cpu: u64,
    /// Nanoseconds of CPU of the server.
    pub server_cpu: u64,
    /// Nanoseconds that the server's threads waited for a CPU.
    pub server_run_queue_wait: u64,
    /// How often a thread of the server was put on a CPU.
    pub server_switches: u64,
    /// Nanoseconds of CPU of the client for reading the counters, outside the measured part.
    pub reading_cpu: u64,
}
