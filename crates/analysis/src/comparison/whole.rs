//! The seconds of an arm's whole run.

use std::iter::repeat;

use rqps_observe::Metric;
use rqps_store::{Measurement, Operation, RoundRecord, Second};

use crate::seconds::sums_by_second;

/// The number of whole seconds of an arm's run: the rest of the last second is no rate.
pub fn whole_seconds(pass: &RoundRecord, contender: &str) -> usize {
    let slices = pass.slices.iter().filter(|slice| slice.arm == contender);
    slices.map(|slice| slice.nanos / 1_000_000_000).max().unwrap_or(0) as usize
}

/// The work of all clients of one kind of operation in each of the first seconds; empty without an
/// operation of this kind. There may be no entries for idle seconds at the end.
pub fn done(side: &Measurement, operation: Operation, seconds: usize) -> Vec<Second> {
    let work = side.work.iter().find(|work| work.operation == operation);
    let idle = repeat(Second::default());
    work.map(|work| work.seconds.iter().copied().chain(idle).take(seconds).collect::<Vec<_>>())
        .unwrap_or_default()
}

/// The operations of all clients in each second, of all kinds.
pub(super) fn operations(side: &Measurement) -> Vec<f64> {
    let longest = side.work.iter().map(|work| work.seconds.len()).max().unwrap_or(0);
    let mut operations = vec![0.0; longest];
    for work in &side.work {
        for (sum, second) in operations.iter_mut().zip(&work.seconds) {
            *sum += second.operations as f64;
        }
    }
    operations
}

/// The same in whole seconds.
pub fn rates(pass: &RoundRecord, contender: &str) -> Vec<f64> {
    let mut rates = pass.arms.get(contender).map(operations).unwrap_or_default();
    rates.truncate(whole_seconds(pass, contender));
    rates
}

/// The sum of some metrics in each of the first seconds; empty if none of them was ever read.
pub fn sampled(side: &Measurement, metrics: &[Metric], seconds: usize) -> Vec<f64> {
    if metrics.iter().all(|metric| side.samples.column(metric).is_none()) {
        return Vec::new();
    }
    let sums = sums_by_second(&side.samples, metrics).take(seconds);
    sums.map(|sum| sum.unwrap_or(0) as f64).collect()
}
