//! What work costs: counters of the operating system, read at the edges of a window and once a
//! second. Knows nothing of workloads.

mod engine;
mod fitness;
mod host;
mod machine;
mod metric;
mod observer;
mod process_tree;

pub use engine::{EngineReading, EngineValue};
pub use fitness::{Finding, examine};
pub use machine::{cpus, machine_facts};
pub use metric::{Kind, Metric, Reading};
pub use observer::Observer;
