//! Carries out a plan: which arm runs when, on which data, and what is recorded. This crate knows
//! no HTML and no statistics.
//!
//! [`run`] goes through the contenders in random order. Each is started on a data directory of its
//! own, runs the steps that the journal lacks, is checked after every one, and is removed when all
//! are done. The data of failed and interrupted contenders are kept, to be resumed.

mod alone;
mod arm;
mod arrivals;
mod cache;
mod client_cpus;
mod compare;
mod confine;
mod contender;
mod engine;
mod error;
mod estimate;
mod event;
mod lab;
mod laps;
mod measure;
mod other_disk;
mod remaining;
mod restarts;
mod run;
mod selftest;
mod stage;
mod task;
mod trying;

pub use arrivals::TooFewArrivals;
pub use compare::{StoredBaselineError, stored_baseline};
pub use confine::memory_hold;
pub use error::LabError;
pub use estimate::{PlanEstimate, RemoteNeeds, Time, build_bytes, estimate, log_share, pace};
pub use event::{Enough, Event, Pace, Watch};
pub use lab::{Lab, Outcome};
pub use other_disk::on_other_disks;
pub use remaining::Remaining;
pub use restarts::Restarts;
pub use run::{arrive, prepare, run, validate};
pub use selftest::{obstacle, run_injected};
