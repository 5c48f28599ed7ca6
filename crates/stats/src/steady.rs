//! Whether and when a run was in a steady state. For steps of a fixed time; steps of fixed work are
//! never trimmed. A run is never dropped for its steadiness: that would be choosing runs by their
//! result.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::autocorrelation::tau;
use crate::change_points::{Cost, change_points};
use crate::estimate::{Interval, mean, median, median_of, variance};

/// Seconds of a bin.
pub const BIN: usize = 5;
/// Bins of the shortest level: 10 s.
const LEAST_LEVEL: usize = 2;
/// Levels, and a trend over the whole run, closer than this share of the median are the same.
const SAME_WITHIN: f64 = 0.05;
/// The warm-up of a run: at least these seconds and this share of it are ignored.
const HEAD_SECONDS: usize = 5;
const HEAD_SHARE: f64 = 0.1;
/// Resamples of the interval of the trend.
const RESAMPLES: usize = 200;

/// How the level of a run behaves (Barrett and others, Virtual machine warmup blows hot and cold,
/// 2017), for rates: more is faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunShape {
    Flat,
    /// Faster at the end than before.
    WarmUp,
    /// Slower at the end than before.
    SlowDown,
    /// Both slower and faster before than at the end.
    MultiLevel,
}

/// The slope of a run, as a share of its median over its whole length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    pub change: f64,
    /// More than 5 % from start to end, and not by chance: the interval of 95 % leaves out 0.
    pub is_flagged: bool,
}

/// What one run's rates per second say about its steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// Seconds until the run is steady: the warm-up and what MSER cuts. They are reported and not
    /// removed: a different cut for each arm would itself bias their ratio.
    pub cut: usize,
    /// False if MSER would cut half of the run or more: there is no steady state.
    pub is_steady: bool,
    /// After the cut.
    pub trend: Trend,
    /// After the warm-up: MSER must not hide the levels that it cuts.
    pub class: RunShape,
    /// The first second of every level but the first.
    pub changes: Vec<usize>,
}

/// The steadiness of a run of `rates` per second. None for fewer than four bins after the warm-up.
pub fn steady(rates: &[f64], seed: u64) -> Option<Steady> {
    let warm_up = warm_up(rates.len());
    let bins = bins(rates.get(warm_up..)?, BIN);
    if bins.len() < 2 * LEAST_LEVEL {
        return None;
    }
    let dropped = mser(&bins);
    let changes = change_points(&bins, penalty(&bins), LEAST_LEVEL);
    Some(Steady {
        cut: warm_up + dropped * BIN,
        is_steady: dropped < bins.len() / 2,
        trend: trend(&bins[dropped..], seed),
        class: class(&bins, &changes),
        changes: changes.into_iter().map(|bin| warm_up + bin * BIN).collect(),
    })
}

/// The seconds of the warm-up, which never count.
pub fn warm_up(seconds: usize) -> usize {
    HEAD_SECONDS.max((HEAD_SHARE * seconds as f64).ceil() as usize)
}

/// Means of `width` values each; an incomplete last one is left out.
pub fn bins(values: &[f64], width: usize) -> Vec<f64> {
    values.chunks_exact(width).map(mean).collect()
}

/// The marginal standard error rule (White 1997): how many values to drop, at most half, so that
/// the mean of the others is known best: the least sum of squares / count².
pub fn mser(values: &[f64]) -> usize {
    if values.is_empty() {
        return 0;
    }
    let cost = Cost::new(values);
    let error = |cut: usize| {
        let left = (values.len() - cut) as f64;
        cost.of(cut, values.len()) / (left * left)
    };
    // The first of equal ones: nothing is dropped without reason.
    (0..=values.len() / 2).min_by(|left, right| error(*left).total_cmp(&error(*right))).unwrap_or(0)
}

