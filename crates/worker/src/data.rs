//! The keys and values of db_bench's workloads. All of them follow from numbers, so that every
//! version gets the same, and what is read can be checked.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) const KEY_BYTES: usize = 20;
pub(crate) const VALUE_BYTES: usize = 400;
/// Bytes of a key with its value.
pub const ROW_BYTES: u64 = (KEY_BYTES + VALUE_BYTES) as u64;

/// How many different values there are: together a bit more than a mebibyte, as in db_bench.
const VALUES: u64 = 2_622;
/// Values are made of pieces of this size, of which the second half repeats the first, so that they
/// compress to a half.
const PIECE: usize = 100;
/// The use of the random stream.
const PRINTABLE: std::ops::RangeInclusive<u8> = b' '..=b'~';

pub(crate) type Key = [u8; KEY_BYTES];

/// A number with its highest byte first, so that keys are in the order of their numbers, and a
/// filling.
pub(crate) fn key(number: u64) -> Key {
    let mut key = [b'0'; KEY_BYTES];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

/// The number of a key; none if it is not one of these keys.
pub(crate) fn number(bytes: &[u8]) -> Option<u64> {
    let number = u64::from_be_bytes(*bytes.first_chunk()?);
    (bytes == key(number)).then_some(number)
}

/// A draw below `most`, by the high bits of a product (Lemire, Fast Random Integer Generation in an
/// Interval, 2019; without its correction, which is below 2^-40 here).
#[inline]
pub(crate) fn below(random: &mut Xoshiro256PlusPlus, most: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(most)) >> 64) as u64
}

/// All values, one after the other.
pub(crate) struct ValuePool(Vec<u8>);

impl ValuePool {
    pub(crate) fn new(seed: u64) -> ValuePool {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (first, count) = (*PRINTABLE.start(), PRINTABLE.len() as u64);
        let mut bytes = Vec::with_capacity(VALUES as usize * VALUE_BYTES);
        while bytes.len() < VALUES as usize * VALUE_BYTES {
            let half = bytes.len();
            bytes.extend((0..PIECE / 2).map(|_| first + below(&mut random, count) as u8));
            bytes.extend_from_within(half..);
        }
        ValuePool(bytes)
    }

    /// The value with this number; the load gives every key that of its own number.
    #[inline]
    pub(crate) fn value(&self, number: u64) -> &[u8] {
        let start = (number % VALUES) as usize * VALUE_BYTES;
        &self.0[start..start + VALUE_BYTES]
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.0.chunks_exact(VALUE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_are_in_the_order_of_their_numbers_and_can_be_read_back() {
        let numbers = [0, 1, 255, 256, 65_536, u64::MAX];
        let keys = numbers.map(key);
        assert!(keys.is_sorted());
        assert_eq!(keys.map(|key| number(&key)), numbers.map(Some));
        assert_eq!(&key(258)[..], b"\0\0\0\0\0\0\x01\x02000000000000");
        assert_eq!(number(b"\0\0\0\0\0\0\x01\x02000000000001"), None);
        assert_eq!(number(b"short"), None);
    }

    #[test]
    fn values_are_those_of_their_seed_and_all_different() {
        let values = ValuePool::new(42);
        assert_eq!(values.all().collect::<HashSet<_>>().len(), VALUES as usize);
        assert_eq!(values.value(3), values.value(3 + VALUES));
        assert_ne!(values.value(0), ValuePool::new(43).value(0));
        for piece in values.value(7).chunks(PIECE) {
            assert_eq!(piece[..PIECE / 2], piece[PIECE / 2..], "it compresses to a half");
        }
    }

    /// Contenders of later sessions, and stored baselines, must get the same data. The hash is
    /// FNV-1a (Fowler, Noll, Vo), and was computed by another program.
    #[test]
    fn all_values_stay_what_they_are() {
        let values = ValuePool::new(42);
        let bytes = values.all().flatten();
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        assert_eq!(hash, 0x4747_ff0d_beb5_c8ad);
    }

    #[test]
    fn draws_are_uniform() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut counts = [0; 10];
        (0..100_000).for_each(|_| counts[below(&mut random, 10) as usize] += 1);
        // 10,000 each, give or take five standard deviations of 95.
        assert!(counts.iter().all(|count| (9_525..=10_475).contains(count)), "{counts:?}");
    }
}
