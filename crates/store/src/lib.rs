//! The run directory: plan, manifest, and the SQLite file that every number comes from.

mod record;

pub use record::{ContenderRecord, Manifest, Sample, Second, Status, StepRecord, WorkerRecord};
pub use rqps_plan::Operation;

use rqps_plan::Plan;

/// A whole run as it stands in its directory, for reports.
#[derive(Clone, Debug)]
pub struct Run {
    pub plan: Plan,
    pub manifest: Manifest,
    /// In the order of the plan; those that have not been started are missing.
    pub contenders: Vec<ContenderRecord>,
    /// The latest attempt of every step that was begun, by contender and order.
    pub steps: Vec<StepRecord>,
}
