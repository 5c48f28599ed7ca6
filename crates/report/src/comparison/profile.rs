//! The profiles of a comparison in words and numbers.

use rqps_analysis::comparison::Profiled;
use rqps_stats::digits::decimals;
use rqps_stats::profile::{Function, falls, growths};

/// At most this many functions of each direction are shown.
const MOST: usize = 10;

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

/// The limits of the profiles.
pub(crate) fn notes(profiled: &Profiled<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    for side in &profiled.sides {
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
    if !profiled.has_kernel {
        notes.push(
            "perf may not sample the kernel: its time is missing. Use sysctl \
             kernel.perf_event_paranoid=1"
                .to_string(),
        );
    }
    notes
}

/// A function for people: `f`, or `f (kernel)`.
pub(crate) fn readable(name: &str) -> String {
    match name.strip_suffix("_[k]") {
        Some(name) => format!("{name} (kernel)"),
        None => name.to_string(),
    }
}
