//! Whether verdicts are right if the truth is known: false alarms, coverage, power, bias and signs,
//! and the bounds that they must keep.
//!
//! A bound is broken only if the whole interval of the count lies outside: a few cells cannot
//! condemn a method, and many cells must be nearly right.

use std::collections::BTreeMap;

use crate::binomial::Share;
use crate::estimate::{Estimate, mean, median, variance};
use crate::paired::t_interval;

/// The level of the tests that are checked.
pub const LEVEL: f64 = 0.05;
/// The least share of changes that must be found, and of causes that must be right.
pub const LEAST_POWER: f64 = 0.8;
/// The largest acceptable bias, as a part of the MDE.
pub const MOST_BIAS: f64 = 0.3;

/// One test of one contender whose true difference from its baseline is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Cells of one group are not independent: equal builds share their restarts and data,
    /// slowdowns of one test share their baseline's slices.
    pub group: String,
    /// The log of the true ratio.
    pub truth: f64,
    /// By itself, at 95 %.
    pub estimate: Estimate,
    /// The log ratio of each restart, in their order: the first of all cells is taken for the same.
    pub restarts: Vec<f64>,
    /// The MDE.
    pub detectable: f64,
}

impl Known {
    /// Whether a difference is found with the wrong sign.
    pub fn is_wrong_sign(&self) -> bool {
        self.truth != 0.0
            && self.estimate.is_significant()
            && self.estimate.value * self.truth < 0.0
    }

    /// Whether the true difference is found.
    pub fn is_found(&self) -> bool {
        self.estimate.is_significant() && self.estimate.value * self.truth > 0.0
    }

    fn is_above(&self) -> bool {
        self.estimate.value > 0.0
    }

    fn is_covered(&self) -> bool {
        self.estimate.interval.contains(self.truth)
    }

    /// The SD between restarts.
    pub fn spread(&self) -> f64 {
        variance(&self.restarts).sqrt()
    }
}

/// What cells of a kind have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// A difference is found.
    pub flagged: Share,
    /// Significant or not: the contender is faster.
    pub above: Share,
    /// The 95 % interval contains the truth.
    pub covered: Share,
    /// Both by group.
    above_by_group: Vec<f64>,
    covered_by_group: Vec<f64>,
    /// Measured minus true, as logs: the means of groups, and of each restart over all cells.
    errors_by_group: Vec<f64>,
    errors_by_restart: Vec<f64>,
    /// The true difference is found.
    pub found: Share,
    /// The same for cells whose true difference is at least the MDE.
    pub found_of_detectable: Share,
    pub wrong_signs: Share,
    /// The median SD between restarts, and the median MDE. NaN without cells.
    pub spread: f64,
    pub detectable: f64,
}

impl Summary {
    pub fn of(cells: &[&Known]) -> Summary {
        let share = |is: fn(&Known) -> bool| Share::count(cells.iter().map(|cell| is(cell)));
        let middle = |of: fn(&Known) -> f64| {
            let values: Vec<f64> = cells.iter().map(|cell| of(cell)).collect();
            median(&values)
        };
        let mut groups: BTreeMap<&str, Vec<&Known>> = BTreeMap::new();
        for cell in cells {
            groups.entry(&cell.group).or_default().push(cell);
        }
        let by_group = |of: fn(&Known) -> f64| {
            let one =
                |group: &Vec<&Known>| mean(&group.iter().map(|cell| of(cell)).collect::<Vec<_>>());
            groups.values().map(one).collect()
        };
        let restarts = cells.iter().map(|cell| cell.restarts.len()).max().unwrap_or(0);
        let of_restart = |restart: usize| {
            let off = |cell: &&Known| Some(cell.restarts.get(restart)? - cell.truth);
            mean(&cells.iter().filter_map(off).collect::<Vec<_>>())
        };
        let could = cells.iter().filter(|cell| cell.truth.abs() >= cell.detectable);
        Summary {
            flagged: share(|cell| cell.estimate.is_significant()),
            above: share(Known::is_above),
            covered: share(Known::is_covered),
            above_by_group: by_group(|cell| f64::from(cell.is_above())),
            covered_by_group: by_group(|cell| f64::from(cell.is_covered())),
            errors_by_group: by_group(|cell| cell.estimate.value - cell.truth),
            errors_by_restart: (0..restarts).map(of_restart).collect(),
            found: share(Known::is_found),
            found_of_detectable: Share::count(could.map(|cell| cell.is_found())),
            wrong_signs: share(Known::is_wrong_sign),
            spread: middle(Known::spread),
            detectable: middle(|cell| cell.detectable),
        }
    }

