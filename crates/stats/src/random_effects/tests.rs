use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Random;

use super::*;
use crate::simulation::normals;

/// Colditz and others 1994: in each of 13 trials of a vaccine, the ill and the healthy of those who
/// were vaccinated, then of the others.
const TRIALS: [[f64; 4]; 13] = [
    [4.0, 119.0, 11.0, 128.0],
    [6.0, 300.0, 29.0, 274.0],
    [3.0, 228.0, 11.0, 209.0],
    [62.0, 13536.0, 248.0, 12619.0],
    [33.0, 5036.0, 47.0, 5761.0],
    [180.0, 1361.0, 372.0, 1079.0],
    [8.0, 2537.0, 10.0, 619.0],
    [505.0, 87886.0, 499.0, 87892.0],
    [29.0, 7470.0, 45.0, 7232.0],
    [17.0, 1699.0, 65.0, 1600.0],
    [186.0, 50448.0, 141.0, 27197.0],
    [5.0, 2493.0, 3.0, 2338.0],
    [27.0, 16886.0, 29.0, 17825.0],
];

fn log_risk_ratios() -> Vec<MachineEffect> {
    let effect = |[ill, well, others_ill, others_well]: [f64; 4]| {
        let (all, others) = (ill + well, others_ill + others_well);
        MachineEffect {
            value: ((ill / all) / (others_ill / others)).ln(),
            error: (1.0 / ill - 1.0 / all + 1.0 / others_ill - 1.0 / others).sqrt(),
        }
    };
    TRIALS.into_iter().map(effect).collect()
}

fn log_odds_ratios() -> Vec<MachineEffect> {
    let effect = |counts: [f64; 4]| {
        let [ill, well, others_ill, others_well] = counts;
        let variance: f64 = counts.iter().map(|count| 1.0 / count).sum();
        MachineEffect {
            value: (ill * others_well / (well * others_ill)).ln(),
            error: variance.sqrt(),
        }
    };
    TRIALS.into_iter().map(effect).collect()
}

#[track_caller]
fn near(found: f64, published: f64) {
    let digits = 0.6e-4_f64.max(0.6e-4 * published.abs());
    assert!((found - published).abs() < digits, "{found} instead of {published}");
}

/// As printed in the documentation of R's metafor (rma.uni and confint.rma.uni) for these trials:
/// Q = 152.2330, a Q profile from 0.1197 to 1.1115 for τ² and from 81.92 to 97.68 % for I², and by
/// the empirical Bayes estimator, which is that of Paule and Mandel, τ² = 0.3181.
#[test]
fn the_vaccine_trials_come_out_as_published() {
    let found = RandomEffects::new(&log_risk_ratios()).unwrap();
    let Heterogeneity { q, p, tau, tau_interval, share_interval, .. } = found.heterogeneity;
    near(q, 152.2330);
    assert!(p < 1e-4);
    near(tau * tau, 0.3181);
    near(tau_interval.low, 0.3460);
    near(tau_interval.high, 1.0543);
    near(share_interval.low, 0.8192);
    near(share_interval.high, 0.9768);
}

/// Van Houwelingen, Arends and Stijnen 2002, as replicated with metafor: the Q profile of τ² of the
/// log odds ratios is from 0.1302 to 1.1812.
#[test]
fn the_odds_ratios_of_the_trials_come_out_as_published() {
    let Heterogeneity { tau_interval, .. } =
        RandomEffects::new(&log_odds_ratios()).unwrap().heterogeneity;
    near(tau_interval.low.powi(2), 0.1302);
    near(tau_interval.high.powi(2), 1.1812);
}

/// Machines with errors of 0.14 to 0.4 %, whose true effects vary by `between` around `effect`.
fn fleet(random: &mut Random, machines: usize, between: f64, effect: f64) -> Vec<MachineEffect> {
    let noise = normals(random, 2 * machines);
    let one = |pair: &[f64]| {
        let error = random.random_range(0.0014..0.004);
        MachineEffect { value: effect + between * pair[0] + error * pair[1], error }
    };
    noise.chunks(2).map(one).collect()
}

