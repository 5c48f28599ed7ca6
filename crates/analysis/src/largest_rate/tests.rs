//! The search against stubs of which the answer is known.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rqps_plan::RATE_STEP;
use rqps_stats::paired::t_interval;

use super::{IsKept, LargestRate, RateGrid, RateSearch, TriedRate, TriedSecond};

/// What is found where the largest step that keeps the level is known, and how many were tried.
fn found(grid: RateGrid, last: Option<i32>, largest: i32) -> (LargestRate, usize) {
    let mut search = RateSearch::new(grid, last);
    let mut tried = 0;
    while let Some(step) = search.next() {
        assert!((grid.least..=grid.most).contains(&step), "{step}");
        search.told(step <= largest);
        tried += 1;
    }
    (search.found().unwrap(), tried)
}

#[test]
fn the_largest_step_is_found_wherever_it_is() {
    let grid = RateGrid { least: 100, most: 206 };
    for last in [None, Some(90), Some(100), Some(150), Some(205), Some(300)] {
        for largest in 100..206 {
            assert_eq!(found(grid, last, largest).0, LargestRate::Largest(largest), "{last:?}");
        }
        assert_eq!(found(grid, last, 99).0, LargestRate::None, "{last:?}");
        assert_eq!(found(grid, last, 206).0, LargestRate::AtLeast(206), "{last:?}");
        assert_eq!(found(grid, last, 500).0, LargestRate::AtLeast(206), "{last:?}");
    }
}

#[test]
fn an_answer_near_the_last_one_takes_few_tries() {
    let grid = RateGrid { least: 100, most: 206 };
    let most = |last, answers: std::ops::Range<i32>| {
        answers.map(|largest| found(grid, last, largest).1).max().unwrap()
    };
    // Two of them are those beside the answer.
    assert_eq!(most(None, 100..207), 9);
    assert!(most(Some(150), 147..153) <= 6);
}

#[test]
fn two_tries_beside_the_answer_may_move_it_by_a_step() {
    let grid = RateGrid { least: 100, most: 206 };
    let after = |above, below| {
        let mut search = RateSearch::new(grid, None);
        let mut tried = Vec::new();
        // The first step that is asked for again is beside the answer.
        while let Some(step) = search.next().filter(|step| !tried.contains(step)) {
            search.told(step <= 150);
            tried.push(step);
        }
        assert_eq!(search.next(), Some(151));
        search.told(above);
        assert_eq!(search.next(), Some(149));
        search.told(below);
        search.found().unwrap()
    };
    assert_eq!(after(false, true), LargestRate::Largest(150));
    assert_eq!(after(true, true), LargestRate::Largest(151));
    assert_eq!(after(false, false), LargestRate::Largest(149));
    assert_eq!(after(true, false), LargestRate::Largest(150), "they contradict each other");
}

#[test]
fn grids_are_the_same_for_all() {
    for rate in [1.0, 17.0, 500.0, 12_345.0, 2e6] {
        let near = RateGrid::rate(RateGrid::step(rate));
        assert!((near / rate).ln().abs() <= RATE_STEP.ln() / 2.0 + 1e-9, "{rate}");
        assert_eq!(RateGrid::step(near), RateGrid::step(rate));
    }
    let grid = RateGrid::of(1_000.0, 1.0);
    let [least, most] = [grid.least, grid.most].map(RateGrid::rate);
    assert!((49.0..51.0).contains(&least) && (1_180.0..1_220.0).contains(&most), "{grid:?}");
    assert!(RateGrid::rate(RateGrid::of(1_000.0, 100.0).least) > 100.0, "fewer cannot be judged");
}

fn trial(percentile: f64, blocks: &[(u64, u64)]) -> TriedRate {
    let mut trial = TriedRate::new(percentile, 100.0);
    let blocks = blocks.iter().map(|&(operations, late)| TriedSecond { operations, late });
    trial.add(blocks.clone(), blocks.len() as f64);
    trial
}

#[test]
fn a_try_goes_on_while_the_share_of_late_operations_may_be_on_either_side() {
    for (blocks, kept) in [
        (vec![(100, 0); 20], IsKept::Yes),
        (vec![(100, 100); 20], IsKept::No),
        ([(100, 1), (100, 0)].repeat(10), IsKept::Yes),
        ([(100, 1), (100, 2)].repeat(10), IsKept::No),
        ([(100, 2), (100, 0)].repeat(10), IsKept::Undecided),
        // A second in which nothing ends, and all that waited for it.
        ([vec![(100, 0); 18], vec![(0, 0), (200, 100)]].concat(), IsKept::Undecided),
        // The rate is not reached, in time though it be.
        (vec![(98, 0); 20], IsKept::No),
    ] {
        assert_eq!(trial(99.0, &blocks).kept(), kept, "{blocks:?}");
    }
    let undecided = |late| trial(99.0, &[(100, late), (100, 0)].repeat(10)).kept_at_last();
    assert!(undecided(2) && !undecided(3));
}

