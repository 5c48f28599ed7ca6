//! The run directory: plan, manifest, and the SQLite file that every number comes from.
//!
//! `results.sqlite` is the journal as well: a step has a row from the moment it is begun, so that
//! what a killed rqps had finished is known.

mod directory;
mod error;
mod files;
mod join;
mod merge;
mod packed;
mod pass;
mod profile;
mod read;
mod record;
mod results;
mod schema;
pub mod selftest;
mod series;
mod write;

pub use directory::{RunDirectory, file_name};
pub use error::StoreError;
pub use files::{alone_in, refuse_unwritable, refuse_unwritable_file, write_whole};
pub use join::Unlike;
pub use merge::{Difference, MergeError, Part, merge};
pub use packed::PackedHistogram;
pub use pass::{PassRecord, SideRecord, SliceRecord};
pub use profile::ProfileRecord;
pub use record::{
    ContenderRecord, KernelRecord, Manifest, MemoryHold, Planning, Second, StatementRecord, Status,
    StepRecord, WorkerRecord,
};
pub use rqps_plan::Operation;
pub use series::{Column, EngineSample, Sample, Series};

use rqps_plan::Plan;

/// A whole run as it stands in its directory, for reports.
#[derive(Clone, Debug)]
pub struct Run {
    pub plan: Plan,
    pub manifest: Manifest,
    /// In the order of the plan; those that have not been started are missing.
    pub contenders: Vec<ContenderRecord>,
    /// The latest attempt of every step that was begun, by contender and order.
    pub steps: Vec<StepRecord>,
    /// Of a comparison, in the order in which they were made.
    pub passes: Vec<PassRecord>,
    /// Of a comparison, by test, contender and round.
    pub profiles: Vec<ProfileRecord>,
    /// The runs that it was merged from; none if it was read from one directory.
    pub parts: Vec<Part>,
    /// What differs between those runs although it should not, if they were merged all the same.
    pub differences: Vec<Difference>,
}

impl Run {
    /// Where and how a contender was measured.
    pub fn manifest_of(&self, contender: &str) -> &Manifest {
        let mut parts = self.parts.iter();
        let part = parts.find(|part| part.contenders.iter().any(|name| name == contender));
        part.map_or(&self.manifest, |part| &part.manifest)
    }

    /// Where and how a round of a comparison was measured.
    pub fn manifest_of_round(&self, round: u32) -> &Manifest {
        let part = self.parts.iter().find(|part| part.rounds.contains(&round));
        part.map_or(&self.manifest, |part| &part.manifest)
    }
}
