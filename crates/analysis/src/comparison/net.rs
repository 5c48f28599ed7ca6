//! Times of operations without the way to a remote server, as far as it is known: what a server
//! does beyond an empty exchange.

use rqps_observe::Metric;
use rqps_plan::CONTROL;
use rqps_stats::Estimate;
use rqps_stats::latency::{Quantile, judge_quantiles};
use rqps_stats::verdict::{LEAST_ROUNDS, LogRatios, Sample};
use rqps_store::RoundRecord;

use super::observed::Observed;
use super::pair::{Pair, class_of_noise, kind};

/// The median among the percentiles.
const USUAL: usize = 0;

impl Pair<'_> {
    /// By test, the log ratio of the contender's median time to the baseline's, each without the
    /// median of the empty exchanges before the test. None where a round lacks one of these, or
    /// where the exchanges take all of the time.
    pub(super) fn net_of_path(&self, tests: &[Observed<'_>]) -> Vec<Option<Estimate>> {
        tests.iter().map(|test| self.net_of_test(test)).collect()
    }

    fn net_of_test(&self, test: &Observed<'_>) -> Option<Estimate> {
        let mut shortest = f64::INFINITY;
        let mut round = |pass: &RoundRecord| {
            let mut log = |arm: &str| {
                let nanos = net(test, pass, arm)?;
                shortest = shortest.min(nanos);
                Some(nanos.ln())
            };
            let (base, contender) = (log(self.base)?, log(self.contender)?);
            let control = log(CONTROL).map(|control| control - base);
            Some(LogRatios { contender: contender - base, control })
        };
        let rounds: Option<Vec<LogRatios>> =
            test.counted_with(self.contender).map(&mut round).collect();
        let rounds = rounds.filter(|rounds| rounds.len() >= LEAST_ROUNDS)?;
        let kind = kind(self.is_io_bound, test);
        let quantile = Quantile {
            test: test.name.to_string(),
            name: "net",
            class: class_of_noise(kind, test),
            margin: self.margin(kind),
            times: Sample::Slices(rounds),
            shortest,
        };
        Some(judge_quantiles(&[quantile], &self.options()).pop()?.estimate)
    }
}

/// Nanoseconds of an arm's median operation in a round, without an exchange for each statement.
fn net(test: &Observed<'_>, pass: &RoundRecord, arm: &str) -> Option<f64> {
    let trip = pass.arms.get(arm)?.cost.get(Metric::RoundTrip)? as f64;
    let own = pass.slices.iter().filter(|slice| slice.arm == arm);
    let (statements, operations) = own.fold((0, 0), |(statements, operations), slice| {
        let each = slice.reads + slice.writes + slice.others;
        (statements + each, operations + slice.operations)
    });
    let exchanges = statements as f64 / operations.max(1) as f64;
    let nanos = test.times.within(pass, arm, USUAL)? - trip * exchanges;
    (nanos > 0.0).then_some(nanos)
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use rqps_plan::{Class, Comparison, Counts, Method};
    use rqps_store::{Measurement, Operation, SliceRecord, WorkRecord};

    use super::super::{fixture, observed};
    use super::*;

    /// Eight rounds of operations with two statements: microseconds of an exchange of each arm, and
    /// of the rest of an operation.
    fn net_ratio(trips: [u64; 2], rest: [u64; 2]) -> Option<f64> {
        let round = |round: u32| {
            let mut pass = RoundRecord {
                round,
                test: "point-query".to_string(),
                ..RoundRecord::new(Class::Point, Counts::Statements)
            };
            for (place, arm) in ["old", "new"].into_iter().enumerate() {
                let noise = 1_000 + (u64::from(round) * 5 + place as u64 * 3) % 7;
                let mut times = Histogram::<u64>::new(3).unwrap();
                times.record_n((2 * trips[place] + rest[place]) * noise, 1_000).unwrap();
                let work =
                    WorkRecord { service: times, ..WorkRecord::of_several(Operation::Transaction) };
                let mut side = Measurement { work: vec![work.packed()], ..Measurement::default() };
                if trips[place] > 0 {
                    side.cost.set(Metric::RoundTrip, trips[place] * 1_000);
                }
                pass.arms.insert(arm.to_string(), side);
                pass.slices.push(SliceRecord {
                    place: place as u32,
                    client: 1,
                    arm: arm.to_string(),
                    nanos: 1_000_000_000,
                    operations: 1_000,
                    reads: 2_000,
                    ..SliceRecord::default()
                });
            }
            pass
        };
        let rounds: Vec<RoundRecord> = (1..=8).map(round).collect();
        let plan = Comparison { method: Method::Slices, ..fixture::plan() };
        let tests: Vec<Observed<'_>> =
            observed::tests(&rounds).into_iter().map(|test| test.with_times(&plan)).collect();
        fixture::pair(&plan, None).net_of_path(&tests)[0].map(|estimate| estimate.ratio())
    }

    #[test]
    fn a_longer_way_is_no_slower_server_and_a_slower_server_is() {
        let same = net_ratio([200, 260], [400, 400]).unwrap();
        assert!((same - 1.0).abs() < 0.02, "{same}");
        let slower = net_ratio([200, 260], [400, 480]).unwrap();
        assert!((slower - 1.2).abs() < 0.02, "{slower}");
        assert_eq!(net_ratio([0, 0], [400, 400]), None, "no exchange was measured");
    }
}
