//! What is kept of a run: measured values only. Everything else is derived from them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use hdrhistogram::Histogram;
use rqps_observe::{EngineReading, Metric, Reading};
use rqps_plan::{Counts, Flags, Memory, Operation};
use serde::{Deserialize, Serialize};

use crate::series::Series;

/// A contender as it turned out to be when it was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContenderRecord {
    /// Its name in tables: the label, or the contender as written.
    pub name: String,
    /// As written, without the label.
    pub spec: String,
    pub dbms: String,
    /// As the server tells it.
    pub version: String,
    /// Where the build came from: `npm`, `maven`, `system`, a path, `in rqps`, or `running server`.
    pub source: String,
    pub archive_sha256: Option<String>,
    pub server_sha256: Option<String>,
    pub compiler: Option<String>,
    /// How it was compiled; none in runs of an rqps that did not look.
    pub flags: Option<Flags>,
    pub libc: Option<String>,
    /// How the client reached it: `unix socket`, `tcp`, `tcp with TLS 1.3` or `in process`.
    pub transport: String,
    /// The settings in force, as the server tells them.
    pub settings: BTreeMap<String, String>,
    /// Names of those that are as the server has them by itself, as far as it tells.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub defaults: BTreeSet<String>,
    /// Seconds from nothing to a server that answers: creating the data directory included.
    pub start_seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Started and not ended: what a killed rqps leaves.
    Running,
    Done,
    /// An error ended it.
    Failed,
    /// The user ended it.
    Interrupted,
}

impl Status {
    pub const ALL: [Status; 4] =
        [Status::Running, Status::Done, Status::Failed, Status::Interrupted];

    pub fn name(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Interrupted => "interrupted",
        }
    }
}

/// One step of one contender.
#[derive(Clone, Debug)]
pub struct StepRecord {
    pub contender: String,
    /// As in the posts: `l.i0`, `qr100`, `point-query`. A step of its own for each number of
    /// clients has that behind it: `point-query@4`.
    pub step: String,
    /// What the step does, in a few words.
    pub title: String,
    /// The steps that are shown together with it, such as `point queries`.
    pub group: Option<String>,
    /// What the throughput counts and costs are divided by.
    pub counts: Counts,
    /// Its place in the run, counted from 0 for each contender.
    pub order: u32,
    /// 1, or more when the step was begun again after an interruption.
    pub attempt: u32,
    pub status: Status,
    /// Why it failed; what check found.
    pub error: Option<String>,
    /// RFC 3339.
    pub started: String,
    /// Wall seconds of the measured window: connections are up before it, checks run after it.
    pub seconds: f64,
    /// Seconds of maintenance and pause before the window.
    pub pause_seconds: f64,
    /// Seconds the check took after the window.
    pub check_seconds: f64,
    pub clients: u32,
    /// Rows per second over all clients that the step promises to insert; none if unlimited.
    pub target_rate: Option<f64>,
    /// Rows that were indexed or scanned, where the rate counts such rows: the DBMS does not.
    pub counted_rows: Option<u64>,
    /// Seconds of the window that building the indexes took.
    pub index_seconds: Option<f64>,
    pub workers: Vec<WorkerRecord>,
    /// Cost over the window.
    pub cost: Reading,
    /// Cost of each second of the window; the last may be shorter.
    pub samples: Series<Metric>,
    /// What the DBMS counted itself over the window.
    pub engine: EngineReading,
    /// A few of them about once a second.
    pub engine_samples: Series<String>,
    /// What a reader must know, such as a wait that was given up.
    pub note: Option<String>,
    pub statements: Vec<StatementRecord>,
}

/// A statement that the clients of a step sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatementRecord {
    /// With `?` for values; of a long list only the first.
    pub text: String,
    /// How often an operation sends it.
    pub times: u32,
    /// The shape of its plan: nodes and indexes, the outermost first, where the DBMS tells it.
    pub plan: Option<String>,
    /// What planning it took, where the DBMS tells it.
    #[serde(default)]
    pub planning: Option<Planning>,
}

/// Microseconds that the DBMS took to plan a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Planning {
    /// Before the first operation.
    pub before: f64,
    /// After the last; none where it was not asked again.
    pub after: Option<f64>,
}

/// One connection's work in a step, or that of several of one kind together. Its histograms may be
/// packed.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerRecord<H = Histogram<u64>> {
    /// Counted from 1; 0 for several together.
    pub client: u32,
    pub operation: Operation,
    pub operations: u64,
    /// Rows inserted, deleted or returned, as the DBMS counts them.
    pub rows: u64,
    /// Statements that returned a result set, that changed rows, and that did neither.
    pub reads: u64,
    pub writes: u64,
    pub others: u64,
    /// Operations begun again because the DBMS asked for it (deadlock, serialization failure).
    pub retries: u64,
    /// Nanoseconds from the start of an operation to its end.
    pub service: H,
    /// Nanoseconds from the intended start of an operation to its end; only where a rate is set.
    pub response: Option<H>,
    /// The longest that an operation began after its intended start, in nanoseconds.
    pub max_lag: u64,
    pub seconds: Vec<Second>,
}

impl StepRecord {
    /// What all connections did together, by kind of operation.
    pub fn work(&self) -> Vec<WorkerRecord> {
        let all = Operation::ALL.into_iter().filter_map(|operation| {
            let workers = self.workers_of(operation);
            (!workers.is_empty()).then(|| WorkerRecord::together(operation, &workers))
        });
        all.collect()
    }

    /// The connections of one kind of operation.
    pub fn workers_of(&self, operation: Operation) -> Vec<&WorkerRecord> {
        self.workers.iter().filter(|worker| worker.operation == operation).collect()
    }
}

