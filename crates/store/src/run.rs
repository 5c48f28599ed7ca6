//! A complete run, from one directory or several.

use std::collections::BTreeSet;

use rqps_plan::{Comparison, Plan};
use serde::Serialize;

use crate::answers::AnswerRecord;
use crate::counts::CountRecord;
use crate::difference::Difference;
use crate::manifest::{ContenderRecord, Manifest};
use crate::profile::ProfileRecord;
use crate::round::RoundRecord;

/// A complete run as stored in its directory, for reports.
#[derive(Clone, Debug)]
pub struct Run {
    pub plan: Plan,
    pub manifest: Manifest,
    /// In the order of the plan, without those that were not started.
    pub contenders: Vec<ContenderRecord>,
    /// Measurements that were started, in time order; of a single run, by contender and test.
    pub rounds: Vec<RoundRecord>,
    /// For a comparison, by test, contender and round.
    pub profiles: Vec<ProfileRecord>,
    /// For a comparison, by test and contender.
    pub counts: Vec<CountRecord>,
    /// For a comparison of a user's own SQL, by test and arm.
    pub answers: Vec<AnswerRecord>,
    /// The runs that it was merged from; none if it was read from one directory.
    pub parts: Vec<Part>,
    /// Differences between those runs, if they were merged with force.
    pub differences: Vec<Difference>,
}

impl Run {
    /// The plan of a comparison; none for another run.
    pub(crate) fn comparison(&self) -> Option<&Comparison> {
        self.plan.comparison()
    }

    /// The rounds of a single run; nothing of a comparison.
    pub fn single(&self) -> &[RoundRecord] {
        if self.comparison().is_some() { &[] } else { &self.rounds }
    }

    /// Where and how a contender was measured.
    pub fn manifest_of(&self, contender: &str) -> &Manifest {
        let mut parts = self.parts.iter();
        let part = parts.find(|part| part.contenders.iter().any(|name| name == contender));
        part.map_or(&self.manifest, |part| &part.manifest)
    }

    /// Where and how a round of a comparison was measured.
    pub fn manifest_of_round(&self, round: u32) -> &Manifest {
        let part = self.parts.iter().find(|part| part.rounds.contains(&round));
        part.map_or(&self.manifest, |part| &part.manifest)
    }
}

/// A run that others were merged with.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Distinguishes it from the others, such as the name of its directory.
    pub name: String,
    pub manifest: Manifest,
    /// Names of its contenders in the merged run.
    pub contenders: Vec<String>,
    /// Of a comparison, its rounds in the merged run.
    pub rounds: BTreeSet<u32>,
}
