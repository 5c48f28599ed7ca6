//! Percentiles of times in words and rows.

use rqps_analysis::comparison::Time;
use rqps_document::{Inline, Text};
use rqps_plan::Method;
use rqps_stats::Estimate;
use rqps_stats::label::Label;
use serde::Serialize;

use super::labels::{class, label};
use super::printed::with_interval;
use super::ratio_json::{finite, ratio};
use super::{Judged, Verdicts};

/// The verdict on a percentile as a row of a table, for spreadsheets and scripts. An unknown value,
/// or an end that is not bounded, is none.
#[derive(Default, Serialize)]
pub(crate) struct TimeRow<'v> {
    pub(crate) test: &'v str,
    pub(crate) operation: &'static str,
    /// `response` from when it was due, `service` from when it was started.
    pub(crate) clock: &'static str,
    pub(crate) contender: &'v str,
    pub(crate) baseline: &'v str,
    pub(crate) percentile: &'static str,
    pub(crate) baseline_ns: f64,
    pub(crate) contender_ns: f64,
    pub(crate) label: Option<&'static str>,
    /// Of the times, its interval adjusted for the number of tests and percentiles.
    pub(crate) ratio: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) adjusted_p: Option<f64>,
    /// The MDE, as a share.
    pub(crate) detectable: Option<f64>,
    /// The label in words, or why there is no verdict.
    pub(crate) verdict: String,
}

/// The verdict on a percentile in words, or why there is none.
pub(crate) fn told(time: &Time) -> String {
    match &time.verdict {
        Ok(verdict) => verdict.label.to_string(),
        Err(why) => format!("no verdict: {why}"),
    }
}

/// The label as programs know it; none without a verdict.
pub(crate) fn time_label(time: &Time) -> Option<&'static str> {
    time.verdict.as_ref().ok().map(|verdict| label(&verdict.label))
}

impl Verdicts<'_> {
    /// Where times begin.
    pub(crate) fn clock(&self) -> &'static str {
        if self.plan.is_paced() { "response" } else { "service" }
    }

    /// `Response time`
    pub(crate) fn time(&self) -> &'static str {
        if self.plan.is_paced() { "Response time" } else { "Service time" }
    }

    /// Whether percentiles of times are what is asked for: the rate is given.
    pub(crate) fn judges_times(&self) -> bool {
        self.plan.rate.is_some() || self.plan.max_rate.is_some()
    }

    /// Whether the times of a test say something that its rate does not. Usual times of slices do
    /// not, unless operations were held back.
    pub(super) fn has_own_times(&self, index: usize) -> bool {
        let test = &self.tests[index];
        self.plan.method_of(test.name) == Method::Runs || test.is_capped()
    }

    /// What the times are, and what a verdict on them needs.
    pub(crate) fn times_note(&self) -> String {
        let from = match (self.plan.rate, self.plan.slo) {
            (None, Some(level)) => format!(
                "Response time is from when an operation was due to its end, here at the largest \
                 rate of each contender that keeps {level}."
            ),
            (Some(rate), _) => format!(
                "Response time is from when an operation was due to its end. {rate} operations per \
                 second were due, whether those before them had ended or not."
            ),
            (None, None) => {
                let held = self.plan.max_rate.map(|rate| {
                    format!(
                        " Operations were held back to at most {rate} per second, and are timed \
                         without that wait."
                    )
                });
                let held = held.unwrap_or_default();
                format!("Service time is from the start of an operation to its end.{held}")
            }
        };
        format!(
            "{from} Times are means over the percentiles of the rounds, and intervals are over \
             rounds, adjusted for the number of tests and percentiles. docs/latency.md has what a \
             verdict needs."
        )
    }

    /// The largest change of a percentile for the worse and for the better.
    pub(crate) fn changed_times(&self, judged: &Judged<'_>) -> Text {
        let is_worse = |label: &Label| {
            matches!(label, Label::Regression { .. } | Label::SmallRegression { .. })
        };
        let is_better = |label: &Label| {
            matches!(label, Label::Improvement { .. } | Label::SmallImprovement { .. })
        };
        let largest = |is_meant: &dyn Fn(&Label) -> bool| {
            let all = judged.times.iter().zip(&self.tests).enumerate();
            let all = all.filter(|(index, _)| self.has_own_times(*index));
            let all =
                all.flat_map(|(_, (times, test))| times.iter().map(move |time| (time, test.name)));
            let meant = all.filter_map(|(time, test)| {
                let label = &time.verdict.as_ref().ok()?.label;
                is_meant(label).then_some((time, test, label, time.ratio?))
            });
            meant.max_by(|one, other| one.3.value.abs().total_cmp(&other.3.value.abs()))
        };
        let chip = |(time, test, label, ratio): (&Time, &str, &Label, Estimate)| {
            let of = if self.tests.len() > 1 { format!(" of {test}") } else { String::new() };
            Inline::chip(class(label), format!("{}{of} {}", time.name, with_interval(&ratio)))
        };
        let found = [largest(&is_worse), largest(&is_better)].into_iter().flatten();
        found.flat_map(|one| ["; ".into(), chip(one)]).collect()
    }

    /// By contender, test and percentile.
    pub(crate) fn time_rows(&self) -> Vec<TimeRow<'_>> {
        let of =
            |judged| (0..self.tests.len()).flat_map(move |index| self.time_rows_of(judged, index));
        self.judged.iter().flat_map(of).collect()
    }

    fn time_rows_of<'v>(
        &'v self,
        judged: &'v Judged<'_>,
        index: usize,
    ) -> impl Iterator<Item = TimeRow<'v>> {
        let test = &self.tests[index];
        judged.times[index].iter().map(move |time| {
            let ratio = time.ratio.as_ref().and_then(ratio);
            let verdict = time.verdict.as_ref().ok();
            TimeRow {
                test: test.name,
                operation: test.counts(self.plan).operation(),
                clock: self.clock(),
                contender: &judged.contender,
                baseline: &self.base,
                percentile: time.name,
                baseline_ns: time.base.round(),
                contender_ns: time.contender.round(),
                label: time_label(time),
                ratio: ratio.as_ref().map(|ratio| ratio.value),
                low: ratio.as_ref().and_then(|ratio| ratio.low),
                high: ratio.as_ref().and_then(|ratio| ratio.high),
                adjusted_p: verdict.and_then(|one| finite(one.adjusted_p)),
                detectable: verdict.and_then(|one| finite(one.detectable.exp_m1())),
                verdict: told(time),
            }
        })
    }
}
