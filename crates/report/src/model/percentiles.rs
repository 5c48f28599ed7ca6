//! Response times of a step by percentile, as a line over the number of nines.

use hdrhistogram::Histogram;
use rqps_analysis::comparison::percentile;
use rqps_store::Operation;
use serde::Serialize;

use super::Model;
use super::histograms::{Clock, recorded};

/// One kind of operation of one contender in one step, by one of the two clocks.
#[derive(Serialize)]
pub(crate) struct Percentiles<'a> {
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

pub(crate) fn percentiles<'a>(model: &Model<'a>) -> Vec<Percentiles<'a>> {
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
pub(crate) fn line(recorded: &Histogram<u64>) -> Vec<f64> {
    if recorded.is_empty() {
        return Vec::new();
    }
    let percent = |quarters: i32| 100.0 * (1.0 - 10f64.powf(-f64::from(quarters) / 4.0));
    let known =
        (0..=QUARTERS_OF_NINES).map_while(|quarters| percentile(recorded, percent(quarters)));
    known.map(|nanoseconds| (nanoseconds as f64 / 1e3).round() / 1e3).collect()
}

#[cfg(test)]
mod tests {
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
}
