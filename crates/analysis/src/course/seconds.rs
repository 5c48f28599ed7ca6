//! The seconds of a step: what all connections did and what it cost.

use rqps_observe::Metric;
use rqps_store::{Column, Operation, Second};

use crate::measured::Measured;
use crate::seconds::{by_second, sums_by_second, together};

pub struct SecondRow {
    /// Counted from 1.
    pub number: usize,
    /// In the order of [`Operation::ALL`]; none where the step has no workers for it.
    pub work: [Option<Second>; Operation::ALL.len()],
    /// In the order of [`Metric::ALL`].
    pub cost: Vec<Option<u64>>,
}

/// Every second that was recorded; the last is usually shorter than a second.
pub fn seconds<'m>(measured: &'m Measured<'_>) -> impl Iterator<Item = SecondRow> + 'm {
    let samples = &measured.record.samples;
    let columns: Vec<Option<&Column>> =
        Metric::ALL.iter().map(|metric| samples.column(metric)).collect();
    (0..recorded(measured)).zip(by_second(samples)).map(move |(second, sampled)| SecondRow {
        number: second + 1,
        work: Operation::ALL.map(|operation| {
            let totals = measured.of(operation)?;
            Some(totals.seconds.get(second).copied().unwrap_or_default())
        }),
        cost: columns.iter().map(|column| together((*column)?, sampled.clone())).collect(),
    })
}

/// The sum of some metrics in each of these seconds; none where none of them was read.
pub(super) fn sums<'m>(
    measured: &'m Measured<'_>,
    metrics: &[Metric],
) -> impl Iterator<Item = Option<u64>> + 'm {
    sums_by_second(&measured.record.samples, metrics).take(recorded(measured))
}

fn recorded(measured: &Measured) -> usize {
    let sampled = measured.record.samples.at().last().map_or(0, |at| at.ceil() as usize);
    measured.seconds().max(sampled)
}
