//! Searches among simulated commits whose change is known.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Random;

use super::*;
use crate::simulation::normals;

const SIZE_OF_CHANGE: f64 = 0.04;

/// Of many searches: shares that were right, wrong and undecided, and the mean comparisons.
#[derive(Debug, Default)]
struct Tally {
    right: f64,
    wrong: f64,
    undecided: f64,
    comparisons: f64,
}

struct World {
    commits: usize,
    error: f64,
    layout: f64,
    /// The share of commits that do not build.
    broken: f64,
}

impl World {
    fn search(&self, random: &mut Random, model: &LayoutModel) -> (usize, Decision, usize) {
        let World { commits, error, layout, broken } = *self;
        let change = random.random_range(1..=commits);
        let builds: Vec<f64> = normals(random, commits + 1).iter().map(|x| layout * x).collect();
        let does_build: Vec<bool> = (0..=commits)
            .map(|place| [0, commits].contains(&place) || random.random::<f64>() >= broken)
            .collect();
        let mut line = CommitLine::new(vec![1.0; commits]);
        let rule = SearchRule { probability: 0.95, comparisons: 60, error };
        let mut observations = Vec::new();
        let mut place = commits;
        loop {
            if does_build[place] {
                let level = if place >= change { -SIZE_OF_CHANGE } else { 0.0 };
                let value = level + builds[place] - builds[0] + error * normals(random, 1)[0];
                observations.push(Observation { place, value, error });
            } else {
                line.exclude(place);
            }
            match decide(&line, &observations, model, &rule) {
                Decision::Measure(next) => place = next,
                end => return (change, end, observations.len()),
            }
        }
    }

    fn tally(&self, times: usize, model: &LayoutModel) -> Tally {
        let mut random = Random::seed_from_u64(37);
        let mut tally = Tally::default();
        for _ in 0..times {
            let (change, end, comparisons) = self.search(&mut random, model);
            match end {
                Decision::Found(block) if (block.first..=block.last).contains(&change) => {
                    tally.right += 1.0;
                }
                Decision::Found(_) => tally.wrong += 1.0,
                _ => tally.undecided += 1.0,
            }
            tally.comparisons += comparisons as f64;
        }
        let Tally { right, wrong, undecided, comparisons } = &mut tally;
        for sum in [right, wrong, undecided, comparisons] {
            *sum /= times as f64;
        }
        tally
    }
}

/// Rows of the table in docs/bisect.md: the size of the change by the error of a comparison, the
/// SD of layouts by the size, the commits, the least share that is right, and the most comparisons.
type Row = (f64, f64, usize, f64, f64);

fn check(rows: &[Row], times: usize) {
    for &(by_error, by_size, commits, right, comparisons) in rows {
        let error = SIZE_OF_CHANGE / by_error;
        let layout = SIZE_OF_CHANGE * by_size;
        let world = World { commits, error, layout, broken: 0.0 };
        let tally = world.tally(times, &LayoutModel::with_layout(layout));
        let told = format!("{by_error} {by_size} {commits}: {tally:?}");
        println!("{told}");
        assert!(tally.right >= right, "{told}");
        assert!(tally.wrong <= 0.05, "{told}");
        assert!(tally.comparisons <= comparisons, "{told}");
    }
}

#[test]
fn a_clear_change_is_found_in_little_more_than_a_halving_each() {
    check(
        &[
            (8.0, 0.0, 16, 0.97, 6.5),
            (8.0, 0.125, 16, 0.96, 6.5),
            (8.0, 0.0, 64, 0.97, 8.5),
            (8.0, 0.125, 64, 0.96, 8.5),
        ],
        150,
    );
}

#[test]
fn noise_costs_comparisons_rather_than_truth() {
    check(
        &[
            (4.0, 0.0, 16, 0.96, 8.5),
            (4.0, 0.0, 64, 0.95, 10.5),
            (4.0, 0.125, 16, 0.92, 10.5),
            (4.0, 0.125, 64, 0.92, 12.5),
            (2.0, 0.0, 16, 0.80, 23.0),
        ],
        150,
    );
}

/// Where layouts are as large as the change, nothing can be found, and that is told.
#[test]
fn what_layouts_hide_is_undecided_and_not_wrong() {
    let world = World { commits: 16, error: 0.02, layout: 0.02, broken: 0.0 };
    let tally = world.tally(60, &LayoutModel::with_layout(0.02));
    assert!(tally.wrong <= 0.07 && tally.undecided >= 0.6, "{tally:?}");
}

#[test]
fn commits_that_do_not_build_make_blocks_with_the_change_in_them() {
    let world = World { commits: 64, error: 0.005, layout: 0.0, broken: 0.3 };
    let tally = world.tally(150, &LayoutModel::default());
    assert!(tally.right >= 0.93 && tally.wrong <= 0.05, "{tally:?}");
}

