//! Estimates as all formats print them: with as many digits as their interval supports.

use rqps_stats::digits::Digits;
use rqps_stats::{Estimate, Interval};

/// The percentile that is shown where there is room for one.
pub(crate) const TAIL: &str = "p99";

/// `0.974`; "-" with too few rounds.
pub(crate) fn ratio(estimate: &Estimate) -> String {
    Digits::of(estimate.interval).ratio(estimate.value)
}

/// `-2.6 %`, of the same ratio.
pub(crate) fn change(estimate: &Estimate) -> String {
    Digits::of(estimate.interval).percent(estimate.value)
}

/// `0.969 – 0.979`, the interval of a ratio; "-" with too few rounds, such as three by ranks.
pub(crate) fn span(estimate: &Estimate) -> String {
    let (digits, Interval { low, high }) = (Digits::of(estimate.interval), estimate.interval);
    match estimate.interval.half_width().is_finite() {
        true => format!("{} – {}", digits.ratio(low), digits.ratio(high)),
        false => "-".to_string(),
    }
}

/// `±0.005`, half of the interval of a ratio; empty if there is none.
pub(crate) fn reach(estimate: &Estimate) -> String {
    let half = estimate.interval.exp().half_width();
    match half.is_finite() {
        true => format!("±{}", Digits::of(estimate.interval).part(half)),
        false => String::new(),
    }
}

/// `-0.4 % (-0.9 % to +0.1 %)`
pub(crate) fn with_interval(estimate: &Estimate) -> String {
    let (digits, Interval { low, high }) = (Digits::of(estimate.interval), estimate.interval);
    format!("{} ({} to {})", change(estimate), digits.percent(low), digits.percent(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(interval: Interval) -> Estimate {
        Estimate { value: 0.01, interval, p: 1.0 }
    }

    #[test]
    fn an_estimate_is_printed_alike_in_every_form() {
        let wide = estimate(Interval::around(0.01, 0.012));
        assert_eq!((ratio(&wide), reach(&wide)), ("1.010".into(), "±0.012".into()));
        assert_eq!(span(&wide), "0.998 – 1.022");
        assert_eq!(
            (change(&wide), with_interval(&wide)),
            ("+1.0 %".into(), "+1.0 % (-0.2 % to +2.2 %)".into())
        );
    }

    #[test]
    fn an_interval_that_leaves_nothing_out_has_no_numbers() {
        let open = estimate(Interval::EVERYTHING);
        assert_eq!(
            (ratio(&open), span(&open), reach(&open)),
            ("1.01".into(), "-".into(), String::new())
        );
    }
}