    /// More differences are found between equal builds than the level allows, or they have one
    /// sign. `alpha` is the chance that this is reported wrongly.
    pub fn is_alarmist(&self, alpha: f64) -> bool {
        self.flagged.interval(alpha).low > LEVEL || self.is_one_sided(alpha)
    }

    /// An arm whose data or restarts happen to be good is faster in many tests at once, which is
    /// not a bias of the method: so the shares of groups must have that sign, too.
    fn is_one_sided(&self, alpha: f64) -> bool {
        let is_above = !self.above.interval(alpha).contains(0.5);
        let shares = t_interval(&self.above_by_group, None, alpha);
        is_above && shares.is_some_and(|shares| !shares.interval.contains(0.5))
    }

    /// Intervals contain the truth too rarely. A baseline that is off in a test is off for each
    /// size of slowdown there, so this must hold by groups, too.
    pub fn is_overconfident(&self, alpha: f64) -> bool {
        let shares = t_interval(&self.covered_by_group, None, alpha);
        self.covered.interval(alpha).high < 1.0 - LEVEL
            && shares.is_some_and(|shares| shares.interval.high < 1.0 - LEVEL)
    }

    /// Changes above the MDE are found too rarely.
    pub fn is_blind(&self, alpha: f64) -> bool {
        self.found_of_detectable.interval(alpha).high < LEAST_POWER
    }

    /// The mean of measured minus true, as logs, with its interval at the level 1 − `alpha`. An
    /// error of a restart is in all of its tests, and a wrong expectation of a test is in all of
    /// its restarts. So the mean is taken over groups and over restarts, and the wider interval is
    /// returned. None for fewer than two of either.
    pub fn bias(&self, alpha: f64) -> Option<Estimate> {
        let by_group = t_interval(&self.errors_by_group, None, alpha)?;
        let by_restart = t_interval(&self.errors_by_restart, None, alpha)?;
        let width = |of: &Estimate| of.interval.high - of.interval.low;
        Some(if width(&by_group) > width(&by_restart) { by_group } else { by_restart })
    }

