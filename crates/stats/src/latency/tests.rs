//! Simulated rounds of operations whose times are known: quantiles come from order statistics of
//! the operations of a round, and rounds differ as measured ones do.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Random;

use super::*;
use crate::simulation::normals;

const ROUNDS: usize = 8;
/// A round of 30 s at 500 operations per second.
const OPERATIONS: u64 = 15_000;
/// From round to round, as measured: 2 to 8 % of a p99.
const BETWEEN: f64 = 0.03;

/// Nanoseconds that a share of the operations exceeds. About 100 us, with a tail as heavy as a
/// power law: one in fifty takes longer than 100 us, and one in 12,500 five times as long.
fn time_of(upper: f64) -> f64 {
    const SLOW: f64 = 0.02;
    match upper < SLOW {
        true => 100e3 * (SLOW / upper).powf(0.25),
        false => 100e3 * (1.0 - 0.1 * (upper - SLOW)),
    }
}

/// The time that `beyond` of the operations of a round exceeded. The largest of n uniform values is
/// the n-th root of one, and so on downwards.
fn quantile(random: &mut Random, beyond: u64) -> f64 {
    let mut uniform = 1.0_f64;
    for left in (OPERATIONS - beyond..=OPERATIONS).rev() {
        // 1 - [0, 1) is never zero.
        uniform *= (1.0 - random.random::<f64>()).powf(1.0 / left as f64);
    }
    time_of(1.0 - uniform)
}

/// The p99 of whole runs of a baseline, its control and a contender that takes `effect` longer.
fn p99(random: &mut Random, effect: f64) -> Quantile {
    let mut side = |effect: f64| -> Vec<f64> {
        let noise = normals(random, ROUNDS);
        let round = |noise: f64| quantile(random, OPERATIONS / 100).ln() + BETWEEN * noise + effect;
        noise.into_iter().map(round).collect()
    };
    let (base, control, contender) = (side(0.0), side(0.0), side(effect));
    let round = |at: usize| LogValues {
        base: base[at],
        control: Some(control[at]),
        contender: contender[at],
    };
    Quantile {
        test: "point-query".to_string(),
        name: "p99",
        class: "read p99".to_string(),
        margin: margin(99.0, 0.02),
        times: Sample::Runs((0..ROUNDS).map(round).collect()),
        shortest: 100e3,
    }
}

/// Of so many comparisons with this effect: how many find one, how many of them in the wrong
/// direction, and how many intervals contain the truth.
fn simulated(times: usize, effect: f64) -> (usize, usize, usize) {
    let mut random = Random::seed_from_u64(99);
    let (mut found, mut wrong, mut covered) = (0, 0, 0);
    for _ in 0..times {
        let of = p99(&mut random, effect);
        let verdict = judge_quantiles(&[of], &Options::default()).remove(0);
        if verdict.estimate.is_significant() {
            found += 1;
            wrong += usize::from(verdict.estimate.value.signum() != effect.signum());
        }
        covered += usize::from(verdict.estimate.interval.contains(effect));
    }
    (found, wrong, covered)
}

/// `most` of `times` at a level of 5 %: more have a chance of 0.1 %.
fn assert_sound(times: usize, most: usize) {
    let (false_alarms, _, covered) = simulated(times, 0.0);
    assert!(false_alarms <= most, "{false_alarms} of {times} are false");
    assert!(covered >= times - most, "{covered} of {times} contain the truth");
    for effect in [0.10_f64, -0.10] {
        let (found, wrong, covered) = simulated(times, effect);
        assert!(found * 100 >= times * 90, "{effect}: {found} of {times} are found");
        assert_eq!(wrong, 0, "{effect}");
        assert!(covered >= times - most, "{effect}: {covered} of {times} contain the truth");
    }
}

#[test]
fn ten_percent_of_a_p99_are_found_and_no_change_is_none() {
    assert_sound(200, 21);
}

#[test]
#[ignore = "takes minutes"]
fn ten_percent_of_a_p99_are_found_and_no_change_is_none_in_many_simulations() {
    assert_sound(20_000, 1_096);
}

#[test]
fn a_tail_that_is_seldom_met_is_no_part_of_the_median() {
    let mut random = Random::seed_from_u64(5);
    let tail = p99(&mut random, 0.3);
    let still = |at: usize| LogValues {
        base: 100e3_f64.ln() + 0.003 * (at % 3) as f64,
        control: Some(100e3_f64.ln() + 0.003 * ((at + 1) % 3) as f64),
        contender: 100e3_f64.ln() + 0.003 * ((at + 2) % 3) as f64,
    };
    let times = Sample::Runs((0..ROUNDS).map(still).collect());
    let (name, class) = ("p50", "read p50".to_string());
    let median = Quantile { name, class, margin: 0.02, times, ..tail.clone() };
    let verdicts = judge_quantiles(&[median, tail], &Options::default());
    assert!(matches!(verdicts[0].label, Label::NoChange { .. }), "{:?}", verdicts[0]);
    assert!(matches!(verdicts[1].label, Label::Regression { .. }), "{:?}", verdicts[1]);
    assert!(verdicts[1].estimate.value > 0.2, "a longer time is above 0");
}

/// All rounds agree on a difference of one bin.
#[test]
fn a_difference_within_the_bins_of_a_histogram_is_none() {
    let rounds = |factor: f64, shortest: f64| {
        let round = LogRatios { contender: f64::ln(factor), control: Some(0.0) };
        Quantile {
            test: "point-query".to_string(),
            name: "p50",
            class: "read p50".to_string(),
            margin: 0.02,
            times: Sample::Slices(vec![round; 6]),
            shortest,
        }
    };
    let label = |of: Quantile| judge_quantiles(&[of], &Options::default()).remove(0).label;
    assert!(matches!(label(rounds(1.001, 100e3)), Label::NoChange { .. }));
    assert!(matches!(label(rounds(1.01, 100e3)), Label::SmallRegression { .. }));
    // 100 ns and 101 ns: a bin is 1 %.
    assert!(matches!(label(rounds(1.01, 100.0)), Label::Inconclusive { .. }));
}

#[test]
fn a_percentile_needs_a_hundred_operations_beyond_it() {
    assert_eq!([50.0, 95.0, 99.0, 99.9].map(needed), [200, 2_000, 10_000, 100_000]);
}

#[test]
fn margins_grow_with_the_tail_and_never_fall_below_that_of_the_rate() {
    assert_eq!([50.0, 95.0, 99.0, 99.9].map(|of| margin(of, 0.02)), [0.02, 0.05, 0.10, 0.20]);
    assert_eq!(margin(99.0, 0.5), 0.5);
}
