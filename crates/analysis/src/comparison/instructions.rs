//! Instructions per operation of a contender and the baseline: by how much they differ, and in
//! which functions.

use std::collections::BTreeMap;

use rqps_store::{CountRecord, Run};
use serde::Serialize;

use crate::diagnosis::{Executed, Grown};
use crate::function_name::{changed_signatures, short};

/// Counts of one build in its repetitions differ by less than this share; otherwise a report says
/// by how much.
pub const REPEATABLE: f64 = 0.002;

/// Whether a contender executes more instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountVerdict {
    More,
    Fewer,
    Same,
    /// They were not counted, or two counts of one build differ by more than the threshold.
    Unknown,
}

/// A test whose instructions were to be counted, of a contender and the baseline.
pub struct CountedTest<'a> {
    pub test: &'a str,
    /// The baseline's and the contender's.
    pub sides: [CountedSide<'a>; 2],
    /// Self instructions of functions in both, the largest difference first. Empty if one side has
    /// none.
    pub functions: Vec<FunctionChange<'a>>,
}

/// The instructions of an arm.
pub struct CountedSide<'a> {
    pub contender: &'a str,
    /// Per operation, in user space, the mean of the repetitions; or why there are none.
    pub instructions: Result<f64, &'a str>,
    /// By how much the repetitions differ, as a share.
    pub spread: f64,
    /// The share of the instructions in functions without a name.
    pub unnamed: f64,
    /// How many were counted in each of the two servers.
    pub operations: u64,
}

/// Instructions per operation of a function itself. Functions of two builds are the same if their
/// names are, or what a changed signature leaves of them if each build has one such.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FunctionChange<'a> {
    pub name: &'a str,
    /// Its name in the baseline, if that has another signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_name: Option<&'a str>,
    pub library: &'a str,
    pub file: Option<&'a str>,
    pub baseline: f64,
    pub contender: f64,
}

impl FunctionChange<'_> {
    /// Contender minus baseline.
    pub fn change(&self) -> f64 {
        self.contender - self.baseline
    }
}

/// Every test that has a record of both, in the order of `tests`.
pub(super) fn counted<'a>(run: &'a Run, base: &str, contender: &str) -> Vec<CountedTest<'a>> {
    let record = |test: &str, name: &str| {
        run.counts.iter().find(|one| one.test == test && one.contender == name)
    };
    let of = |one: &'a CountRecord| {
        let base = record(&one.test, base)?;
        Some(CountedTest {
            test: &one.test,
            functions: match (&base.why, &one.why) {
                (None, None) => functions(base, one),
                _ => Vec::new(),
            },
            sides: [base, one].map(side),
        })
    };
    let order = run.plan.comparison().map(|plan| plan.tests()).unwrap_or_default();
    let place = |one: &&CountRecord| order.iter().position(|test| *test == one.test);
    let mut own: Vec<&CountRecord> =
        run.counts.iter().filter(|one| one.contender == contender).collect();
    own.sort_by_key(place);
    own.into_iter().filter_map(of).collect()
}

fn side(record: &CountRecord) -> CountedSide<'_> {
    let sum = |repetition: usize| -> f64 {
        record.functions.iter().map(|function| function.instructions[repetition]).sum()
    };
    let [first, second] = [sum(0), sum(1)];
    let mean = (first + second) / 2.0;
    let is_unnamed = |name: &str| name.starts_with('[');
    let unnamed = record.functions.iter().filter(|function| is_unnamed(&function.name));
    let unnamed: f64 =
        unnamed.map(|function| function.instructions.iter().sum::<f64>() / 2.0).sum();
    CountedSide {
        contender: &record.contender,
        instructions: match &record.why {
            None if mean > 0.0 => Ok(mean),
            None => Err("no instructions were counted in its server"),
            Some(why) => Err(why),
        },
        spread: if mean > 0.0 { (first - second).abs() / mean } else { 0.0 },
        unnamed: if mean > 0.0 { unnamed / mean } else { 0.0 },
        operations: record.operations,
    }
}