    /// Measured differences are too large or too small.
    pub fn is_biased(&self, alpha: f64) -> bool {
        self.bias(alpha).is_some_and(|bias| {
            bias.is_significant() && bias.value.abs() > MOST_BIAS * self.detectable
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus as Random;

    use super::*;
    use crate::detectable::detectable;
    use crate::simulation::normals;

    /// Cells of eight contenders and eight restarts with an SD of 0.3 %, whose restarts are off the
    /// truth by `off`.
    fn cells(random: &mut Random, count: usize, truth: f64, off: f64) -> Vec<Known> {
        let cell = |index: usize| {
            let noise = normals(random, 8);
            let restarts: Vec<f64> =
                noise.iter().map(|noise| truth + off + 0.003 * noise).collect();
            let estimate = t_interval(&restarts, None, LEVEL).unwrap();
            let group = format!("a{}", index % 8);
            Known { group, truth, estimate, restarts, detectable: detectable_at(0.003) }
        };
        (0..count).map(cell).collect()
    }

    fn detectable_at(spread: f64) -> f64 {
        detectable(spread / 8.0_f64.sqrt(), 7.0, LEVEL)
    }

    fn summary(truth: f64, off: f64) -> Summary {
        let cells = cells(&mut Random::seed_from_u64(5), 200, truth, off);
        Summary::of(&cells.iter().collect::<Vec<_>>())
    }

    #[test]
    fn sound_verdicts_keep_every_bound() {
        for truth in [0.0, -0.01, -0.02] {
            let sound = summary(truth, 0.0);
            assert!(!sound.is_overconfident(LEVEL) && !sound.is_biased(LEVEL), "{sound:?}");
            assert!(!sound.is_blind(LEVEL) && sound.wrong_signs.hits == 0, "{sound:?}");
            assert!((sound.spread - 0.003).abs() < 3e-4, "{sound:?}");
        }
        assert!(!summary(0.0, 0.0).is_alarmist(LEVEL));
    }

    #[test]
    fn a_bias_breaks_bounds() {
        let skewed = summary(0.0, 0.002);
        assert!(skewed.is_alarmist(LEVEL) && skewed.is_overconfident(LEVEL));
        assert!(skewed.is_biased(LEVEL), "{skewed:?}");
        let lost = summary(-0.01, 0.01);
        assert!(lost.is_blind(LEVEL) && lost.is_biased(LEVEL), "{lost:?}");
        let turned = summary(-0.01, 0.02);
        assert!(turned.wrong_signs.hits > 150, "{turned:?}");
    }

    /// As measured (Postgres, 2026-11-25): 129 of 224 came out faster, in which two contenders of
    /// seven had a part.
    #[test]
    fn contenders_that_are_faster_in_many_tests_are_no_side_of_all() {
        let side = |faster: [usize; 7]| {
            let cells = (0..7).flat_map(|contender| {
                let cells = cells(&mut Random::seed_from_u64(contender as u64), 32, 0.0, 0.0);
                cells.into_iter().enumerate().map(move |(index, mut cell)| {
                    cell.group = format!("a{contender}");
                    let size = cell.estimate.value.abs();
                    cell.estimate.value = if index < faster[contender] { size } else { -size };
                    cell
                })
            });
            let cells: Vec<Known> = cells.collect();
            let summary = Summary::of(&cells.iter().collect::<Vec<_>>());
            assert!(!summary.above.interval(LEVEL).contains(0.5), "{:?}", summary.above);
            summary.is_one_sided(LEVEL)
        };
        assert!(!side([13, 19, 16, 24, 17, 23, 17]));
        assert!(side([18, 19, 18, 19, 18, 19, 18]));
    }

    /// As measured (Postgres, 2026-11-25): 33 of 40 held it, five sizes each of eight tests.
    #[test]
    fn a_base_that_is_off_in_some_tests_is_no_overconfidence_of_all() {
        let is_overconfident = |held: [usize; 8]| {
            let cells = (0..8).flat_map(|test| {
                let cells = cells(&mut Random::seed_from_u64(test as u64), 5, -0.02, 0.0);
                cells.into_iter().enumerate().map(move |(index, mut cell)| {
                    cell.group = format!("test {test}");
                    let off = if index < held[test] { 0.0 } else { 1.0 };
                    cell.truth = cell.estimate.value + off;
                    cell
                })
            });
            let cells: Vec<Known> = cells.collect();
            Summary::of(&cells.iter().collect::<Vec<_>>()).is_overconfident(0.01)
        };
        assert!(!is_overconfident([5, 3, 5, 5, 3, 5, 5, 2]));
        assert!(is_overconfident([4, 3, 4, 4, 3, 4, 4, 3]));
    }

    /// Restarts of the baseline that all tests share, off by an SD of 0.4 %: tests agree on chance,
    /// and restarts agree on wrong expectations.
    #[test]
    fn a_bias_is_one_of_tests_and_of_restarts() {
        let biased = |common: f64, off: f64| {
            let biased = |seed: u64| {
                let mut random = Random::seed_from_u64(seed);
                let restarts = normals(&mut random, 8);
                let mut cells = cells(&mut random, 8, -0.02, off);
                for cell in &mut cells {
                    let values = cell.restarts.iter_mut().zip(&restarts);
                    values.for_each(|(value, restart)| *value += common * restart);
                    cell.estimate = t_interval(&cell.restarts, None, LEVEL).unwrap();
                }
                Summary::of(&cells.iter().collect::<Vec<_>>()).is_biased(0.01)
            };
            (0..200).filter(|seed| biased(*seed)).count()
        };
        let chance = biased(0.004, 0.0);
        assert!(chance <= 4, "1 of 100 at most is to be: {chance} of 200");
        for (common, off) in [(0.004, 0.01), (0.0, 0.005)] {
            let found = biased(common, off);
            assert!(found >= 190, "{common}, {off}: {found} of 200");
        }
    }

    /// Of 200 at most 16.
    #[test]
    fn sixteen_false_alarms_of_two_hundred_are_borne_and_seventeen_are_not() {
        let mut sound = summary(0.0, 0.0);
        sound.above = Share { hits: 100, of: 200 };
        for (hits, is_alarmist) in [(16, false), (17, true)] {
            sound.flagged = Share { hits, of: 200 };
            assert_eq!(sound.is_alarmist(LEVEL), is_alarmist, "{hits}");
        }
    }
}
