//! What happens while a plan is carried out, for whoever shows it.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug)]
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
    Failed {
        contender: String,
        error: String,
    },
}

pub type Watch<'a> = dyn FnMut(Event) + 'a;
