//! The order of slices in the measurement of a test.

use rand::RngExt;
use rand::seq::SliceRandom;

/// The order of `cycles` cycles, in each of which every contender has one slice. A cycle in random
/// order is followed by its mirror image, so that in every pair of cycles each is as early as late.
pub(super) fn order(contenders: usize, cycles: usize, random: &mut impl RngExt) -> Vec<usize> {
    let mut order = Vec::with_capacity(contenders * cycles);
    let mut cycle: Vec<usize> = (0..contenders).collect();
    for number in 0..cycles {
        match number % 2 {
            0 => cycle.shuffle(random),
            _ => cycle.reverse(),
        }
        order.extend(&cycle);
    }
    order
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn of(seed: u64) -> Vec<usize> {
        order(3, 400, &mut Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    #[test]
    fn every_cycle_has_everybody_once_and_pairs_of_cycles_are_mirrored() {
        for pair in of(1).chunks(6) {
            let first: HashSet<usize> = pair[..3].iter().copied().collect();
            assert_eq!(first.len(), 3);
            let mirrored: Vec<usize> = pair[..3].iter().rev().copied().collect();
            assert_eq!(pair[3..], mirrored);
        }
    }

    #[test]
    fn every_order_is_as_likely_and_the_seed_decides() {
        let mut first = [0; 3];
        of(1).chunks(6).for_each(|pair| first[pair[0]] += 1);
        // 200 pairs: 67 each, give or take four standard deviations of 6.7.
        assert!(first.iter().all(|count| (40..=94).contains(count)), "{first:?}");
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
    }
}
