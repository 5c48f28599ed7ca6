//! Whom to measure, as every verb that measures has it.

use clap::Args;
use rqps_plan::{Contender, Sweep};

#[derive(Args)]
pub(crate) struct Contenders {
    /// Whom to measure; the others are relative to the first. Braces stand for several:
    /// 'postgres@{17.6,18.0}:x10{a,b}'.
    #[arg(value_name = "CONTENDER", required_unless_present = "resume")]
    contenders: Vec<Sweep>,
}

impl Contenders {
    /// All of them, in order; none where a run is resumed.
    pub(crate) fn all(&self) -> Vec<Contender> {
        self.contenders.iter().flat_map(|sweep| sweep.0.clone()).collect()
    }
}
