//! The run directory: plan, manifest, and the SQLite file that every number comes from.
//!
//! `results.sqlite` is the journal as well: a test of a single run has a row from its start, a
//! round of a comparison from its end. So it shows what a killed rqps had finished.

mod answers;
mod column;
mod counts;
mod directory;
mod error;
mod files;
mod join;
mod machines;
mod manifest;
mod merge;
mod packed;
mod profile;
mod read;
mod results;
mod round;
mod schema;
pub mod selftest;
mod series;
pub mod track;
mod work;
mod write;

pub use answers::AnswerRecord;
pub use counts::{CountRecord, FunctionCount};
pub use directory::{RunDirectory, file_name};
pub use error::StoreError;
pub use files::{alone_in, refuse_unwritable, refuse_unwritable_file, write_whole};
pub use join::Unlike;
pub use machines::{MachineRuns, Machines, are_of_machines, by_machine};
pub use manifest::{ContenderRecord, KernelRecord, Manifest, MemoryHold};
pub use merge::{Difference, MergeError, Part, merge};
pub use packed::PackedHistogram;
pub use profile::ProfileRecord;
pub use round::{Measurement, Planning, RoundRecord, SliceRecord, StatementRecord, Status};
pub use rqps_plan::Operation;
pub use series::{Column, EngineSample, Sample, Series};
pub use work::{Second, WorkRecord};

use rqps_plan::Plan;

/// A complete run as stored in its directory, for reports.
#[derive(Clone, Debug)]
pub struct Run {
    pub plan: Plan,
    pub manifest: Manifest,
    /// In the order of the plan, without those that were not started.
    pub contenders: Vec<ContenderRecord>,
    /// Measurements that were started, in time order; of a single run, by contender and test.
    pub rounds: Vec<RoundRecord>,
    /// For a comparison, by test, contender and round.
    pub profiles: Vec<ProfileRecord>,
    /// For a comparison, by test and contender.
    pub counts: Vec<CountRecord>,
    /// For a comparison of a user's own SQL, by test and arm.
    pub answers: Vec<AnswerRecord>,
    /// The runs that it was merged from; none if it was read from one directory.
    pub parts: Vec<Part>,
    /// Differences between those runs, if they were merged with force.
    pub differences: Vec<Difference>,
}

impl Run {
    /// The rounds of a single run; nothing of a comparison.
    pub fn single(&self) -> &[RoundRecord] {
        if self.plan.comparison().is_some() { &[] } else { &self.rounds }
    }

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
