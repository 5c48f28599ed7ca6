//! The rows of a prepared statement, as text.

use super::message::next_message;
use super::{Postgres, server_error, trailing_number, unexpected};
use crate::FetchedRows;
use crate::error::Error;

impl Postgres {
    /// Receives up to ReadyForQuery; decodes the rows, and returns the number of rows returned or
    /// changed.
    pub(super) fn receive(&mut self, rows: &mut FetchedRows) -> Result<u64, Error> {
        rows.clear(0);
        let mut count = 0;
        let mut error = None;
        loop {
            let (tag, body) = match next_message(&mut self.socket) {
                Ok(message) => message,
                Err(end) => return Err(error.unwrap_or(end)),
            };
            match tag {
                b'D' => {
                    if count == 0 {
                        rows.clear(columns(body)?);
                    }
                    add_row(body, rows)?;
                    count += 1;
                }
                b'C' if count == 0 => count = trailing_number(body),
                b'2' | b'C' | b'N' | b'S' | b'I' | b'A' => {}
                b'Z' => return error.map_or(Ok(count), Err),
                b'E' => error = Some(server_error(body)),
                other => return Err(unexpected(other)),
            }
        }
    }
}

/// The number of fields of a row.
fn columns(row: &[u8]) -> Result<usize, Error> {
    let [high, low, ..] = row else { return Err(short_row()) };
    Ok(u16::from_be_bytes([*high, *low]).into())
}

/// Adds the fields of a row, which come as text.
fn add_row(row: &[u8], rows: &mut FetchedRows) -> Result<(), Error> {
    let fields = columns(row)?;
    let mut rest = &row[2..];
    for _ in 0..fields {
        let (length, behind) = rest.split_first_chunk::<4>().ok_or_else(short_row)?;
        match i32::from_be_bytes(*length) {
            -1 => {
                rows.push_null();
                rest = behind;
            }
            length => {
                let (field, behind) =
                    behind.split_at_checked(length as usize).ok_or_else(short_row)?;
                rows.push_bytes(field);
                rest = behind;
            }
        }
    }
    Ok(())
}

#[cold]
fn short_row() -> Error {
    Error::Protocol("a row that ends within a field".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_texts_and_nulls() {
        let row = b"\x00\x03\x00\x00\x00\x0512.50\xff\xff\xff\xff\x00\x00\x00\x00";
        let mut rows = FetchedRows::default();
        rows.clear(columns(row).unwrap());
        add_row(row, &mut rows).unwrap();
        assert_eq!(rows.decimal(0, 0).unwrap(), (1250, 2));
        assert!(rows.bytes(0, 1).is_err(), "NULL");
        assert_eq!(rows.bytes(0, 2).unwrap(), b"");
        assert!(add_row(&row[..9], &mut rows).is_err());
        assert!(add_row(b"", &mut rows).is_err());
    }
}
