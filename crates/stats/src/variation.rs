//! How much throughput varies over a test, which an average hides.

use crate::estimate::{mean, median, variance};

/// Fewer seconds than this vary in no way that means anything.
const LEAST_SECONDS: usize = 3;

/// Of the rates of whole seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variation {
    /// The standard deviation as a share of the mean.
    pub coefficient: f64,
    pub min: f64,
    pub median: f64,
    pub max: f64,
}

/// None for fewer than three seconds, and where nothing was done.
pub fn variation(rates: &[f64]) -> Option<Variation> {
    if rates.len() < LEAST_SECONDS {
        return None;
    }
    let mean = mean(rates);
    (mean > 0.0).then(|| Variation {
        coefficient: variance(rates).sqrt() / mean,
        min: rates.iter().copied().fold(f64::INFINITY, f64::min),
        median: median(rates),
        max: rates.iter().copied().fold(0.0, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coefficient_has_no_unit() {
        let slow = variation(&[80.0, 100.0, 120.0]).unwrap();
        assert_eq!(slow, Variation { coefficient: 0.2, min: 80.0, median: 100.0, max: 120.0 });
        let fast = variation(&[8e5, 1e6, 1.2e6]).unwrap();
        assert!((fast.coefficient - slow.coefficient).abs() < 1e-12);
        assert_eq!(variation(&[5.0; 4]).unwrap().coefficient, 0.0);
    }

    #[test]
    fn too_few_seconds_and_idle_ones_do_not_vary() {
        assert_eq!(variation(&[1.0, 2.0]), None);
        assert_eq!(variation(&[0.0; 10]), None);
    }
}
