//! The profiles of a comparison: which functions cost more, and which cost less.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rqps_observe::CUT;
use rqps_stats::profile::{
    Anchored, Function, Measure, Profile, anchored, functions, innermost, merged, share, total,
};
use rqps_store::{ProfileRecord, Run};

use crate::diagnosis::{Growth, ValueRange};
use crate::function_name::changed_signatures;

/// A test that was profiled, of a contender and the baseline.
pub struct Profiled<'a> {
    pub test: &'a str,
    /// Self time of functions, and their time including what they call: the largest growth first.
    pub own: Vec<Function>,
    pub inclusive: Vec<Function>,
    /// The baseline's and the contender's.
    pub sides: [Side<'a>; 2],
    pub has_kernel: bool,
}

/// The runs of an arm under the profiler.
pub struct Side<'a> {
    pub contender: &'a str,
    pub profiles: Vec<Profile<'a>>,
    /// Microseconds of CPU per statement, by samples and as the kernel counted them.
    pub sampled: f64,
    pub counted: f64,
    /// The share of the time in functions without a name.
    pub unnamed: f64,
    /// The share of the time in stacks that are deeper than the copied part.
    pub cut: f64,
}

/// Every test in which both were profiled more than once, in the order of `tests`.
pub(super) fn profiled<'a>(
    run: &'a Run,
    tests: impl Iterator<Item = &'a str>,
    base: &str,
    contender: &str,
) -> Vec<Profiled<'a>> {
    let of = |test: &'a str| {
        let side = |name: &str| {
            let records = run.profiles.iter();
            records.filter(|one| one.test == test && one.contender == name).collect::<Vec<_>>()
        };
        let records = [side(base), side(contender)];
        let has_kernel = records.iter().flatten().all(|one| one.has_kernel);
        let [base, contender] = records.each_ref().map(|records| names(records));
        let changed = changed_signatures(&base, &contender);
        let [base, contender] = records;
        let (base, contender) = (Side::new(base, &changed)?, Side::new(contender, &changed)?);
        Some(Profiled {
            test,
            own: functions(&base.profiles, &contender.profiles, Measure::Own)?,
            inclusive: functions(&base.profiles, &contender.profiles, Measure::Inclusive)?,
            sides: [base, contender],
            has_kernel,
        })
    };
    tests.filter_map(of).collect()
}

/// The functions in profiles.
fn names<'a>(records: &[&'a ProfileRecord]) -> BTreeSet<&'a str> {
    let stacks = records.iter().flat_map(|one| one.stacks.keys());
    stacks.flat_map(|stack| stack.split(';')).collect()
}

/// Stacks with the names that functions have in the other build.
fn renamed<'a>(
    stacks: &'a BTreeMap<String, u64>,
    changed: &BTreeMap<&str, &str>,
) -> Cow<'a, BTreeMap<String, u64>> {
    if changed.is_empty() {
        return Cow::Borrowed(stacks);
    }
    let mut renamed: BTreeMap<String, u64> = BTreeMap::new();
    for (stack, nanos) in stacks {
        let names = stack.split(';').map(|name| changed.get(name).copied().unwrap_or(name));
        *renamed.entry(names.collect::<Vec<_>>().join(";")).or_default() += nanos;
    }
    Cow::Owned(renamed)
}

impl<'a> Side<'a> {
    /// `changed` names functions anew whose signature differs in the other build.
    fn new(records: Vec<&'a ProfileRecord>, changed: &BTreeMap<&str, &str>) -> Option<Side<'a>> {
        let contender = &records.first()?.contender;
        let profiles: Vec<Profile> = records
            .iter()
            .map(|one| Profile {
                stacks: renamed(&one.stacks, changed),
                samples: one.samples,
                operations: one.statements,
            })
            .collect();
        let statements: u64 = records.iter().map(|one| one.statements).sum();
        let nanos: u64 = records.iter().map(|one| one.server_cpu).sum();
        Some(Side {
            contender,
            sampled: total(&profiles),
            counted: nanos as f64 / 1e3 / statements.max(1) as f64,
            unnamed: share(&profiles, |stack| innermost(stack).starts_with('[')),
            cut: share(&profiles, |stack| stack.split(';').next() == Some(CUT)),
            profiles,
        })
    }
}

impl Profiled<'_> {
    /// For rules that look for a cause.
    pub fn growths(&self) -> Vec<Growth> {
        let of = |function: &Function| Growth {
            frame: function.name.clone(),
            change: ValueRange::new(
                function.change.value,
                function.change.interval.low,
                function.change.interval.high,
            ),
        };
        self.own.iter().map(of).collect()
    }

    /// Microseconds per statement by stack, for both arms.
    pub fn stacks(&self) -> Anchored {
        let [base, contender] = [0, 1].map(|side| merged(&self.sides[side].profiles));
        anchored(base, contender, CUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(stacks: &[(&str, u64)]) -> ProfileRecord {
        let stacks = stacks.iter().map(|(stack, nanos)| (stack.to_string(), *nanos)).collect();
        ProfileRecord { stacks, ..ProfileRecord::default() }
    }

    #[test]
    fn stacks_of_the_baseline_name_functions_as_the_contender_does() {
        let base = record(&[("main;open(int)", 3), ("main;open(int);read", 4), ("main;close", 5)]);
        let contender = record(&[("main;open(int, bool);read", 6), ("main;close", 7)]);
        let changed = changed_signatures(&names(&[&base]), &names(&[&contender]));
        let expected = record(&[
            ("main;open(int, bool)", 3),
            ("main;open(int, bool);read", 4),
            ("main;close", 5),
        ]);
        assert_eq!(*renamed(&base.stacks, &changed), expected.stacks);
    }
}