fn functions<'a>(base: &'a CountRecord, contender: &'a CountRecord) -> Vec<FunctionChange<'a>> {
    let names = |record: &'a CountRecord| {
        record.functions.iter().map(|function| function.name.as_str()).collect()
    };
    let changed = changed_signatures(&names(base), &names(contender));
    let mut by_name: BTreeMap<&str, FunctionChange<'a>> = BTreeMap::new();
    for (place, record) in [base, contender].into_iter().enumerate() {
        for function in &record.functions {
            let baseline_name = changed.get_key_value(function.name.as_str());
            let name = baseline_name.map_or(function.name.as_str(), |(_, name)| name);
            let mean = function.instructions.iter().sum::<f64>() / 2.0;
            let (library, file) = (function.library.as_str(), function.file.as_deref());
            let blank = FunctionChange {
                name,
                baseline_name: baseline_name.map(|(name, _)| *name),
                library,
                file,
                baseline: 0.0,
                contender: 0.0,
            };
            let change = by_name.entry(name).or_insert(blank);
            *[&mut change.baseline, &mut change.contender][place] += mean;
        }
    }
    let mut all: Vec<FunctionChange<'_>> = by_name.into_values().collect();
    all.sort_by(|one, other| other.change().abs().total_cmp(&one.change().abs()));
    all
}

impl CountedTest<'_> {
    /// Instructions per operation of the baseline and of the contender, where both are known.
    pub fn both(&self) -> Option<[f64; 2]> {
        let [base, contender] = &self.sides;
        Some([base.instructions.ok()?, contender.instructions.ok()?])
    }

    /// The change as a share of the baseline's.
    pub fn change(&self) -> Option<f64> {
        self.both().map(|[base, contender]| contender / base - 1.0)
    }

    /// Against the smallest change that matters, as a share. Repetitions that differ by more than
    /// that leave only changes that are larger than what they differ by.
    pub fn verdict(&self, threshold: f64) -> CountVerdict {
        let Some(change) = self.change() else { return CountVerdict::Unknown };
        let is_sure = self.sides.iter().all(|side| side.spread <= threshold);
        let spreads: f64 = self.sides.iter().map(|side| side.spread).sum();
        let least = if is_sure { threshold } else { threshold.max(spreads * (1.0 + change)) };
        match change {
            change if change > least => CountVerdict::More,
            change if change < -least => CountVerdict::Fewer,
            _ if is_sure => CountVerdict::Same,
            _ => CountVerdict::Unknown,
        }
    }

    /// Why there is no change: the first side without instructions.
    pub fn why(&self) -> Option<(&str, &str)> {
        self.sides.iter().find_map(|side| Some((side.contender, side.instructions.err()?)))
    }

    /// For rules that look for a cause.
    pub fn executed(&self) -> Option<Executed> {
        let [base, contender] = self.both()?;
        let grown = |one: &FunctionChange<'_>| Grown {
            function: short(one.name).to_string(),
            change: one.change(),
        };
        Some(Executed { base, contender, functions: self.functions.iter().map(grown).collect() })
    }
}

#[cfg(test)]
mod tests {
    use rqps_store::FunctionCount;

    use super::*;
    use crate::comparison::fixture;

    fn record(contender: &str, functions: &[(&str, [f64; 2])]) -> CountRecord {
        let function = |(name, instructions): &(&str, [f64; 2])| FunctionCount {
            name: name.to_string(),
            library: "postgres".to_string(),
            file: None,
            instructions: *instructions,
        };
        CountRecord {
            test: "point-query".to_string(),
            contender: contender.to_string(),
            operations: 1_000,
            functions: functions.iter().map(function).collect(),
            ..CountRecord::default()
        }
    }

