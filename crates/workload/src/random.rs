//! Seeded streams of random numbers: one for each use, the same for all contenders.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator of all random draws.
pub type Random = Xoshiro256PlusPlus;

/// An independent stream for a use, which numbers identify, such as step, client and role.
pub fn stream(seed: u64, use_of: &[u64]) -> Random {
    Random::seed_from_u64(derive(seed, use_of))
}

/// A seed of its own for each use: every number is mixed in with the finaliser of SplitMix64
/// (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
pub(crate) fn derive(seed: u64, use_of: &[u64]) -> u64 {
    use_of.iter().fold(mix(seed), |state, number| mix(state.wrapping_add(mix(!*number))))
}

fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_use_has_a_stream_of_its_own() {
        let mut seeds = HashSet::new();
        for seed in 0..3 {
            for step in 0..10 {
                for client in 0..10 {
                    assert!(seeds.insert(derive(seed, &[step, client])));
                }
            }
        }
        assert_ne!(derive(1, &[2, 3]), derive(1, &[3, 2]), "the order of the numbers matters");
    }
}
