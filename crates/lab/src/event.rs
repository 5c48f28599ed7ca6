//! What happens while a plan is carried out, for whoever shows it.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A contender's server is being started.
    Starting {
        contender: String,
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
    /// Once a second during a step.
    Progress {
        contender: String,
        step: String,
        elapsed: Duration,
        rate: f64,
        done: f64,
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
        unit: &'static str,
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
    /// The data of a comparison are being loaded.
    Loading {
        contender: String,
    },
    Loaded {
        contender: String,
        version: String,
        seconds: f64,
    },
    /// Not all servers of a comparison fit into the memory at once, so the base takes turns with one
    /// contender at a time.
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
        done: f64,
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
        standing: Vec<String>,
    },
    /// The budget ends a comparison before it has all its rounds.
    BudgetSpent {
        rounds: u32,
        /// What would have been enough for a verdict; none if there are as many rounds.
        enough: Option<Enough>,
    },
    Failed {
        contender: String,
        error: String,
    },
}

/// What a budget would have had to be, or what would have fit into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enough {
    /// Seconds that the fewest rounds of a verdict take, loading included.
    pub seconds: f64,
    /// How many of the tests fit into the budget with as many rounds.
    pub tests: usize,
}

pub type Watch<'a> = dyn FnMut(Event) + 'a;
