//! What was measured before, from which follows what is left to measure.

use rqps_plan::Method;
use rqps_store::RoundRecord;

use super::context::ComparisonContext;
use crate::arm::Arm;

/// How often a discarded measurement is repeated.
pub(crate) const REPEATS: u32 = 2;

/// The records that exist when a round begins.
pub(crate) struct Journal<'a> {
    pub(super) passes: &'a [RoundRecord],
    pub(crate) shared: &'a ComparisonContext<'a>,
    pub(crate) round: u32,
}

impl Journal<'_> {
    /// Whether an arm has failed in a test: then it is excluded from that test.
    pub(crate) fn has_failed(&self, test: &str, arm: &Arm) -> bool {
        if self.shared.lost.has(&arm.name) {
            return true;
        }
        if self.shared.failing.contains(&(test.to_string(), arm.name.clone())) {
            return true;
        }
        let mut passes = self.passes.iter().filter(|pass| pass.test == test);
        passes.any(|pass| failures(pass).any(|name| name == arm.name))
    }

    /// Whether this test is still to be measured with these arms in this round, and an arm remains
    /// to be compared with the baseline. Slices are made with all arms or none, whole runs one by
    /// one.
    pub(super) fn is_left(&self, test: &str, (part, members): (u32, &[usize])) -> bool {
        let able = members.iter().map(|place| &self.shared.arms[*place]);
        let able: Vec<_> = able.filter(|one| !self.has_failed(test, one)).collect();
        let is_whole = self.shared.comparison.method_of(test) == Method::Runs;
        let is_in =
            |pass: &RoundRecord, one: &Arm| pass.slices.iter().any(|slice| slice.arm == one.name);
        // What a guard discarded is repeated in a later session, as in this one.
        let is_settled = |pass: &&RoundRecord| pass.discarded.is_none() || pass.attempt > REPEATS;
        let made = self.attempts(test, part).filter(|pass| !pass.slices.is_empty());
        let made: Vec<&RoundRecord> = made.filter(|pass| is_whole || is_settled(pass)).collect();
        let is_made = match is_whole {
            true => able.iter().all(|one| made.iter().any(|pass| is_in(pass, one))),
            false => !made.is_empty(),
        };
        able.len() > 1 && able.iter().any(|one| one.is_base()) && !is_made
    }

    /// The attempts at a test in this round by the same arms.
    pub(crate) fn attempts(&self, test: &str, part: u32) -> impl Iterator<Item = &RoundRecord> {
        let is_of = move |pass: &&RoundRecord| {
            (pass.round, pass.part, pass.test.as_str()) == (self.round, part, test)
        };
        self.passes.iter().filter(is_of)
    }
}

/// The arms that failed in a round of a test.
pub(super) fn failures(pass: &RoundRecord) -> impl Iterator<Item = &str> {
    let failed = pass.arms.iter().filter(|(_, arm)| arm.failure().is_some());
    failed.map(|(name, _)| name.as_str())
}
