//! The evidence on one test of one pair of arms, from which causes are derived.

use std::collections::BTreeMap;

use rqps_observe::Meaning;
use rqps_plan::Class;

use super::instructions::Executed;

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ValueRange {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl ValueRange {
    pub fn new(value: f64, low: f64, high: f64) -> ValueRange {
        ValueRange { value, low, high }
    }

    /// The whole interval is above `limit`.
    pub fn is_above(&self, limit: f64) -> bool {
        self.low > limit
    }

    /// From low to high, if both ends are finite.
    pub fn ends(&self) -> Option<(f64, f64)> {
        (self.low.is_finite() && self.high.is_finite()).then_some((self.low, self.high))
    }

    /// With baseline and contender swapped.
    pub fn negated(&self) -> ValueRange {
        ValueRange { value: -self.value, low: -self.high, high: -self.low }
    }

    /// `self`, or with baseline and contender swapped where `sign` is negative.
    pub(super) fn times(&self, sign: f64) -> ValueRange {
        if sign < 0.0 { self.negated() } else { *self }
    }
}

/// The verdict on a test, which comes before its causes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decided {
    Regression,
    Improvement,
    /// The same rate, at a higher cost.
    EfficiencyRegression,
    #[default]
    NoChange,
    Inconclusive,
    Invalid,
}

/// Where the time of an operation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    ServerUser,
    ServerSystem,
    Client,
    RunQueue,
    BlockIo,
    /// Everything else: locks, latches, waits for commits, the network.
    Rest,
}

impl Part {
    pub const ALL: [Part; 6] = [
        Part::ServerUser,
        Part::ServerSystem,
        Part::Client,
        Part::RunQueue,
        Part::BlockIo,
        Part::Rest,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Part::ServerUser => "user CPU",
            Part::ServerSystem => "system CPU",
            Part::Client => "client CPU",
            Part::RunQueue => "run queue",
            Part::BlockIo => "IO wait",
            Part::Rest => "other waiting",
        }
    }
}

/// Microseconds per operation of baseline and contender, and contender minus baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub base: f64,
    pub contender: f64,
    pub change: ValueRange,
}

/// A metric whose whole interval is within a quarter counts as unchanged: causes show in metrics
/// that grow by as much as the time that they are to explain, or by multiples.
const FLAT: f64 = 0.223;

/// The change of a metric per operation, ln(contender / baseline), and the noise of the A/A
/// controls: how far baseline against baseline is from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// The amount per operation of the baseline and of the contender, in the unit of the metric.
    pub base: f64,
    pub contender: f64,
    pub log: ValueRange,
    pub noise: f64,
}

impl Change {
    /// The interval excludes 0, and the change exceeds the noise of the A/A controls.
    pub fn is_sure(&self) -> bool {
        self.is_up(1.0) || self.is_up(-1.0)
    }

    /// False if the change is significant, true if it can only be small, and none otherwise.
    pub fn is_flat(&self) -> Option<bool> {
        let is_small = self.log.low > -FLAT && self.log.high < FLAT;
        match self.is_sure() {
            true => Some(false),
            false => is_small.then_some(true),
        }
    }

    /// The same for a growth, with baseline and contender swapped where `sign` is negative.
    pub(super) fn is_up(&self, sign: f64) -> bool {
        let log = self.log.times(sign);
        log.is_above(0.0) && log.value > self.noise
    }
}

/// What the machine did meanwhile. None: not checked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Environment {
    /// Of all CPUs.
    pub other_cpu_percent: Option<f64>,
    /// The reference loop was slower next to the costlier arm, by half of the change or more.
    pub reference_loop_moved: Option<bool>,
    pub control_moved: Option<bool>,
    /// Baseline and contender took turns within milliseconds, so that it was the same for both.
    pub is_shared: bool,
}

