//! Numbers derived from numbers: no IO, no terminal, no knowledge of how anything was measured.
//!
//! Everything here takes plain totals and slices, so that a published row of a report can be put
//! in by hand and must come out as it was printed.

pub mod acceptance;
pub mod across;
pub mod agreement;
mod analysis;
pub mod autocorrelation;
pub mod bands;
pub mod binomial;
pub mod bisect;
pub mod change_points;
pub mod client_share;
pub mod columns;
pub mod control;
pub mod costs;
pub mod detectable;
pub mod digits;
mod distribution;
mod estimate;
pub mod histogram;
pub mod hodges_lehmann;
pub mod label;
pub mod latency;
pub mod moderated;
pub mod multiplicity;
pub mod nights;
pub mod noise;
pub mod normalised;
pub mod paired;
pub mod profile;
pub mod random_effects;
pub mod scalability;
#[cfg(test)]
mod simulation;
pub mod sla;
pub mod slices;
pub mod stalls;
pub mod steady;
pub mod stop;
pub mod suite_shift;
pub mod tail;
pub mod variation;
pub mod verdict;
mod window;

pub use columns::{Column, METRICS, NOT_AVAILABLE};
pub use costs::COSTS;
pub use estimate::{Estimate, Interval};
pub use window::{Normaliser, Window};
