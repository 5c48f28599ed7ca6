//! Numbers as statements have them.

use super::evidence::{Change, Estimate};

/// The logarithm of a ratio as a change in percent, `-2.9 %`; from twofold on as a factor.
pub(super) fn change(log: f64) -> String {
    match log.exp() {
        factor if is_factor(factor) => format!("a factor of {factor:.2}"),
        ratio => percent(ratio),
    }
}

/// With its interval.
pub(super) fn interval(of: &Change) -> String {
    let Estimate { value, low, high } = of.log;
    let number = match is_factor(value.exp()) {
        true => |log: f64| format!("{:.2}", log.exp()),
        false => |log: f64| percent(log.exp()),
    };
    format!("{} (95 % interval {} to {})", change(value), number(low), number(high))
}

fn is_factor(ratio: f64) -> bool {
    !(0.5..2.0).contains(&ratio)
}

fn percent(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

/// Microseconds with their sign.
pub(super) fn micros(micros: f64) -> String {
    match micros.abs() {
        size if size >= 100.0 => format!("{micros:+.0} us"),
        size if size >= 0.095 => format!("{micros:+.1} us"),
        _ => format!("{micros:+.3} us"),
    }
}

/// Microseconds with their interval, by two digits of how far it reaches: so its ends are told apart
/// whatever their size.
pub(super) fn micros_interval(estimate: &Estimate) -> String {
    let reach = (estimate.high - estimate.low) / 2.0;
    let decimals = (1.0 - reach.log10()).ceil().clamp(0.0, 3.0) as usize;
    let Estimate { value, low, high } = *estimate;
    format!("{value:+.decimals$} us (95 % interval {low:+.decimals$} to {high:+.decimals$})")
}

pub(super) fn share(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}
