//! From the rounds of all tests of one contender to a verdict on each (docs/verdicts.md).
//!
//! All numbers are natural logs. The contender's tests are one family; call [`judge`] once for each
//! contender. [`flagged`] chooses the tests to measure again after a screen.
//! [`StopRule`](crate::stop::StopRule) decides whether another round is needed, from the `plain`
//! interval of a verdict.
//!
//! ```
//! use rqps_stats::label::Kind;
//! use rqps_stats::verdict::{Cell, LogRatios, Options, Sample, judge};
//!
//! // Eight restarts of slices, each with its log ratio of the contender and of the A/A control.
//! let restarts = [-0.024, -0.021, -0.026, -0.023, -0.020, -0.025, -0.022, -0.024]
//!     .iter()
//!     .zip([0.002, -0.001, 0.001, -0.002, 0.003, 0.0, -0.002, 0.001])
//!     .map(|(contender, control)| LogRatios { contender: *contender, control: Some(control) })
//!     .collect();
//! let cell = Cell::new("point-query", Kind::CachedRead, Sample::Slices(restarts));
//!
//! let report = judge(&[cell], &Options::default());
//! let verdict = &report.verdicts[0];
//! assert_eq!(verdict.label.to_string(), "regression");
//! assert_eq!(format!("{:.3}", verdict.ratio()), "0.977");
//! let interval = verdict.estimate.interval.exp();
//! assert_eq!(format!("{:.3} – {:.3}", interval.low, interval.high), "0.975 – 0.979");
//! ```

mod costs;
mod family;

use crate::analysis::{Analysis, analyses, controls, own_controls};
use crate::control::widening;
use crate::estimate::{Estimate, Interval};
use crate::label::{CONTROL_ALPHA, Evidence, Kind, Label};
use crate::multiplicity::Adjusted;
use crate::paired::{PAIR_ABOVE, share_of_rounds};
use costs::{CostAnalysis, costs, risen};
use family::adjust;

pub use crate::analysis::{LogRatios, LogValues, Sample};
pub use family::{Options, SCREEN_ALPHA, Stage, flagged};

/// The version of the computation from slices and runs to a verdict. Raise it by one whenever the
/// same slices or runs would give another number of a round, another estimate or interval, or
/// another label: the result of a selftest holds for one version only. Version 1 compares a
/// contender with baseline and control one by one; before it was compared with their mean in each
/// cycle. From version 2 on a variance borrows from tests with similar noise, and its degrees of
/// freedom are at most those of all of them. From version 3 on the A/A control widens intervals
/// where it made results invalid before, its variance borrows as well, and fewer than three rounds
/// decide nothing.
pub const ESTIMATOR: u32 = 3;

/// Fewer rounds decide nothing: two are close to each other by chance.
pub const LEAST_ROUNDS: usize = 3;

/// A cost per operation, in the rounds of the rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    pub name: String,
    pub sample: Sample,
}

/// One test of the contender.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub test: String,
    /// Tests of a class have similar variances.
    pub class: String,
    /// The margin on the log scale.
    pub margin: f64,
    pub stage: Stage,
    /// More is better.
    pub rate: Sample,
    /// Less is better.
    pub costs: Vec<Cost>,
    /// The rate of a second measurement of the contender against the first, if the baseline's
    /// control says nothing about it: it is on a server that others run.
    pub own_control: Option<Sample>,
    /// Why the measurement is discarded.
    pub refused: Option<String>,
    /// … because an execution was ended, after so many times the time that it takes the baseline.
    pub overdue: Option<f64>,
    /// Operations per second at which the client held operations back.
    pub capped: Option<f64>,
}

impl Cell {
    /// A test with a single stage, the margin and class of its kind, and no costs.
    pub fn new(test: impl Into<String>, kind: Kind, rate: Sample) -> Cell {
        Cell {
            test: test.into(),
            class: format!("{kind:?}"),
            margin: kind.margin(),
            stage: Stage::Single,
            rate,
            costs: Vec::new(),
            own_control: None,
            refused: None,
            overdue: None,
            capped: None,
        }
    }
}

