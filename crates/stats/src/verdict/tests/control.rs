//! The A/A control widens intervals by what is no chance, and by enough where arms differ for good.

use rand::RngExt;
use statrs::distribution::{Binomial, DiscreteCDF};

use super::*;
use crate::paired::t_interval;
use crate::simulation::autoregressive;

const EFFECT: f64 = -0.02;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Noise {
    Normal,
    /// An exponential tail 1.9 times as wide as the normal part, as slices of writes on MySQL have.
    Skewed,
    /// Each arm has its turn in random order on a machine whose speed drifts.
    Drifting,
}

const NOISES: [Noise; 3] = [Noise::Normal, Noise::Skewed, Noise::Drifting];

/// Comparisons by slices whose first test is 2 % slower.
#[derive(Clone, Copy, Debug)]
struct World {
    noise: Noise,
    /// The SD of a restart's log ratio, without the drift.
    spread: f64,
    /// The SD of what an arm differs by in a test in all rounds, in the same unit.
    apart: f64,
    rounds: usize,
    tests: usize,
}

/// Counts of rows and reports, by the rule and without any control.
#[derive(Debug, Default)]
struct Tally {
    rows: f64,
    covered: f64,
    uncovered_before: f64,
    void: f64,
    void_before: f64,
    reports: f64,
    void_reports: f64,
    found: f64,
    /// With the control that made rows invalid at p < 0.01, and reports with more hits than 95 % of
    /// all have.
    found_before: f64,
    /// Sums of the shares of findings that are false.
    wrong: f64,
    wrong_before: f64,
}

impl Noise {
    /// Values of baseline, control and contender in each round, with an SD of 1 but for the drift.
    fn rounds(self, random: &mut Xoshiro256PlusPlus, rounds: usize) -> Vec<[f64; 3]> {
        const TAIL: f64 = -1.9;
        const DRIFT: f64 = 1.8;
        let normal = normals(random, 3 * rounds);
        let weather = autoregressive(random, 0.97, 3 * rounds);
        let round = |round: usize| {
            let mut order = [0, 1, 2];
            order.shuffle(random);
            [0, 1, 2].map(|arm| match self {
                Noise::Normal => normal[3 * round + arm],
                Noise::Skewed => {
                    let tail = -(1.0 - random.random::<f64>()).ln() - 1.0;
                    (normal[3 * round + arm] + TAIL * tail) / TAIL.hypot(1.0)
                }
                Noise::Drifting => {
                    normal[3 * round + arm] + DRIFT * weather[3 * round + order[arm]]
                }
            })
        };
        (0..rounds).map(round).collect()
    }
}

impl World {
    fn cell(&self, random: &mut Xoshiro256PlusPlus, effect: f64) -> Cell {
        let unit = 1.5_f64.sqrt();
        let lasting = normals(random, 3);
        let rounds = self.noise.rounds(random, self.rounds);
        let restart = |round: &[f64; 3]| {
            let of = |arm: usize| (self.spread * round[arm] + self.apart * lasting[arm]) / unit;
            LogRatios {
                contender: effect + of(2) - (of(0) + of(1)) / 2.0,
                control: Some(of(1) - of(0)),
            }
        };
        let sample = Sample::Slices(rounds.iter().map(restart).collect());
        Cell::new("test", Kind::CachedRead, sample)
    }

    fn effect(test: usize) -> f64 {
        if test == 0 { EFFECT } else { 0.0 }
    }

    fn simulate(&self, reports: usize) -> Tally {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2026);
        let mut tally = Tally::default();
        for _ in 0..reports {
            let cells: Vec<Cell> =
                (0..self.tests).map(|test| self.cell(&mut random, World::effect(test))).collect();
            tally.add(&cells);
        }
        tally
    }
}

fn is_found(verdict: &Verdict) -> bool {
    !matches!(verdict.label, Label::Invalid { .. }) && verdict.estimate.is_significant()
}

fn wrong(found: &[bool]) -> f64 {
    let all = found.iter().filter(|found| **found).count();
    found[1..].iter().filter(|found| **found).count() as f64 / all.max(1) as f64
}

