//! Random draws as the standard defines them (clauses 2.1.5, 2.1.6, 4.3.2).

use std::ops::RangeInclusive;

use rand::{Rng, RngExt};

use super::Cardinality;
use crate::random::{Random, stream};

/// The use of the stream of the constants.
const CONSTANTS: u64 = 1;

/// The constants C of the non-uniform draws, which a seed decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    /// Of last names when the tables are loaded, and afterwards.
    loaded_name: u32,
    name: u32,
    customer: u32,
    item: u32,
}

/// The ranges of the first, random number of a non-uniform draw.
const OF_NAME: u32 = 255;
const OF_CUSTOMER: u32 = 1_023;
const OF_ITEM: u32 = 8_191;

/// How far the two constants of last names are apart (clause 2.1.6.1).
const APART: RangeInclusive<u32> = 65..=119;
const NOT_APART: [u32; 2] = [96, 112];

impl Constants {
    pub(super) fn new(seed: u64) -> Constants {
        let mut random = stream(seed, &[CONSTANTS]);
        let loaded_name = random.random_range(0..=OF_NAME);
        let name = loop {
            let name = random.random_range(0..=OF_NAME);
            let apart = name.abs_diff(loaded_name);
            if APART.contains(&apart) && !NOT_APART.contains(&apart) {
                break name;
            }
        };
        let customer = random.random_range(0..=OF_CUSTOMER);
        Constants { loaded_name, name, customer, item: random.random_range(0..=OF_ITEM) }
    }

    /// The number of a last name when the tables are loaded.
    pub(super) fn loaded_name(&self, random: &mut Random, scale: Cardinality) -> u32 {
        non_uniform(random, (OF_NAME, self.loaded_name), 0..=scale.names() - 1)
    }

    /// … and afterwards.
    pub(super) fn name(&self, random: &mut Random, scale: Cardinality) -> u32 {
        non_uniform(random, (OF_NAME, self.name), 0..=scale.names() - 1)
    }

    pub(super) fn customer(&self, random: &mut Random, scale: Cardinality) -> u32 {
        non_uniform(random, (OF_CUSTOMER, self.customer), 1..=scale.customers)
    }

    pub(super) fn item(&self, random: &mut Random, scale: Cardinality) -> u32 {
        non_uniform(random, (OF_ITEM, self.item), 1..=scale.items)
    }
}

/// `NURand(A, x, y)` with its constant C.
fn non_uniform(random: &mut Random, (a, c): (u32, u32), range: RangeInclusive<u32>) -> u32 {
    let (first, second) = (random.random_range(0..=a), random.random_range(range.clone()));
    ((first | second) + c) % (range.end() - range.start() + 1) + range.start()
}

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// The last name of a number below 1,000: a syllable for each of its digits.
pub(super) fn last_name(number: u32) -> impl Iterator<Item = &'static str> {
    [number / 100 % 10, number / 10 % 10, number % 10]
        .into_iter()
        .map(|digit| SYLLABLES[digit as usize])
}

const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Appends random letters and digits, as many as a uniform draw says.
pub(super) fn letters(random: &mut Random, length: RangeInclusive<usize>, text: &mut Vec<u8>) {
    drawn_from(LETTERS, random, length, text);
}

/// The same of digits only.
pub(super) fn digits(random: &mut Random, length: RangeInclusive<usize>, text: &mut Vec<u8>) {
    drawn_from(&LETTERS[52..], random, length, text);
}

fn drawn_from(
    letters: &[u8],
    random: &mut Random,
    length: RangeInclusive<usize>,
    text: &mut Vec<u8>,
) {
    let length = match length.start() == length.end() {
        true => *length.start(),
        false => random.random_range(length),
    };
    // Four letters of a number, each uniform to within 2^-10 of its share.
    for start in (0..length).step_by(4) {
        let number = random.next_u64();
        let few = number.to_le_bytes();
        for pair in few.chunks_exact(2).take(length - start) {
            let of = usize::from(u16::from_le_bytes([pair[0], pair[1]]));
            text.push(letters[(of * letters.len()) >> 16]);
        }
    }
}

/// Shuffles (Fisher and Yates): here, so that a later version of a library changes no draws.
pub(super) fn shuffle<T>(random: &mut Random, values: &mut [T]) {
    for last in (1..values.len()).rev() {
        values.swap(last, random.random_range(0..=last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_last_names_are_as_far_apart_as_the_standard_wants() {
        for seed in 0..500 {
            let constants = Constants::new(seed);
            let apart = constants.name.abs_diff(constants.loaded_name);
            assert!((65..=119).contains(&apart) && apart != 96 && apart != 112, "{apart}");
        }
    }

    #[test]
    fn names_are_made_of_syllables() {
        let name = |number| last_name(number).collect::<String>();
        // The example of the standard.
        assert_eq!(name(371), "PRICALLYOUGHT");
        assert_eq!(name(40), "BARPRESBAR");
        assert_eq!(name(999), "EINGEINGEING");
    }

    #[test]
    fn non_uniform_draws_stay_in_their_range_and_prefer_some_values() {
        let (constants, scale) = (Constants::new(1), Cardinality::STANDARD);
        let mut random = stream(1, &[0]);
        let mut counts = vec![0_u32; 3_001];
        for _ in 0..300_000 {
            counts[constants.customer(&mut random, scale) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        // Uniform draws would have 100 of each, with a standard deviation of 10.
        assert!(*counts.iter().max().unwrap() > 300, "{:?}", counts.iter().max());
        assert!(counts[1..].iter().filter(|count| **count < 50).count() > 300);
    }

    #[test]
    fn texts_have_the_lengths_and_the_letters_that_are_asked_for() {
        let mut random = stream(1, &[0]);
        let mut lengths = [0; 11];
        for _ in 0..2_000 {
            let mut text = Vec::new();
            letters(&mut random, 6..=10, &mut text);
            assert!(text.iter().all(u8::is_ascii_alphanumeric));
            lengths[text.len()] += 1;
            text.clear();
            digits(&mut random, 16..=16, &mut text);
            assert!(text.len() == 16 && text.iter().all(u8::is_ascii_digit));
        }
        assert_eq!(lengths[..6], [0; 6]);
        // 400 of each, with a standard deviation of 18.
        assert!(lengths[6..].iter().all(|count| (320..480).contains(count)), "{lengths:?}");
    }

    #[test]
    fn a_shuffle_keeps_all_values() {
        let mut values: Vec<u32> = (0..100).collect();
        shuffle(&mut stream(1, &[0]), &mut values);
        assert_ne!(values, (0..100).collect::<Vec<u32>>());
        values.sort_unstable();
        assert_eq!(values, (0..100).collect::<Vec<u32>>());
    }
}
