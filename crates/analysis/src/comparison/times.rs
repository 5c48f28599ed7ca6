//! Times of operations by percentile, and the verdicts on them: from the instant at which an
//! operation was due where a rate is set, otherwise from its start.

use rqps_observe::Metric;
use rqps_plan::{CONTROL, Comparison, Method};
use rqps_stats::Estimate;
use rqps_stats::histogram::PERCENTILES;
use rqps_stats::latency::{self, Quantile, judge_quantiles, margin, needed};
use rqps_stats::verdict::{self, LogRatios, LogValues, Sample};
use rqps_store::RoundRecord;

use super::costs::mean;
use super::observed::Observed;
use super::pair::{Pair, class_of_noise, kind};

/// Slices have no verdict from this percentile on: what happens now and then, such as a checkpoint,
/// meets whichever contender is driven.
const TAIL_OF_SLICES: f64 = 99.0;

/// The share of a rate that must be reached.
const SUSTAINED: f64 = 0.99;

/// The share of a time that the client may be late.
const MOST_LATENESS: f64 = 0.1;

/// The longest time, beside the percentiles.
pub const LONGEST: &str = "max";

/// A percentile of the times of one test and contender, or the longest of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    /// Such as `p99`, or [`LONGEST`].
    pub name: &'static str,
    /// Nanoseconds: the mean of the rounds, or the longest of all.
    pub base: f64,
    pub contender: f64,
    /// The log ratio of the contender's time to the baseline's; none of the longest.
    pub ratio: Option<Estimate>,
    /// The verdict, or why there is none.
    pub verdict: Result<latency::QuantileVerdict, String>,
}

/// A percentile before it is judged.
struct Candidate {
    /// Its test, by place.
    test: usize,
    base: f64,
    contender: f64,
    quantile: Quantile,
    /// Why it has no verdict.
    why_not: Option<String>,
}

