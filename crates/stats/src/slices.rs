//! From short alternating slices to one number per restart (docs/slices.md).
//!
//! All servers are up and the client drives them in turn, a slice each; one slice of every arm is a
//! cycle. Neighbouring slices share the state of the machine, which cancels in the log ratio of
//! each cycle. The **median** over the cycles of a restart ignores disturbed ones. The restart, not
//! the cycle, is the unit of analysis: what differs from one start of a server to the next (memory
//! layout, placement) is the same in all cycles of a restart.

use std::collections::BTreeMap;
use std::f64::consts::FRAC_PI_2;

use crate::estimate::{mean, median};

/// The SD of normal values over their median absolute deviation.
const SD_OF_MAD: f64 = 1.4826;

/// What one arm did in its turn: `amount` per `per`. Operations per seconds is a rate; microseconds
/// of CPU, read at the edges of the slice, per operations is a cost. Both must be of the same
/// slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// Counts from the start of the restart.
    pub cycle: u32,
    pub contender: usize,
    pub amount: f64,
    pub per: f64,
}

/// One restart of a contender against the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restart {
    /// The median over the cycles of ln(contender / baseline); with controls, the mean of the
    /// medians against each.
    pub log_ratio: f64,
    /// Its standard error from the spread of the cycles: √(π/2) · 1.4826 · MAD / √cycles, that of
    /// the median of normal values, of which a few may be disturbed. 0 for a single cycle.
    pub error: f64,
    /// The cycles that it is the median of.
    pub cycles: usize,
    /// The cycles in which a slice of the contender or the baseline was missing or had no amount.
    pub incomplete: usize,
}

/// The result of a restart for `contender`; none without a complete cycle.
///
/// The baseline may run more than once in a cycle, with its control: `base` lists them. The level
/// is the mean of the levels against each, which has less noise than one of them. It is not the
/// level against their mean in each cycle: where slices are skewed, because some are much slower
/// than most, one slice and the mean of two have different medians. The median of one against one
/// changes its sign if the two are swapped, so for equal builds it is 0 on average, whatever their
/// distribution. An arm with two slices in a cycle (A B B A) counts with their sum.
pub fn restart(slices: &[Slice], contender: usize, base: &[usize]) -> Option<Restart> {
    let cycles = cycles(slices);
    let complete: Vec<Vec<f64>> =
        cycles.values().filter_map(|cycle| log_ratios(cycle, contender, base)).collect();
    let against = |control: usize| {
        median(&complete.iter().map(|ratios| ratios[control]).collect::<Vec<f64>>())
    };
    let levels: Vec<f64> = complete.iter().map(|ratios| mean(ratios)).collect();
    let center = median(&levels);
    let distances: Vec<f64> = levels.iter().map(|level| (level - center).abs()).collect();
    let spread = SD_OF_MAD * median(&distances);
    (!complete.is_empty()).then(|| Restart {
        log_ratio: mean(&(0..base.len()).map(against).collect::<Vec<f64>>()),
        error: FRAC_PI_2.sqrt() * spread / (complete.len() as f64).sqrt(),
        cycles: complete.len(),
        incomplete: cycles.len() - complete.len(),
    })
}

/// (amount, per) of each contender.
type Cycle = BTreeMap<usize, (f64, f64)>;

fn cycles(slices: &[Slice]) -> BTreeMap<u32, Cycle> {
    let mut cycles = BTreeMap::<u32, Cycle>::new();
    for slice in slices {
        let sum = cycles.entry(slice.cycle).or_default().entry(slice.contender).or_default();
        sum.0 += slice.amount;
        sum.1 += slice.per;
    }
    cycles
}

