//! Where a comparison stands, for the lab and for whoever waits.

use std::collections::BTreeSet;

use rqps_lab::{Changed, Interim, Standing};
use rqps_plan::{Comparison, Plan, Workload};
use rqps_store::PassRecord;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Judges the passes so far.
pub(crate) fn standing(plan: &Plan, passes: &[PassRecord]) -> Interim {
    let Workload::Comparison(comparison) = &plan.workload else { return Interim::default() };
    let interim = rqps_report::interim(plan, passes);
    let names: Vec<String> = plan.contenders.iter().map(|one| one.name()).collect();
    let tests: BTreeSet<&str> = passes.iter().map(|pass| pass.test.as_str()).collect();
    let standing = interim.standing.iter().filter_map(|line| {
        let (contender, test, text) = named(line, &names, &tests)?;
        let of_test = passes.iter().filter(|pass| pass.test == test && pass.invalid.is_none());
        let rounds: BTreeSet<u32> = of_test.map(|pass| pass.round).collect();
        Some(Standing {
            contender: contender.to_string(),
            test: test.to_string(),
            text: text.to_string(),
            rounds_needed: half_width(text)
                .map(|width| rounds_needed(comparison, rounds.len() as u32, width)),
        })
    });
    let changed = interim.changed.into_iter();
    let changed = changed.map(|(test, contender, size)| Changed { test, contender, size });
    Interim {
        standing: standing.collect(),
        settled: interim.settled,
        confirmed: interim.confirmed,
        changed: changed.collect(),
    }
}

/// A line of the report as contender, test and what is said of them.
fn named<'a>(
    line: &'a str,
    contenders: &'a [String],
    tests: &BTreeSet<&str>,
) -> Option<(&'a str, &'a str, &'a str)> {
    contenders.iter().find_map(|contender| {
        let (test, text) = line.strip_prefix(contender)?.strip_prefix(' ')?.split_once(": ")?;
        tests.contains(test).then_some((contender.as_str(), test, text))
    })
}

/// Of the interval that a line ends with, as a share.
fn half_width(text: &str) -> Option<f64> {
    let (_, width) = text.split_once(" ± ")?;
    Some(width.split_once(" %")?.0.parse::<f64>().ok()? / 100.0)
}

/// In how many rounds an interval will be as narrow as is wanted, if the rounds to come scatter as
/// those before.
fn rounds_needed(comparison: &Comparison, rounds: u32, width: f64) -> u32 {
    // The half width is that of a mean's interval: Student's t by the square root of the rounds.
    let narrowness = |rounds: u32| {
        let student = StudentsT::new(0.0, 1.0, f64::from(rounds.max(2) - 1));
        student.map_or(1.0, |student| student.inverse_cdf(0.975)) / f64::from(rounds).sqrt()
    };
    let now = narrowness(rounds);
    let is_enough = |more: &u32| width * narrowness(*more) / now <= comparison.precision;
    let most = comparison.rounds;
    let fewest = comparison.fewest_rounds.min(most).max(rounds.min(most));
    (fewest..=most).find(is_enough).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use rqps_plan::{Compared, Count, InsertBenchmark, Profile};

    use super::*;

    fn comparison(precision: f64) -> Comparison {
        let benchmark = InsertBenchmark::new(Profile::P2025, Count(1_000));
        let of = Comparison::new(Compared::InsertBenchmark(benchmark));
        Comparison { precision, rounds: 20, fewest_rounds: 6, ..of }
    }

    #[test]
    fn an_interval_needs_as_many_rounds_as_make_it_narrow() {
        let needed = |rounds, width| rounds_needed(&comparison(0.005), rounds, width);
        assert_eq!(needed(3, 0.001), 6, "no verdict rests on fewer");
        assert_eq!(needed(8, 0.004), 8);
        // Half as wide as after 6 rounds, where t is 2.57: 2.57 / sqrt(6) is twice 2.13 / sqrt(16.5).
        assert_eq!(needed(6, 0.01), 17);
        assert_eq!(needed(6, 0.9), 20, "no more than the plan has");
    }

    #[test]
    fn a_line_is_of_a_contender_and_a_test() {
        let names = ["a".to_string(), "a b".to_string()];
        let tests = BTreeSet::from(["point-query", "read-only_range=10"]);
        let line = "a b read-only_range=10: +0.31 % ± 0.22 %, settled";
        let (contender, test, text) = named(line, &names, &tests).unwrap();
        assert_eq!((contender, test), ("a b", "read-only_range=10"));
        assert_eq!(half_width(text), Some(0.0022));
        assert_eq!(half_width("too few rounds"), None);
    }
}
