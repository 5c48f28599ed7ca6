//! Amounts of money and rates, which are whole numbers here: of cents, and of ten-thousandths.
//! Tables have them as `decimal`, or as these whole numbers in a DBMS without exact decimals.

use rqps_wire::{Error, FetchedRows, Type, Value};

use crate::Dialect;

/// Places after the point of money, and of taxes and discounts.
pub(super) const CENTS: usize = 2;
pub(super) const RATE: usize = 4;

/// The most characters of a decimal.
const LONGEST: usize = 24;

/// How a DBMS has its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecimalForm {
    Decimals,
    /// SQLite adds decimals as floats.
    Whole,
}

/// A number as it is bound.
#[derive(Clone, Copy, Debug)]
pub(super) enum BoundNumber {
    Whole(i64),
    Text { bytes: [u8; LONGEST], start: usize },
}

impl DecimalForm {
    pub(super) fn of(dialect: Dialect) -> DecimalForm {
        if dialect.has_decimals { DecimalForm::Decimals } else { DecimalForm::Whole }
    }

    /// A number with so many places after its point.
    pub(super) fn bind(self, value: i64, places: usize) -> BoundNumber {
        if self == DecimalForm::Whole {
            return BoundNumber::Whole(value);
        }
        let (mut bytes, mut start) = ([0; LONGEST], LONGEST);
        let mut rest = value.unsigned_abs();
        let mut put = |byte: u8| {
            start -= 1;
            bytes[start] = byte;
        };
        // A digit before the point at least.
        let mut place = 0;
        while rest > 0 || place <= places {
            if place == places && places > 0 {
                put(b'.');
            }
            put(b'0' + (rest % 10) as u8);
            rest /= 10;
            place += 1;
        }
        if value < 0 {
            put(b'-');
        }
        BoundNumber::Text { bytes, start }
    }

    /// Appends it to a line of a load.
    pub(super) fn write(self, value: i64, places: usize, line: &mut Vec<u8>) {
        match self.bind(value, places) {
            BoundNumber::Whole(value) => {
                line.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
            }
            BoundNumber::Text { bytes, start } => line.extend_from_slice(&bytes[start..]),
        }
    }

    /// An amount of cents in a result.
    pub(super) fn cents(self, rows: &FetchedRows, row: usize, column: usize) -> Result<i64, Error> {
        match (self, rows.decimal(row, column)?) {
            (_, (digits, CENTS)) | (DecimalForm::Whole, (digits, 0)) => Ok(digits),
            (DecimalForm::Decimals, (digits, 0)) => Ok(100 * digits),
            (_, (digits, places)) => Err(Error::Protocol(format!(
                "money was expected, not {digits} with {places} places after the point"
            ))),
        }
    }

    /// The type that money is declared with, and its placeholder.
    pub(super) fn parameter(self, placeholder: &str) -> (Type, String) {
        match self {
            DecimalForm::Decimals => {
                (Type::Inferred, format!("cast({placeholder} as decimal(12,2))"))
            }
            DecimalForm::Whole => (Type::Int8, placeholder.to_string()),
        }
    }
}

impl BoundNumber {
    pub(super) fn value(&self) -> Value<'_> {
        match self {
            BoundNumber::Whole(value) => Value::Int(*value),
            BoundNumber::Text { bytes, start } => Value::Text(&bytes[*start..]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_places_after_the_point() {
        let text = |value, places| {
            let mut line = Vec::new();
            DecimalForm::Decimals.write(value, places, &mut line);
            String::from_utf8(line).unwrap()
        };
        assert_eq!(text(123_456, CENTS), "1234.56");
        assert_eq!(text(-1_000, CENTS), "-10.00");
        assert_eq!(text(5, CENTS), "0.05");
        assert_eq!(text(0, RATE), "0.0000");
        assert_eq!(text(2_000, RATE), "0.2000");
        assert_eq!(text(i64::MIN, CENTS), "-92233720368547758.08");
        let mut line = Vec::new();
        DecimalForm::Whole.write(-1_000, CENTS, &mut line);
        assert_eq!(line, b"-1000");
    }
}
