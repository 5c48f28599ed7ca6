//! Response times of a step by percentile, as a line over the number of nines, by one of the two
//! clocks.

use hdrhistogram::Histogram;
use rqps_stats::histogram::{BUCKETS, bucket};
use rqps_store::Operation;
use serde::Serialize;

use crate::comparison::percentile;
use crate::measured::Totals;
use crate::steps::Model;

/// Where the time of a response starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// When it was sent.
    Service,
    /// When it was due, in a step that writes at a rate.
    Response,
}

impl Clock {
    pub const ALL: [Clock; 2] = [Clock::Service, Clock::Response];

    pub fn name(self) -> &'static str {
        match self {
            Clock::Service => "service",
            Clock::Response => "response",
        }
    }

    /// `Insert response time, from when it was due`
    pub fn title(self, operation: Operation) -> String {
        let operation = match operation {
            Operation::Insert => "Insert",
            Operation::Delete => "Delete",
            Operation::Query => "Query",
            Operation::Transaction => "Transaction",
        };
        match self {
            Clock::Service => format!("{operation} service time, from when it was sent"),
            Clock::Response => format!("{operation} response time, from when it was due"),
        }
    }
}

/// None in a step without a rate, which has one clock.
pub fn recorded(totals: &Totals, clock: Clock) -> Option<Histogram<u64>> {
    match clock {
        Clock::Service => Some(totals.service.unpacked()),
        Clock::Response => totals.response.as_ref().map(|times| times.unpacked()),
    }
}

/// One kind of operation of one contender in one step, by one of the two clocks.
#[derive(Serialize)]
pub struct Percentiles<'a> {
    step: &'a str,
    operation: &'static str,
    clock: &'static str,
    contender: &'a str,
    /// Milliseconds within which 1 - 10^(-i / 4) of the responses ended, while ten responses took
    /// longer.
    ms: Vec<f64>,
}

/// Up to 99.999 %.
const QUARTERS_OF_NINES: i32 = 20;

pub fn percentiles<'a>(model: &Model<'a>) -> Vec<Percentiles<'a>> {
    let mut lines = Vec::new();
    for step in &model.steps {
        for operation in Operation::ALL {
            for clock in Clock::ALL {
                for (index, measured) in step.done() {
                    let totals = measured.of(operation);
                    let ms =
                        totals.and_then(|totals| recorded(totals, clock)).map(|times| line(&times));
                    if let Some(ms) = ms.filter(|ms| ms.len() > 1) {
                        let contender = model.contenders[index];
                        let (operation, clock) = (operation.name(), clock.name());
                        lines.push(Percentiles {
                            step: step.name,
                            operation,
                            clock,
                            contender,
                            ms,
                        });
                    }
                }
            }
        }
    }
    lines
}

/// Milliseconds within which 1 - 10^(-i / 4) ended, while ten took longer.
pub(super) fn line(recorded: &Histogram<u64>) -> Vec<f64> {
    if recorded.is_empty() {
        return Vec::new();
    }
    let percent = |quarters: i32| 100.0 * (1.0 - 10f64.powf(-f64::from(quarters) / 4.0));
    let known =
        (0..=QUARTERS_OF_NINES).map_while(|quarters| percentile(recorded, percent(quarters)));
    known.map(|nanoseconds| (nanoseconds as f64 / 1e3).round() / 1e3).collect()
}

/// Responses by the posts' buckets. A recorded value stands for a small range: its lowest value
/// counts, so a response of exactly a bound is counted below it.
pub fn bucket_counts(recorded: &Histogram<u64>) -> [u64; BUCKETS] {
    let mut counts = [0; BUCKETS];
    for value in recorded.iter_recorded() {
        let lowest = recorded.lowest_equivalent(value.value_iterated_to());
        counts[bucket(lowest)] += value.count_since_last_iteration();
    }
    counts
}

#[cfg(test)]
mod tests {
    use rqps_stats::histogram::BOUNDS;

    use super::*;

    #[test]
    fn a_line_ends_where_fewer_than_ten_responses_are_left() {
        let mut recorded = Histogram::<u64>::new(3).unwrap();
        (1..=1_000).for_each(|value| recorded.record(value * 1_000_000).unwrap());
        let line = line(&recorded);
        assert_eq!(line.len(), 9, "99 % is the last that has ten beyond it");
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 0.002;
        assert!(near(line[4], 900.0) && near(line[8], 990.0), "{line:?}");
    }

    #[test]
    fn a_response_of_exactly_a_bound_counts_below_it() {
        for (index, bound) in BOUNDS.into_iter().enumerate() {
            let mut recorded = Histogram::<u64>::new(3).unwrap();
            recorded.record(bound).unwrap();
            assert_eq!(bucket_counts(&recorded)[index], 1, "{bound} ns");
            recorded.record(bound + bound / 100).unwrap();
            assert_eq!(bucket_counts(&recorded)[index + 1], 1, "1% above {bound} ns");
        }
    }
}
