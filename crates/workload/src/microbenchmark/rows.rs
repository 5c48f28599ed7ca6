//! Rows of the tables. They depend on the seed, the table and the key alone, so that each can be
//! made again at any time.

use rand::{Rng, RngExt};

use crate::random::{Random, stream};

/// Changed whenever the same seed gives other rows.
pub(super) const DATA_VERSION: u32 = 1;

/// The use of the random streams.
const ROWS: u64 = 1;

/// Groups of digits with a dash between them: ten in the column c, five in the column pad.
pub(super) const GROUP: usize = 11;
pub(super) const C: usize = 10 * (GROUP + 1) - 1;
pub(super) const PAD: usize = 5 * (GROUP + 1) - 1;

/// The columns in the order of a line.
pub(super) const COLUMNS: [&str; 4] = ["id", "k", "c", "pad"];

/// Makes the rows of all tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) seed: u64,
    /// Of each table.
    pub(super) count: u64,
}

/// A row without its key.
pub(super) struct Row {
    pub(super) k: i64,
    pub(super) c: [u8; C],
    pub(super) pad: [u8; PAD],
}

impl Rows {
    /// The row of a key, which counts from 1 as tables do.
    pub(super) fn row(&self, table: u32, id: i64) -> Row {
        let mut random = stream(self.seed, &[ROWS, u64::from(table), id as u64]);
        let k = random.random_range(1..=self.count as i64);
        let mut row = Row { k, c: [0; C], pad: [0; PAD] };
        write_digits(&mut random, &mut row.c);
        write_digits(&mut random, &mut row.pad);
        row
    }

    /// Appends the row of a key as a line to be loaded.
    pub(super) fn write_line(&self, table: u32, id: i64, lines: &mut Vec<u8>) {
        let row = self.row(table, id);
        let mut digits = itoa::Buffer::new();
        for number in [id, row.k] {
            lines.extend_from_slice(digits.format(number).as_bytes());
            lines.push(b'\t');
        }
        lines.extend_from_slice(&row.c);
        lines.push(b'\t');
        lines.extend_from_slice(&row.pad);
        lines.push(b'\n');
    }

    /// The sums of a table after its load.
    pub(super) fn sums(&self, table: u32) -> Sums {
        let mut sums = Sums { rows: self.count, k: 0, checksum: 0 };
        for id in 1..=self.count as i64 {
            let row = self.row(table, id);
            sums.k += row.k;
            sums.checksum += row.checksum(id);
        }
        sums
    }
}

/// The sums of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) rows: u64,
    pub(super) k: i64,
    pub(super) checksum: i64,
}

/// Every row counts as a number below 2^31, so that the sum over two billion rows is a signed
/// 64-bit number. The key is a factor, so that swapped rows change the sum.
const PRIME: i64 = 2_147_483_647;
const KEYS: i64 = 1009;

/// The groups in the checksum, by their column and place. Every change of a text by a test replaces
/// all of its groups.
const LOOKED_AT: [(&str, usize, i64); 4] =
    [("c", 0, 3), ("c", 9, 5), ("pad", 0, 7), ("pad", 4, 11)];
const K_FACTOR: i64 = 13;
/// Of the lengths of c and pad.
const LENGTH_FACTOR: i64 = 17;

impl Row {
    fn checksum(&self, id: i64) -> i64 {
        let mut value = K_FACTOR * self.k + LENGTH_FACTOR * (C + PAD) as i64;
        for (column, place, factor) in LOOKED_AT {
            let text = if column == "c" { &self.c[..] } else { &self.pad[..] };
            let group = &text[place * (GROUP + 1)..][..GROUP];
            let digits = group.iter().map(|digit| i64::from(digit - b'0'));
            value += factor * digits.fold(0, |number, digit| 10 * number + digit);
        }
        value % PRIME * (id % KEYS + 1) % PRIME
    }
}

