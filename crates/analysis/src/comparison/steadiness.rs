//! Whether whole runs were at one level, which their average hides.
//!
//! An unsteady run is reported and not dropped: that would be choosing runs by their result.

use rqps_plan::{CONTROL, Method};
use rqps_stats::steady::{RunShape, Steady, steady};

use super::{Observed, Results, rates};

/// Resampling gives the same result in every report.
const SEED: u64 = 1;

/// The whole runs of an arm in one test with known seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsteady {
    pub contender: String,
    /// Runs that are long enough to decide this.
    pub runs: usize,
    /// Unsteady runs by kind, the most frequent first.
    pub ways: Vec<(&'static str, usize)>,
}

impl Unsteady {
    /// Unsteady runs.
    pub fn count(&self) -> usize {
        self.ways.iter().map(|(_, count)| count).sum()
    }
}

/// How a run was not steady; none if it was.
fn way(seen: &Steady) -> Option<&'static str> {
    match seen.class {
        RunShape::WarmUp => Some("warm-up"),
        RunShape::SlowDown => Some("slow-down"),
        RunShape::MultiLevel => Some("several levels"),
        RunShape::Flat if seen.trend.is_flagged => Some("trend"),
        RunShape::Flat if !seen.is_steady => Some("no steady state"),
        RunShape::Flat => None,
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

impl Results<'_> {
    /// Empty for slices, whose seconds all arms share.
    pub fn unsteady(&self, test: &Observed<'_>) -> Vec<Unsteady> {
        if self.plan.method_of(test.name) == Method::Slices {
            return Vec::new();
        }
        let contenders = self.judged.iter().map(|judged| judged.contender.as_str());
        let names: Vec<&str> =
            [self.base.as_str(), CONTROL].into_iter().chain(contenders).collect();
        unsteady(test, &names)
    }
}

#[cfg(test)]
mod tests {
    use rqps_plan::Class::{DeleteOldest, Scan};
    use rqps_plan::Counts;
    use rqps_store::{Measurement, Operation, RoundRecord, Second, SliceRecord, WorkRecord};

    use super::super::tests;
    use super::*;

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

    fn found(passes: &[RoundRecord]) -> Vec<Unsteady> {
        unsteady(&tests(passes)[0], &["base", "new"])
    }

    const LEVEL: fn(u64) -> u64 = |at| 1_000 + at * 7 % 5;
    const SLOWER: fn(u64) -> u64 = |at| LEVEL(at) / if at < 30 { 1 } else { 2 };

    #[test]
    fn a_run_that_was_not_steady_is_told() {
        assert!(found(&[pass(1, Scan, LEVEL), pass(2, Scan, LEVEL)]).is_empty());
        let one = [pass(1, Scan, LEVEL), pass(2, Scan, SLOWER), pass(3, Scan, LEVEL)];
        let new = Unsteady { contender: "new".into(), runs: 3, ways: vec![("slow-down", 1)] };
        assert_eq!(found(&one), [new]);
        let slower = pass(2, Scan, SLOWER);
        let discarded = RoundRecord { discarded: Some("busy".to_string()), ..slower };
        assert!(found(&[pass(1, Scan, LEVEL), discarded]).is_empty(), "it does not count");
    }

    #[test]
    fn steps_of_fixed_work_and_short_runs_have_no_level_to_keep() {
        assert!(found(&[pass(1, DeleteOldest, SLOWER)]).is_empty());
        let mut short = pass(1, Scan, SLOWER);
        short.slices[0].nanos = 12_000_000_000;
        assert!(found(&[short]).is_empty());
    }
}
