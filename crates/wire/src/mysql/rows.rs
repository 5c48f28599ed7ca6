//! The rows of a prepared statement, in the protocol's binary form.

use super::packet::length_encoded;
use super::{END, ERROR, Head, LONGEST_END, MORE_RESULTS, Mysql, end_of_rows, server_error};
use crate::FetchedRows;
use crate::error::Error;

/// How the fields of a column come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldForm {
    /// As this many bytes.
    Int {
        width: usize,
        is_unsigned: bool,
    },
    Float {
        width: usize,
    },
    /// As bytes after their number, as dates also do.
    Bytes,
}

/// The flag of a column whose numbers have no sign.
const UNSIGNED: u16 = 32;

impl Mysql {
    /// Receives the result of an execution; decodes its rows, and returns the number of rows
    /// returned or changed.
    pub(super) fn receive(&mut self, rows: &mut FetchedRows) -> Result<u64, Error> {
        rows.clear(0);
        let columns = match self.bare_head()? {
            Head::Done { changed, .. } => return Ok(changed),
            Head::Rows { columns } => columns as usize,
        };
        rows.clear(columns);
        let mut forms = std::mem::take(&mut self.forms);
        forms.clear();
        for _ in 0..columns {
            let description = self.payload()?;
            if description.first() == Some(&ERROR) {
                return Err(server_error(description));
            }
            forms.push(form(description)?);
        }
        let deprecate_eof = self.deprecate_eof;
        if !deprecate_eof {
            self.payload()?;
        }
        let mut count = 0;
        loop {
            let row = self.payload()?;
            let is_end = row.first() == Some(&END) && row.len() < LONGEST_END;
            if is_end || row.first() == Some(&ERROR) {
                if end_of_rows(row, deprecate_eof)?.unwrap_or_default() & MORE_RESULTS != 0 {
                    return Err(Error::Protocol("several results were not expected".to_string()));
                }
                self.forms = forms;
                return Ok(count);
            }
            add_row(row, &forms, rows)?;
            count += 1;
        }
    }
}

/// How a column comes, from its description: six texts, the length of the rest, a character set of
/// two bytes, the longest length of four, the type, the flags of two.
fn form(description: &[u8]) -> Result<FieldForm, Error> {
    let mut rest = description;
    for _ in 0..6 {
        let (length, behind) = length_encoded(rest)?;
        rest = behind.get(length as usize..).ok_or_else(short)?;
    }
    let (_, rest) = length_encoded(rest)?;
    let &[kind, low, high] = rest.get(6..9).and_then(<[u8]>::first_chunk).ok_or_else(short)?;
    let is_unsigned = u16::from_le_bytes([low, high]) & UNSIGNED != 0;
    let int = |width| Ok(FieldForm::Int { width, is_unsigned });
    match kind {
        // TINY, SHORT and YEAR, LONG and INT24, LONGLONG.
        1 => int(1),
        2 | 13 => int(2),
        3 | 9 => int(4),
        8 => int(8),
        // FLOAT, DOUBLE.
        4 => Ok(FieldForm::Float { width: 4 }),
        5 => Ok(FieldForm::Float { width: 8 }),
        _ => Ok(FieldForm::Bytes),
    }
}

/// Adds the fields of a row: a byte, the bits of NULL from the third one on, the fields.
fn add_row(row: &[u8], forms: &[FieldForm], rows: &mut FetchedRows) -> Result<(), Error> {
    let bits = (forms.len() + 9) / 8;
    let (nulls, mut rest) =
        row.get(1..).and_then(|row| row.split_at_checked(bits)).ok_or_else(short)?;
    for (index, form) in forms.iter().enumerate() {
        if nulls[(index + 2) / 8] & 1 << ((index + 2) % 8) != 0 {
            rows.push_null();
            continue;
        }
        let (length, behind) = match form {
            FieldForm::Int { width, .. } | FieldForm::Float { width } => (*width as u64, rest),
            FieldForm::Bytes => length_encoded(rest)?,
        };
        let (field, behind) = behind.split_at_checked(length as usize).ok_or_else(short)?;
        match form {
            FieldForm::Int { is_unsigned, .. } => rows.push_int(number(field, *is_unsigned)),
            FieldForm::Float { .. } => rows.push_bytes(float(field).to_string().as_bytes()),
            FieldForm::Bytes => rows.push_bytes(field),
        }
        rest = behind;
    }
    Ok(())
}

/// A number of up to eight bytes.
fn number(field: &[u8], is_unsigned: bool) -> i64 {
    let is_negative = !is_unsigned && field.last().is_some_and(|last| last & 0x80 != 0);
    let mut bytes = if is_negative { [0xff; 8] } else { [0; 8] };
    bytes[..field.len()].copy_from_slice(field);
    i64::from_le_bytes(bytes)
}

/// A number of four or eight bytes.
fn float(field: &[u8]) -> f64 {
    match (field.first_chunk(), field.first_chunk()) {
        (Some(eight), _) => f64::from_le_bytes(*eight),
        (None, Some(four)) => f32::from_le_bytes(*four).into(),
        (None, None) => f64::NAN,
    }
}

#[cold]
fn short() -> Error {
    Error::Protocol("a row that ends within a field".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The description of a column of a type.
    fn description(kind: u8, flags: u16) -> Vec<u8> {
        let mut bytes = b"\x03def\x01d\x01t\x01t\x01c\x01c\x0c\x3f\x00\x0b\x00\x00\x00".to_vec();
        bytes.push(kind);
        bytes.extend_from_slice(&flags.to_le_bytes());
        bytes.extend_from_slice(&[0, 0, 0]);
        bytes
    }

    #[test]
    fn columns_are_known_by_their_types() {
        let read = |kind, flags| form(&description(kind, flags)).unwrap();
        assert_eq!(read(3, 0), FieldForm::Int { width: 4, is_unsigned: false });
        assert_eq!(read(8, UNSIGNED), FieldForm::Int { width: 8, is_unsigned: true });
        // NEWDECIMAL, DATETIME.
        assert_eq!((read(246, 0), read(12, 0)), (FieldForm::Bytes, FieldForm::Bytes));
        assert_eq!(read(5, 0), FieldForm::Float { width: 8 });
        assert!(form(b"\x03de").is_err());
    }

    #[test]
    fn rows_have_numbers_texts_and_nulls() {
        let forms = [
            FieldForm::Int { width: 4, is_unsigned: false },
            FieldForm::Bytes,
            FieldForm::Bytes,
            FieldForm::Int { width: 1, is_unsigned: true },
            FieldForm::Float { width: 4 },
        ];
        let mut rows = FetchedRows::default();
        rows.clear(forms.len());
        // The third field is NULL.
        let row = b"\x00\x10\xfe\xff\xff\xff\x0512.50\xc8\x00\x00\x20\x40";
        add_row(row, &forms, &mut rows).unwrap();
        assert_eq!(rows.int(0, 0).unwrap(), -2);
        assert_eq!(rows.decimal(0, 1).unwrap(), (1250, 2));
        assert!(rows.bytes(0, 2).is_err());
        assert_eq!(rows.int(0, 3).unwrap(), 200);
        assert_eq!(rows.decimal(0, 4).unwrap(), (25, 1));
        assert!(add_row(b"\x00\x00\x01", &forms, &mut rows).is_err());
        assert!(add_row(b"", &forms, &mut rows).is_err());
    }
}