    #[test]
    fn functions_are_paired_by_name_and_the_largest_difference_is_first() {
        let base = [("exec", [500.0, 502.0]), ("hash", [300.0; 2]), ("old", [9.0; 2])];
        let new = [("exec", [520.0, 522.0]), ("hash", [100.0; 2]), ("[libz.so]", [80.0; 2])];
        let counts = vec![record("old", &base), record("new", &new)];
        let run = Run { counts, ..fixture::run(&fixture::plan(), ["old=sqlite", "new=sqlite"]) };
        let all = counted(&run, "old", "new");
        let one = &all[0];
        let told: Vec<(&str, f64)> =
            one.functions.iter().map(|function| (function.name, function.change())).collect();
        let expected = [("hash", -200.0), ("[libz.so]", 80.0), ("exec", 20.0), ("old", -9.0)];
        assert_eq!(told, expected);
        assert_eq!(one.both(), Some([810.0, 701.0]));
        assert!((one.sides[0].spread - 2.0 / 810.0).abs() < 1e-12);
        assert_eq!(one.verdict(0.003), CountVerdict::Fewer);
        assert_eq!(one.verdict(0.2), CountVerdict::Same);
        assert_eq!(one.verdict(0.001), CountVerdict::Fewer, "by more than its counts differ by");
        assert!((one.sides[1].unnamed - 80.0 / 701.0).abs() < 1e-12);
    }

    #[test]
    fn a_function_whose_signature_changed_is_one_function() {
        let base = [
            ("ns::open(ns::Env*, int)", [426.0; 2]),
            ("ns::get(int)", [50.0; 2]),
            ("ns::get(long)", [50.0; 2]),
        ];
        let new = [("ns::open(ns::Env*)", [488.0; 2]), ("ns::get(bool)", [90.0; 2])];
        let counts = vec![record("old", &base), record("new", &new)];
        let run = Run { counts, ..fixture::run(&fixture::plan(), ["old=sqlite", "new=sqlite"]) };
        let all = counted(&run, "old", "new");
        let opened = &all[0].functions[1];
        assert_eq!((opened.name, opened.change()), ("ns::open(ns::Env*)", 62.0));
        assert_eq!(opened.baseline_name, Some("ns::open(ns::Env*, int)"));
        // Which one of two became it is not known.
        let told: Vec<f64> = all[0].functions.iter().map(FunctionChange::change).collect();
        assert_eq!(told, [90.0, 62.0, -50.0, -50.0]);
    }

    #[test]
    fn a_change_far_beyond_what_repetitions_differ_by_is_known() {
        let verdict = |contender: [f64; 2]| {
            let counts =
                vec![record("old", &[("f", [410.0; 2])]), record("new", &[("f", contender)])];
            let run =
                Run { counts, ..fixture::run(&fixture::plan(), ["old=sqlite", "new=sqlite"]) };
            counted(&run, "old", "new")[0].verdict(0.003)
        };
        assert_eq!(verdict([911.0, 931.0]), CountVerdict::More);
        assert_eq!(verdict([190.0, 196.0]), CountVerdict::Fewer);
        assert_eq!(verdict([412.0, 424.0]), CountVerdict::Unknown);
        assert_eq!(verdict([404.0, 416.0]), CountVerdict::Unknown);
    }

    #[test]
    fn without_counts_of_both_there_is_no_change_and_it_is_said_why() {
        let why = Some("valgrind is not installed".to_string());
        let failed = CountRecord { why, functions: Vec::new(), ..record("new", &[]) };
        let run = Run {
            counts: vec![record("old", &[("f", [5.0; 2])]), failed],
            ..fixture::run(&fixture::plan(), ["old=sqlite", "new=sqlite"])
        };
        let all = counted(&run, "old", "new");
        assert_eq!((all[0].change(), all[0].executed()), (None, None));
        assert_eq!(all[0].why(), Some(("new", "valgrind is not installed")));
    }
}
