//! Rows of the Insert Benchmark and the text of the statements that insert them.

use std::sync::Arc;

use base64::Engine;
use rand::{Rng, RngExt};

use crate::random::{Random, stream};

/// Upper ends of the value domains; all begin at 0 and are drawn from uniformly.
pub(crate) const CASH_REGISTERS: u32 = 1_000;
pub(crate) const CUSTOMERS: u32 = 100_000;
pub(crate) const PRODUCTS: u32 = 10_000;
pub(crate) const PRICES: u32 = 500;

/// The data column is 10 to 20 characters; of a length L, `RANDOM_TAIL[L - 10]` are random and the
/// ones before them are the letter a.
const SHORTEST: usize = 10;
const RANDOM_TAIL: [usize; 11] = [3, 4, 4, 4, 5, 5, 6, 6, 6, 7, 7];
const PADDING: &str = "aaaaaaaaaaaaaaaaaaaa";

/// The text that random data are cut from: 4 MiB of random bytes in base64.
#[derive(Clone)]
pub(crate) struct RandomText(Arc<str>);

impl RandomText {
    pub(crate) fn new(seed: u64) -> Self {
        let mut bytes = vec![0; 4 << 20];
        stream(seed, &[u64::MAX]).fill_bytes(&mut bytes);
        RandomText(base64::engine::general_purpose::STANDARD.encode(bytes).into())
    }
}

/// Sums over rows, by the client when it inserts and by the DBMS in a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) rows: u64,
    pub(crate) cash_registers: u64,
    pub(crate) customers: u64,
    pub(crate) products: u64,
    /// Integer prices only.
    pub(crate) prices: u64,
    pub(crate) data_lengths: u64,
}

/// An upper bound of the bytes of a row in an insert statement.
pub(super) const LONGEST_ROW: u64 = 96;

/// The statement that inserts rows, up to their values.
pub(super) fn insert_head(table: &str) -> String {
    format!(
        "insert into {table} (dateandtime, cashregisterid, customerid, productid, price, data) \
         values "
    )
}

/// Writes insert statements of random rows.
pub(crate) struct Rows {
    random: Random,
    text: RandomText,
    legacy_price: bool,
    head: String,
    digits: itoa::Buffer,
    clock: SecondClock,
}

impl Rows {
    pub(crate) fn new(table: &str, legacy_price: bool, random: Random, text: RandomText) -> Self {
        let head = insert_head(table);
        let (digits, clock) = (itoa::Buffer::new(), SecondClock::default());
        Rows { random, text, legacy_price, head, digits, clock }
    }

    /// Replaces `sql` by a statement that inserts `count` rows; returns their sums.
    pub(crate) fn write_insert(&mut self, count: u32, sql: &mut String) -> Sums {
        sql.clear();
        sql.push_str(&self.head);
        self.clock.update();
        let mut sums = Sums { rows: u64::from(count), ..Sums::default() };
        for row in 0..count {
            sql.push_str(if row == 0 { "('" } else { ",('" });
            self.write_row(sql, &mut sums);
        }
        sums
    }

    fn write_row(&mut self, sql: &mut String, sums: &mut Sums) {
        let cash_register = self.random.random_range(0..CASH_REGISTERS);
        let product = self.random.random_range(0..PRODUCTS);
        let customer = self.random.random_range(0..CUSTOMERS);
        sql.push_str(&self.clock.text);
        for (mark, value) in [("',", cash_register), (",", customer), (",", product)] {
            sql.push_str(mark);
            sql.push_str(self.digits.format(value));
        }
        sql.push(',');
        if self.legacy_price {
            let cents = legacy_price_cents(&mut self.random, customer);
            sql.push_str(self.digits.format(cents / 100));
            sql.push('.');
            sql.push(char::from(b'0' + (cents / 10 % 10) as u8));
            sql.push(char::from(b'0' + (cents % 10) as u8));
        } else {
            let price = self.random.random_range(0..PRICES);
            sql.push_str(self.digits.format(price));
            // The original writes prices with two decimals and leaves the cast to the server.
            sql.push_str(".00");
            sums.prices += u64::from(price);
        }
        let length = self.random.random_range(SHORTEST..SHORTEST + RANDOM_TAIL.len());
        let tail = RANDOM_TAIL[length - SHORTEST];
        let text = &self.text.0;
        let offset = self.random.random_range(0..text.len() - tail);
        sql.push_str(",'");
        sql.push_str(&PADDING[..length - tail]);
        sql.push_str(&text[offset..offset + tail]);
        sql.push_str("')");
        sums.cash_registers += u64::from(cash_register);
        sums.customers += u64::from(customer);
        sums.products += u64::from(product);
        sums.data_lengths += length as u64;
    }
}

