//! A value with its uncertainty, and the plain summaries of a sample that several estimators
//! share. Everything is on the natural-log scale unless it says otherwise: the log of a ratio to
//! the baseline, so that +0.01 and −0.01 are the same distance from "no change".

use statrs::statistics::Statistics;

use crate::distribution::{t_quantile, t_two_sided};

/// From `low` to `high`, both included; infinite where the sample allows no statement at the level
/// asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// The interval without any observation.
    pub const EVERYTHING: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

    pub fn around(center: f64, half_width: f64) -> Interval {
        Interval { low: center - half_width, high: center + half_width }
    }

    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// With both ends `factor` times as far from `center`.
    pub fn widened(&self, center: f64, factor: f64) -> Interval {
        let end = |end: f64| center + factor * (end - center);
        Interval { low: end(self.low), high: end(self.high) }
    }

    /// From the log scale to ratios.
    pub fn exp(&self) -> Interval {
        Interval { low: self.low.exp(), high: self.high.exp() }
    }
}

/// An estimated value with a two-sided interval and the p-value of "it is 0".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub interval: Interval,
    pub p: f64,
}

impl Estimate {
    /// `value` with a standard error of `error` on `degrees` of freedom, at the level 1 − `alpha`.
    /// An error of zero is taken at its word: the interval is a point.
    pub fn from_t(value: f64, error: f64, degrees: f64, alpha: f64) -> Estimate {
        if error == 0.0 {
            let p = if value == 0.0 { 1.0 } else { 0.0 };
            return Estimate { value, interval: Interval::around(value, 0.0), p };
        }
        let half_width = t_quantile(1.0 - alpha / 2.0, degrees) * error;
        let p = t_two_sided(value / error, degrees);
        Estimate { value, interval: Interval::around(value, half_width), p }
    }

    /// Whether the interval leaves out "no change".
    pub fn is_significant(&self) -> bool {
        !self.interval.contains(0.0)
    }

    /// The log of the inverse ratio: of times instead of rates.
    pub fn inverse(&self) -> Estimate {
        let Interval { low, high } = self.interval;
        Estimate { value: -self.value, interval: Interval { low: -high, high: -low }, p: self.p }
    }

    /// As a ratio to the baseline.
    pub fn ratio(&self) -> f64 {
        self.value.exp()
    }
}

/// The mean; NaN without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.mean()
}

/// The sample variance, on n − 1 degrees of freedom; NaN for fewer than two values.
pub(crate) fn variance(values: &[f64]) -> f64 {
    values.variance()
}

/// The mean of the middle two, or the one in the middle; NaN without values.
pub(crate) fn median(values: &[f64]) -> f64 {
    median_of(values.to_vec())
}

/// The same for values that are not needed afterwards.
pub(crate) fn median_of(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let (middle, is_odd) = (values.len() / 2, values.len() % 2 == 1);
    let (lower, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if is_odd {
        return *upper;
    }
    (lower.iter().copied().fold(f64::NEG_INFINITY, f64::max) + *upper) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_of_t_and_its_p_value_say_the_same() {
        for value in [0.0, 0.5, 2.2, 2.4, -2.2, -2.4, -9.0] {
            let estimate = Estimate::from_t(value, 1.0, 7.0, 0.05);
            assert_eq!(estimate.is_significant(), estimate.p < 0.05, "{value}");
        }
    }

    #[test]
    fn values_without_any_spread_are_certain() {
        let same = Estimate::from_t(0.0, 0.0, 7.0, 0.05);
        assert!(!same.is_significant() && same.p == 1.0);
        let other = Estimate::from_t(0.1, 0.0, 7.0, 0.05);
        assert!(other.is_significant() && other.p == 0.0);
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&[9.0, 1.0, 3.0]), 3.0);
        assert!(median(&[]).is_nan() && mean(&[]).is_nan() && variance(&[1.0]).is_nan());
    }
}
