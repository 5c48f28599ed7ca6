//! What work costs: counters of the operating system, read at the edges of a window and once a
//! second. Knows nothing of workloads.

mod metric;

pub use metric::{Kind, Metric, Reading};
