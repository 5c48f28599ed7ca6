//! Whether a statement got slower by itself or for each of its rows (CAUSES.md R13): the added time
//! of one statement at several sizes is a + b · rows.

use crate::estimate::{Estimate, mean};
use crate::paired::t_interval;

/// The statement at one size, in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// That one statement touches.
    pub rows: f64,
    /// Microseconds that one statement takes longer than with the base.
    pub added: f64,
    /// The noise of `added`, in microseconds: sizes count by 1 / noise². As noise is a share of
    /// the time, the time that the statement takes will do.
    pub noise: f64,
}

/// Where the added time is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overhead {
    /// a: microseconds for each statement, as for parsing, planning and starting it.
    pub per_statement: Estimate,
    /// b: microseconds for each row.
    pub per_row: Estimate,
}

/// What an [`Overhead`] says; either way it may be more or less than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    Statement,
    Row,
    Both,
    Nowhere,
}

impl Overhead {
    pub fn is_where(&self) -> Where {
        match (self.per_statement.is_significant(), self.per_row.is_significant()) {
            (true, false) => Where::Statement,
            (false, true) => Where::Row,
            (true, true) => Where::Both,
            (false, false) => Where::Nowhere,
        }
    }
}

/// Fits each round by weighted least squares; the estimates are the means over the rounds, with t
/// intervals at the level 1 − `alpha`: the round is the unit, since its sizes share its weather. None
/// for fewer than two rounds, or a round with fewer than two different sizes or without noise.
pub fn overhead(rounds: &[Vec<Size>], alpha: f64) -> Option<Overhead> {
    let lines: Vec<(f64, f64)> = rounds.iter().map(|round| line(round)).collect::<Option<_>>()?;
    let (per_statement, per_row): (Vec<f64>, Vec<f64>) = lines.into_iter().unzip();
    Some(Overhead {
        per_statement: t_interval(&per_statement, None, alpha)?,
        per_row: t_interval(&per_row, None, alpha)?,
    })
}

/// (a, b) of one round.
fn line(sizes: &[Size]) -> Option<(f64, f64)> {
    if !sizes.iter().all(|size| size.noise > 0.0) {
        return None;
    }
    let weights: Vec<f64> = sizes.iter().map(|size| size.noise.powi(-2)).collect();
    let center = |value: fn(&Size) -> f64| {
        let weighted: Vec<f64> =
            sizes.iter().zip(&weights).map(|(size, weight)| weight * value(size)).collect();
        mean(&weighted) / mean(&weights)
    };
    let (rows, added) = (center(|size| size.rows), center(|size| size.added));
    let sum = |value: fn(&Size) -> f64, center: f64| -> f64 {
        let one =
            |(size, weight): (&Size, &f64)| weight * (size.rows - rows) * (value(size) - center);
        sizes.iter().zip(&weights).map(one).sum()
    };
    let spread = sum(|size| size.rows, rows);
    let slope = sum(|size| size.added, added) / spread;
    (spread > 0.0).then_some((added - slope * rows, slope))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::simulation::normals;

    /// A statement of 20 us + 0.1 us per row, with noise of half a percent at each size.
    fn rounds(random: &mut Xoshiro256PlusPlus, fixed: f64, per_row: f64) -> Vec<Vec<Size>> {
        let round = |_| {
            [10.0, 100.0, 1000.0, 10_000.0]
                .into_iter()
                .zip(normals(random, 4))
                .map(|(rows, x)| {
                    let noise = 0.005 * (20.0 + 0.1 * rows);
                    Size { rows, added: fixed + per_row * rows + noise * x, noise }
                })
                .collect()
        };
        (0..8).map(round).collect()
    }

    #[test]
    fn exact_lines_come_out_exactly() {
        let size = |rows: f64, noise| Size { rows, added: 0.5 - 0.01 * rows, noise };
        let round = vec![size(10.0, 1.0), size(100.0, 3.0), size(1000.0, 20.0)];
        let (fixed, per_row) = line(&round).unwrap();
        assert!((fixed - 0.5).abs() < 1e-9 && (per_row + 0.01).abs() < 1e-12);
        assert_eq!(line(&round[..1]), None);
        assert_eq!(line(&[size(5.0, 1.0), size(5.0, 1.0)]), None);
        assert_eq!(line(&[size(5.0, 1.0), size(6.0, 0.0)]), None);
        assert_eq!(overhead(&[round], 0.05), None);
    }

    /// By hand: weights 1 and 1/4 and 1/4 at 0, 1, 2 rows with 0, 2, 2: means 0.5 and 2/3, Sxy = 1,
    /// Sxx = .875.
    #[test]
    fn sizes_count_by_their_noise() {
        let size = |rows, added, noise| Size { rows, added, noise };
        let (fixed, per_row) =
            line(&[size(0.0, 0.0, 1.0), size(1.0, 2.0, 2.0), size(2.0, 2.0, 2.0)]).unwrap();
        assert!((per_row - 1.0 / 0.875).abs() < 1e-12, "{per_row}");
        assert!((fixed - (2.0 / 3.0 - 0.5 * per_row)).abs() < 1e-12, "{fixed}");
    }

    #[test]
    fn a_fixed_cost_is_told_from_a_cost_per_row() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(31);
        for (fixed, per_row, expected) in [
            (0.5, 0.0, Where::Statement),
            (0.0, 0.003, Where::Row),
            (0.5, -0.003, Where::Both),
            (0.0, 0.0, Where::Nowhere),
        ] {
            let hits = (0..40)
                .filter(|_| {
                    overhead(&rounds(&mut random, fixed, per_row), 0.05).unwrap().is_where()
                        == expected
                })
                .count();
            assert!(hits >= 32, "{expected:?}: {hits} of 40");
        }
    }

    #[test]
    fn intervals_hold_the_true_line() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(32);
        let (mut fixed, mut per_row) = (0, 0);
        for _ in 0..1000 {
            let found = overhead(&rounds(&mut random, 0.5, 0.003), 0.05).unwrap();
            fixed += usize::from(found.per_statement.interval.contains(0.5));
            per_row += usize::from(found.per_row.interval.contains(0.003));
        }
        assert!(
            (930..=970).contains(&fixed) && (930..=970).contains(&per_row),
            "{fixed} {per_row}"
        );
    }
}