/// The price of the 2020 and 2023 profiles: (uniform real in [0, 500) + customer) / 100.
pub(crate) fn legacy_price_cents(random: &mut Random, customer: u32) -> u32 {
    let price = random.random::<f64>() * f64::from(PRICES) + f64::from(customer);
    price.round() as u32
}

/// Local wall time as SQL text. It is read once for each statement and formatted once a second.
#[derive(Default)]
struct SecondClock {
    second: i64,
    text: String,
}

impl SecondClock {
    fn update(&mut self) {
        let now = jiff::Timestamp::now();
        if now.as_second() != self.second {
            self.second = now.as_second();
            let local = now.to_zoned(jiff::tz::TimeZone::system());
            self.text = local.strftime("%Y-%m-%d %H:%M:%S").to_string();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(seed: u64, legacy: bool) -> Rows {
        Rows::new("pi1", legacy, stream(seed, &[1]), RandomText::new(seed))
    }

    /// The fields of each row of a statement.
    fn fields(sql: &str) -> Vec<Vec<String>> {
        let (_, values) = sql.split_once(" values ").unwrap();
        values
            .trim_matches(|c| c == '(' || c == ')')
            .split("),(")
            .map(|row| row.split(',').map(|field| field.trim_matches('\'').to_string()).collect())
            .collect()
    }

    fn batch(rows: &mut Rows, count: u32) -> (Vec<Vec<String>>, Sums, String) {
        let mut sql = String::new();
        let sums = rows.write_insert(count, &mut sql);
        (fields(&sql), sums, sql)
    }

    #[test]
    fn the_same_seed_gives_the_same_rows() {
        let values = |seed| {
            let rows = batch(&mut rows(seed, false), 50).0;
            rows.into_iter().map(|row| row[1..].join(",")).collect::<Vec<_>>()
        };
        assert_eq!(values(7), values(7));
        assert_ne!(values(7), values(8));
    }

    #[test]
    fn a_statement_has_the_published_shape_and_size() {
        let (rows, _, sql) = batch(&mut rows(1, false), 100);
        assert_eq!(rows.len(), 100);
        let columns = "(dateandtime, cashregisterid, customerid, productid, price, data)";
        assert!(sql.starts_with(&format!("insert into pi1 {columns} values ('20")), "{sql}");
        // The spec measured 6.5 KB for 100 rows.
        assert!((6_000..7_000).contains(&sql.len()), "{}", sql.len());
        assert!(rows.iter().all(|row| row[4].ends_with(".00")));
    }

    #[test]
    fn the_sums_are_those_of_the_rows() {
        let (rows, sums, _) = batch(&mut rows(3, false), 500);
        let column = |index: usize| {
            rows.iter().map(|row| row[index].parse::<f64>().unwrap() as u64).sum::<u64>()
        };
        let expected = Sums {
            rows: 500,
            cash_registers: column(1),
            customers: column(2),
            products: column(3),
            prices: column(4),
            data_lengths: rows.iter().map(|row| row[5].len() as u64).sum(),
        };
        assert_eq!(sums, expected);
    }

    #[test]
    fn data_are_letters_a_and_a_random_tail_of_the_published_length() {
        let (rows, _, _) = batch(&mut rows(4, false), 5_000);
        let published = [(10, 3), (11, 4), (13, 4), (14, 5), (15, 5), (16, 6), (18, 6), (20, 7)];
        for (length, tail) in published {
            let of_length: Vec<&str> = rows
                .iter()
                .map(|row| row[5].as_str())
                .filter(|data| data.len() == length)
                .collect();
            assert!(of_length.len() > 300, "each of 11 lengths is as likely as the others");
            assert!(of_length.iter().all(|data| data[..length - tail].bytes().all(|b| b == b'a')));
            let varied = of_length.iter().filter(|data| !data.ends_with("aaa")).count();
            assert!(varied + 5 > of_length.len(), "the tail is random");
        }
    }

    #[test]
    fn legacy_prices_follow_the_customer() {
        let (rows, _, _) = batch(&mut rows(5, true), 2_000);
        for row in rows {
            let customer: f64 = row[2].parse().unwrap();
            let price: f64 = row[4].parse().unwrap();
            assert!(
                (customer / 100.0 - 0.005..=(customer + 500.0) / 100.0 + 0.005).contains(&price)
            );
        }
    }
}
