//! The values of an event: which table, which keys, which texts.

use std::ops::Range;

use rand::RngExt;
use rand::distr::{Distribution, Uniform};
use rqps_wire::Value;

use super::rows::{C, PAD, write_digits};
use super::statement::Draw;
use super::suite::Keys;
use super::zipf::Zipf;
use crate::random::Random;

/// A draw, and where it goes among all values and all text of the event.
pub(super) struct Placed {
    pub(super) draw: Draw,
    /// The first of its values.
    pub(super) value: usize,
    pub(super) text: Range<usize>,
}

/// Draws for one client.
pub(super) struct Dice {
    random: Random,
    rows: i64,
    uniform: Uniform<i64>,
    tables: u32,
    /// A client that reads whole tables reads the same one each time.
    fixed_table: Option<u32>,
    keys: KeyDice,
    last_key: i64,
}

enum KeyDice {
    Uniform,
    Zipf(Zipf),
    First,
}

impl Dice {
    pub(super) fn new(
        random: Random,
        rows: u64,
        tables: u32,
        fixed_table: Option<u32>,
        keys: Keys,
    ) -> Self {
        let keys = match keys {
            Keys::Uniform => KeyDice::Uniform,
            Keys::Zipf => KeyDice::Zipf(Zipf::new(rows)),
            Keys::First => KeyDice::First,
        };
        let rows = rows as i64;
        let uniform = Uniform::new_inclusive(1, rows).expect("a table has rows");
        Dice { random, rows, uniform, tables, fixed_table, keys, last_key: 1 }
    }

    /// The table, counted from 1, of a client that has only one.
    pub(super) fn only_table(&self) -> Option<u32> {
        self.fixed_table.or((self.tables == 1).then_some(1))
    }

    /// A table, counted from 1.
    pub(super) fn table(&mut self) -> u32 {
        self.random.random_range(1..=self.tables)
    }

    #[inline]
    fn uniform(&mut self) -> i64 {
        self.uniform.sample(&mut self.random)
    }

    /// Draws the values or the text of a place in an event; `size` is that of the test.
    #[inline]
    pub(super) fn draw(
        &mut self,
        placed: &Placed,
        size: usize,
        values: &mut [Value<'static>],
        text: &mut [u8],
    ) {
        let at = placed.value;
        match placed.draw {
            Draw::Key => values[at] = Value::Int(self.key()),
            Draw::SameKey => values[at] = Value::Int(self.last_key),
            Draw::K => values[at] = Value::Int(self.uniform()),
            Draw::Range => {
                let start = self.uniform();
                values[at] = Value::Int(start);
                values[at + 1] = Value::Int(start + size as i64 - 1);
            }
            Draw::Keys => self.keys(&mut values[at..at + size]),
            Draw::HotKeys => self.hot_keys(&mut values[at..at + size]),
            Draw::C | Draw::Pad => write_digits(&mut self.random, &mut text[placed.text.clone()]),
        }
    }

    #[inline]
    fn key(&mut self) -> i64 {
        self.last_key = match &self.keys {
            KeyDice::Uniform => self.uniform(),
            KeyDice::Zipf(zipf) => zipf.draw(&mut self.random),
            KeyDice::First => 1,
        };
        self.last_key
    }

    #[inline(never)]
    fn keys(&mut self, values: &mut [Value<'static>]) {
        values.fill_with(|| Value::Int(self.uniform()));
    }

    #[inline(never)]
    fn hot_keys(&mut self, values: &mut [Value<'static>]) {
        for (value, key) in values.iter_mut().zip(self.rows / 2 + 1..) {
            *value = Value::Int(key);
        }
    }
}

/// Bytes of text that a draw gives.
pub(super) fn text_length(draw: Draw) -> usize {
    match draw {
        Draw::C => C,
        Draw::Pad => PAD,
        _ => 0,
    }
}
