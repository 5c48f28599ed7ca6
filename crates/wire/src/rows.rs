//! The rows of a result, for a client that needs their values.

use crate::error::Error;
use crate::visit::{Field, ResultColumn, RowVisitor};

/// All rows of a result.
#[derive(Debug, Default)]
pub struct FetchedRows {
    /// Row by row.
    fields: Vec<Kept>,
    /// Of each row.
    columns: usize,
    /// The bytes of all fields that have some.
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Kept {
    Null,
    Int(i64),
    /// From one place to before another.
    Bytes(usize, usize),
}

/// Keeps the last result.
impl RowVisitor for FetchedRows {
    fn columns(&mut self, columns: Vec<ResultColumn>) {
        self.clear();
        self.columns = columns.len();
    }

    fn row(&mut self, fields: &[Field<'_>]) {
        for field in fields {
            let kept = match field {
                Field::Null => Kept::Null,
                Field::Int(value) => Kept::Int(*value),
                Field::Float(value) => self.keep(value.to_string().as_bytes()),
                Field::Text(text) => self.keep(text),
            };
            self.fields.push(kept);
        }
    }
}

impl FetchedRows {
    pub(crate) fn clear(&mut self) {
        self.fields.clear();
        self.bytes.clear();
        self.columns = 0;
    }

    fn keep(&mut self, bytes: &[u8]) -> Kept {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        Kept::Bytes(start, self.bytes.len())
    }

    pub fn len(&self) -> usize {
        self.fields.len() / self.columns.max(1)
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// A field as it came: as text, or as the DBMS's own form of what has no other here, such as a
    /// date.
    pub fn bytes(&self, row: usize, column: usize) -> Result<&[u8], Error> {
        match self.field(row, column)? {
            Kept::Bytes(start, end) => Ok(&self.bytes[start..end]),
            field => Err(Error::Protocol(format!("a text was expected, not {field:?}"))),
        }
    }

    pub fn int(&self, row: usize, column: usize) -> Result<i64, Error> {
        match self.decimal(row, column)? {
            (digits, 0) => Ok(digits),
            _ => Err(Error::Protocol("an integer was expected, not a fraction".to_string())),
        }
    }

    /// A number by its digits, and how many of these are after the point.
    pub fn decimal(&self, row: usize, column: usize) -> Result<(i64, usize), Error> {
        let text = match self.field(row, column)? {
            Kept::Int(value) => return Ok((value, 0)),
            Kept::Bytes(start, end) => &self.bytes[start..end],
            Kept::Null => return Err(Error::Protocol("a number was expected, not NULL".into())),
        };
        parsed(text).ok_or_else(|| {
            Error::Protocol(format!("a number was expected, not '{}'", text.escape_ascii()))
        })
    }

    fn field(&self, row: usize, column: usize) -> Result<Kept, Error> {
        let is_there = column < self.columns;
        let found = self.fields.get(row * self.columns + column).filter(|_| is_there);
        found.copied().ok_or_else(|| {
            let (rows, columns) = (self.len(), self.columns);
            Error::Protocol(format!("a result of {rows} rows and {columns} columns is too small"))
        })
    }
}

/// The digits of `-12.50`, and how many are after the point.
fn parsed(text: &[u8]) -> Option<(i64, usize)> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let (mut value, mut after, mut has_point) = (0_i64, 0, false);
    for byte in digits {
        match byte {
            b'0'..=b'9' => {
                value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                after += usize::from(has_point);
            }
            b'.' if !has_point => has_point = true,
            _ => return None,
        }
    }
    let has_digits = digits.iter().any(u8::is_ascii_digit);
    has_digits.then_some((if is_negative { -value } else { value }, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColumnKind;

    #[test]
    fn numbers_are_read_with_the_places_after_their_points() {
        let read = |text: &str| parsed(text.as_bytes());
        assert_eq!(read("-12.50"), Some((-1250, 2)));
        assert_eq!(read("300000"), Some((300_000, 0)));
        assert_eq!(read("0.0005"), Some((5, 4)));
        for text in ["", "-", ".", "1.2.3", "1e5", "99999999999999999999", "x"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_field_is_found_by_its_row_and_its_column() {
        let mut rows = FetchedRows::default();
        let column = |name: &str| ResultColumn { name: name.to_string(), kind: ColumnKind::Other };
        rows.columns(vec![column("a"), column("b")]);
        rows.row(&[Field::Int(7), Field::Text(b"seven".into())]);
        rows.row(&[Field::Null, Field::Float(1.5)]);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows.int(0, 0).unwrap(), 7);
        assert_eq!(rows.bytes(0, 1).unwrap(), b"seven");
        assert_eq!(rows.decimal(1, 1).unwrap(), (15, 1));
        assert!(rows.int(1, 0).is_err(), "NULL");
        assert!(rows.int(1, 1).is_err(), "a fraction");
        assert!(rows.bytes(0, 2).is_err(), "no such column");
        assert!(rows.bytes(2, 0).is_err(), "no such row");
        rows.columns(Vec::new());
        assert!(rows.is_empty());
    }
}
