//! Ratios to the baseline as JSON, and numbers that JSON has no word for.

use rqps_stats::Estimate;
use serde::Serialize;

/// A ratio to the baseline.
#[derive(Serialize)]
pub(super) struct Ratio {
    pub(super) value: f64,
    /// Null if there is no bound.
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    p: Option<f64>,
}

/// None without a value, that is with too few rounds.
pub(super) fn ratio(of: &Estimate) -> Option<Ratio> {
    let interval = of.interval.exp();
    Some(Ratio {
        value: finite(of.ratio())?,
        low: finite(interval.low).filter(|low| *low > 0.0),
        high: finite(interval.high),
        p: finite(of.p),
    })
}

pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
