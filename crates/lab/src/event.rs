//! What happens while a plan is carried out, for whoever shows it.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Interim;

/// Can be written down, to be told again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// A contender's server is being started.
    Starting {
        contender: String,
    },
    /// An earlier sitting has done the first steps of a contender.
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
    /// Something that a reader of the step's numbers must know.
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
    /// Once a second during a step; `done` is the share of its window, from 0 to 1.
    Progress {
        contender: String,
        step: String,
        pace: Pace,
        done: f64,
    },
    /// All rows of a load are there.
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
    /// A data directory stays on disk.
    DataKept {
        contender: String,
        path: PathBuf,
    },
    /// The data stay on a server that rqps has not started.
    LeftOnServer {
        contender: String,
        place: String,
        url: String,
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
    /// Not all servers of a comparison fit into the memory at once, so the base takes turns with
    /// one contender at a time.
    InPairs {
        servers: usize,
        /// Of those that were planned to be up at once.
        fit: usize,
        /// Megabytes.
        needed: u64,
        available: u64,
    },
    /// All servers of a round are being started.
    RoundBegun {
        round: u32,
        rounds: u32,
        tests: usize,
    },
    /// Some times a second while a test is measured; `done` is the share of the round.
    Measuring {
        round: u32,
        test: String,
        /// Who is driven, if the contestants do not take turns some milliseconds each.
        contender: Option<String>,
        done: f64,
        /// Of those of whom it is known, by name.
        paces: Vec<(String, Pace)>,
    },
    /// A guard did not let a test count.
    Refused {
        test: String,
        why: String,
        attempt: u32,
    },
    /// All tests of a round are measured; where each stands, a line each.
    RoundDone {
        round: u32,
        seconds: f64,
        interim: Interim,
    },
    /// The budget ends a comparison before it has all its rounds.
    BudgetSpent {
        rounds: u32,
        /// What would have been enough for a verdict; none if there are as many rounds.
        enough: Option<Enough>,
    },
    /// The verdicts are there; these tests are profiled, and those have changed as well.
    ProfilesBegun {
        tests: Vec<String>,
        left_out: Vec<String>,
    },
    /// All servers of a round of profiles are being started.
    Profiling {
        round: u32,
        rounds: u32,
    },
    Failed {
        contender: String,
        error: String,
    },
}

/// How fast a contender is at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// Of what the step counts, per second; in slices of the time that the contender is driven.
    pub rate: f64,
    /// Mean seconds of an operation of one client.
    pub latency: f64,
}

impl Pace {
    /// Of clients that each do one operation after the other, which is `worth` so much of what is
    /// counted: then Little's law has the latency.
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

/// What a budget would have had to be, or what would have fit into it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Enough {
    /// Seconds that the fewest rounds of a verdict take, loading included.
    pub seconds: f64,
    /// How many of the tests fit into the budget with as many rounds.
    pub tests: usize,
}

pub type Watch<'a> = dyn FnMut(Event) + 'a;
