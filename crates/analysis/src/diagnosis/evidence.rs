//! What is known of one test of one pair of contenders when its causes are asked for.

use std::collections::BTreeMap;

use rqps_observe::Meaning;
use rqps_plan::Class;

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Estimate {
    pub fn new(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, low, high }
    }

    /// The whole interval is above `limit`.
    pub fn is_above(&self, limit: f64) -> bool {
        self.low > limit
    }

    /// From low to high, if it has an end on both sides.
    pub fn ends(&self) -> Option<(f64, f64)> {
        (self.low.is_finite() && self.high.is_finite()).then_some((self.low, self.high))
    }

    /// The same seen from the other side.
    pub fn negated(&self) -> Estimate {
        Estimate { value: -self.value, low: -self.high, high: -self.low }
    }

    /// `self`, or the same seen from the other side where `sign` is negative.
    pub(super) fn times(&self, sign: f64) -> Estimate {
        if sign < 0.0 { self.negated() } else { *self }
    }
}

/// What was decided about a test before its causes are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
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

/// Microseconds per operation of base and contender, and contender minus base.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub base: f64,
    pub contender: f64,
    pub change: Estimate,
}

/// What changes by less than a quarter, whatever of its interval is true, is taken for the same:
/// causes are told by metrics that go up by as much as the time they are to explain, or by
/// multiples.
const FLAT: f64 = 0.223;

/// The change of a metric per operation: ln(contender / base), and how far that of the twins, base
/// against base, goes from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// What an operation of the base and of the contender has of it, in the unit of the metric.
    pub base: f64,
    pub contender: f64,
    pub log: Estimate,
    pub noise: f64,
}

impl Change {
    /// The interval excludes 0, and it is more than the twins' noise.
    pub fn is_sure(&self) -> bool {
        self.is_up(1.0) || self.is_up(-1.0)
    }

    /// False if it is sure, true if what it can be is small, and none if it is neither.
    pub fn is_flat(&self) -> Option<bool> {
        let is_small = self.log.low > -FLAT && self.log.high < FLAT;
        match self.is_sure() {
            true => Some(false),
            false => is_small.then_some(true),
        }
    }

    /// The same of a growth, or seen from the other side where `sign` is negative.
    pub(super) fn is_up(&self, sign: f64) -> bool {
        let log = self.log.times(sign);
        log.is_above(0.0) && log.value > self.noise
    }
}

/// What the machine did meanwhile. None: not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Environment {
    /// Of all CPUs.
    pub foreign_cpu_percent: Option<f64>,
    /// A fixed piece of work was slower on the dearer side, by half of the change or more.
    pub canary_moved: Option<bool>,
    pub twin_moved: Option<bool>,
    /// Base and contender took turns within milliseconds, so that it was the same for both.
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
    pub stalls: Option<Estimate>,
    /// Seconds by which dips follow vacuum, purge or compaction; none where those did not run.
    pub collector_lag: Option<f64>,
    /// Vacuum, purge or compaction were watched.
    pub collector_watched: bool,
}

/// The plans of a statement, by their shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plans {
    pub base: String,
    pub contender: String,
}

/// Microseconds that the DBMS took to plan a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Planning {
    /// Before anything was in its way.
    pub before: f64,
    /// After the last operation of the test.
    pub after: f64,
}

/// A function whose time per operation has changed, in microseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Growth {
    pub frame: String,
    pub change: Estimate,
}

/// How the builds of base and contender were compiled, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Builds {
    /// Not known to differ.
    #[default]
    Alike,
    /// One source, compiled otherwise.
    OfOneSource,
    /// Other sources, compiled otherwise, so that either may be why.
    Unlike,
}

/// All that rules may look at. What was not looked at is `None`, absent or empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    pub test: String,
    pub class: Class,
    pub base: String,
    pub contender: String,
    pub verdict: Verdict,
    /// The command that measures the test again.
    pub again: String,
    /// It takes `--profile`.
    pub can_be_profiled: bool,
    /// ln(operations per second of the contender / of the base).
    pub theta: Estimate,
    /// Connections.
    pub clients: u32,
    /// Connection time per operation: connections / operations per second.
    pub time: Cost,
    pub parts: BTreeMap<Part, Cost>,
    /// Of the server, user and system together, where that is known more exactly than either.
    pub cpu: Option<Cost>,
    /// By the name in the store, or the DBMS's own.
    pub metrics: BTreeMap<String, Change>,
    /// What those of the DBMS's own stand for, by their names.
    pub meanings: BTreeMap<String, Meaning>,
    /// What the DBMS counts is for an operation of a client, all else for a statement or a row: so
    /// many of these an operation has.
    pub each: Option<f64>,
    pub environment: Environment,
    /// Tests that differ only in how many rows their statements are about share a family.
    pub family: Option<String>,
    /// Rows that a statement returned or changed, as a mean of all those of a transaction.
    pub rows: Option<f64>,
    pub dips: Option<Dips>,
    /// CPU per operation at the end of the step / at its begin.
    pub growth_within: Option<f64>,
    pub plans: Option<Plans>,
    /// Of base and contender, of the statement that took the longest to plan in the end.
    pub planning: [Option<Planning>; 2],
    /// Time in syncs per operation.
    pub sync: Option<Cost>,
    /// The pair's reads are the same.
    pub reads_unaffected: Option<bool>,
    /// What all tests have in common, as a log.
    pub suite: Option<Estimate>,
    pub builds: Builds,
    /// Settings with different values.
    pub settings: Vec<String>,
    pub profile: Vec<Growth>,
}

impl Evidence {
    /// Nothing was looked at yet.
    pub fn new(class: Class) -> Self {
        Evidence {
            test: String::new(),
            class,
            base: String::new(),
            contender: String::new(),
            verdict: Verdict::default(),
            again: String::new(),
            can_be_profiled: false,
            theta: Estimate::default(),
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
            plans: None,
            planning: [None; 2],
            sync: None,
            reads_unaffected: None,
            suite: None,
            builds: Builds::default(),
            settings: Vec::new(),
            profile: Vec::new(),
        }
    }
}
