//! Service times of operations in whole runs, by percentile. Slices record no times.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use rqps_plan::{CONTROL, Counts};
use rqps_stats::Estimate;
use rqps_stats::histogram::{PERCENTILES, is_enough};
use rqps_stats::verdict::{Cost, LogValues, Sample};
use rqps_store::RoundRecord;

use super::costs::mean;
use super::observed::Observed;
use super::pair::Pair;
use super::{Judged, Results, counted_operation};

/// Round, part and attempt of a measurement, and the arm.
type Place<'a> = (u32, u32, u32, &'a str);

/// Service times of the operation that a test counts, in nanoseconds by [`PERCENTILES`]; none if
/// too few lie beyond.
#[derive(Default)]
pub struct Times<'a>(BTreeMap<Place<'a>, [Option<u64>; PERCENTILES.len()]>);

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
                let recorded = work.service.unpacked();
                let within = PERCENTILES.map(|(_, percent)| percentile(&recorded, percent));
                times.insert(place(pass, name), within);
            }
        }
        Times(times)
    }

    /// Whether one of the percentiles is known for any arm.
    pub fn has(&self, which: usize) -> bool {
        self.0.values().any(|within| within[which].is_some())
    }

    /// Nanoseconds, of one of the percentiles.
    pub fn within(&self, pass: &RoundRecord, name: &str, which: usize) -> Option<f64> {
        let nanos = self.0.get(&place(pass, name))?[which];
        nanos.filter(|nanos| *nanos > 0).map(|nanos| nanos as f64)
    }
}

fn place<'p>(pass: &RoundRecord, name: &'p str) -> Place<'p> {
    (pass.round, pass.part, pass.attempt, name)
}

impl Pair<'_> {
    /// By percentile and round, the times of the contender and the A/A control against the
    /// baseline's.
    pub fn times(&self, test: &Observed<'_>, passes: &[&RoundRecord]) -> Vec<Cost> {
        let cost = |(which, (name, _)): (usize, (&str, f64))| {
            let log =
                |pass: &RoundRecord, name: &str| Some(test.times.within(pass, name, which)?.ln());
            let round = |pass: &&RoundRecord| {
                let (base, contender) = (log(pass, self.base)?, log(pass, self.contender)?);
                Some(LogValues { base, control: log(pass, CONTROL), contender })
            };
            let rounds: Vec<LogValues> = passes.iter().filter_map(round).collect();
            (!rounds.is_empty())
                .then(|| Cost { name: name.to_string(), sample: Sample::Runs(rounds) })
        };
        PERCENTILES.into_iter().enumerate().filter_map(cost).collect()
    }
}

/// Nanoseconds within which `percent` of the responses ended; none if too few were recorded.
pub fn percentile(recorded: &Histogram<u64>, percent: f64) -> Option<u64> {
    is_enough(recorded.len(), percent).then(|| recorded.value_at_percentile(percent))
}

/// A percentile of the service times of one test and contender.
pub struct Time<'v> {
    pub name: &'v str,
    /// Nanoseconds, the mean of the rounds.
    pub base: f64,
    pub contender: f64,
    pub ratio: &'v Estimate,
}

impl Results<'_> {
    /// In a test that was measured by whole runs: the percentiles with enough operations.
    pub fn times<'v>(&self, judged: &'v Judged<'_>, index: usize) -> Vec<Time<'v>> {
        let (test, verdict) = (&self.tests[index], &judged.verdicts[index]);
        let passes = self.pair(judged).passes(test, verdict.stage);
        let time = |(name, ratio): &'v (String, Estimate)| {
            let which = PERCENTILES.iter().position(|(known, _)| known == name)?;
            let level = |side: &str| {
                mean(passes.iter().filter_map(|pass| test.times.within(pass, side, which)))
            };
            let (base, contender) = (level(&self.base), level(&judged.contender));
            Some(Time { name, base, contender, ratio })
        };
        verdict.times.iter().filter_map(time).collect()
    }
}
