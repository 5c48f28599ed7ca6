//! The run directory: plan, manifest, and the SQLite file that every number comes from.
//!
//! `results.sqlite` is the journal as well: a test of a single run has a row from its start, a
//! round of a comparison from its end. So it shows what a killed rqps had finished.

mod answers;
mod column;
mod conditions;
mod counts;
mod difference;
mod directory;
mod error;
mod files;
mod join;
mod machines;
mod manifest;
mod merge;
mod merge_error;
mod packed;
mod profile;
mod read;
mod results;
mod round;
mod run;
mod schema;
pub mod selftest;
mod series;
mod statements;
pub mod track;
mod work;
mod write;

pub use answers::AnswerRecord;
pub use counts::{CountRecord, FunctionCount};
pub use difference::Difference;
pub use directory::{RunDirectory, file_name};
pub use error::StoreError;
pub use files::{alone_in, refuse_unwritable, refuse_unwritable_file, write_whole};
pub use machines::{MachineRuns, Machines, are_of_machines, by_machine};
pub use manifest::{ContenderRecord, KernelRecord, Manifest, MemoryHold};
pub use merge::merge;
pub use merge_error::{MergeError, Unlike};
pub use packed::PackedHistogram;
pub use profile::ProfileRecord;
pub use round::{Measurement, Planning, RoundRecord, SliceRecord, StatementRecord, Status};
pub use rqps_plan::Operation;
pub use run::{Part, Run};
pub use series::{Column, EngineSample, Sample, Series};
pub use work::{Second, WorkRecord};