impl Pair<'_> {
    /// By test, the percentiles that both sides have, and the longest times.
    pub(super) fn times(
        &self,
        tests: &[Observed<'_>],
        verdicts: &[verdict::Verdict],
    ) -> Vec<Vec<Time>> {
        let mut all = vec![Vec::new(); tests.len()];
        let candidates =
            tests.iter().zip(verdicts).enumerate().flat_map(|(at, (test, verdict))| {
                let passes = self.passes(test, verdict.stage);
                let each = PERCENTILES.into_iter().enumerate();
                each.filter_map(|(which, of)| self.candidate((at, test), &passes, which, of))
                    .collect::<Vec<_>>()
            });
        let (judged, others): (Vec<Candidate>, Vec<Candidate>) =
            candidates.partition(|one| one.why_not.is_none());
        for family in [judged, others] {
            let quantiles: Vec<Quantile> =
                family.iter().map(|candidate| candidate.quantile.clone()).collect();
            let verdicts = judge_quantiles(&quantiles, &self.options());
            for (candidate, verdict) in family.into_iter().zip(verdicts) {
                let Candidate { test, base, contender, quantile, why_not } = candidate;
                let ratio = Some(verdict.estimate);
                let verdict = why_not.map_or(Ok(verdict), Err);
                all[test].push(Time { name: quantile.name, base, contender, ratio, verdict });
            }
        }
        for ((times, test), verdict) in all.iter_mut().zip(tests).zip(verdicts) {
            let place = |time: &Time| PERCENTILES.iter().position(|(name, _)| *name == time.name);
            times.sort_by_key(place);
            times.extend(self.longest(test, &self.passes(test, verdict.stage)));
        }
        all
    }

    fn candidate(
        &self,
        (at, test): (usize, &Observed<'_>),
        passes: &[&RoundRecord],
        which: usize,
        (name, percent): (&'static str, f64),
    ) -> Option<Candidate> {
        let within = move |pass: &RoundRecord, arm: &str| test.times.within(pass, arm, which);
        let level = |arm: &str| mean(passes.iter().filter_map(|pass| within(pass, arm)));
        let round = |pass: &&RoundRecord| {
            let log = |arm: &str| Some(within(pass, arm)?.ln());
            let (base, contender) = (log(self.base)?, log(self.contender)?);
            Some(LogValues { base, control: log(CONTROL), contender })
        };
        let rounds: Vec<LogValues> = passes.iter().filter_map(round).collect();
        let values = passes.iter().flat_map(|pass| {
            [self.base, self.contender].into_iter().filter_map(move |arm| within(pass, arm))
        });
        let shortest = values.reduce(f64::min)?;
        if rounds.is_empty() {
            return None;
        }
        let times = match self.plan.method_of(test.name) {
            Method::Runs => Sample::Runs(rounds),
            // Arms share the state of the machine, so each round is compared within itself.
            Method::Slices => Sample::Slices(
                rounds
                    .iter()
                    .map(|round| LogRatios {
                        contender: round.ratio(),
                        control: round.control.map(|control| control - round.base),
                    })
                    .collect(),
            ),
        };
        let kind = kind(self.is_io_bound, test);
        let of_rate = self.plan.margin.unwrap_or(kind.margin());
        let (base, contender) = (level(self.base), level(self.contender));
        let quantile = Quantile {
            test: test.name.to_string(),
            name,
            class: format!("{}, {name}", class_of_noise(kind, test)),
            margin: margin(percent, of_rate),
            times,
            shortest,
        };
        let why_not = self.why_not(test, passes, (name, percent), base.min(contender));
        Some(Candidate { test: at, base, contender, quantile, why_not })
    }

    /// Why a percentile that is as long as `nanos` has no verdict.
    fn why_not(
        &self,
        test: &Observed<'_>,
        passes: &[&RoundRecord],
        (name, percent): (&str, f64),
        nanos: f64,
    ) -> Option<String> {
        if self.plan.method_of(test.name) == Method::Slices && percent >= TAIL_OF_SLICES {
            return Some("slices have no verdict on a tail: use --method runs".to_string());
        }
        if self.plan.slo.is_some() {
            return Some("each contender has a rate of its own: use --rate".to_string());
        }
        let sides = [self.base, self.contender];
        if let Some(unsustained) =
            sides.iter().find_map(|arm| Unsustained::of(test, arm, self.plan))
        {
            return Some(unsustained.to_string());
        }
        let counts = passes.iter().flat_map(|pass| {
            let count = move |arm: &str| Some(test.times.recorded(pass, arm)?.operations);
            sides.into_iter().filter_map(count)
        });
        let (fewest, needed) = (counts.min()?, needed(percent));
        if fewest < needed {
            return Some(format!(
                "{name} needs {needed} operations in each round, and there are {fewest}"
            ));
        }
        let late = passes.iter().flat_map(|pass| {
            let late = move |arm: &str| pass.arms.get(arm)?.cost.get(Metric::ClientLateness);
            sides.into_iter().filter_map(late)
        });
        let late = mean(late.map(|nanos| nanos as f64));
        // Not a number in a closed loop.
        (late > MOST_LATENESS * nanos).then(|| {
            format!(
                "the client started operations up to {:.0} us late, a tenth of {name} or more",
                late / 1e3
            )
        })
    }

    fn longest(&self, test: &Observed<'_>, passes: &[&RoundRecord]) -> Option<Time> {
        let longest = |arm: &str| {
            let all = passes.iter().filter_map(|pass| test.times.recorded(pass, arm));
            all.map(|recorded| recorded.longest).max()
        };
        Some(Time {
            name: LONGEST,
            base: longest(self.base)? as f64,
            contender: longest(self.contender)? as f64,
            ratio: None,
            verdict: Err("the longest time grows with the number of operations".to_string()),
        })
    }
}

/// An arm that cannot keep up with the rate at which operations are due: its times grow as long as
/// it is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsustained {
    pub arm: String,
    /// Operations per second, the mean of the rounds.
    pub reached: f64,
    pub due: f64,
}

impl Unsustained {
    /// None if the rate was kept in all rounds that count, or there is none.
    pub fn of(test: &Observed<'_>, arm: &str, plan: &Comparison) -> Option<Unsustained> {
        let due = plan.rate?;
        let rates: Vec<f64> =
            test.counted_with(arm).filter_map(|pass| reached(pass, arm)).collect();
        let is_missed = rates.iter().any(|rate| *rate < SUSTAINED * due);
        let reached = mean(rates.iter().copied());
        is_missed.then(|| Unsustained { arm: arm.to_string(), reached, due })
    }
}

/// Operations per second of an arm in a round of whole runs.
pub(super) fn reached(pass: &RoundRecord, arm: &str) -> Option<f64> {
    let own = pass.slices.iter().filter(|slice| slice.arm == arm);
    let (operations, nanos) = own.fold((0, 0), |(operations, nanos), slice| {
        (operations + slice.operations, nanos + slice.nanos)
    });
    (operations > 0 && nanos > 0).then(|| operations as f64 / (nanos as f64 / 1e9))
}

impl std::fmt::Display for Unsustained {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Unsustained { arm, reached, due } = self;
        write!(f, "{arm} does not sustain {due:.0} operations per second: it reached {reached:.0}")
    }
}

#[cfg(test)]
mod tests;
