//! A verdict as a row of a table, for spreadsheets and scripts.

use serde::Serialize;

use super::labels::label;
use super::ratio_json::{finite, ratio};
use super::{Judged, Verdicts};

/// The verdict on a contender in a test. Ratios are relative to the baseline, with intervals of
/// 95 %. An unknown value, or an end that is not bounded, is none.
#[derive(Default, Serialize)]
pub(crate) struct VerdictRow<'v> {
    pub(crate) test: &'v str,
    pub(crate) group: &'v str,
    pub(crate) operation: &'static str,
    pub(crate) method: &'static str,
    pub(crate) contender: &'v str,
    pub(crate) baseline: &'v str,
    pub(crate) label: &'static str,
    /// Of the rates, its interval adjusted for the number of tests.
    pub(crate) ratio: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) adjusted_p: Option<f64>,
    /// The MDE, as a share.
    pub(crate) detectable: Option<f64>,
    /// Rounds that it comes from.
    pub(crate) rounds: u64,
    /// Per second, in the unit of the test.
    pub(crate) baseline_rate: Option<f64>,
    pub(crate) rate: Option<f64>,
    /// Of the server's CPU per operation.
    pub(crate) cpu_ratio: Option<f64>,
    pub(crate) cpu_low: Option<f64>,
    pub(crate) cpu_high: Option<f64>,
    /// The label in words, with the reason of an invalid test, or a missed write rate.
    pub(crate) verdict: String,
}

impl Verdicts<'_> {
    /// By contender, in the order of the tests.
    pub(crate) fn verdict_rows(&self) -> Vec<VerdictRow<'_>> {
        let of = |judged| (0..self.tests.len()).map(move |index| self.verdict_row(judged, index));
        self.judged.iter().flat_map(of).collect()
    }

    fn verdict_row<'v>(&'v self, judged: &'v Judged<'_>, index: usize) -> VerdictRow<'v> {
        let (test, verdict) = (&self.tests[index], &judged.verdicts[index]);
        let rate = ratio(&verdict.estimate);
        let cpu = verdict.costs.iter().find(|(name, _)| name == "cpu/o");
        let cpu = cpu.and_then(|(_, cost)| ratio(cost));
        VerdictRow {
            test: test.name,
            group: test.group,
            operation: test.counts(self.plan).operation(),
            method: self.plan.method_of(test.name).name(),
            contender: &judged.contender,
            baseline: &self.base,
            label: label(&verdict.label),
            ratio: rate.as_ref().map(|ratio| ratio.value),
            low: rate.as_ref().and_then(|ratio| ratio.low),
            high: rate.as_ref().and_then(|ratio| ratio.high),
            adjusted_p: finite(verdict.adjusted_p),
            detectable: finite(verdict.detectable.exp_m1()),
            rounds: verdict.contributions.len() as u64,
            baseline_rate: test.rate_beside(&self.base, &judged.contender),
            rate: test.rate(&judged.contender),
            cpu_ratio: cpu.as_ref().map(|ratio| ratio.value),
            cpu_low: cpu.as_ref().and_then(|ratio| ratio.low),
            cpu_high: cpu.as_ref().and_then(|ratio| ratio.high),
            verdict: self.told(judged, index),
        }
    }
}
