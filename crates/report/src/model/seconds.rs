//! The seconds of a step: what all connections did and what it cost.

use rqps_observe::Reading;
use rqps_store::{Operation, Sample, Second};

use super::Measured;

pub(crate) struct SecondRow {
    /// Counted from 1.
    pub(crate) number: usize,
    /// In the order of [`Operation::ALL`]; none where the step has no workers for it.
    pub(crate) work: [Option<Second>; Operation::ALL.len()],
    pub(crate) cost: Reading,
}

/// Every second that was recorded; the last is usually shorter than a second.
pub(crate) fn seconds<'m>(measured: &'m Measured<'_>) -> impl Iterator<Item = SecondRow> + 'm {
    let samples = &measured.record.samples;
    let sampled = samples.last().map_or(0, |sample| sample.at.ceil() as usize);
    (0..measured.seconds().max(sampled)).map(move |second| {
        // A step of two windows has two samples that end in one second.
        let ends_here = |sample: &&Sample| sample.at.ceil() as usize == second + 1;
        let costs = samples.iter().filter(ends_here).map(|sample| sample.cost.clone());
        SecondRow {
            number: second + 1,
            work: Operation::ALL.map(|operation| {
                let totals = measured.of(operation)?;
                Some(totals.seconds.get(second).copied().unwrap_or_default())
            }),
            cost: costs.reduce(|sum, cost| sum.plus(&cost)).unwrap_or_default(),
        }
    })
}
