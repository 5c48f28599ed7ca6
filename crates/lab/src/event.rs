//! Events while a plan is carried out, for progress.

use std::path::PathBuf;
use std::time::Duration;

use rqps_analysis::comparison::Interim;
use serde::{Deserialize, Serialize};

/// An event. It can be recorded and replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A contender's server is being started.
    Starting {
        contender: String,
    },
    /// An earlier session has completed the first steps of a contender.
    Resumed {
        contender: String,
        steps: usize,
    },
    Started {
        contender: String,
        version: String,
        seconds: f64,
    },
    /// Maintenance and pause before a step, at least this long.
    Pausing {
        contender: String,
        step: String,
        at_least: Duration,
    },
    /// The maintenance is done; the rest of the pause is idle.
    Rested {
        contender: String,
        step: String,
        seconds: f64,
    },
    /// A note for readers of the step's results.
    Noted {
        contender: String,
        step: String,
        note: String,
    },
    StepBegun {
        contender: String,
        step: String,
        number: usize,
        steps: usize,
    },
    /// Once a second during a step; `done` is the finished share of its window, from 0 to 1.
    Progress {
        contender: String,
        step: String,
        pace: Pace,
        done: f64,
    },
    /// All rows of a load are inserted; its indexes are being created.
    Indexing {
        contender: String,
        step: String,
    },
    Checking {
        contender: String,
        step: String,
    },
    StepDone {
        contender: String,
        step: String,
        seconds: f64,
        rate: f64,
        unit: String,
    },
    /// All steps of a contender are done.
    ContenderDone {
        contender: String,
    },
    /// A data directory is kept on disk.
    DataKept {
        contender: String,
        path: PathBuf,
    },
    /// The data are kept in a remote server.
    LeftOnServer {
        contender: String,
        place: String,
        url: String,
    },
    /// A command of the user restarts a remote server.
    Restarting {
        contender: String,
    },
    /// The data of a comparison are being loaded.
    Loading {
        contender: String,
    },
    Loaded {
        contender: String,
        version: String,
        seconds: f64,
    },
    /// Not all servers of a comparison fit in memory, so contenders are measured in pairs with the
    /// baseline.
    InPairs {
        servers: usize,
        /// How many of them fit.
        fit: usize,
        /// Megabytes.
        needed: u64,
        available: u64,
    },
    /// The answers of all contenders to a test are compared.
    Answering {
        test: String,
        /// From 1.
        number: usize,
        tests: usize,
    },
    /// All servers of a round are being started.
    RoundBegun {
        round: u32,
        rounds: u32,
        tests: usize,
    },
    /// Some times a second while a test is measured; `done` is the finished share of the round.
    Measuring {
        round: u32,
        test: String,
        /// The arm that is driven; none with slices.
        contender: Option<String>,
        done: f64,
        /// By name, if known.
        paces: Vec<(String, Pace)>,
    },
    /// Operations of a test are long: it takes these seconds in a round.
    Lasts {
        test: String,
        seconds: f64,
    },
    /// A guard discarded the measurement of a test.
    Refused {
        test: String,
        why: String,
        attempt: u32,
    },
    /// All tests of a round are measured, with their interim results.
    RoundDone {
        round: u32,
        seconds: f64,
        interim: Interim,
    },
    /// The budget ends a comparison before its last round.
    BudgetSpent {
        rounds: u32,
        /// What a verdict needs; none if there are enough rounds.
        enough: Option<Enough>,
    },
    /// After the verdicts: the tests that are profiled, and those that also changed.
    ProfilesBegun {
        tests: Vec<String>,
        left_out: Vec<String>,
    },
    /// All servers of a round of profiles are being started.
    Profiling {
        round: u32,
        rounds: u32,
    },
    /// After the verdicts: the tests whose instructions are counted, and those that also changed.
    CountsBegun {
        tests: Vec<String>,
        left_out: Vec<String>,
    },
    /// A test begins, or another server was counted; `done` is the finished share of the test.
    Counting {
        test: String,
        contender: String,
        done: f64,
    },
    /// There are no instructions of a contender in a test.
    Uncounted {
        test: String,
        contender: String,
        why: String,
    },
    Failed {
        contender: String,
        error: String,
    },
}

/// The current pace of a contender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// What the step counts, per second; in slices, per second of the contender's own slices.
    pub rate: f64,
    /// Mean seconds of an operation of one client.
    pub latency: f64,
}

impl Pace {
    /// The pace of clients that each do one operation after another, by Little's law. An operation
    /// is `worth` units of what is counted.
    pub(crate) fn closed(operations: u64, seconds: f64, clients: usize, worth: f64) -> Pace {
        match operations {
            0 => Pace::default(),
            _ => Pace {
                rate: operations as f64 * worth / seconds,
                latency: clients as f64 * seconds / operations as f64,
            },
        }
    }
}

/// The time that a verdict needs, and what fits into the budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Enough {
    /// Seconds of the rounds that a verdict needs, including loading.
    pub seconds: f64,
    /// How many tests fit into the budget with that number of rounds.
    pub tests: usize,
}

pub type Watch<'a> = dyn FnMut(Event) + 'a;
