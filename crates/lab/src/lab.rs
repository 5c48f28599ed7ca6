//! What a run needs of its caller, and how it ends.

use rqps_analysis::comparison::Interim;
use rqps_dbms::Home;
use rqps_load::Cancel;
use rqps_plan::Plan;
use rqps_store::RoundRecord;

use crate::event::Watch;
use crate::restarts::Restarts;

/// What the lab needs from its caller.
pub struct Lab<'a> {
    pub home: &'a Home,
    /// Receives the events.
    pub watch: &'a mut Watch<'a>,
    /// Set when the user wants to stop.
    pub cancel: &'a Cancel,
    /// Whether data directories are kept when a contender is done.
    pub keep_data: bool,
    pub restarts: &'a Restarts,
    /// Judges the rounds of a comparison so far.
    pub judge: &'a dyn Fn(&Plan, &[RoundRecord]) -> Interim,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Complete,
    /// A step or a server failed; the others continued.
    Failed,
    Interrupted,
}
