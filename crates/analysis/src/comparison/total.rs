//! The time of all queries together, weighted by how often each is executed.

use std::collections::BTreeMap;

use rqps_stats::label::Kind;
use rqps_stats::verdict::{Cell, LEAST_ROUNDS, LogRatios, Sample, Verdict};
use rqps_store::SliceRecord;

use super::observed::Observed;
use super::pair::{Pair, kind};

/// The verdict on the total time. Its log ratio is that of rates: below 0 is slower.
#[derive(Clone, Debug, PartialEq)]
pub struct Total {
    pub verdict: Verdict,
    /// The share of the time that its queries take of that of all measured queries.
    pub covered: f64,
}

/// The total as a test, before it is judged with the others.
pub(super) struct TotalCell {
    pub(super) cell: Cell,
    covered: f64,
}

impl TotalCell {
    pub(super) fn judged(&self, verdict: Verdict) -> Total {
        Total { verdict, covered: self.covered }
    }
}

/// Seconds of an execution by the baseline, times its weight, of each test that has a weight.
pub(super) fn shares(pair: &Pair<'_>, tests: &[Observed<'_>]) -> Vec<Option<f64>> {
    let each = tests.iter().map(|test| {
        let weight = pair.plan.of.weight(test.name)?;
        Some(weight * seconds(test, pair.base)?)
    });
    let each: Vec<Option<f64>> = each.collect();
    let sum: f64 = each.iter().flatten().sum();
    each.into_iter().map(|one| one.map(|one| one / sum)).collect()
}

/// Seconds that each test takes in a day, by the baseline and the contender; none where it is not
/// known how often it is executed.
pub(super) fn per_day(pair: &Pair<'_>, tests: &[Observed<'_>]) -> Vec<Option<[f64; 2]>> {
    let each = tests.iter().map(|test| {
        let executions = pair.plan.of.executions_per_day(test.name)?;
        let of = |arm: &str| Some(executions * seconds(test, arm)?);
        Some([of(pair.base)?, of(pair.contender)?])
    });
    each.collect()
}

/// Seconds of an execution.
fn seconds(test: &Observed<'_>, arm: &str) -> Option<f64> {
    let slices = test.counted().flat_map(|pass| &pass.slices);
    let own = slices.filter(|slice: &&SliceRecord| slice.arm == arm);
    let (nanos, operations) =
        own.fold((0, 0), |sum, slice| (sum.0 + slice.nanos, sum.1 + slice.operations));
    (operations > 0).then(|| nanos as f64 / 1e9 / operations as f64)
}

impl Pair<'_> {
    /// The total over these tests but those that are excluded, from the rounds that all of them
    /// have. None where tests have no weights, or with a second stage, in which each test has
    /// rounds of its own.
    pub(super) fn total(&self, tests: &[Observed<'_>], excluded: &[&str]) -> Option<TotalCell> {
        if self.plan.confirm.is_some() {
            return None;
        }
        let shares = shares(self, tests);
        let included: Vec<(&Observed<'_>, f64)> = tests
            .iter()
            .zip(shares)
            .filter(|(test, _)| {
                !excluded.contains(&test.name) && test.failure(self.contender).is_none()
            })
            .filter_map(|(test, share)| Some((test, share?)))
            .collect();
        if included.len() < 2 {
            return None;
        }
        let covered: f64 = included.iter().map(|(_, share)| share).sum();
        let rounds = included.iter().map(|(test, share)| (self.by_round(test), share / covered));
        let rounds: Vec<(BTreeMap<u32, LogRatios>, f64)> = rounds.collect();
        let (first, _) = rounds.first()?;
        let of_round = |round: &u32| -> Option<LogRatios> {
            let all: Vec<(&LogRatios, f64)> = rounds
                .iter()
                .map(|(by_round, share)| Some((by_round.get(round)?, *share)))
                .collect::<Option<_>>()?;
            let total = |logs: Vec<f64>| {
                let times = logs.iter().zip(&all).map(|(log, (_, share))| share * (-log).exp());
                -times.sum::<f64>().ln()
            };
            let control: Option<Vec<f64>> = all.iter().map(|(round, _)| round.control).collect();
            Some(LogRatios {
                contender: total(all.iter().map(|(round, _)| round.contender).collect()),
                control: control.map(total),
            })
        };
        let sample: Vec<LogRatios> = first.keys().filter_map(of_round).collect();
        if sample.len() < LEAST_ROUNDS {
            return None;
        }
        // The widest margin of its tests: what does not matter in one does not matter in all.
        let kinds = included.iter().map(|(test, _)| kind(self.is_io_bound, test));
        let widest = kinds.max_by(|one, other| one.margin().total_cmp(&other.margin()));
        let cell = Cell::new("total", widest.unwrap_or(Kind::CachedRead), Sample::Slices(sample));
        let margin = self.plan.margin.unwrap_or(cell.margin);
        let is_capped = included.iter().any(|(test, _)| test.is_capped());
        let capped = self.plan.max_rate.filter(|_| is_capped);
        let cell = Cell { class: "total".to_string(), margin, capped, ..cell };
        Some(TotalCell { cell, covered })
    }
}
