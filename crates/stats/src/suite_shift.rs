//! The suite shift, a change common to all tests, and each test without it.
//!
//! 0.97 in a suite at 0.985 is not a 3 % finding about that statement. The tests of a round share
//! its drift, so rounds are resampled, never tests. The log ratios of a test's rounds are the
//! `contributions` of its [`Verdict`](crate::verdict::Verdict).

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::estimate::{Estimate, mean, median, variance};

/// The shift of a class, and of each of its tests relative to it, as logs of ratios.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteShift {
    pub shift: Estimate,
    /// In the order of the tests.
    pub relative: Vec<Estimate>,
}

/// Fewer tests than this are no suite: one of them could be its shift.
pub const FEWEST_TESTS: usize = 5;
/// How often the rounds are resampled.
const RESAMPLES: usize = 400;
/// A test beyond this many median absolute deviations does not count (Mosteller and Tukey 1977).
const CUTOFF: f64 = 6.0;

/// The shift of `tests`: for each the log ratio of every round, all of the same rounds, at the
/// level 1 − `alpha`. A test's own value is the mean of its rounds.
///
/// The standard errors are those of resampled rounds, widened by sqrt(R / (R − 1)), and the
/// intervals are of Student's t on R − 1: percentiles of so few rounds are too narrow. None for
/// fewer than [`FEWEST_TESTS`], fewer than two rounds, or tests of different rounds.
pub fn suite_shift(tests: &[Vec<f64>], alpha: f64, seed: u64) -> Option<SuiteShift> {
    let rounds = tests.first()?.len();
    if rounds < 2 || tests.len() < FEWEST_TESTS || tests.iter().any(|test| test.len() != rounds) {
        return None;
    }
    let values: Vec<f64> = tests.iter().map(|test| mean(test)).collect();
    let shift = biweight(&values);

    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut shifts, mut relative) = (Vec::new(), vec![Vec::new(); tests.len()]);
    for _ in 0..RESAMPLES {
        let drawn: Vec<usize> = (0..rounds).map(|_| random.random_range(0..rounds)).collect();
        let of_test = |test: &Vec<f64>| -> f64 {
            drawn.iter().map(|round| test[*round]).sum::<f64>() / rounds as f64
        };
        let values: Vec<f64> = tests.iter().map(of_test).collect();
        let shift = biweight(&values);
        shifts.push(shift);
        for (relative, value) in relative.iter_mut().zip(values) {
            relative.push(value - shift);
        }
    }

    let degrees = (rounds - 1) as f64;
    let widened = rounds as f64 / degrees;
    let estimate = |value: f64, resampled: &[f64]| {
        Estimate::from_t(value, (variance(resampled) * widened).sqrt(), degrees, alpha)
    };
    Some(SuiteShift {
        shift: estimate(shift, &shifts),
        relative: values
            .iter()
            .zip(&relative)
            .map(|(value, resampled)| estimate(value - shift, resampled))
            .collect(),
    })
}

