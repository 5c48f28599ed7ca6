//! Verdicts on quantiles of times (docs/latency.md).
//!
//! A quantile of each round is one observation, as a rate is. Its log ratio to the baseline goes
//! the way of rates: t over restarts, or the shift of whole runs; intervals that the A/A control
//! widens; one family, here of all tests and quantiles of a contender. Rounds are neither pooled
//! nor resampled: with as few as there are, a bootstrap of rounds finds 8 to 10 % of differences
//! that do not exist at a level of 5 %.

use crate::estimate::Estimate;
use crate::label::{Kind, Label};
use crate::verdict::{Cell, LogRatios, LogValues, Options, Sample, judge};

/// Bins of a histogram with three digits are up to a thousandth wide, and both sides are rounded.
const RESOLUTION: f64 = 0.002;
/// Below it, bins are as wide as a nanosecond.
const THREE_DIGITS: f64 = 1_000.0;

/// Fewer operations beyond a quantile leave more noise within a round than between rounds.
const BEYOND: u64 = 100;

/// The operations of a round, on either side, that a verdict on a percentile needs.
pub fn needed(percentile: f64) -> u64 {
    // In thousandths of a percent, where the published percentiles are exact.
    let beyond = ((100.0 - percentile) * 1_000.0).round() as u64;
    (BEYOND * 100_000).div_ceil(beyond.max(1))
}

/// The smallest change that matters, as a log: at the median that of the rate, and more in the
/// tail, which few users meet and which differs more from run to run.
pub fn margin(percentile: f64, of_rate: f64) -> f64 {
    match percentile {
        ..95.0 => of_rate,
        95.0..99.0 => of_rate.max(0.05),
        99.0..99.9 => of_rate.max(0.10),
        _ => of_rate.max(0.20),
    }
}

/// A quantile of the times of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantile {
    pub test: String,
    /// Such as `p99`.
    pub name: &'static str,
    /// Quantiles of a class have similar variances.
    pub class: String,
    /// As a log.
    pub margin: f64,
    /// Logs of times: more is slower.
    pub times: Sample,
    /// The shortest of these times, in nanoseconds.
    pub shortest: f64,
}

/// The verdict on a quantile.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileVerdict {
    /// That of a rate: a regression is a longer time.
    pub label: Label,
    /// The log ratio of the times, its interval adjusted for the family.
    pub estimate: Estimate,
    pub adjusted_p: f64,
    /// The MDE, as a log.
    pub detectable: f64,
    /// The smallest change that matters, as a log.
    pub margin: f64,
    pub rounds: usize,
}

/// Judges the quantiles of one contender.
pub fn judge_quantiles(quantiles: &[Quantile], options: &Options) -> Vec<QuantileVerdict> {
    let cells: Vec<Cell> = quantiles.iter().map(cell).collect();
    let bins = quantiles.iter().map(|one| RESOLUTION * (THREE_DIGITS / one.shortest).max(1.0));
    // What lies within the bins cannot be told apart, whatever the rounds agree on.
    let drift = options.drift + bins.fold(0.0, f64::max);
    let verdicts = judge(&cells, &Options { drift, ..*options }).verdicts.into_iter();
    let verdict = |(of, quantile): (crate::verdict::Verdict, &Quantile)| QuantileVerdict {
        estimate: of.estimate.inverse(),
        adjusted_p: of.adjusted_p,
        detectable: of.detectable,
        margin: quantile.margin,
        rounds: of.contributions.len(),
        label: of.label,
    };
    verdicts.zip(quantiles).map(verdict).collect()
}

/// As the rate of a client that does one operation after the other, each as long as the quantile.
fn cell(of: &Quantile) -> Cell {
    let rate = match &of.times {
        Sample::Slices(rounds) => Sample::Slices(
            rounds
                .iter()
                .map(|round| LogRatios {
                    contender: -round.contender,
                    control: round.control.map(|control| -control),
                })
                .collect(),
        ),
        Sample::Runs(rounds) => Sample::Runs(
            rounds
                .iter()
                .map(|round| LogValues {
                    base: -round.base,
                    control: round.control.map(|control| -control),
                    contender: -round.contender,
                })
                .collect(),
        ),
    };
    // The kind decides the margin alone, which is set here.
    let cell = Cell::new(format!("{} {}", of.test, of.name), Kind::CachedRead, rate);
    Cell { class: of.class.clone(), margin: of.margin, ..cell }
}

#[cfg(test)]
mod tests;