/// The verdict on one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub test: String,
    /// The rounds that it comes from.
    pub stage: Stage,
    pub label: Label,
    /// The log ratio of the rates, its interval adjusted for the family, and its own p-value. NaN
    /// and everything if there are too few rounds.
    pub estimate: Estimate,
    /// The same, with the interval of the test by itself.
    pub plain: Estimate,
    /// The 90 % interval of the test by itself.
    pub interval_90: Interval,
    /// The standard error of the log ratio; infinite if there are too few rounds.
    pub error: f64,
    /// By the second method, at the adjusted level.
    pub beside: Option<Estimate>,
    pub adjusted_p: f64,
    /// The MDE, as a log.
    pub detectable: f64,
    /// The total number of rounds that is probably enough for a verdict.
    pub rounds_needed: Option<u32>,
    /// The screen flags the test, which is to be measured again.
    pub is_flagged: bool,
    /// The log ratio of each round.
    pub contributions: Vec<f64>,
    /// The A/A control against the baseline.
    pub control: Option<Estimate>,
    /// The contender's own A/A control against it.
    pub own_control: Option<Estimate>,
    /// How many times as wide as by their noise the intervals are, because of the control.
    pub widened: f64,
    /// The log ratio of each cost, at the adjusted level.
    pub costs: Vec<(String, Estimate)>,
}

impl Verdict {
    /// rQPS.
    pub fn ratio(&self) -> f64 {
        self.estimate.ratio()
    }
}

/// The verdicts on all tests of a contender, in the order of the cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub verdicts: Vec<Verdict>,
    /// Why the report as a whole is invalid.
    pub invalid: Option<String>,
    /// Runs are compared within rounds, since these share most of their noise.
    pub is_paired: bool,
}

/// Judges the tests of one contender.
pub fn judge(cells: &[Cell], options: &Options) -> Report {
    let is_paired = is_paired(cells);
    let drift = options.drift;
    let samples = cells.iter().map(|cell| (cell.class.as_str(), &cell.rate));
    let mut rates = analyses(samples.clone(), is_paired, drift);
    let controls = controls(samples, is_paired);
    let own = cells.iter().map(|cell| (cell.class.as_str(), cell.own_control.as_ref()));
    let own_controls = own_controls(own, is_paired);
    let at = |controls: &[Option<Analysis>], alpha: f64| -> Vec<Option<Estimate>> {
        controls.iter().map(|control| control.as_ref()?.primary(alpha)).collect()
    };
    let (of_controls, of_own) = (at(&controls, 0.05), at(&own_controls, 0.05));
    let wider = [at(&controls, CONTROL_ALPHA), at(&own_controls, CONTROL_ALPHA)];
    for of in &wider {
        for (rate, factor) in rates.iter_mut().zip(widening(of)) {
            rate.widened = rate.widened.max(factor);
        }
    }

    let plain: Vec<Estimate> = rates.iter().map(|rate| rate.primary_or_nothing(0.05)).collect();
    let valid: Vec<f64> = plain
        .iter()
        .zip(cells)
        .map(|(estimate, cell)| match (&cell.refused, cell.capped) {
            (None, None) => estimate.p,
            _ => 1.0,
        })
        .collect();
    let adjusted = adjust(cells, &valid, options.alpha);
    let costs = costs(cells, is_paired, drift);
    let estimates = |costs: &[CostAnalysis], alpha: f64| -> Vec<(String, Estimate)> {
        let estimate =
            |cost: &CostAnalysis| (cost.name.clone(), cost.analysis.primary_or_nothing(alpha));
        costs.iter().map(estimate).collect()
    };

    let verdict = |index: usize| {
        let (cell, rate, Adjusted { p, alpha }) = (&cells[index], &rates[index], adjusted[index]);
        let estimate = rate.primary_or_nothing(alpha);
        let beside = rate.beside(alpha);
        let rounds_needed = rate.rounds_needed(estimate.value, cell.margin, alpha);
        let detectable = rate.detectable();
        let interval_90 = rate.primary_or_nothing(0.10).interval;
        let costs_more = || risen(&costs[index], cell.margin, SCREEN_ALPHA).is_some();
        let is_flagged = cell.stage == Stage::Screen
            && cell.capped.is_none()
            && (plain[index].p < SCREEN_ALPHA || costs_more());
        let overdue = cell.overdue.map(|times| Label::Overdue { times });
        let label = overdue.unwrap_or_else(|| match (&cell.refused, cell.capped) {
            (Some(why), _) => Label::Invalid { why: why.clone() },
            (None, Some(rate)) => Label::Capped { rate },
            _ if is_flagged => {
                Label::Inconclusive { detectable, rounds: Some(options.fresh_rounds) }
            }
            _ if rate.ratios.len() < LEAST_ROUNDS => {
                Label::Inconclusive { detectable: f64::INFINITY, rounds: None }
            }
            _ => Evidence {
                estimate,
                interval_90,
                margin: cell.margin,
                detectable,
                rounds_needed,
                is_agreed: rate.is_agreed(&estimate, alpha),
                // A screen decides nothing: fresh rounds confirm what it flags, or it was chance.
                risen_cost: risen(&costs[index], cell.margin, alpha)
                    .filter(|_| cell.stage != Stage::Screen),
            }
            .label(),
        });
        Verdict {
            test: cell.test.clone(),
            stage: cell.stage,
            label,
            estimate,
            plain: plain[index],
            interval_90,
            error: rate.error(),
            beside,
            adjusted_p: p,
            detectable,
            rounds_needed,
            is_flagged,
            contributions: rate.ratios.clone(),
            control: of_controls[index],
            own_control: of_own[index],
            widened: rate.widened,
            costs: estimates(&costs[index], alpha),
        }
    };
    let mut verdicts: Vec<Verdict> = (0..cells.len()).map(verdict).collect();
    let [of_base, of_contender] = &wider;
    let invalid = doubt(&mut verdicts, cells, of_base, "A/A control differs from the baseline");
    let own = doubt(&mut verdicts, cells, of_contender, "its own A/A control differs from it");
    let invalid = invalid.or(own);
    Report { verdicts, invalid, is_paired }
}