/// Tukey's biweight mean, from the median on until it stays: values weigh less the farther out they
/// are, and nothing beyond six median absolute deviations. The median itself where more than half
/// of the values are equal; NaN of nothing.
pub fn biweight(values: &[f64]) -> f64 {
    const STEPS: usize = 50;
    let mut center = median(values);
    for _ in 0..STEPS {
        let distances: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
        let scale = CUTOFF * median(&distances);
        if scale.is_nan() || scale <= 0.0 {
            break;
        }
        let weight = |value: &f64| {
            let u = (value - center) / scale;
            if u.abs() < 1.0 { (1.0 - u * u).powi(2) } else { 0.0 }
        };
        let weights: f64 = values.iter().map(weight).sum();
        let next = values.iter().map(|value| weight(value) * value).sum::<f64>() / weights;
        if (next - center).abs() <= 1e-9 * scale {
            return next;
        }
        center = next;
    }
    center
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::normals;

    #[test]
    fn the_biweight_mean_leaves_out_what_is_far() {
        let mut values = vec![-0.02, -0.015, -0.01, -0.016, -0.014];
        let without = biweight(&values);
        assert!((without + 0.015).abs() < 1e-3, "{without}");
        values.push(-0.6);
        assert!((biweight(&values) - without).abs() < 1e-3);
        assert!((mean(&values) - without).abs() > 0.05);
        assert_eq!(biweight(&[1.0, 1.0, 1.0, 7.0]), 1.0);
        assert!(biweight(&[]).is_nan());
    }

    /// Around 2 with u = ±1/12 · distance: for 1 2 3 the mean by symmetry; for 0 2 3 the fixed
    /// point solves Σ w(x)(x − m) = 0.
    #[test]
    fn the_biweight_mean_solves_its_equation() {
        let values = [0.0, 2.0, 3.0, 3.5, 9.0];
        let center = biweight(&values);
        let distances: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
        let scale = 6.0 * median(&distances);
        let sum: f64 = values
            .iter()
            .map(|value| (value - center, (value - center) / scale))
            .map(|(distance, u)| distance * (1.0 - u * u).powi(2))
            .sum();
        assert!(sum.abs() < 1e-6, "{sum}");
        assert!((biweight(&[1.0, 2.0, 3.0]) - 2.0).abs() < 1e-12);
    }

    /// Twelve tests share a shift of −1.5 % and the drift of their rounds; the last is slower by
    /// another 3 %.
    fn suite(random: &mut Xoshiro256PlusPlus) -> Vec<Vec<f64>> {
        let drift = normals(random, 8);
        let test = |index: usize| {
            let own = if index == 11 { -0.045 } else { -0.015 };
            let noise = normals(random, 8);
            noise.iter().zip(&drift).map(|(x, d)| own + 0.005 * x + 0.005 * d).collect()
        };
        (0..12).map(test).collect()
    }

    #[test]
    fn the_interval_of_the_shift_holds_the_true_one_and_the_odd_test_stands_out() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let (mut covered, mut odd, mut alarms) = (0, 0, 0);
        for seed in 0..150 {
            let found = suite_shift(&suite(&mut random), 0.05, seed).unwrap();
            covered += usize::from(found.shift.interval.contains(-0.015));
            odd += usize::from(found.relative[11].is_significant());
            alarms += found.relative[..11].iter().filter(|test| test.is_significant()).count();
        }
        // Binomial bounds at .999 around 95 % of 150, and around 5 % of 1650.
        assert!((133..=150).contains(&covered), "{covered}");
        assert!(odd >= 148, "{odd}");
        assert!(alarms <= 115, "{alarms}");
    }

    #[test]
    fn a_test_that_jumps_from_round_to_round_does_not_blur_the_shift() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut tests = suite(&mut random);
        let calm = suite_shift(&tests, 0.05, 1).unwrap().shift.interval.half_width();
        tests[11] = normals(&mut random, 8).iter().map(|x| 2.0 * x).collect();
        let jumping = suite_shift(&tests, 0.05, 1).unwrap().shift.interval.half_width();
        assert!(jumping < 1.5 * calm, "{jumping} {calm}");
    }

    #[test]
    fn a_seed_gives_the_same_interval_again() {
        let tests = suite(&mut Xoshiro256PlusPlus::seed_from_u64(6));
        assert_eq!(suite_shift(&tests, 0.05, 9), suite_shift(&tests, 0.05, 9));
        assert_ne!(suite_shift(&tests, 0.05, 9), suite_shift(&tests, 0.05, 10));
        assert_eq!(suite_shift(&tests[..4], 0.05, 9), None);
        let mut uneven = tests;
        uneven[3].pop();
        assert_eq!(suite_shift(&uneven, 0.05, 9), None);
        assert_eq!(suite_shift(&[], 0.05, 9), None);
    }
}