/// The same in SQL; `bigint` is the name of a 64-bit integer in a cast.
pub(super) fn checksum_sql(bigint: &str) -> String {
    let groups = LOOKED_AT.map(|(column, place, factor)| {
        let start = place * (GROUP + 1) + 1;
        format!("{factor} * cast(substr({column}, {start}, {GROUP}) as {bigint})")
    });
    format!(
        "sum(({} + {K_FACTOR} * cast(k as {bigint}) + {LENGTH_FACTOR} * (length(c) + length(pad))) % {PRIME} \
         * (id % {KEYS} + 1) % {PRIME})",
        groups.join(" + ")
    )
}

/// Fills `text` with groups of random digits and dashes between them.
#[inline]
pub(super) fn write_digits(random: &mut Random, text: &mut [u8]) {
    for group in text.chunks_mut(GROUP + 1) {
        // The high half of a product is uniform below the factor, to within 2^-27 of its share.
        let number = (u128::from(random.next_u64()) * 100_000_000_000) >> 64;
        write_number(number as u64, &mut group[..GROUP]);
        if let Some(dash) = group.get_mut(GROUP) {
            *dash = b'-';
        }
    }
}

/// Writes a number with leading zeroes; its digits must fit.
#[inline]
fn write_number(mut number: u64, text: &mut [u8]) {
    let mut pairs = text.rchunks_exact_mut(2);
    for pair in &mut pairs {
        pair.copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if let [first] = pairs.into_remainder() {
        *first = b'0' + (number % 10) as u8;
    }
}

/// 00 to 99.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: Rows = Rows { seed: 7, count: 1000 };

    #[test]
    fn texts_are_groups_of_eleven_digits() {
        let row = ROWS.row(1, 1);
        for (text, groups) in [(&row.c[..], 10), (&row.pad[..], 5)] {
            let text = str::from_utf8(text).unwrap();
            let lengths: Vec<usize> = text.split('-').map(str::len).collect();
            assert_eq!(lengths, vec![11; groups], "{text}");
            assert!(text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()));
        }
        assert_eq!((row.c.len(), row.pad.len()), (119, 59));
    }

    #[test]
    fn every_digit_is_as_likely_in_every_place() {
        let mut counts = [[0; 10]; GROUP];
        for id in 1..=2000 {
            for group in ROWS.row(1, id).c.chunks(GROUP + 1) {
                for (place, digit) in group[..GROUP].iter().enumerate() {
                    counts[place][usize::from(digit - b'0')] += 1;
                }
            }
        }
        // 20,000 groups: 2,000 of each digit, with a standard deviation of 42.
        for count in counts.into_iter().flatten() {
            assert!((1_790..2_210).contains(&count), "{count}");
        }
    }

    #[test]
    fn numbers_keep_their_leading_zeroes() {
        let mut text = [0; 11];
        write_number(1_234_567, &mut text);
        assert_eq!(&text, b"00001234567");
        write_number(99_999_999_999, &mut text);
        assert_eq!(&text, b"99999999999");
    }

    #[test]
    fn rows_are_those_of_the_seed_the_table_and_the_key() {
        let line = |rows: Rows, table, id| {
            let mut line = Vec::new();
            rows.write_line(table, id, &mut line);
            String::from_utf8(line).unwrap()
        };
        assert_eq!(line(ROWS, 1, 5), line(ROWS, 1, 5));
        let others = [line(Rows { seed: 8, ..ROWS }, 1, 5), line(ROWS, 2, 5), line(ROWS, 1, 6)];
        assert!(others.iter().all(|other| *other != line(ROWS, 1, 5)));
        let ks: Vec<i64> = (1..=5000).map(|id| ROWS.row(1, id).k).collect();
        assert!(ks.iter().all(|k| (1..=1000).contains(k)));
        let mean = ks.iter().sum::<i64>() as f64 / 5000.0;
        // Uniform on 1 to 1000: the standard error of the mean is 4.
        assert!((480.0..521.0).contains(&mean), "{mean}");
    }
}