/// Short losses of rate within a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dips {
    /// Seconds from dip to dip; none without a period.
    pub period: Option<f64>,
    /// Seconds from checkpoint to checkpoint.
    pub checkpoint_interval: Option<f64>,
    /// The change of the share of time in stalls, or of the spread between runs.
    pub stalls: Option<ValueRange>,
    /// Seconds by which dips follow vacuum, purge or compaction; none if those did not run.
    pub collector_lag: Option<f64>,
    /// Vacuum, purge and compaction were observed.
    pub collector_watched: bool,
}

/// Microseconds that the DBMS took to plan a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Planning {
    /// On a fresh table.
    pub before: f64,
    /// After the last operation of the test.
    pub after: f64,
}

/// A function whose time per operation has changed, in microseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Growth {
    pub frame: String,
    pub change: ValueRange,
}

/// How the builds of baseline and contender were compiled, if known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Builds {
    /// Not known to differ.
    #[default]
    Alike,
    /// One source, compiled differently.
    OfOneSource,
    /// Different sources, compiled differently, so that either may be the cause.
    Unlike,
}

/// Everything that rules may use. What was not measured is `None`, absent or empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    pub test: String,
    pub class: Class,
    pub base: String,
    pub contender: String,
    pub verdict: Decided,
    /// The command that measures the test again.
    pub again: String,
    /// That command takes `--profile`.
    pub can_be_profiled: bool,
    /// ln(operations per second of the contender / of the baseline).
    pub theta: ValueRange,
    /// The smallest change that matters, as a log.
    pub margin: f64,
    /// Connections.
    pub clients: u32,
    /// Connection time per operation: connections / operations per second.
    pub time: Cost,
    pub parts: BTreeMap<Part, Cost>,
    /// User and system CPU of the server in sum, if that is known more exactly than either.
    pub cpu: Option<Cost>,
    /// By the name in the store, or the DBMS's own.
    pub metrics: BTreeMap<String, Change>,
    /// The meanings of the DBMS's own metrics, by their names.
    pub meanings: BTreeMap<String, Meaning>,
    /// Statements, or rows, per operation of a client: counters of the DBMS are per operation, all
    /// else is per statement or row.
    pub each: Option<f64>,
    pub environment: Environment,
    /// Tests that differ only in the rows of their statements share a family.
    pub family: Option<String>,
    /// Rows that a statement returned or changed, the mean over all statements of a transaction.
    pub rows: Option<f64>,
    pub dips: Option<Dips>,
    /// CPU per operation at the end of the step / at its start.
    pub growth_within: Option<f64>,
    /// What differs between the query plans, in words: empty where they are the same. None: not
    /// known.
    pub plan_changes: Option<Vec<String>>,
    /// Of baseline and contender, for the statement that took the longest to plan at the end.
    pub planning: [Option<Planning>; 2],
    /// Time in syncs per operation.
    pub sync: Option<Cost>,
    /// The tests that only read have not changed.
    pub reads_unaffected: Option<bool>,
    /// The suite shift, as a log.
    pub suite: Option<ValueRange>,
    pub builds: Builds,
    /// Settings with different values.
    pub settings: Vec<String>,
    pub profile: Vec<Growth>,
    /// None if they were not counted.
    pub executed: Option<Executed>,
}

impl Evidence {
    /// Nothing was measured yet.
    pub fn new(class: Class) -> Self {
        Evidence {
            test: String::new(),
            class,
            base: String::new(),
            contender: String::new(),
            verdict: Decided::default(),
            again: String::new(),
            can_be_profiled: false,
            theta: ValueRange::default(),
            margin: 0.0,
            clients: 0,
            time: Cost::default(),
            parts: BTreeMap::new(),
            cpu: None,
            metrics: BTreeMap::new(),
            meanings: BTreeMap::new(),
            each: None,
            environment: Environment::default(),
            family: None,
            rows: None,
            dips: None,
            growth_within: None,
            plan_changes: None,
            planning: [None; 2],
            sync: None,
            reads_unaffected: None,
            suite: None,
            builds: Builds::default(),
            settings: Vec::new(),
            profile: Vec::new(),
            executed: None,
        }
    }
}