/// The median of the slopes of all pairs of values, per value (Theil 1950, Sen 1968). 0 for fewer
/// than two.
pub fn theil_sen(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let gaps: Vec<f64> = (1..values.len()).map(|gap| gap as f64).collect();
    let mut slopes = Vec::with_capacity(values.len() * gaps.len() / 2);
    for (from, x) in values.iter().enumerate() {
        slopes.extend(values[from + 1..].iter().zip(&gaps).map(|(y, gap)| (y - x) / gap));
    }
    median_of(slopes)
}

fn trend(values: &[f64], seed: u64) -> Trend {
    let slope = theil_sen(values);
    let change = slope * (values.len() as f64 / median(values));
    // The interval takes far longer than all else, and most runs change by less.
    let is_flagged =
        change.abs() > SAME_WITHIN && !slope_interval(values, slope, seed).contains(0.0);
    Trend { change, is_flagged }
}

/// The interval of the slope of `values` from a circular block bootstrap of what is left
/// without it, in blocks of 1.5 tau. With few independent stretches it is too narrow: 60
/// values with a tau of 3 show a trend by chance in 16 % of runs, not in 5 %.
fn slope_interval(values: &[f64], slope: f64, seed: u64) -> Interval {
    let count = values.len();
    let rest: Vec<f64> =
        values.iter().enumerate().map(|(at, value)| value - slope * at as f64).collect();
    let block = ((1.5 * tau(&rest)).ceil() as usize).clamp(1, (count / 5).max(1));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut slopes: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let mut drawn = Vec::with_capacity(count + block);
            while drawn.len() < count {
                let start = random.random_range(0..count);
                drawn.extend((start..start + block).map(|at| rest[at % count]));
            }
            drawn.truncate(count);
            slope + theil_sen(&drawn)
        })
        .collect();
    slopes.sort_by(f64::total_cmp);
    let cut = RESAMPLES / 40;
    Interval { low: slopes[cut - 1], high: slopes[RESAMPLES - cut] }
}

/// 3 · tau · s² · ln n, where tau · s² is the variance that a mean of the noise has, times n.
///
/// Changes of level would count as noise and hide themselves, so the best two are taken out first.
fn penalty(values: &[f64]) -> f64 {
    let cost = Cost::new(values);
    let count = values.len();
    let mut best = (cost.of(0, count), 0, count);
    for first in LEAST_LEVEL..=count - LEAST_LEVEL {
        for second in first + LEAST_LEVEL..=count - LEAST_LEVEL {
            let total = cost.of(0, first) + cost.of(first, second) + cost.of(second, count);
            if total < best.0 {
                best = (total, first, second);
            }
        }
    }
    let (_, first, second) = best;
    let rest: Vec<f64> = [&values[..first], &values[first..second], &values[second..]]
        .into_iter()
        .flat_map(|level| {
            let center = mean(level);
            level.iter().map(move |value| value - center)
        })
        .collect();
    3.0 * tau(&rest).max(1.0) * variance(&rest) * (count as f64).ln()
}

