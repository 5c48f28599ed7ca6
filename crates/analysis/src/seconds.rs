//! What was sampled, second by second.

use std::ops::Range;

use rqps_observe::{Kind, Metric};
use rqps_store::{Column, Series};

/// The sum of some metrics, second by second without end; none where none of them was read.
pub fn sums_by_second<'s>(
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

/// The samples that end in each second, without end.
pub fn by_second(samples: &Series<Metric>) -> impl Iterator<Item = Range<usize>> {
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
pub fn together(column: &Column, samples: Range<usize>) -> Option<u64> {
    let mut values = samples.filter_map(|index| column.get(index));
    match column.kind {
        Kind::Counter => values.reduce(|sum, value| sum + value),
        Kind::Gauge => values.next_back(),
    }
}
