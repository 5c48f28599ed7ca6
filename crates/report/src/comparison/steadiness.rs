//! Whether whole runs were at one level, which their average hides.
//!
//! An unsteady run is reported and not dropped: that would be choosing runs by their result.

use rqps_analysis::comparison::{Observed, rates};
use rqps_plan::{CONTROL, Method};
use rqps_stats::steady::{Class, Steady, steady};

use super::Verdicts;

/// Resampling gives the same result in every report.
const SEED: u64 = 1;

/// The whole runs of an arm in one test with known seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unsteady {
    pub(crate) contender: String,
    /// Runs that are long enough to decide this.
    pub(crate) runs: usize,
    /// Unsteady runs by kind, the most frequent first.
    pub(crate) ways: Vec<(&'static str, usize)>,
}

impl Unsteady {
    /// `new in 4 of 6 runs (3 slow-down, 1 trend)`
    fn words(&self) -> String {
        let ways: Vec<String> =
            self.ways.iter().map(|(way, count)| format!("{count} {way}")).collect();
        format!(
            "{} in {} of {} runs ({})",
            self.contender,
            self.count(),
            self.runs,
            ways.join(", ")
        )
    }

    pub(crate) fn count(&self) -> usize {
        self.ways.iter().map(|(_, count)| count).sum()
    }
}

/// How a run was not steady; none if it was.
fn way(seen: &Steady) -> Option<&'static str> {
    match seen.class {
        Class::WarmUp => Some("warm-up"),
        Class::SlowDown => Some("slow-down"),
        Class::MultiLevel => Some("several levels"),
        Class::Flat if seen.trend.is_flagged => Some("trend"),
        Class::Flat if !seen.is_steady => Some("no steady state"),
        Class::Flat => None,
    }
}

/// The arms with unsteady runs in a test.
fn unsteady(test: &Observed<'_>, contenders: &[&str]) -> Vec<Unsteady> {
    // In the same second a slower DBMS has another size of the tables, so its level may change.
    if test.class.is_fixed_work() {
        return Vec::new();
    }
    let of = |contender: &&str| {
        let mut found = Unsteady { contender: contender.to_string(), runs: 0, ways: Vec::new() };
        for pass in test.counted() {
            let Some(seen) = steady(&rates(pass, contender), SEED) else { continue };
            found.runs += 1;
            let Some(way) = way(&seen) else { continue };
            match found.ways.iter_mut().find(|(known, _)| *known == way) {
                Some((_, count)) => *count += 1,
                None => found.ways.push((way, 1)),
            }
        }
        found.ways.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        (!found.ways.is_empty()).then_some(found)
    };
    contenders.iter().filter_map(of).collect()
}

impl Verdicts<'_> {
    /// Empty for slices, whose seconds all arms share.
    pub(crate) fn unsteady(&self, test: &Observed<'_>) -> Vec<Unsteady> {
        if self.plan.method_of(test.name) == Method::Slices {
            return Vec::new();
        }
        let contenders = self.judged.iter().map(|judged| judged.contender.as_str());
        let names: Vec<&str> =
            [self.base.as_str(), CONTROL].into_iter().chain(contenders).collect();
        unsteady(test, &names)
    }

    /// The remark on unsteady runs; none if all runs were steady, or too short to decide this.
    pub(super) fn steadiness(&self) -> Option<String> {
        let of = |test: &Observed<'_>| {
            let words: Vec<String> = self.unsteady(test).iter().map(Unsteady::words).collect();
            (!words.is_empty()).then(|| format!("{}: {}", test.name, words.join(", ")))
        };
        let tests: Vec<String> = self.tests.iter().filter_map(of).collect();
        (!tests.is_empty())
            .then(|| format!("Not at one level from start to end: {}.", tests.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use rqps_plan::Class::{DeleteOldest, Scan};
    use rqps_plan::Counts;
    use rqps_store::{Measurement, Operation, RoundRecord, Second, SliceRecord, WorkRecord};

    use super::*;
    use rqps_analysis::comparison::tests;

    /// A run with the operations of each second, and a last one that is not whole.
    fn pass(round: u32, class: rqps_plan::Class, seconds: impl Fn(u64) -> u64) -> RoundRecord {
        let second = |operations: u64| Second { operations, ..Second::default() };
        let mut work = WorkRecord::of_several(Operation::Transaction);
        work.seconds = (0..60).map(|at| second(seconds(at))).chain([second(3)]).collect();
        let side = Measurement { work: vec![work.packed()], ..Measurement::default() };
        RoundRecord {
            round,
            test: "scan".to_string(),
            slices: vec![SliceRecord {
                client: 1,
                arm: "new".to_string(),
                nanos: 60_200_000_000,
                ..SliceRecord::default()
            }],
            arms: [("new".to_string(), side)].into(),
            ..RoundRecord::new(class, Counts::Statements)
        }
    }

    fn told(passes: &[RoundRecord]) -> Vec<String> {
        let tests = tests(passes);
        unsteady(&tests[0], &["base", "new"]).iter().map(Unsteady::words).collect()
    }

    const LEVEL: fn(u64) -> u64 = |at| 1_000 + at * 7 % 5;
    const SLOWER: fn(u64) -> u64 = |at| LEVEL(at) / if at < 30 { 1 } else { 2 };

    #[test]
    fn a_run_that_was_not_steady_is_told() {
        assert!(told(&[pass(1, Scan, LEVEL), pass(2, Scan, LEVEL)]).is_empty());
        let one = [pass(1, Scan, LEVEL), pass(2, Scan, SLOWER), pass(3, Scan, LEVEL)];
        assert_eq!(told(&one), ["new in 1 of 3 runs (1 slow-down)"]);
        let slower = pass(2, Scan, SLOWER);
        let discarded = RoundRecord { discarded: Some("busy".to_string()), ..slower };
        assert!(told(&[pass(1, Scan, LEVEL), discarded]).is_empty(), "it does not count");
    }

    #[test]
    fn steps_of_fixed_work_and_short_runs_have_no_level_to_keep() {
        assert!(told(&[pass(1, DeleteOldest, SLOWER)]).is_empty());
        let mut short = pass(1, Scan, SLOWER);
        short.slices[0].nanos = 12_000_000_000;
        assert!(told(&[short]).is_empty());
    }
}