/// What layouts are is not known beforehand.
#[test]
fn layouts_need_not_be_known() {
    for layout in [0.0, 0.003, 0.006] {
        let world = World { commits: 64, error: 0.006, layout, broken: 0.0 };
        let tally = world.tally(150, &LayoutModel::default());
        assert!(tally.wrong <= 0.05 && tally.right >= 0.9, "{layout}: {tally:?}");
        assert!(tally.comparisons <= 12.5, "{layout}: {tally:?}");
    }
}

/// The rest of the table, as a bench: `cargo test --release -p rqps-stats -- --ignored bisect`.
#[test]
#[ignore = "takes minutes; nightly"]
fn the_whole_table() {
    check(
        &[
            (8.0, 0.0, 256, 0.97, 10.5),
            (8.0, 0.125, 256, 0.96, 10.5),
            (4.0, 0.0, 256, 0.96, 11.5),
            (4.0, 0.125, 256, 0.92, 14.0),
            (4.0, 0.25, 16, 0.58, 31.0),
            (4.0, 0.25, 64, 0.58, 34.0),
            (2.0, 0.0, 64, 0.85, 24.0),
            (2.0, 0.0, 256, 0.84, 28.0),
        ],
        300,
    );
}

fn seen(places: &[(usize, f64)]) -> Vec<Observation> {
    let one = |&(place, value): &(usize, f64)| Observation { place, value, error: 0.002 };
    places.iter().map(one).collect()
}

const RULE: SearchRule = SearchRule { probability: 0.95, comparisons: 60, error: 0.002 };

#[test]
fn the_middle_is_measured_first_and_both_neighbours_before_the_end() {
    let line = CommitLine::new(vec![1.0; 8]);
    let next = |observations: &[Observation]| {
        decide(&line, observations, &LayoutModel::with_layout(0.0), &RULE)
    };
    assert_eq!(next(&seen(&[(8, -0.05)])), Decision::Measure(4));
    assert_eq!(next(&seen(&[(8, -0.05), (4, -0.05)])), Decision::Measure(2));
    assert_eq!(next(&seen(&[(8, -0.05), (4, -0.05), (2, 0.0)])), Decision::Measure(3));
    let Decision::Found(block) = next(&seen(&[(8, -0.05), (4, -0.05), (2, 0.0), (3, 0.0)])) else {
        panic!("both sides of commit 4 are measured");
    };
    assert!((block.first, block.last) == (4, 4) && block.probability > 0.99, "{block:?}");
}

#[test]
fn equal_binaries_share_what_is_measured_and_have_no_change_between_them() {
    let mut line = CommitLine::new(vec![1.0; 4]);
    line.unite(1, 3);
    let all = posterior(&line, &seen(&[(4, -0.05), (3, 0.0)]), &LayoutModel::default());
    assert_eq!(all.commits[1..3], [0.0, 0.0]);
    assert!(all.commits[3] > 0.99, "{all:?}");
    assert_eq!((line.first_same(3), line.first_same(2)), (1, 2));
    // It is the first commit's binary.
    line.unite(3, 0);
    assert_eq!(line.first_same(3), 0);
    let end = decide(&line, &seen(&[(4, -0.05)]), &LayoutModel::default(), &RULE);
    assert!(matches!(end, Decision::Found(CommitBlock { first: 4, last: 4, .. })), "{end:?}");
    line.unite(0, 4);
    assert!(line.is_empty());
    assert_eq!(decide(&line, &[], &LayoutModel::default(), &RULE), Decision::Undecided(None));
}

#[test]
fn a_commit_that_cannot_be_measured_shares_its_probability() {
    let mut line = CommitLine::new(vec![1.0, 1.0, 1.0, 0.1]);
    line.exclude(2);
    let end =
        decide(&line, &seen(&[(4, -0.05), (3, -0.05), (1, 0.0)]), &LayoutModel::default(), &RULE);
    let Decision::Found(block) = end else { panic!("{end:?}") };
    assert_eq!((block.first, block.last), (2, 3));
}

/// A posterior without any measurement is the prior.
#[test]
fn what_is_less_likely_beforehand_is_less_likely() {
    let line = CommitLine::new(vec![1.0, 0.1, 0.9]);
    let prior = posterior(&line, &[], &LayoutModel::default()).commits;
    for (found, expected) in prior.iter().zip([0.5, 0.05, 0.45]) {
        assert!((found - expected).abs() < 1e-9, "{prior:?}");
    }
}

#[test]
fn the_credible_set_has_the_fewest_commits() {
    let posterior =
        |commits: &[f64]| Posterior { commits: commits.to_vec(), layout: 0.0 }.credible(0.95);
    assert_eq!(posterior(&[0.01, 0.02, 0.96, 0.01]), [3]);
    assert_eq!(posterior(&[0.06, 0.5, 0.02, 0.42]), [1, 2, 4], "0.92 is not enough");
    assert_eq!(posterior(&[0.0, 0.5, 0.5]), [2, 3], "what cannot be the change is left out");
    assert_eq!(posterior(&[0.0, 0.0]), [0; 0]);
}
