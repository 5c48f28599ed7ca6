//! The rows that the tables are loaded with (clause 4.3.3): those of the seed, the table and the
//! key, whatever the order in which they are made.

use std::ops::RangeInclusive;

use rand::RngExt;

use super::dice::{Constants, digits, last_name, letters, shuffle};
use super::money::{CENTS, DecimalForm, RATE};
use super::{Cardinality, DISTRICTS};
use crate::random::{Random, stream};

/// The use of the streams of rows.
const ROWS: u64 = 2;

/// When everything happened that the tables begin with.
const THEN: &str = "2026-01-01 00:00:00";

/// The years to date of a district are those of its customers.
const PAID: i64 = 1_000;

/// What rows are made of.
#[derive(Clone, Debug)]
pub(super) struct Population {
    pub(super) seed: u64,
    pub(super) scale: Cardinality,
    constants: Constants,
    pub(super) numbers: DecimalForm,
    /// The customers of a district in the order of their orders; and of which district.
    customers: Vec<u32>,
    of: Option<(u32, u32)>,
}

/// The streams of rows, by what they are of.
#[derive(Clone, Copy)]
enum Of {
    Item,
    Warehouse,
    Stock,
    District,
    Customer,
    History,
    Customers,
    LoadedOrder,
    Lines,
}

/// What an order is known by before its lines are made.
struct LoadedOrder {
    carrier: u32,
    lines: u32,
}

/// A line of a load: fields with tabs between them.
struct LoadedLine<'a> {
    text: &'a mut Vec<u8>,
    numbers: DecimalForm,
    is_begun: bool,
}

impl LoadedLine<'_> {
    /// The place of the next field.
    fn field(&mut self) -> &mut Vec<u8> {
        if std::mem::replace(&mut self.is_begun, true) {
            self.text.push(b'\t');
        }
        self.text
    }

    fn number(&mut self, value: u32) {
        let mut digits = itoa::Buffer::new();
        self.field().extend_from_slice(digits.format(value).as_bytes());
    }

    fn decimal(&mut self, value: i64, places: usize) {
        let numbers = self.numbers;
        numbers.write(value, places, self.field());
    }

    fn text(&mut self, text: &str) {
        self.field().extend_from_slice(text.as_bytes());
    }

    fn letters(&mut self, random: &mut Random, length: RangeInclusive<usize>) {
        letters(random, length, self.field());
    }

    /// Two lines of a street, a city, a state and a zip code.
    fn address(&mut self, random: &mut Random) {
        for _ in 0..3 {
            self.letters(random, 10..=20);
        }
        self.letters(random, 2..=2);
        let zip = self.field();
        digits(random, 4..=4, zip);
        zip.extend_from_slice(b"11111");
    }

    /// Letters, among which one of ten has the word ORIGINAL.
    fn data(&mut self, random: &mut Random) {
        let field = self.field();
        let start = field.len();
        letters(random, 26..=50, field);
        if random.random_range(0..10) == 0 {
            const WORD: &[u8] = b"ORIGINAL";
            let at = random.random_range(start..=field.len() - WORD.len());
            field[at..at + WORD.len()].copy_from_slice(WORD);
        }
    }

    /// Ends the row, which is one.
    fn end(self) -> u64 {
        self.text.push(b'\n');
        1
    }
}

impl Population {
    pub(super) fn new(seed: u64, scale: Cardinality, numbers: DecimalForm) -> Population {
        let constants = Constants::new(seed);
        Population { seed, scale, constants, numbers, customers: Vec::new(), of: None }
    }

    fn random(&self, of: Of, key: [u32; 3]) -> Random {
        let [a, b, c] = key.map(u64::from);
        stream(self.seed, &[ROWS, of as u64, a, b, c])
    }

