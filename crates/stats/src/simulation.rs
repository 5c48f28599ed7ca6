//! Simulated runs with fixed seeds, calibrated from the measured noise, and the results of the
//! designs and estimators for them. Only for tests.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus as Random;

/// Standard normal values (Box and Muller).
pub(crate) fn normals(random: &mut Random, count: usize) -> Vec<f64> {
    (0..count).map(|_| normal(random)).collect()
}

fn normal(random: &mut Random) -> f64 {
    // 1 - [0, 1) is never zero, so the logarithm is finite.
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

/// x' = `rho` · x + noise, of variance 1, from its stationary distribution on.
pub(crate) fn autoregressive(random: &mut Random, rho: f64, count: usize) -> Vec<f64> {
    let mut value = normal(random);
    (0..count)
        .map(|_| {
            value = rho * value + (1.0 - rho * rho).sqrt() * normal(random);
            value
        })
        .collect()
}

/// Log rates of the runs of two versions A and B, in the order of the rounds.
pub(crate) struct Runs {
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Order {
    /// All runs of A, then all of B.
    Sequential,
    /// A and B in each round, in random order.
    RandomBlocks,
}

/// The SD of a run is 0.7 %, the machine drifts slowly by an SD of `drift` (correlation .97 from
/// one run to the next), and 3 % of the runs lose 3–15 %. B is `effect` above A.
pub(crate) fn runs(
    random: &mut Random,
    order: Order,
    rounds: usize,
    drift: f64,
    effect: f64,
) -> Runs {
    let is_b: Vec<bool> = match order {
        Order::Sequential => (0..2 * rounds).map(|slot| slot >= rounds).collect(),
        Order::RandomBlocks => (0..rounds)
            .flat_map(|_| {
                let mut pair = [false, true];
                pair.shuffle(random);
                pair
            })
            .collect(),
    };
    let weather = autoregressive(random, 0.97, is_b.len());
    let mut runs = Runs { a: Vec::new(), b: Vec::new() };
    for (is_b, weather) in is_b.into_iter().zip(weather) {
        let mut value = 0.007 * normal(random) + drift * weather;
        if random.random::<f64>() < 0.03 {
            value += (1.0 - random.random_range(0.03..0.15_f64)).ln();
        }
        if is_b { runs.b.push(value + effect) } else { runs.a.push(value) }
    }
    runs
}

mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::Estimate;
    use crate::hodges_lehmann::{one_sample, two_sample};
    use crate::paired::t_interval;
    use crate::stop::{Progress, StopRule};

    const DRIFT: f64 = 0.015;
    const TIMES: usize = 600;

    fn mann_whitney(runs: &Runs) -> Estimate {
        two_sample(&runs.a, &runs.b, 0.05).unwrap()
    }

    fn differences(runs: &Runs) -> Vec<f64> {
        runs.b.iter().zip(&runs.a).map(|(b, a)| b - a).collect()
    }

    fn paired_t(runs: &Runs) -> Estimate {
        t_interval(&differences(runs), None, 0.05).unwrap()
    }

    fn signed_rank(runs: &Runs) -> Estimate {
        one_sample(&differences(runs), 0.05).unwrap()
    }

    /// The share of simulated comparisons that `is_hit`.
    fn share(
        order: Order,
        rounds: usize,
        effect: f64,
        analyse: fn(&Runs) -> Estimate,
        is_hit: impl Fn(&Estimate) -> bool,
    ) -> f64 {
        let mut random = Random::seed_from_u64(2026);
        let hits = (0..TIMES)
            .filter(|_| is_hit(&analyse(&runs(&mut random, order, rounds, DRIFT, effect))))
            .count();
        hits as f64 / TIMES as f64
    }

    /// Of 600 true nulls at 5 %, more than 49 are hit with a chance of .1 %.
    const MOST_FALSE: f64 = 49.0 / TIMES as f64;

    #[test]
    fn interleaved_designs_keep_their_level() {
        let analyses: [fn(&Runs) -> Estimate; 3] = [mann_whitney, paired_t, signed_rank];
        for rounds in [5, 8, 10] {
            for analyse in analyses {
                let wrong =
                    share(Order::RandomBlocks, rounds, 0.0, analyse, Estimate::is_significant);
                assert!(wrong <= MOST_FALSE, "{rounds}: {wrong}");
            }
        }
    }

    #[test]
    fn all_of_a_then_all_of_b_does_not_and_more_rounds_make_it_worse() {
        let wrong = [5, 8, 15].map(|rounds| {
            share(Order::Sequential, rounds, 0.0, mann_whitney, Estimate::is_significant)
        });
        // Published: .10, .24, .50.
        assert!(wrong[0] > MOST_FALSE && wrong[1] > 0.15 && wrong[2] > 0.35, "{wrong:?}");
        assert!(wrong[0] < wrong[1] && wrong[1] < wrong[2], "{wrong:?}");
    }

    #[test]
    fn a_change_of_five_percent_is_seen_in_eight_rounds() {
        for (analyse, least) in [(mann_whitney as fn(&Runs) -> Estimate, 0.95), (paired_t, 0.85)] {
            let seen = share(Order::RandomBlocks, 8, -0.05, analyse, |estimate| {
                estimate.is_significant() && estimate.value < 0.0
            });
            assert!(seen >= least, "{seen}");
        }
    }

    #[test]
    fn exact_intervals_hold_the_truth_in_about_95_percent() {
        for (analyse, least, most) in [
            // Published for the interval of the shift: 93.9–98.1 %.
            (mann_whitney as fn(&Runs) -> Estimate, 0.92, 0.999),
            (paired_t, 0.92, 0.985),
            (signed_rank, 0.92, 0.985),
        ] {
            let covered = share(Order::RandomBlocks, 10, -0.03, analyse, |estimate| {
                estimate.interval.contains(-0.03)
            });
            assert!((least..=most).contains(&covered), "{covered}");
        }
    }

    #[test]
    fn intervals_of_undisturbed_restarts_cover_93_to_97_percent() {
        let mut random = Random::seed_from_u64(7);
        let (mut by_t, mut by_rank) = (0, 0);
        let times = 2000;
        for _ in 0..times {
            let restarts = normals(&mut random, 8);
            by_t += usize::from(t_interval(&restarts, None, 0.05).unwrap().interval.contains(0.0));
            by_rank += usize::from(one_sample(&restarts, 0.05).unwrap().interval.contains(0.0));
        }
        for covered in [by_t, by_rank] {
            let share = covered as f64 / f64::from(times);
            assert!((0.93..=0.97).contains(&share), "{share}");
        }
    }

    /// Rounds are added until the rule says stop; the share of comparisons of a build with itself
    /// that end significant.
    fn false_alarms(is_over: impl Fn(&Estimate, u32) -> bool) -> f64 {
        let mut random = Random::seed_from_u64(11);
        let hits = (0..TIMES)
            .filter(|_| {
                let all = runs(&mut random, Order::RandomBlocks, 16, DRIFT, 0.0);
                let last = (6..=16)
                    .map(|rounds| {
                        let differences = &differences(&all)[..rounds];
                        (t_interval(differences, None, 0.05).unwrap(), rounds as u32)
                    })
                    .find(|(estimate, rounds)| *rounds == 16 || is_over(estimate, *rounds));
                last.is_some_and(|(estimate, _)| estimate.is_significant())
            })
            .count();
        hits as f64 / TIMES as f64
    }

    #[test]
    fn stopping_on_precision_keeps_the_level_and_stopping_on_p_does_not() {
        let rule = StopRule { least_rounds: 6, most_rounds: 16, half_width: 0.01 };
        let precise = false_alarms(|estimate, rounds| {
            let half_width = estimate.interval.half_width();
            rule.is_precise(&Progress { rounds, half_width })
        });
        assert!(precise <= MOST_FALSE, "{precise}");
        let significant = false_alarms(|estimate, _| estimate.is_significant());
        assert!(significant > MOST_FALSE, "{significant}");
    }
}
