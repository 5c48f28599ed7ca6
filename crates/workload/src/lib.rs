//! The benchmarks: their data, their statements in each dialect, and the checks that the data are
//! right. Knows nothing of how time is kept or what an operation cost.

mod check;
mod explain;
mod index_only;
pub mod insert_benchmark;
pub mod microbenchmark;
mod random;
mod registry;
mod script;
mod task;

pub use check::CheckError;
pub use explain::Explained;
pub use random::{Random, stream};
pub use registry::{Asked, FlagError, VERBS, Verb, Wanted, driver, is_table, tasks};
pub use rqps_dbms::Dialect;
pub use task::{
    Assigned, Cast, Counted, Driver, End, Part, Rest, Site, Takes, Task, WorkloadError,
};

/// Whether a name is a prefix and a number.
fn is_numbered(name: &str, prefix: &str) -> bool {
    let digits = name.strip_prefix(prefix).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