    fn line<'a>(&self, text: &'a mut Vec<u8>) -> LoadedLine<'a> {
        LoadedLine { text, numbers: self.numbers, is_begun: false }
    }

    /// Appends the row of a key, and returns the number of rows, as all of the following do.
    pub(super) fn item(&self, id: u32, text: &mut Vec<u8>) -> u64 {
        let random = &mut self.random(Of::Item, [id, 0, 0]);
        let mut line = self.line(text);
        line.number(id);
        line.number(random.random_range(1..=10_000));
        line.letters(random, 14..=24);
        line.decimal(random.random_range(100..=10_000), CENTS);
        line.data(random);
        line.end()
    }

    pub(super) fn warehouse(&self, id: u32, text: &mut Vec<u8>) -> u64 {
        let random = &mut self.random(Of::Warehouse, [id, 0, 0]);
        let mut line = self.line(text);
        line.number(id);
        line.letters(random, 6..=10);
        line.address(random);
        line.decimal(random.random_range(0..=2_000), RATE);
        line.decimal(i64::from(DISTRICTS) * self.paid(), CENTS);
        line.end()
    }

    /// What the customers of a district have paid.
    fn paid(&self) -> i64 {
        i64::from(self.scale.customers) * PAID
    }

    pub(super) fn stock(&self, warehouse: u32, item: u32, text: &mut Vec<u8>) -> u64 {
        let random = &mut self.random(Of::Stock, [warehouse, item, 0]);
        let mut line = self.line(text);
        line.number(item);
        line.number(warehouse);
        line.number(random.random_range(10..=100));
        for _ in 0..DISTRICTS {
            line.letters(random, 24..=24);
        }
        for _ in 0..3 {
            line.number(0);
        }
        line.data(random);
        line.end()
    }

    pub(super) fn district(&self, warehouse: u32, id: u32, text: &mut Vec<u8>) -> u64 {
        let random = &mut self.random(Of::District, [warehouse, id, 0]);
        let mut line = self.line(text);
        line.number(id);
        line.number(warehouse);
        line.letters(random, 6..=10);
        line.address(random);
        line.decimal(random.random_range(0..=2_000), RATE);
        line.decimal(self.paid(), CENTS);
        line.number(self.scale.customers + 1);
        line.end()
    }

    pub(super) fn customer(
        &self,
        (warehouse, district): (u32, u32),
        id: u32,
        text: &mut Vec<u8>,
    ) -> u64 {
        let random = &mut self.random(Of::Customer, [warehouse, district, id]);
        let name = match id <= self.scale.names() {
            true => id - 1,
            false => self.constants.loaded_name(random, self.scale),
        };
        let mut line = self.line(text);
        line.number(id);
        line.number(district);
        line.number(warehouse);
        line.letters(random, 8..=16);
        line.text("OE");
        let field = line.field();
        last_name(name).for_each(|syllable| field.extend_from_slice(syllable.as_bytes()));
        line.address(random);
        digits(random, 16..=16, line.field());
        line.text(THEN);
        line.text(if random.random_range(0..10) == 0 { "BC" } else { "GC" });
        line.decimal(5_000_000, CENTS);
        line.decimal(random.random_range(0..=5_000), RATE);
        line.decimal(-PAID, CENTS);
        line.decimal(PAID, CENTS);
        line.number(1);
        line.number(0);
        line.letters(random, 300..=500);
        line.end()
    }

    pub(super) fn history(
        &self,
        (warehouse, district): (u32, u32),
        customer: u32,
        text: &mut Vec<u8>,
    ) -> u64 {
        let random = &mut self.random(Of::History, [warehouse, district, customer]);
        let mut line = self.line(text);
        for id in [customer, district, warehouse, district, warehouse] {
            line.number(id);
        }
        line.text(THEN);
        line.decimal(PAID, CENTS);
        line.letters(random, 12..=24);
        line.end()
    }

    /// The customer of an order: each has one.
    fn orderer(&mut self, (warehouse, district): (u32, u32), order: u32) -> u32 {
        if self.of != Some((warehouse, district)) {
            let mut random = self.random(Of::Customers, [warehouse, district, 0]);
            self.customers = (1..=self.scale.customers).collect();
            shuffle(&mut random, &mut self.customers);
            self.of = Some((warehouse, district));
        }
        self.customers[order as usize - 1]
    }

    fn order_of(&self, (warehouse, district): (u32, u32), id: u32) -> LoadedOrder {
        let random = &mut self.random(Of::LoadedOrder, [warehouse, district, id]);
        LoadedOrder { carrier: random.random_range(1..=10), lines: random.random_range(5..=15) }
    }

    pub(super) fn is_delivered(&self, order: u32) -> bool {
        order <= self.scale.customers - self.scale.undelivered
    }

    pub(super) fn order(&mut self, place: (u32, u32), id: u32, text: &mut Vec<u8>) -> u64 {
        let customer = self.orderer(place, id);
        let order = self.order_of(place, id);
        let (warehouse, district) = place;
        let mut line = self.line(text);
        for number in [id, district, warehouse, customer] {
            line.number(number);
        }
        line.text(THEN);
        line.number(order.lines);
        line.number(1);
        if self.is_delivered(id) {
            line.number(order.carrier);
        }
        line.end()
    }

    pub(super) fn new_order(
        &self,
        (warehouse, district): (u32, u32),
        id: u32,
        text: &mut Vec<u8>,
    ) -> u64 {
        let mut line = self.line(text);
        for number in [id, district, warehouse] {
            line.number(number);
        }
        line.end()
    }

    pub(super) fn order_lines(&self, place: (u32, u32), order: u32, text: &mut Vec<u8>) -> u64 {
        let lines = self.order_of(place, order).lines;
        let (warehouse, district) = place;
        let random = &mut self.random(Of::Lines, [warehouse, district, order]);
        for number in 1..=lines {
            let mut line = self.line(text);
            for number in [order, district, warehouse, number] {
                line.number(number);
            }
            line.number(random.random_range(1..=self.scale.items));
            line.number(warehouse);
            line.number(5);
            let is_delivered = self.is_delivered(order);
            let amount = random.random_range(1..=999_999);
            line.decimal(if is_delivered { 0 } else { amount }, CENTS);
            line.letters(random, 24..=24);
            if is_delivered {
                line.text(THEN);
            }
            line.end();
        }
        lines.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> Population {
        Population::new(7, Cardinality::STANDARD, DecimalForm::Decimals)
    }

    /// The fields of a row.
    fn row(write: impl FnOnce(&mut Vec<u8>) -> u64) -> Vec<String> {
        let mut text = Vec::new();
        assert_eq!(write(&mut text), 1);
        let text = String::from_utf8(text).unwrap();
        text.trim_end_matches('\n').split('\t').map(str::to_string).collect()
    }

    #[test]
    fn rows_have_as_many_fields_as_their_tables_have_columns() {
        use super::super::schema::{
            CUSTOMER, DISTRICT, HISTORY, ITEM, NEW_ORDER, ORDER_LINE, ORDERS, STOCK, WAREHOUSE,
        };
        let (place, mut data) = ((1, 2), data());
        let columns = |table: &super::super::schema::TpccTable| table.column_names(0).len();
        assert_eq!(row(|text| data.item(5, text)).len(), columns(&ITEM));
        assert_eq!(row(|text| data.warehouse(5, text)).len(), columns(&WAREHOUSE));
        assert_eq!(row(|text| data.stock(1, 5, text)).len(), columns(&STOCK));
        assert_eq!(row(|text| data.district(1, 5, text)).len(), columns(&DISTRICT));
        assert_eq!(row(|text| data.customer(place, 5, text)).len(), columns(&CUSTOMER));
        assert_eq!(row(|text| data.history(place, 5, text)).len(), columns(&HISTORY));
        assert_eq!(row(|text| data.new_order(place, 2_101, text)).len(), columns(&NEW_ORDER));
        assert_eq!(row(|text| data.order(place, 2_100, text)).len(), columns(&ORDERS));
        assert_eq!(row(|text| data.order(place, 2_101, text)).len(), columns(&ORDERS) - 1);
        let lines = |order| {
            let mut text = Vec::new();
            let count = data.order_lines(place, order, &mut text);
            let text = String::from_utf8(text).unwrap();
            assert_eq!(text.lines().count() as u64, count);
            text.lines().next().unwrap().split('\t').count()
        };
        assert_eq!(lines(2_100), columns(&ORDER_LINE));
        assert_eq!(lines(2_101), columns(&ORDER_LINE) - 1);
    }

    #[test]
    fn rows_are_those_of_the_seed_and_the_key() {
        let of = |data: Population, id| row(|text| data.customer((1, 1), id, text));
        assert_eq!(of(data(), 3), of(data(), 3));
        let other = Population::new(8, Cardinality::STANDARD, DecimalForm::Decimals);
        assert_ne!(of(data(), 3)[3], of(other, 3)[3]);
        assert_ne!(of(data(), 3)[3], of(data(), 4)[3]);
    }

    #[test]
    fn customers_are_as_the_standard_has_them() {
        let (mut bad, count) = (0, 3_000);
        for id in 1..=count {
            let row = row(|text| data().customer((1, 1), id, text));
            assert_eq!(row[4], "OE");
            assert!(row[10].len() == 9 && row[10].ends_with("11111"), "{}", row[10]);
            assert_eq!(row[14..=14], ["50000.00"]);
            assert_eq!(row[16..=19], ["-10.00", "10.00", "1", "0"]);
            assert!((300..=500).contains(&row[20].len()));
            bad += u32::from(row[13] == "BC");
            if id == 372 {
                assert_eq!(row[5], "PRICALLYOUGHT");
            }
        }
        // A tenth, with a standard deviation of 16.
        assert!((230..370).contains(&bad), "{bad}");
    }

    #[test]
    fn every_customer_of_a_district_has_one_order() {
        let mut data = data();
        let mut customers: Vec<u32> = (1..=3_000).map(|id| data.orderer((1, 3), id)).collect();
        assert_ne!(customers[..10], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        customers.sort_unstable();
        assert_eq!(customers, (1..=3_000).collect::<Vec<u32>>());
    }

    #[test]
    fn a_tenth_of_the_items_is_original() {
        let is_original = |id: &u32| row(|text| data().item(*id, text))[4].contains("ORIGINAL");
        let originals = (1..=5_000).filter(is_original).count();
        // Of 500, with a standard deviation of 21.
        assert!((410..590).contains(&originals), "{originals}");
    }
}
