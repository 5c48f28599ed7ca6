//! Whether the cost of a statement is fixed or grows with its rows.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::evidence::ValueRange;

/// The half-width of a 95 % interval in standard errors, if those are known. Intervals of few
/// rounds are wider, since their errors are uncertain, and so are the errors that are taken from
/// them.
const Z: f64 = 1.959_964;
/// Any two points are on a line.
const FEWEST: usize = 3;
/// Points with a smaller p-value are not on a line.
const CHANCE: f64 = 0.05;

/// y = intercept + slope * x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub intercept: ValueRange,
    pub slope: ValueRange,
    /// The probability that points of a line are at least as far from it as these: chi-square with
    /// as many degrees of freedom as there are points beyond two.
    pub p: f64,
}

impl Line {
    /// The points may be on a line.
    pub fn fits(&self) -> bool {
        self.p >= CHANCE
    }
}

/// A line through points whose intervals are known: least squares, weighted by their precision.
/// None for less than three points, or all at one place.
pub fn fit_line(points: &[(f64, ValueRange)]) -> Option<Line> {
    if points.len() < FEWEST {
        return None;
    }
    let error = |y: &ValueRange| (y.high - y.low) / (2.0 * Z);
    let sum = |of: fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|(x, y)| of(*x, y.value) / error(y).powi(2)).sum()
    };
    let (w, x, y) = (sum(|_, _| 1.0), sum(|x, _| x), sum(|_, y| y));
    let (xx, xy) = (sum(|x, _| x * x), sum(|x, y| x * y));
    let spread = w * xx - x * x;
    // Points at one place leave only a rounding error.
    if !spread.is_finite() || spread <= w * xx * 1e-12 {
        return None;
    }
    let (intercept, slope) = ((xx * y - x * xy) / spread, (w * xy - x * y) / spread);
    let estimate = |value: f64, variance: f64| {
        let half = Z * variance.sqrt();
        ValueRange::new(value, value - half, value + half)
    };
    let distance =
        |(x, y): &(f64, ValueRange)| ((y.value - intercept - slope * x) / error(y)).powi(2);
    let distances: f64 = points.iter().map(distance).sum();
    let by_chance = ChiSquared::new((points.len() - 2) as f64).ok()?;
    Some(Line {
        intercept: estimate(intercept, xx / spread),
        slope: estimate(slope, w / spread),
        p: by_chance.sf(distances),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(value: f64, half: f64) -> ValueRange {
        ValueRange::new(value, value - half, value + half)
    }

    #[test]
    fn a_fixed_cost_and_one_per_row_are_told_apart() {
        let cost = |rows: f64| about(1.2 + 0.003 * rows, 0.1 + 0.0005 * rows);
        let line =
            fit_line(&[10.0, 100.0, 1000.0, 10_000.0].map(|rows| (rows, cost(rows)))).unwrap();
        assert!((line.intercept.value - 1.2).abs() < 1e-9, "{line:?}");
        assert!((line.slope.value - 0.003).abs() < 1e-9, "{line:?}");
        assert!(line.intercept.is_above(1.0) && line.slope.is_above(0.002) && line.fits());
    }

    #[test]
    fn no_line_goes_through_one_place() {
        assert_eq!(fit_line(&[(10.0, about(1.0, 0.1)); 4]), None);
        assert_eq!(fit_line(&[(1.0, about(1.0, 0.1)), (2.0, about(2.0, 0.1))]), None);
    }

    /// With errors of 1 and a corner of `height`, chi-square is two thirds of its square; any
    /// printed table has 3.84 for 5 % at one degree of freedom.
    #[test]
    fn a_corner_that_is_no_chance_is_not_on_a_line() {
        let corner = |height: f64| {
            let points = [0.0, height, 0.0].map(|y| about(y, Z));
            fit_line(&[(1.0, points[0]), (2.0, points[1]), (3.0, points[2])]).unwrap()
        };
        assert!((corner((1.5 * 3.841_459_f64).sqrt()).p - 0.05).abs() < 1e-6);
        assert!(corner(2.3).fits() && !corner(2.5).fits());
        assert!((corner(0.0).p - 1.0).abs() < 1e-9);
    }

    /// What Postgres 18.0 adds to a statement of `read-only` with ranges of 10, 100 and 10000
    /// (finding 4).
    #[test]
    fn what_costs_more_at_two_sizes_and_less_at_a_third_is_no_line() {
        let points = [
            (2.56, about(0.102, 0.025)),
            (19.4, about(0.170, 0.037)),
            (1783.0, about(-6.05, 3.04)),
        ];
        let line = fit_line(&points).unwrap();
        assert!(!line.fits() && line.p < 1e-5, "{line:?}");
    }
}
