//! The seconds of a step as lines of a chart, with no more points than a screen can show.

use rqps_plan::Counts;
use rqps_store::{Operation, Second};
use serde::Serialize;

use crate::measured::{Measured, Totals};
use crate::steps::{Model, StepModel};

/// Points of a line. A longer step is cut into stretches of whole seconds. The least and the
/// greatest second of each stretch are kept in the order of time: no stall and no peak is lost.
pub(super) const POINTS: usize = 300;

/// One operation of one step.
#[derive(Serialize)]
pub struct Chart<'a> {
    step: &'a str,
    operation: &'static str,
    /// Whole seconds that two points stand for; 1 if every second has a point of its own.
    stretch: usize,
    /// Seconds from the start of the window.
    at: Vec<f64>,
    lines: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    contender: &'a str,
    status: &'static str,
    /// Rows inserted or deleted, else operations, per second.
    rates: Vec<Option<f64>>,
    /// The longest service time in milliseconds; none in a second without an operation.
    longest: Vec<Option<f64>>,
}

pub fn charts<'a>(model: &'a Model<'a>) -> Vec<Chart<'a>> {
    // Building indexes is one statement: it has no seconds to show.
    let steps = model.steps.iter().filter(|step| step.counts != Counts::RowsIndexed);
    let charts = steps.flat_map(|step| {
        Operation::ALL.into_iter().filter_map(move |operation| chart(model, step, operation))
    });
    charts.collect()
}

fn chart<'a>(
    model: &'a Model<'a>,
    step: &'a StepModel<'a>,
    operation: Operation,
) -> Option<Chart<'a>> {
    let found: Vec<(&Measured, &Totals)> = step
        .measured
        .iter()
        .flatten()
        .filter_map(|measured| Some((measured, measured.of(operation)?)))
        .collect();
    if found.iter().all(|(_, totals)| totals.operations == 0) {
        return None;
    }
    let longest = found.iter().map(|(measured, totals)| whole(measured, totals).len()).max()?;
    let stretch = stretch(longest);
    let lines = found.iter().map(|(measured, totals)| {
        let seconds = whole(measured, totals);
        // A step shorter than a second has one rate, over its own length.
        let length = measured.record.seconds;
        let share = if length > 0.0 && length < 1.0 { length } else { 1.0 };
        let rate = |second: &Second| Some(counted(operation, second) as f64 / share);
        let worst = |second: &Second| match second.max_service {
            0 => None,
            nanoseconds => Some((nanoseconds as f64 / 1e3).round() / 1e3),
        };
        let contender = model.contenders.iter().find(|name| **name == measured.contender);
        Line {
            contender: contender.copied().unwrap_or_default(),
            status: measured.record.status.name(),
            rates: thinned(seconds.iter().map(rate).collect(), stretch),
            longest: thinned(seconds.iter().map(worst).collect(), stretch),
        }
    });
    Some(Chart {
        step: step.name,
        operation: operation.name(),
        stretch,
        at: at(longest, stretch),
        lines: lines.collect(),
    })
}

/// Whole seconds that two points stand for; 1 if every second has a point of its own.
pub(super) fn stretch(seconds: usize) -> usize {
    if seconds <= POINTS { 1 } else { (2 * seconds).div_ceil(POINTS) }
}

/// Without the last second if the step ended within it: its count is not a rate.
fn whole<'t>(measured: &Measured, totals: &'t Totals) -> &'t [Second] {
    let seconds = totals.seconds.as_slice();
    match measured.record.seconds {
        length if length >= 1.0 => &seconds[..seconds.len().min(length as usize)],
        _ => seconds,
    }
}

fn counted(operation: Operation, second: &Second) -> u64 {
    match operation {
        Operation::Insert | Operation::Delete => second.rows,
        Operation::Query | Operation::Transaction => second.operations,
    }
}

/// The end of each second, or a quarter and three quarters into each stretch.
pub(super) fn at(seconds: usize, stretch: usize) -> Vec<f64> {
    if stretch == 1 {
        return (1..=seconds).map(|second| second as f64).collect();
    }
    let pair = |start: usize| [0.25, 0.75].map(|part| start as f64 + part * stretch as f64);
    (0..seconds).step_by(stretch).flat_map(pair).collect()
}

pub(super) fn thinned(values: Vec<Option<f64>>, stretch: usize) -> Vec<Option<f64>> {
    if stretch == 1 { values } else { values.chunks(stretch).flat_map(extremes).collect() }
}

/// The least and the greatest, in the order of time.
fn extremes(values: &[Option<f64>]) -> [Option<f64>; 2] {
    let mut known = values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)));
    let Some(first) = known.next() else { return [None, None] };
    let (mut least, mut most) = (first, first);
    for value in known {
        if value.1 < least.1 {
            least = value;
        }
        if value.1 >= most.1 {
            most = value;
        }
    }
    if least.0 < most.0 { [Some(least.1), Some(most.1)] } else { [Some(most.1), Some(least.1)] }
}

/// Three significant digits: a chart shows no more.
pub(super) fn short(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_keeps_its_least_and_greatest_in_their_order() {
        let values = |list: &[f64]| list.iter().copied().map(Some).collect::<Vec<_>>();
        let thin = thinned(values(&[5.0, 1.0, 9.0, 4.0, 8.0, 7.0, 2.0, 3.0]), 4);
        assert_eq!(thin, values(&[1.0, 9.0, 8.0, 2.0]));
        assert_eq!(thinned(values(&[3.0, 3.0, 3.0]), 2), values(&[3.0, 3.0, 3.0, 3.0]));
        assert_eq!(thinned(vec![None, None, Some(1.0)], 2)[..2], [None, None]);
        assert_eq!(thinned(vec![None, Some(2.0)], 2), values(&[2.0, 2.0]));
    }

    #[test]
    fn points_and_their_times_are_equally_many() {
        for (seconds, stretch) in [(7, 1), (600, 4), (601, 5), (3_599, 24)] {
            let values = vec![Some(1.0); seconds];
            assert_eq!(thinned(values, stretch).len(), at(seconds, stretch).len());
            assert!(at(seconds, stretch).len() <= POINTS);
        }
    }

    #[test]
    fn a_chart_has_three_digits() {
        assert_eq!([0.0, 1.23456, 98765.4].map(short), [0.0, 1.23, 98800.0]);
    }
}
