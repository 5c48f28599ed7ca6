//! What to measure: contenders, workloads, sizes. Knows nothing of how anything runs.

mod cache;
mod contender;
mod insert_benchmark;
mod nearest;
mod operation;
mod plan_file;
mod quantity;

pub use cache::{Cache, CacheError};
pub use contender::{Build, Contender, ContenderError, Dbms, Source, check_names, is_path};
pub use insert_benchmark::{
    InsertBenchmark, InsertBenchmarkError, Maintenance, Pacing, Profile, Query, Step, StepKind,
    default_pause,
};
pub use nearest::suggestion;
pub use operation::Operation;
pub use plan_file::{Plan, PlanError};
pub use quantity::{Count, QuantityError, Span};