/// Makes tests invalid that leave a question open while their control is off by more than the
/// margin, and all tests if that is so in most of several.
fn doubt(
    verdicts: &mut [Verdict],
    cells: &[Cell],
    controls: &[Option<Estimate>],
    differs: &str,
) -> Option<String> {
    let (mut off, mut tests) = (0, 0);
    for ((verdict, cell), control) in verdicts.iter_mut().zip(cells).zip(controls) {
        let Some(Estimate { value, interval, .. }) = control else { continue };
        tests += 1;
        let is_open = matches!(verdict.label, Label::Inconclusive { .. }) && !verdict.is_flagged;
        if is_open && (interval.low > cell.margin || interval.high < -cell.margin) {
            off += 1;
            let percent = 100.0 * value.exp_m1();
            let why = format!("{differs} by {percent:+.1} %");
            verdict.label = Label::Invalid { why };
        }
    }
    if off < 2 || 2 * off <= tests {
        return None;
    }
    let why = format!("{differs} by more than the margin in {off} of {tests} tests");
    for (verdict, cell) in verdicts.iter_mut().zip(cells) {
        if cell.refused.is_none() {
            verdict.label = Label::Invalid { why: why.clone() };
        }
    }
    Some(why)
}

/// One rule for all tests, so that no test chooses its analysis by its result.
fn is_paired(cells: &[Cell]) -> bool {
    let rounds: Vec<Vec<Vec<f64>>> = cells
        .iter()
        .filter_map(|cell| match &cell.rate {
            Sample::Slices(_) => None,
            Sample::Runs(rounds) => Some(rounds),
        })
        .map(|rounds| {
            let versions = |round: &LogValues| {
                [Some(round.base), round.control, Some(round.contender)]
                    .into_iter()
                    .flatten()
                    .collect()
            };
            rounds.iter().map(versions).collect()
        })
        .collect();
    share_of_rounds(&rounds).is_some_and(|share| share > PAIR_ABOVE)
}

#[cfg(test)]
mod tests;
