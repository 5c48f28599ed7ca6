//! The profiles of a comparison: which functions cost more, and which cost less.

use rqps_observe::CUT;
use rqps_stats::profile::{
    Anchored, Function, Measure, Profile, anchored, functions, innermost, merged, share, total,
};
use rqps_store::{ProfileRecord, Run};

use crate::diagnosis::{Growth, ValueRange};

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
        let [base, contender] = records.map(Side::new);
        let (base, contender) = (base?, contender?);
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

impl<'a> Side<'a> {
    fn new(records: Vec<&'a ProfileRecord>) -> Option<Side<'a>> {
        let contender = &records.first()?.contender;
        let profiles: Vec<Profile> = records
            .iter()
            .map(|one| Profile {
                stacks: &one.stacks,
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
