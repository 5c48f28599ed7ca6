//! The seconds of a step: what all connections did and what it cost.

use std::ops::Range;

use rqps_observe::{Kind, Metric};
use rqps_store::{Column, Operation, Second, Series};

use super::Measured;

pub(crate) struct SecondRow {
    /// Counted from 1.
    pub(crate) number: usize,
    /// In the order of [`Operation::ALL`]; none where the step has no workers for it.
    pub(crate) work: [Option<Second>; Operation::ALL.len()],
    /// In the order of [`Metric::ALL`].
    pub(crate) cost: Vec<Option<u64>>,
}

/// Every second that was recorded; the last is usually shorter than a second.
pub(crate) fn seconds<'m>(measured: &'m Measured<'_>) -> impl Iterator<Item = SecondRow> + 'm {
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

/// The sum of some metrics, second by second without end; none where none of them was read.
pub(crate) fn sums_by_second<'s>(
    samples: &'s Series<Metric>,
    metrics: &[Metric],
) -> impl Iterator<Item = Option<u64>> + use<'s> {
    let columns: Vec<&Column> =
        metrics.iter().filter_map(|metric| samples.column(metric)).collect();
    by_second(samples).map(move |sampled| {
        let read = columns.iter().filter_map(|column| together(column, sampled.clone()));
        read.reduce(|sum, value| sum + value)
    })
}

fn recorded(measured: &Measured) -> usize {
    let sampled = measured.record.samples.at().last().map_or(0, |at| at.ceil() as usize);
    measured.seconds().max(sampled)
}

/// The samples that end in each second, without end.
fn by_second(samples: &Series<Metric>) -> impl Iterator<Item = Range<usize>> {
    let mut next = 0;
    (1..).map(move |second| {
        // A step of two windows has two samples that end in one second.
        let first = next;
        while samples.at().get(next).is_some_and(|at| at.ceil() as usize <= second) {
            next += 1;
        }
        first..next
    })
}

/// Some samples as one: the sum of a counter, the last value of a gauge.
fn together(column: &Column, samples: Range<usize>) -> Option<u64> {
    let mut values = samples.filter_map(|index| column.get(index));
    match column.kind {
        Kind::Counter => values.reduce(|sum, value| sum + value),
        Kind::Gauge => values.next_back(),
    }
}