impl Tally {
    fn add(&mut self, cells: &[Cell]) {
        let report = judge(cells, &Options::default());
        let holds = |verdict: &Verdict, test| verdict.plain.interval.contains(World::effect(test));
        self.reports += 1.0;
        self.void_reports += f64::from(u8::from(report.invalid.is_some()));
        for (test, verdict) in report.verdicts.iter().enumerate() {
            match verdict.label {
                Label::Invalid { .. } => self.void += 1.0,
                _ => self.covered += f64::from(u8::from(holds(verdict, test))),
            }
            self.rows += 1.0;
        }
        let found: Vec<bool> = report.verdicts.iter().map(is_found).collect();
        self.found += f64::from(u8::from(found[0]));
        self.wrong += wrong(&found);

        let (before, void) = before(cells);
        self.void_before += void.iter().filter(|void| **void).count() as f64;
        let uncovered = before.iter().enumerate().filter(|(test, one)| !holds(one, *test)).count();
        self.uncovered_before += uncovered as f64;
        let found: Vec<bool> =
            before.iter().zip(void).map(|(one, void)| !void && is_found(one)).collect();
        self.found_before += f64::from(u8::from(found[0]));
        self.wrong_before += wrong(&found);
    }

    /// Of the rows that are not void.
    fn coverage(&self) -> f64 {
        self.covered / (self.rows - self.void)
    }
}

/// The verdicts without a control, and which of them version 2 of the estimator made invalid.
fn before(cells: &[Cell]) -> (Vec<Verdict>, Vec<bool>) {
    let (mut alone, mut p) = (Vec::new(), Vec::new());
    for cell in cells {
        let Sample::Slices(restarts) = &cell.rate else { unreachable!("they are slices") };
        let control: Vec<f64> = restarts.iter().filter_map(|restart| restart.control).collect();
        p.push(t_interval(&control, None, 0.05).unwrap().p);
        let without = |restart: &LogRatios| LogRatios { control: None, ..*restart };
        let sample = Sample::Slices(restarts.iter().map(without).collect());
        alone.push(Cell { rate: sample, ..cell.clone() });
    }
    let hits = p.iter().filter(|p| **p < 0.05).count() as u64;
    let most = Binomial::new(0.05, cells.len() as u64).unwrap().inverse_cdf(0.95 - 1e-9);
    let void = p.iter().map(|p| *p < 0.01 || hits > most).collect();
    (judge(&alone, &Options::default()).verdicts, void)
}

fn with_control(contender: f64, control: f64) -> Cell {
    let restart =
        |value: f64| LogRatios { contender: contender + value, control: Some(control - value) };
    Cell::new("test", Kind::CachedRead, Sample::Slices(AROUND_ZERO.map(restart).to_vec()))
}

#[test]
fn a_control_that_differs_widens_the_interval_and_a_clear_change_stays_one() {
    let of = |cell: Cell| judge(&[cell], &Options::default()).verdicts.remove(0);
    let (calm, moved) = (of(with_control(-0.05, 0.0)), of(with_control(-0.05, 0.01)));
    assert_eq!((calm.widened, moved.estimate.value), (1.0, calm.estimate.value));
    assert!(moved.widened > 2.0, "{moved:?}");
    let half_width = |verdict: &Verdict| verdict.plain.interval.half_width();
    assert!((half_width(&moved) / half_width(&calm) - moved.widened).abs() < 1e-9);
    assert!((moved.detectable / calm.detectable - moved.widened).abs() < 1e-9);
    assert!(matches!(moved.label, Label::Regression { .. }), "{}", moved.label);
    assert!(moved.adjusted_p > calm.adjusted_p && moved.adjusted_p < 0.05);
    // p and interval agree on what is significant.
    for size in 0..40 {
        let verdict = of(with_control(-0.0005 * f64::from(size), 0.01));
        assert_eq!(verdict.plain.is_significant(), verdict.plain.p < 0.05, "{verdict:?}");
    }
}

#[test]
fn a_test_is_invalid_only_if_it_is_open_and_the_control_is_off_by_more_than_the_margin() {
    let mut cells = vec![with_control(0.0, 0.0); 6];
    cells[2] = with_control(-0.01, 0.05);
    let report = judge(&cells, &Options::default());
    assert_eq!(report.invalid, None);
    assert_eq!(
        report.verdicts[2].label.to_string(),
        "invalid (A/A control differs from the baseline by +5.1 %)"
    );
    assert!(matches!(report.verdicts[0].label, Label::NoChange { .. }));
    cells[2] = with_control(-0.4, 0.05);
    let clear = judge(&cells, &Options::default()).verdicts.remove(2);
    assert!(matches!(clear.label, Label::Regression { .. }), "{}", clear.label);
    cells[2] = with_control(-0.01, 0.015);
    let near = judge(&cells, &Options::default()).verdicts.remove(2);
    assert!(!matches!(near.label, Label::Invalid { .. }), "{}", near.label);

    let report = judge(&vec![with_control(-0.01, 0.05); 5], &Options::default());
    let why = "A/A control differs from the baseline by more than the margin in 5 of 5 tests";
    assert_eq!(report.invalid.as_deref(), Some(why));
    assert_eq!(report.verdicts[0].label, Label::Invalid { why: why.to_string() });
}