/// Of the contender to each of the baseline, if the cycle is complete.
fn log_ratios(cycle: &Cycle, contender: usize, base: &[usize]) -> Option<Vec<f64>> {
    let log = |index: &usize| {
        let (amount, per) = cycle.get(index)?;
        (*amount > 0.0 && *per > 0.0).then(|| (amount / per).ln())
    };
    let own = log(&contender)?;
    let ratios = base.iter().map(|control| Some(own - log(control)?)).collect::<Option<Vec<f64>>>();
    ratios.filter(|all| !all.is_empty())
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn slice(cycle: u32, contender: usize, rate: f64) -> Slice {
        Slice { cycle, contender, amount: rate * 0.01, per: 0.01 }
    }

    #[test]
    fn what_slows_a_whole_cycle_cancels() {
        let slices: Vec<Slice> = (0..9)
            .flat_map(|cycle| {
                let weather = f64::from(1 + cycle);
                [slice(cycle, 0, 1000.0 / weather), slice(cycle, 1, 980.0 / weather)]
            })
            .collect();
        let restart = restart(&slices, 1, &[0]).unwrap();
        assert!((restart.log_ratio - 0.98_f64.ln()).abs() < 1e-12);
        assert!(restart.error < 1e-12, "no cycle differs from another: {restart:?}");
    }

    #[test]
    fn a_few_disturbed_cycles_do_not_move_a_restart() {
        let slices: Vec<Slice> = (0..9)
            .flat_map(|cycle| {
                let rate = if cycle < 3 { 300.0 } else { 980.0 };
                [slice(cycle, 0, 1000.0), slice(cycle, 1, rate)]
            })
            .collect();
        let restart = restart(&slices, 1, &[0]).unwrap();
        assert!((restart.log_ratio.exp() - 0.98).abs() < 1e-12);
        assert_eq!((restart.cycles, restart.incomplete), (9, 0));
    }

    #[test]
    fn baseline_and_control_count_alike() {
        let slices = [slice(0, 0, 1000.0), slice(0, 1, 990.0), slice(0, 2, 1020.0)];
        let ratio = restart(&slices, 1, &[0, 2]).unwrap().log_ratio;
        assert!((ratio - (990.0 / (1000.0_f64 * 1020.0).sqrt()).ln()).abs() < 1e-12);
        let control = restart(&slices, 2, &[0]).unwrap().log_ratio;
        assert!(
            (control - 1.02_f64.ln()).abs() < 1e-12,
            "the A/A control is against the baseline alone"
        );
    }

    /// Slices lose a tenth on average, some far more: the median of one against the mean of two is
    /// off by 1 %.
    #[test]
    fn equals_are_equal_to_two_others_also_where_slices_are_skewed() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut restarts = |base: &[usize]| -> f64 {
            let of = |_| {
                let mut slices = Vec::new();
                for cycle in 0..50 {
                    for contender in 0..3 {
                        let lost = -0.1 * random.random_range(f64::EPSILON..1.0).ln();
                        slices.push(slice(cycle, contender, 1000.0 * (-lost).exp()));
                    }
                }
                restart(&slices, 2, base).unwrap().log_ratio
            };
            mean(&(0..400).map(of).collect::<Vec<f64>>())
        };
        for base in [&[0][..], &[0, 1]] {
            let bias = restarts(base);
            assert!(bias.abs() < 0.003, "{base:?}: {bias}");
        }
    }

    #[test]
    fn a_cycle_that_lacks_a_slice_is_dropped() {
        let slices = [
            slice(0, 0, 1000.0),
            slice(0, 1, 900.0),
            slice(1, 0, 1000.0),
            slice(2, 0, 1000.0),
            slice(2, 1, 0.0),
        ];
        let restart = restart(&slices, 1, &[0]).unwrap();
        assert_eq!((restart.cycles, restart.incomplete), (1, 2));
        assert_eq!(super::restart(&slices, 7, &[0]), None);
        assert_eq!(super::restart(&slices, 1, &[]), None);
    }

    #[test]
    fn both_slices_of_a_b_b_a_count() {
        let slices =
            [slice(0, 0, 900.0), slice(0, 1, 990.0), slice(0, 1, 990.0), slice(0, 0, 1100.0)];
        let ratio = restart(&slices, 1, &[0]).unwrap().log_ratio;
        assert!((ratio - 0.99_f64.ln()).abs() < 1e-12);
    }
}