impl WorkerRecord {
    /// Several that have done nothing yet.
    pub fn of_several(operation: Operation) -> Self {
        WorkerRecord {
            client: 0,
            operation,
            operations: 0,
            rows: 0,
            reads: 0,
            writes: 0,
            others: 0,
            retries: 0,
            service: growing(),
            response: None,
            max_lag: 0,
            seconds: Vec::new(),
        }
    }

    /// Several of one kind that worked at the same time.
    pub fn together(operation: Operation, workers: &[&WorkerRecord]) -> Self {
        let mut all = WorkerRecord::of_several(operation);
        for worker in workers {
            all.add(worker);
            all.add_seconds(&worker.seconds);
        }
        all
    }

    /// As sysbench counts them.
    pub fn statements(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    /// Adds what another did, but for its seconds: they are other ones if it was at another time.
    pub fn add(&mut self, other: &WorkerRecord) {
        self.operations += other.operations;
        self.rows += other.rows;
        self.reads += other.reads;
        self.writes += other.writes;
        self.others += other.others;
        self.retries += other.retries;
        self.max_lag = self.max_lag.max(other.max_lag);
        add_times(&mut self.service, &other.service);
        if let Some(times) = &other.response {
            add_times(self.response.get_or_insert_with(growing), times);
        }
    }

    /// Adds the seconds of one that worked at the same time.
    fn add_seconds(&mut self, seconds: &[Second]) {
        if self.seconds.len() < seconds.len() {
            self.seconds.resize(seconds.len(), Second::default());
        }
        for (sum, second) in self.seconds.iter_mut().zip(seconds) {
            sum.operations += second.operations;
            sum.rows += second.rows;
            sum.max_service = sum.max_service.max(second.max_service);
        }
    }
}

impl<H> WorkerRecord<H> {
    /// The same with its histograms in another form.
    pub(crate) fn with_times<To>(self, form: impl Fn(H) -> To) -> WorkerRecord<To> {
        WorkerRecord {
            client: self.client,
            operation: self.operation,
            operations: self.operations,
            rows: self.rows,
            reads: self.reads,
            writes: self.writes,
            others: self.others,
            retries: self.retries,
            service: form(self.service),
            response: self.response.map(form),
            max_lag: self.max_lag,
            seconds: self.seconds,
        }
    }
}

fn growing() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are allowed")
}

fn add_times(sum: &mut Histogram<u64>, times: &Histogram<u64>) {
    sum.add(times).expect("a histogram without bounds grows to hold any value");
}

/// What one connection did in one second of a step, by the time its operations ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Second {
    pub operations: u64,
    pub rows: u64,
    /// The longest service time in nanoseconds.
    pub max_service: u64,
}

/// What holds the memory of each server, the page cache of its files included. Where nothing does,
/// what the DBMS does not cache may be in the page cache, and IO-bound by name only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "held_by", rename_all = "snake_case")]
pub enum MemoryHold {
    /// Nothing of rqps's.
    Nothing,
    /// The memory controller of a control group, by the version of its hierarchy.
    CgroupV1 {
        bytes: u64,
    },
    CgroupV2 {
        bytes: u64,
    },
}

impl fmt::Display for MemoryHold {
    /// `96M for each, its page cache included (cgroup v1)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, version) = match *self {
            MemoryHold::Nothing => return f.write_str("not limited by rqps"),
            MemoryHold::CgroupV1 { bytes } => (bytes, 1),
            MemoryHold::CgroupV2 { bytes } => (bytes, 2),
        };
        write!(f, "{} for each, its page cache included (cgroup v{version})", Memory(bytes))
    }
}

/// The machine and the tool, for the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Names the run among all others; its data directories are found by it.
    pub id: String,
    pub rqps_version: String,
    /// RFC 3339, when the run was begun.
    pub created: String,
    /// The command as given.
    pub command: Vec<String>,
    pub cpus: u32,
    /// Facts of the machine by name: kernel, CPU model, governor, filesystem, … in the order shown.
    pub machine: Vec<(String, String)>,
    /// The order in which the contenders ran.
    pub order: Vec<String>,
    /// None in runs of an rqps that did not note it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryHold>,
    /// Whether a contender reads its data past the page cache (direct IO), by its settings in
    /// force: of those that have been started.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub direct_reads: BTreeMap<String, bool>,
    /// How much work the canary of a comparison is: its times are those of the same work in every
    /// sitting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_rounds: Option<u64>,
    /// Who is up together in a comparison, by their places: the same in every sitting, however much
    /// memory there is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<Vec<usize>>>,
    /// None in runs of an rqps that did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelRecord>,
}

/// What the kernel took before the run, in nanoseconds. It is no fact of the machine: a stored base
/// is refused where those differ, and this is never twice the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelRecord {
    /// For a system call that does nothing.
    pub system_call_ns: u64,
    /// For 64 bytes through a Unix socket, sent and received by one thread.
    pub message_ns: u64,
}

impl fmt::Display for KernelRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ns for a system call, {} ns for a message of 64 bytes through a Unix socket",
            self.system_call_ns, self.message_ns
        )
    }
}

impl Manifest {
    /// Who reads past the page cache: `postgres@17.6 no, mysql@8.0.33 yes`.
    pub fn direct_io(&self) -> String {
        let told = |(name, is_direct): (&String, &bool)| {
            format!("{name} {}", if *is_direct { "yes" } else { "no" })
        };
        self.direct_reads.iter().map(told).collect::<Vec<_>>().join(", ")
    }
}
