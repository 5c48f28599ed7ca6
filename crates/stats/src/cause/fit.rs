//! Two models of costs: of the size of a statement, and of the number of clients.

use statrs::distribution::{ContinuousCDF, StudentsT};

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

/// The universal scalability law: rate(N) = l N / (1 + s (N - 1) + k N (N - 1)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// l, the rate of one client.
    pub of_one: f64,
    /// s, what clients wait for each other.
    pub contention: Estimate,
    /// k, what each client costs all others.
    pub coherency: Estimate,
}

impl Scaling {
    /// The number of clients beyond which there is no gain; none if there always is some.
    pub fn knee(&self) -> Option<f64> {
        let (s, k) = (self.contention.value, self.coherency.value);
        (k > 0.0 && s < 1.0).then(|| ((1.0 - s) / k).sqrt())
    }
}

/// Fits clients and rates: N / rate is linear in 1, N - 1 and N (N - 1); relative errors are taken
/// to be alike. None for less than four different numbers of clients.
pub fn fit_scaling(points: &[(f64, f64)]) -> Option<Scaling> {
    let mut clients: Vec<f64> = points.iter().map(|(n, _)| *n).collect();
    clients.sort_by(f64::total_cmp);
    clients.dedup();
    if clients.len() < 4 || points.iter().any(|(_, rate)| *rate <= 0.0) {
        return None;
    }
    // Divided by N / rate, so that all errors are relative; what is left to fit is 1.
    let rows: Vec<[f64; 3]> = points
        .iter()
        .map(|(n, rate)| [1.0, n - 1.0, n * (n - 1.0)].map(|x| x * rate / n))
        .collect();
    let mut normal = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for row in &rows {
        for i in 0..3 {
            right[i] += row[i];
            for j in 0..3 {
                normal[i][j] += row[i] * row[j];
            }
        }
    }
    let inverse = inverse(normal)?;
    let solution = inverse.map(|row| dot(row, right));
    let freedom = points.len() as f64 - 3.0;
    let residuals: f64 = rows.iter().map(|row| (1.0 - dot(*row, solution)).powi(2)).sum();
    let variance = residuals / freedom;
    let quantile = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975);
    let [a, b, c] = solution;
    // The error of a ratio of two of the solution's parts, to the first order.
    let ratio = |part: f64, i: usize| {
        let value = part / a;
        let spread = inverse[i][i] + value * value * inverse[0][0] - 2.0 * value * inverse[0][i];
        let half = quantile * (variance * spread.max(0.0)).sqrt() / a;
        Estimate::new(value, value - half, value + half)
    };
    (a > 0.0).then(|| Scaling { of_one: 1.0 / a, contention: ratio(b, 1), coherency: ratio(c, 2) })
}

fn dot(left: [f64; 3], right: [f64; 3]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

/// By cofactors; none where there is no inverse.
fn inverse(m: [[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let minor = |i: usize, j: usize| {
        let (r, s) = ((i + 1) % 3, (i + 2) % 3);
        let (c, d) = ((j + 1) % 3, (j + 2) % 3);
        m[r][c] * m[s][d] - m[r][d] * m[s][c]
    };
    let determinant: f64 = (0..3).map(|j| m[0][j] * minor(0, j)).sum();
    let exists = determinant.is_finite() && determinant != 0.0;
    let entry = |i: usize, j: usize| minor(j, i) / determinant;
    exists.then(|| [0, 1, 2].map(|i| [0, 1, 2].map(|j| entry(i, j))))
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

    #[test]
    fn the_law_that_made_the_rates_is_found_again() {
        let (l, s, k): (f64, f64, f64) = (1000.0, 0.05, 0.0066);
        let rate = |n: f64| l * n / (1.0 + s * (n - 1.0) + k * n * (n - 1.0));
        let exact = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(|n| (n, rate(n)));
        let fit = fit_scaling(&exact).unwrap();
        assert!((fit.of_one - l).abs() < 1e-3 && (fit.contention.value - s).abs() < 1e-9);
        assert!((fit.knee().unwrap() - 12.0).abs() < 0.01, "{:?}", fit.knee());

        // With errors of two percent either way the intervals hold the truth, and are not points.
        let mut noisy = exact;
        for (index, (_, rate)) in noisy.iter_mut().enumerate() {
            *rate *= if index % 2 == 0 { 1.02 } else { 0.98 };
        }
        let fit = fit_scaling(&noisy).unwrap();
        assert!(fit.coherency.low < k && k < fit.coherency.high, "{fit:?}");
        assert!(fit.contention.low < s && s < fit.contention.high, "{fit:?}");
    }

    #[test]
    fn without_coherency_there_is_no_knee() {
        let linear = [1.0, 2.0, 4.0, 8.0].map(|n| (n, 100.0 * n));
        let fit = fit_scaling(&linear).unwrap();
        assert!(fit.knee().is_none_or(|knee| knee > 1e3), "{fit:?}");
        assert_eq!(fit_scaling(&linear[..3]), None);
    }
}