/// A server with one place that takes this many operations per second, each as long as any other,
/// in the order in which they are due.
struct Stub {
    per_second: f64,
    random: Xoshiro256PlusPlus,
}

const PERCENTILE: f64 = 99.0;
const LIMIT: f64 = 0.010;

impl Stub {
    /// Whether a rate is kept in a try, which is longer while it is undecided.
    fn tried(&mut self, rate: f64) -> bool {
        const RAMP: f64 = 2.0;
        let mut trial = TriedRate::new(PERCENTILE, rate);
        let mut free = 0.0;
        let ramp = self.served(rate, 0.0, RAMP, &mut free);
        assert_eq!(ramp.len(), 2);
        for (begin, seconds) in
            [(0.0, 20.0), (20.0, 10.0), (30.0, 10.0), (40.0, 10.0), (50.0, 10.0)]
        {
            trial.add(self.served(rate, RAMP + begin, seconds, &mut free), seconds);
            if trial.kept() != IsKept::Undecided {
                break;
            }
        }
        trial.kept_at_last()
    }

    /// What is due in some seconds: as many operations as the rate says, at random instants. `free`
    /// is when the server has done what was due before.
    fn served(&mut self, rate: f64, begin: f64, seconds: f64, free: &mut f64) -> Vec<TriedSecond> {
        let mut all = vec![TriedSecond::default(); seconds as usize];
        let operations = (rate * seconds) as u64;
        let (mut due, end) = (begin, begin + seconds);
        for left in (1..=operations).rev() {
            // The first of so many uniform instants (see `Timetable` of the load generator).
            let log = (1.0 - self.random.random::<f64>()).ln();
            due += (due - end) * (log / left as f64).exp_m1();
            *free = free.max(due) + 1.0 / self.per_second;
            let second = &mut all[((due - begin) as usize).min(seconds as usize - 1)];
            second.operations += 1;
            second.late += u64::from(*free - due > LIMIT);
        }
        all
    }

    /// The logs of the rates that so many rounds find.
    fn rounds(&mut self, count: usize) -> Vec<f64> {
        let grid = RateGrid::of(self.per_second, 1.0);
        let mut last = None;
        let rounds = (0..count).map(|_| {
            let mut search = RateSearch::new(grid, last);
            while let Some(step) = search.next() {
                let keeps = self.tried(RateGrid::rate(step));
                search.told(keeps);
            }
            let Some(LargestRate::Largest(step)) = search.found() else {
                panic!("{:?}", search.found())
            };
            last = Some(step);
            RateGrid::rate(step).ln()
        });
        rounds.collect()
    }
}

/// The largest rate that the stub keeps, as a log: of a waiting time with Poisson arrivals and
/// service times that are all alike, the tail beyond `t` is nearly C·exp(−θt) (Asmussen, Applied
/// Probability and Queues, on the Cramér–Lundberg approximation), with θ the root of
/// λ (exp(θ d) − 1) = θ and C = (1 − ρ) / (ρ exp(θ d) − 1).
fn exact(per_second: f64) -> f64 {
    let service = 1.0 / per_second;
    let late = |rate: f64| {
        let (load, mut low, mut high) = (rate * service, 1e-9, 1e6);
        for _ in 0..200 {
            let middle: f64 = (low + high) / 2.0;
            let is_above = rate * ((middle * service).exp() - 1.0) > middle;
            if is_above { high = middle } else { low = middle }
        }
        let root = low;
        let constant = (1.0 - load) / (load * (root * service).exp() - 1.0);
        constant * (-root * (LIMIT - service)).exp()
    };
    let (mut low, mut high) = (0.1 * per_second, 0.9999 * per_second);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if late(middle) > 1.0 - PERCENTILE / 100.0 { high = middle } else { low = middle }
    }
    low.ln()
}

/// Six rounds each, ten times.
#[test]
fn a_stub_that_serves_two_thousand_is_told_from_one_at_nine_tenths_of_it() {
    let step = RATE_STEP.ln();
    for seed in 0..10 {
        let of = |per_second: f64, seed: u64| {
            Stub { per_second, random: Xoshiro256PlusPlus::seed_from_u64(seed) }.rounds(6)
        };
        let (base, slow) = (of(2_000.0, seed), of(1_800.0, 100 + seed));
        for (rounds, per_second) in [(&base, 2_000.0), (&slow, 1_800.0)] {
            let mean = rounds.iter().sum::<f64>() / rounds.len() as f64;
            let off = mean - exact(per_second);
            assert!(off.abs() <= step, "{seed}: {per_second}/s: off by {:.2} steps", off / step);
        }
        let ratios: Vec<f64> = base.iter().zip(&slow).map(|(base, slow)| slow - base).collect();
        let found = t_interval(&ratios, None, 0.05).unwrap();
        let (low, high) = (found.interval.low - step / 2.0, found.interval.high + step / 2.0);
        assert!(high < 0.0, "{seed}: the slower one is found: {low:.3} – {high:.3}");
        assert!((low..=high).contains(&0.9_f64.ln()), "{seed}: {low:.3} – {high:.3}");
    }
}