fn class(values: &[f64], changes: &[usize]) -> RunShape {
    let mut bounds = vec![0];
    bounds.extend(changes);
    bounds.push(values.len());
    let levels: Vec<f64> =
        bounds.windows(2).map(|bounds| mean(&values[bounds[0]..bounds[1]])).collect();
    let last = levels[levels.len() - 1];
    let near = SAME_WITHIN * median(values).abs();
    let was_slower = levels.iter().any(|level| *level < last - near);
    let was_faster = levels.iter().any(|level| *level > last + near);
    match (was_slower, was_faster) {
        (false, false) => RunShape::Flat,
        (true, false) => RunShape::WarmUp,
        (false, true) => RunShape::SlowDown,
        (true, true) => RunShape::MultiLevel,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::autoregressive;

    /// Seconds at each level, with noise of 3 % that remembers 80 % of the second before.
    fn run(random: &mut Xoshiro256PlusPlus, levels: &[(usize, f64)]) -> Vec<f64> {
        let count = levels.iter().map(|(seconds, _)| seconds).sum();
        let level = levels.iter().flat_map(|(seconds, level)| std::iter::repeat_n(level, *seconds));
        let noise = autoregressive(random, 0.8, count);
        level.zip(noise).map(|(level, x)| level * (1.0 + 0.03 * x)).collect()
    }

    #[test]
    fn levels_are_classed_by_where_they_end() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(13);
        for (levels, class) in [
            (&[(300, 1000.0)][..], RunShape::Flat),
            (&[(100, 700.0), (200, 1000.0)], RunShape::WarmUp),
            (&[(150, 1000.0), (150, 800.0)], RunShape::SlowDown),
            (&[(100, 700.0), (100, 1300.0), (100, 1000.0)], RunShape::MultiLevel),
        ] {
            let hits = (0..20)
                .filter(|seed| steady(&run(&mut random, levels), *seed).unwrap().class == class)
                .count();
            assert!(hits >= 18, "{class:?}: {hits} of 20");
        }
    }

    #[test]
    fn a_slow_start_is_cut_off() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(14);
        let found = steady(&run(&mut random, &[(80, 600.0), (220, 1000.0)]), 1).unwrap();
        assert!((75..=90).contains(&found.cut), "{found:?}");
        assert!(found.is_steady, "{found:?}");
        assert_eq!(found.changes.len(), 1, "{found:?}");
        assert!(found.changes[0].abs_diff(80) <= BIN, "{found:?}");
    }

    #[test]
    fn a_run_that_never_settles_has_no_steady_state() {
        let rates: Vec<f64> = (0..200).map(|second| 1000.0 + 10.0 * f64::from(second)).collect();
        let found = steady(&rates, 1).unwrap();
        assert!(!found.is_steady, "{found:?}");
        assert!(found.trend.is_flagged, "{found:?}");
    }

    #[test]
    fn noise_has_no_trend() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(15);
        let flagged = (0..100)
            .filter(|seed| {
                let found = steady(&run(&mut random, &[(300, 1000.0)]), *seed).unwrap();
                found.trend.is_flagged
            })
            .count();
        assert!(flagged <= 5, "{flagged} of 100");
    }

    #[test]
    fn slow_noise_is_less_often_taken_for_a_trend() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(16);
        let flagged = (0..200)
            .filter(|seed| {
                let noise = autoregressive(&mut random, 0.5, 60);
                let bins: Vec<f64> = noise.iter().map(|x| 1000.0 * (1.0 + 0.1 * x)).collect();
                trend(&bins, *seed).is_flagged
            })
            .count();
        // 33 here; 73 if the values were drawn one by one.
        assert!(flagged <= 45, "{flagged} of 200");
    }

    #[test]
    fn the_slope_is_that_of_the_pairs() {
        assert_eq!(theil_sen(&[1.0, 3.0, 5.0, 7.0]), 2.0);
        // Slopes 1, 1, 1, −11/3 …: one value far off does not count.
        assert_eq!(theil_sen(&[1.0, 2.0, 3.0, 4.0, 5.0, -50.0, 7.0]), 1.0);
        assert_eq!(theil_sen(&[1.0]), 0.0);
    }

    #[test]
    fn mser_drops_only_what_makes_the_mean_worse() {
        assert_eq!(mser(&[0.0, 0.0, 9.0, 11.0, 10.0, 9.0, 11.0, 10.0]), 2);
        assert_eq!(mser(&[5.0; 8]), 0);
        assert_eq!(mser(&[]), 0);
    }

    #[test]
    fn at_least_five_seconds_and_a_tenth_are_the_warm_up() {
        assert_eq!([30, 50, 100, 301].map(warm_up), [5, 5, 10, 31]);
        assert_eq!(steady(&[1.0; 24], 1), None);
        assert_eq!(steady(&[], 1), None);
        assert_eq!(steady(&[1.0; 25], 1).unwrap().class, RunShape::Flat);
        assert_eq!(bins(&[1.0, 3.0, 5.0, 7.0, 9.0], 2), [2.0, 6.0]);
    }
}
