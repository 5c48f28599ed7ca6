//! The values of an event: which table, which keys, which texts.

use rand::RngExt;
use rqps_wire::Value;

use super::rows::{C, PAD, write_digits};
use super::statement::Draw;
use super::suite::Keys;
use super::zipf::Zipf;
use crate::random::Random;

/// Draws for one client.
pub(super) struct Dice {
    random: Random,
    rows: i64,
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

/// Where drawn values go: numbers, or the text.
pub(super) struct Drawn<'a> {
    pub(super) numbers: &'a mut [Value<'static>],
    pub(super) text: &'a mut [u8],
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
        Dice { random, rows: rows as i64, tables, fixed_table, keys, last_key: 1 }
    }

    /// A table, counted from 1.
    pub(super) fn table(&mut self) -> u32 {
        match self.fixed_table {
            Some(table) => table,
            None if self.tables == 1 => 1,
            None => self.random.random_range(1..=self.tables),
        }
    }

    fn uniform(&mut self) -> i64 {
        self.random.random_range(1..=self.rows)
    }

    fn key(&mut self) -> i64 {
        self.last_key = match &self.keys {
            KeyDice::Uniform => self.random.random_range(1..=self.rows),
            KeyDice::Zipf(zipf) => zipf.draw(&mut self.random),
            KeyDice::First => 1,
        };
        self.last_key
    }

    /// Fills the numbers or the text of one draw for a test of a size.
    pub(super) fn draw(&mut self, draw: Draw, size: usize, drawn: Drawn<'_>) {
        let numbers = drawn.numbers;
        match draw {
            Draw::Key => numbers[0] = Value::Int(self.key()),
            Draw::SameKey => numbers[0] = Value::Int(self.last_key),
            Draw::K => numbers[0] = Value::Int(self.uniform()),
            Draw::Keys => numbers.fill_with(|| Value::Int(self.uniform())),
            Draw::HotKeys => {
                for (number, key) in numbers.iter_mut().zip(self.rows / 2 + 1..) {
                    *number = Value::Int(key);
                }
            }
            Draw::Range => {
                let start = self.uniform();
                numbers[0] = Value::Int(start);
                numbers[1] = Value::Int(start + size as i64 - 1);
            }
            Draw::C | Draw::Pad => write_digits(&mut self.random, drawn.text),
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
