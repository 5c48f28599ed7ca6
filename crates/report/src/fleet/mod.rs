//! Comparisons on several machines as one report. Only ratios to a baseline of the same machine are
//! in it: rates of two machines are on no scale together.

mod build;
mod json;
mod machines;

use rqps_analysis::machines::Fleet;
use rqps_store::Machines;

use crate::joint::JointReport;

/// The name of the JSON's format; it changes when the new format breaks readers of the old one.
pub const FLEET_SCHEMA: &str = "rqps-fleet/1";

/// The analysed results of several machines, for every format.
pub struct FleetReport<'a> {
    fleet: Fleet<'a>,
    /// What is not there, such as a cell that has failed, each in a sentence.
    missing: Vec<String>,
}

impl<'a> FleetReport<'a> {
    pub fn new(machines: &'a Machines, missing: Vec<String>) -> Self {
        FleetReport { fleet: Fleet::new(machines), missing }
    }

    /// Whether a contender is slower on all machines, on most, or on a class of them.
    pub fn has_regression(&self) -> bool {
        self.fleet.has_regression()
    }

    /// Whether anything is missing or undecided.
    pub fn is_open(&self) -> bool {
        self.fleet.is_open() || !self.missing.is_empty()
    }

    /// The report in every format; that of its JSON is [`FLEET_SCHEMA`].
    pub fn formats(&self) -> JointReport {
        let json = json::json(&self.fleet, &self.missing);
        JointReport::new(|extent| build::document(self, extent), json)
    }
}
