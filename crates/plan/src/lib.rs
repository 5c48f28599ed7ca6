//! What to measure: contenders, workloads, sizes. This crate knows nothing about execution.

mod build;
mod cache;
mod class;
mod command;
mod comparison;
mod contender;
mod contender_error;
mod counts;
mod dbms;
mod design;
mod flags;
mod group;
mod injection;
mod matrix;
mod method;
mod nearest;
mod operation;
mod plan_file;
mod quantity;
mod query_plan;
mod rows_verdict;
mod scope;
mod service_level;
mod source;
mod sweep;
pub mod workload;

pub use build::{Build, is_path};
pub use cache::{Cache, CacheError, CacheNeed};
pub use class::Class;
pub use comparison::{
    CONTROL, Choice, Comparison, ComparisonError, Instructions, Profiled, StoredBaseline,
    control_of,
};
pub use contender::{Contender, check_names, is_printable};
pub use contender_error::ContenderError;
pub use counts::Counts;
pub use dbms::{Dbms, Interface};
pub use design::Design;
pub use flags::Flags;
pub use group::Group;
pub use injection::{Dose, Injection};
pub use matrix::{Entry, Key, Line, Matrix, MatrixError, Value, WHO};
pub use method::Method;
pub use nearest::suggestion;
pub use operation::Operation;
pub use plan_file::{Plan, PlanError};
pub use quantity::{Count, Memory, QuantityError, Span};
pub use query_plan::{IndexUsed, QueryPlan};
pub use rows_verdict::RowsVerdict;
pub use scope::Scope;
pub use service_level::{RATE_STEP, ServiceLevel, ServiceLevelError};
pub use source::{Source, SourceName};
pub use sweep::{Sweep, SweepError};
pub use workload::{
    DBBENCH_TESTS, Dbbench, DbbenchTest, InsertBenchmark, LuaTest, LuaWorkload, MIX, Maintenance,
    Microbenchmark, Pacing, Pgbench, PgbenchScript, Profile, Query, QueryMode, ScaleFactor,
    Specification, SpecificationError, SqlSource, SqlTest, SqlWorkload, Step, StepKind, StockKey,
    Tpcc, Workload, default_pause,
};