#[test]
fn two_rounds_decide_nothing_however_close_they_are() {
    assert_eq!(words(exactly(&[-0.3, -0.3001])), "inconclusive (too few rounds)");
    assert_eq!(words(exactly(&[-0.3, -0.3001, -0.2999])), "regression");
}

/// The bounds of binomial chance at about .999 around 95 % of the rows.
#[test]
fn of_clean_comparisons_hardly_any_is_void_and_intervals_hold_the_truth() {
    for (tests, reports) in [(1, 400), (2, 200), (8, 50), (42, 10)] {
        for noise in NOISES {
            let world = World { noise, spread: 0.012, apart: 0.0, rounds: 8, tests };
            let tally = world.simulate(reports);
            let covered = tally.coverage();
            assert!((0.91..=0.985).contains(&covered), "{world:?}: {tally:?}");
            assert!(tally.void <= 0.01 * tally.rows, "{world:?}: {tally:?}");
            assert!(tally.void_reports == 0.0, "{world:?}: {tally:?}");
            // Of 100 reports one may lose by a wider interval what it would have found.
            let fewest = tally.found_before - 0.01 * tally.reports - 2.0;
            assert!(tally.found >= fewest, "{world:?}: {tally:?}");
        }
    }
}

/// A difference between arms that stays: without the control half of the intervals would miss the
/// truth. With it four of five hold it at least, although it is known only from one other pair.
#[test]
fn arms_that_differ_for_good_make_intervals_wide_enough() {
    let world = World { noise: Noise::Normal, spread: 0.006, apart: 0.006, rounds: 8, tests: 20 };
    let tally = world.simulate(30);
    assert!(tally.uncovered_before > 0.4 * tally.rows, "{tally:?}");
    assert!(tally.coverage() > 0.85, "{tally:?}");
}

/// From one test to 42, two sizes of noise, and arms that differ for good, with their figures:
/// `cargo test --release -p rqps-stats --lib every_number_of_tests -- --ignored --nocapture`.
fn figures(noise: Noise) {
    const WORLDS: [(f64, f64, usize); 4] =
        [(0.012, 0.0, 8), (0.006, 0.006, 8), (0.05, 0.0, 8), (0.012, 0.0, 6)];
    for (spread, apart, rounds) in WORLDS {
        for tests in [1, 2, 3, 5, 8, 22, 42] {
            let world = World { noise, spread, apart, rounds, tests };
            let tally = world.simulate((3000 / tests).max(200));
            let of = |count: f64| 100.0 * count / tally.reports;
            println!(
                "{world:?}: interval holds {:.1} % ({:.1} before), void rows {:.2} % ({:.1}), reports {:.2} %, \
                 found {:.1} % ({:.1}), false {:.1} % ({:.1})",
                100.0 * tally.coverage(),
                100.0 - 100.0 * tally.uncovered_before / tally.rows,
                100.0 * tally.void / tally.rows,
                100.0 * tally.void_before / tally.rows,
                of(tally.void_reports),
                of(tally.found),
                of(tally.found_before),
                of(tally.wrong),
                of(tally.wrong_before)
            );
            if apart > 0.0 {
                continue;
            }
            assert!((0.94..=0.97).contains(&tally.coverage()), "{tally:?}");
            assert!(tally.void <= 0.01 * tally.rows, "{tally:?}");
            assert!(tally.void_reports <= 0.01 * tally.reports, "{tally:?}");
            // One report in 100 may differ, and as many as chance adds where there are few.
            let by_chance =
                |share: f64| share * tally.reports + 3.0 * (share * tally.reports).sqrt();
            assert!(tally.found >= tally.found_before - by_chance(0.01), "{tally:?}");
            assert!(tally.wrong <= tally.wrong_before + by_chance(0.005), "{tally:?}");
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn of_normal_noise_and_every_number_of_tests() {
    figures(Noise::Normal);
}

#[test]
#[ignore = "takes minutes"]
fn of_skewed_noise_and_every_number_of_tests() {
    figures(Noise::Skewed);
}

#[test]
#[ignore = "takes minutes"]
fn of_a_drifting_machine_and_every_number_of_tests() {
    figures(Noise::Drifting);
}
