//! The benchmarks: their data, their statements in each dialect, and the checks that the data are
//! right. Knows nothing of how time is kept or what an operation cost.

mod dialect;
mod explain;
mod index_only;
pub mod insert_benchmark;
pub mod microbenchmark;
mod random;
mod script;

pub use dialect::Dialect;
pub use explain::Explained;
pub use random::{Random, stream};
