//! Numbers derived from numbers: no IO, no terminal, no knowledge of how anything was measured.
//!
//! Everything here takes plain totals and slices, so that a published row of a report can be put
//! in by hand and must come out as it was printed.

pub mod bands;
pub mod cause;
pub mod columns;
pub mod costs;
pub mod histogram;
pub mod sla;
pub mod tail;
mod window;

pub use columns::{Column, METRICS, NOT_AVAILABLE};
pub use costs::COSTS;
pub use window::{Normaliser, Window};
