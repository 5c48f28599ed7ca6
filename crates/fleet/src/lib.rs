//! Comparisons on many machines, by a scheduler that is there already. This crate writes cells into
//! a folder, hands them over, and reads back what became of them. The folder is the truth: no
//! daemon, no port and no database stand beside it. Knows no statistics.

mod attempt;
mod cell;
mod client;
mod collect;
mod error;
mod file;
mod folder;
mod holder;
pub mod kubernetes;
mod lease;
mod quote;
pub mod slurm;
pub mod ssh;
mod state;
mod submission;

pub use attempt::{Attempt, CellExit};
pub use cell::{CellSpec, cells, hash, hash_file};
pub use collect::{pack, unpack};
pub use error::FleetError;
pub use file::{
    FleetFile, KubernetesOptions, LocalOptions, MachineEntry, Scheduler, SlurmOptions, SplitBy,
    SshOptions,
};
pub use folder::{CellFolder, FleetFolder};
pub use holder::{CellHolder, CellLife};
pub use lease::CellLease;
pub use quote::{shell, shell_line, yaml};
pub use state::CellState;
pub use submission::{CellsByMachine, Submission};
