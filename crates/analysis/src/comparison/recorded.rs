//! The recorded times of a test by round and arm, as percentiles.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use rqps_plan::Counts;
use rqps_stats::histogram::{PERCENTILES, is_enough};
use rqps_store::{RoundRecord, WorkRecord};

use super::counted::counted_operation;

/// Round, part and attempt of a measurement, and the arm.
type Place<'a> = (u32, u32, u32, &'a str);

/// The times of an arm in a round.
#[derive(Clone, Copy)]
pub(super) struct Recorded {
    pub(super) operations: u64,
    /// Nanoseconds by [`PERCENTILES`]; none if too few operations lie beyond.
    within: [Option<u64>; PERCENTILES.len()],
    pub(super) longest: u64,
}

/// Times of the operation that a test counts.
#[derive(Default)]
pub struct Times<'a>(BTreeMap<Place<'a>, Recorded>);

impl<'a> Times<'a> {
    /// Of the measurements that count.
    pub fn of(passes: impl Iterator<Item = &'a RoundRecord>, counts: Counts) -> Times<'a> {
        let operation = counted_operation(counts);
        let mut times = BTreeMap::new();
        for pass in passes {
            for (name, side) in &pass.arms {
                let Some(work) = side.work.iter().find(|work| work.operation == operation) else {
                    continue;
                };
                let recorded = of_work(work);
                if recorded.is_empty() {
                    continue;
                }
                let recorded = Recorded {
                    operations: recorded.len(),
                    within: PERCENTILES.map(|(_, percent)| percentile(&recorded, percent)),
                    longest: recorded.max(),
                };
                times.insert(place(pass, name), recorded);
            }
        }
        Times(times)
    }

    /// Whether one of the percentiles is known for any arm.
    pub fn has(&self, which: usize) -> bool {
        self.0.values().any(|recorded| recorded.within[which].is_some())
    }

    pub(super) fn recorded(&self, pass: &RoundRecord, name: &str) -> Option<Recorded> {
        self.0.get(&place(pass, name)).copied()
    }

    /// Nanoseconds, of one of the percentiles.
    pub fn within(&self, pass: &RoundRecord, name: &str, which: usize) -> Option<f64> {
        let nanos = self.recorded(pass, name)?.within[which];
        nanos.filter(|nanos| *nanos > 0).map(|nanos| nanos as f64)
    }
}

fn place<'p>(pass: &RoundRecord, name: &'p str) -> Place<'p> {
    (pass.round, pass.part, pass.attempt, name)
}

/// From when operations were due, if they were; otherwise from when they were started.
fn of_work(work: &WorkRecord) -> Histogram<u64> {
    work.response.as_ref().unwrap_or(&work.service).unpacked()
}

/// Nanoseconds within which `percent` of the responses ended; none if too few were recorded.
pub fn percentile(recorded: &Histogram<u64>, percent: f64) -> Option<u64> {
    is_enough(recorded.len(), percent).then(|| recorded.value_at_percentile(percent))
}