/// The share of `count` fleets in which `is` holds.
fn share(machines: usize, between: f64, count: usize, is: impl Fn(&RandomEffects) -> bool) -> f64 {
    let mut random = Random::seed_from_u64(7 + machines as u64);
    let found = (0..count)
        .filter(|_| is(&RandomEffects::new(&fleet(&mut random, machines, between, 0.0)).unwrap()));
    found.count() as f64 / count as f64
}

/// Where machines differ, the plain mean finds a difference in one of two comparisons of a build
/// with itself. This one does not, with three machines or ten.
#[test]
fn machines_that_differ_are_no_finding() {
    for machines in [3, 5, 10] {
        for between in [0.0, 0.002, 0.006] {
            let false_findings =
                share(machines, between, 2_000, |found| found.estimate(0.05).is_significant());
            assert!(false_findings < 0.075, "{machines}, {between}: {false_findings}");
        }
        let as_one = share(machines, 0.006, 500, |found| {
            let fixed = Estimate::from_t(
                weighted_mean(&found.effects, 0.0),
                found.fixed_error(),
                f64::INFINITY,
                0.05,
            );
            fixed.is_significant()
        });
        assert!(as_one > 0.4, "{machines}: {as_one}");
    }
}

#[test]
fn a_difference_of_all_machines_is_found() {
    let mut random = Random::seed_from_u64(3);
    let found = (0..500).filter(|_| {
        let effects = fleet(&mut random, 5, 0.002, -0.02);
        RandomEffects::new(&effects).unwrap().estimate(0.05).interval.high < 0.0
    });
    assert!(found.count() > 490);
}

#[test]
fn the_true_effect_of_another_machine_is_predicted() {
    let (between, mut random) = (0.006, Random::seed_from_u64(11));
    let within = (0..2_000).filter(|_| {
        let found = RandomEffects::new(&fleet(&mut random, 6, between, 0.01)).unwrap();
        let another = 0.01 + between * normals(&mut random, 1)[0];
        found.prediction().unwrap().contains(another)
    });
    let share = within.count() as f64 / 2_000.0;
    assert!((0.90..0.985).contains(&share), "{share}");
}

#[test]
fn tests_of_heterogeneity_hold_their_level_and_find_what_there_is() {
    let finds = |between: f64| share(5, between, 2_000, |found| found.heterogeneity.p < 0.1);
    let (same, different) = (finds(0.0), finds(0.006));
    assert!((0.08..0.12).contains(&same), "{same}");
    assert!(different > 0.85, "{different}");
}

#[test]
fn the_interval_and_the_p_value_say_the_same() {
    let mut random = Random::seed_from_u64(5);
    for _ in 0..300 {
        let effects = fleet(&mut random, 3, 0.003, 0.004);
        let found = RandomEffects::new(&effects).unwrap();
        for alpha in [0.01, 0.05, 0.2] {
            let estimate = found.estimate(alpha);
            assert_eq!(estimate.is_significant(), estimate.p < alpha, "{effects:?}");
        }
    }
}

#[test]
fn machines_that_agree_are_no_more_certain_than_their_noise() {
    let same = [MachineEffect { value: 0.01, error: 0.01 }; 3];
    let found = RandomEffects::new(&same).unwrap();
    assert_eq!((found.heterogeneity.q, found.heterogeneity.tau), (0.0, 0.0));
    near(found.estimate(0.05).interval.half_width(), 1.959_964 * 0.01 / 3.0_f64.sqrt());
    near(found.weights[0], 1.0 / 3.0);
    assert!(!found.is_between());
    assert_eq!(found.prediction(), None, "three machines predict nothing");
}

#[test]
fn nothing_is_said_of_one_machine_or_of_one_without_an_error() {
    let good = MachineEffect { value: 0.1, error: 0.1 };
    assert!(RandomEffects::new(&[good]).is_none() && RandomEffects::new(&[]).is_none());
    for bad in [
        MachineEffect { value: f64::NAN, error: 0.1 },
        MachineEffect { value: 0.1, error: 0.0 },
        MachineEffect { value: 0.1, error: f64::INFINITY },
    ] {
        assert!(RandomEffects::new(&[good, bad, good]).is_none(), "{bad:?}");
    }
    assert_eq!(between_groups(&[good]), 1.0);
    let far = MachineEffect { value: 0.9, error: 0.1 };
    assert!(between_groups(&[good, far]) < 1e-6 && between_groups(&[good, good]) > 0.999);
}
