//! What the A/A control says about intervals: how far the same build is from itself here.
//!
//! The control is the baseline once more, so its log ratio is 0 but for noise. In standard errors,
//! its square is 1 on average. If it is more, there is a difference that stays from round to round,
//! such as that of two data directories, and a contender has as much of it. So its standard errors
//! are multiplied by the root of the mean square: the scale factor with which physicists combine
//! measurements that differ by more than their errors (Birge 1932; "Introduction" of the Review of
//! Particle Physics).
//!
//! One square says little, so the mean is that of all tests, and only what is no chance counts: the
//! mean less two of its standard errors. The control of a test may be off by far more than those of
//! the others. It counts in the mean with no more than is usual among them, and its own square
//! counts for its test, less four. With one test and few rounds, the first begins at p = 0.03. The
//! second begins at p = 0.01.
//!
//! Standard errors are those of 99 % intervals, for one reason: a control that differs at p = 0.01
//! counts alike, whether its error is known from few rounds, from many, or from ranks.

use std::f64::consts::SQRT_2;

use crate::distribution::t_quantile;
use crate::estimate::{Estimate, mean};
use crate::label::CONTROL_ALPHA;

/// The SD of the square of a standard normal value.
const SD_OF_SQUARE: f64 = SQRT_2;
/// What chance may add to the mean square of all tests, and to that of one test, in SDs.
const CHANCE_OF_ALL: f64 = 2.0;
const CHANCE_OF_ONE: f64 = 4.0;
/// The median of the square of a standard normal value.
const MEDIAN_OF_SQUARE: f64 = 0.454_936;
/// In the mean, a control is at most as many standard errors off, by the median of all controls.
const MOST_ERRORS: f64 = 3.0;
/// A larger square is one of a test without noise.
const MOST: f64 = 1e6;

/// How many times as wide as by their noise the intervals of each test are, given its control
/// against the baseline at the level of [`CONTROL_ALPHA`]: 1 or more.
pub fn widening(controls: &[Option<Estimate>]) -> Vec<f64> {
    let squares: Vec<Option<f64>> =
        controls.iter().map(|control| control.as_ref().map(square)).collect();
    let mut known: Vec<f64> = squares.iter().flatten().copied().collect();
    known.sort_by(f64::total_cmp);
    let usual = known
        .get(known.len().saturating_sub(1) / 2)
        .map_or(1.0, |middle| (middle / MEDIAN_OF_SQUARE).max(1.0));
    let most = MOST_ERRORS.powi(2) * usual;
    known.iter_mut().for_each(|square| *square = square.min(most));
    // Not a number without any control, which is never the maximum.
    let of_all = mean(&known) - CHANCE_OF_ALL * SD_OF_SQUARE / (known.len() as f64).sqrt();
    let factor = |own: &Option<f64>| {
        let of_one = own.map_or(f64::NAN, |square| square - CHANCE_OF_ONE * SD_OF_SQUARE);
        1.0_f64.max(of_all).max(of_one).sqrt()
    };
    squares.iter().map(factor).collect()
}

/// In standard errors; 0 if so few rounds have no interval.
fn square(control: &Estimate) -> f64 {
    let normal = t_quantile(1.0 - CONTROL_ALPHA / 2.0, f64::INFINITY);
    match control.value == 0.0 {
        true => 0.0,
        false => (normal * control.value / control.interval.half_width()).powi(2).min(MOST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interval;

    /// A control that is as many standard errors from 0; the normal quantile of 99 % is 2.57583.
    fn control(errors: f64) -> Option<Estimate> {
        let value = 0.001 * errors;
        Some(Estimate { value, interval: Interval::around(value, 0.002_575_83), p: 0.5 })
    }

    fn factors(errors: &[f64]) -> Vec<f64> {
        widening(&errors.iter().map(|errors| control(*errors)).collect::<Vec<_>>())
    }

    fn is_near(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-4
    }

    #[test]
    fn one_test_is_widened_by_what_is_no_chance() {
        assert_eq!(factors(&[1.9]), [1.0]);
        assert!(is_near(factors(&[-3.0])[0], (9.0_f64 - 8.0_f64.sqrt()).sqrt()));
        let without_noise = Estimate { value: 0.01, interval: Interval::around(0.01, 0.0), p: 0.0 };
        assert!(widening(&[Some(without_noise)])[0].is_finite());
        let nothing = Estimate { value: 0.0, interval: Interval::around(0.0, 0.0), p: 1.0 };
        assert_eq!(widening(&[Some(nothing)]), [1.0]);
        let of_few_ranks = Estimate { value: 0.1, interval: Interval::EVERYTHING, p: 0.3 };
        assert_eq!(widening(&[Some(of_few_ranks)]), [1.0]);
    }

    #[test]
    fn one_control_of_many_widens_its_own_test_alone() {
        let mut errors = [0.5; 42];
        errors[7] = 4.0;
        let factors = factors(&errors);
        assert!(is_near(factors[7], (16.0 - 32.0_f64.sqrt()).sqrt()), "{factors:?}");
        assert!(factors.iter().enumerate().all(|(test, factor)| test == 7 || *factor == 1.0));
        errors[7] = 100.0;
        assert_eq!(self::factors(&errors)[0], 1.0, "however far it is off");
    }

    #[test]
    fn many_controls_that_are_off_by_little_widen_all_tests() {
        let mut controls: Vec<Option<Estimate>> =
            (0..42).map(|test| control(if test % 2 == 0 { 2.3 } else { 0.7 })).collect();
        let expected =
            (21.0 * (2.3_f64.powi(2) + 0.7_f64.powi(2)) / 42.0 - (8.0_f64 / 42.0).sqrt()).sqrt();
        let factors = widening(&controls);
        assert!(factors.iter().all(|factor| is_near(*factor, expected)), "{factors:?}");
        controls[3] = None;
        assert_eq!(widening(&controls)[3], widening(&controls)[0], "it is one of all");
        assert_eq!(widening(&[None, None]), [1.0, 1.0]);
        assert!(widening(&[]).is_empty());
    }
}
