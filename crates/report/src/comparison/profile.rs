//! The profiles of a comparison: which functions cost more, and which cost less.

use rqps_analysis::diagnosis::{Estimate, Growth};
use rqps_observe::CUT;
use rqps_stats::digits::decimals;
use rqps_stats::profile::{
    Anchored, Function, Measure, Profile, anchored, falls, functions, growths, innermost, merged,
    share, total,
};
use rqps_store::{ProfileRecord, Run};

/// At most this many functions of each direction are shown.
const MOST: usize = 10;

/// A test that was profiled, of a contender and the baseline.
pub(crate) struct Profiled<'a> {
    pub(crate) test: &'a str,
    /// Self time of functions, and their time including what they call: the largest growth first.
    pub(crate) own: Vec<Function>,
    pub(crate) inclusive: Vec<Function>,
    /// The baseline's and the contender's.
    pub(crate) sides: [Side<'a>; 2],
    pub(crate) has_kernel: bool,
}

/// The runs of an arm under the profiler.
pub(crate) struct Side<'a> {
    pub(crate) contender: &'a str,
    pub(crate) profiles: Vec<Profile<'a>>,
    /// Microseconds of CPU per statement, by samples and as the kernel counted them.
    pub(crate) sampled: f64,
    pub(crate) counted: f64,
    /// The share of the time in functions without a name.
    pub(crate) unnamed: f64,
    /// The share of the time in stacks that are deeper than the copied part.
    pub(crate) cut: f64,
}

/// Every test in which both were profiled more than once, in the order of `tests`.
pub(crate) fn profiled<'a>(
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
    /// The functions to show: those that cost significantly more, and those that cost less.
    pub(crate) fn told(functions: &[Function]) -> [Vec<&Function>; 2] {
        [growths(functions).take(MOST).collect(), falls(functions).take(MOST).collect()]
    }

    /// Microseconds of the baseline and the contender, the change between them, and the ends of its
    /// interval.
    pub(crate) fn numbers(function: &Function) -> [String; 5] {
        let Function { base, contender, change, .. } = function;
        let interval = change.interval;
        let decimals = decimals(interval.half_width(), 0..=4);
        let plain = |micros: f64| format!("{micros:.decimals$}");
        let signed = |micros: f64| format!("{micros:+.decimals$}");
        let [change, low, high] = [change.value, interval.low, interval.high].map(signed);
        [plain(*base), plain(*contender), change, low, high]
    }

    /// For rules that look for a cause.
    pub(crate) fn growths(&self) -> Vec<Growth> {
        let of = |function: &Function| Growth {
            frame: function.name.clone(),
            change: Estimate::new(
                function.change.value,
                function.change.interval.low,
                function.change.interval.high,
            ),
        };
        self.own.iter().map(of).collect()
    }

    /// Microseconds per statement by stack, for both arms.
    pub(crate) fn stacks(&self) -> Anchored {
        let [base, contender] = [0, 1].map(|side| merged(&self.sides[side].profiles));
        anchored(base, contender, CUT)
    }

    /// The limits of the profiles.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        for side in &self.sides {
            let name = side.contender;
            notes.push(format!(
                "{name}: {:.2} us of CPU per statement by samples, {:.2} by the kernel's count; {} \
                 runs, {} samples",
                side.sampled,
                side.counted,
                side.profiles.len(),
                side.profiles.iter().map(|profile| profile.samples).sum::<u64>()
            ));
            if side.unnamed >= 0.005 {
                notes.push(format!(
                    "{name}: {} of the time is in functions without names in the build",
                    percent(side.unnamed)
                ));
            }
            if side.cut >= 0.005 {
                notes.push(format!(
                    "{name}: {} of the time is in stacks deeper than the copied part: outer functions \
                     have more time than shown, self times are not affected",
                    percent(side.cut)
                ));
            }
        }
        if !self.has_kernel {
            notes.push(
                "perf may not sample the kernel: its time is missing. Use sysctl \
                 kernel.perf_event_paranoid=1"
                    .to_string(),
            );
        }
        notes
    }
}

/// A function for people: `f`, or `f (kernel)`.
pub(crate) fn readable(name: &str) -> String {
    match name.strip_suffix("_[k]") {
        Some(name) => format!("{name} (kernel)"),
        None => name.to_string(),
    }
}
