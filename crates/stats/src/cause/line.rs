//! Whether a statement costs more by itself or for each of its rows.

use super::evidence::Estimate;

/// The half-width of a 95 % interval in standard errors, where those are known.
const Z: f64 = 1.959_964;

/// y = intercept + slope * x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub intercept: Estimate,
    pub slope: Estimate,
    /// All points are within twice their interval of the line.
    pub fits: bool,
}

/// A line through points whose intervals are known: least squares, weighted by their precision.
/// None for less than three points, or all at one place.
pub fn fit_line(points: &[(f64, Estimate)]) -> Option<Line> {
    if points.len() < 3 {
        return None;
    }
    let error = |y: &Estimate| (y.high - y.low) / (2.0 * Z);
    let sum = |of: fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|(x, y)| of(*x, y.value) / error(y).powi(2)).sum()
    };
    let (w, x, y) = (sum(|_, _| 1.0), sum(|x, _| x), sum(|_, y| y));
    let (xx, xy) = (sum(|x, _| x * x), sum(|x, y| x * y));
    let spread = w * xx - x * x;
    // Points at one place leave only what rounding makes of 0.
    if !spread.is_finite() || spread <= w * xx * 1e-12 {
        return None;
    }
    let (intercept, slope) = ((xx * y - x * xy) / spread, (w * xy - x * y) / spread);
    let estimate = |value: f64, variance: f64| {
        let half = Z * variance.sqrt();
        Estimate::new(value, value - half, value + half)
    };
    let is_near =
        |(x, y): &(f64, Estimate)| (y.value - intercept - slope * x).abs() <= 2.0 * Z * error(y);
    Some(Line {
        intercept: estimate(intercept, xx / spread),
        slope: estimate(slope, w / spread),
        fits: points.iter().all(is_near),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(value: f64, half: f64) -> Estimate {
        Estimate::new(value, value - half, value + half)
    }

    #[test]
    fn a_fixed_cost_and_one_per_row_are_told_apart() {
        let cost = |rows: f64| about(1.2 + 0.003 * rows, 0.1 + 0.0005 * rows);
        let line =
            fit_line(&[10.0, 100.0, 1000.0, 10_000.0].map(|rows| (rows, cost(rows)))).unwrap();
        assert!((line.intercept.value - 1.2).abs() < 1e-9, "{line:?}");
        assert!((line.slope.value - 0.003).abs() < 1e-9, "{line:?}");
        assert!(line.intercept.is_above(1.0) && line.slope.is_above(0.002) && line.fits);
    }

    #[test]
    fn no_line_goes_through_one_place() {
        assert_eq!(fit_line(&[(10.0, about(1.0, 0.1)); 4]), None);
        assert_eq!(fit_line(&[(1.0, about(1.0, 0.1)), (2.0, about(2.0, 0.1))]), None);
    }

    #[test]
    fn points_off_the_line_are_told() {
        let points = [(1.0, about(1.0, 0.1)), (2.0, about(9.0, 0.1)), (3.0, about(1.0, 0.1))];
        assert!(!fit_line(&points).unwrap().fits);
    }
}
