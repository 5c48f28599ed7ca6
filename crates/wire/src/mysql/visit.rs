//! Rows of prepared statements, in the binary protocol.
//!
//! Source: MySQL Server documentation, "Client/Server Protocol", "Binary Protocol Resultset".

use std::borrow::Cow;

use super::packet::length_encoded;
use super::{ERROR, MORE_RESULTS, Mysql, OK, end_of_rows, server_error, status_flags, unexpected};
use crate::error::Error;
use crate::{ColumnKind, Field, ResultColumn, RowVisitor, Statement, Value};

/// Codes of types.
const DECIMAL: u8 = 0x00;
const TINY: u8 = 0x01;
const SHORT: u8 = 0x02;
const LONG: u8 = 0x03;
const FLOAT: u8 = 0x04;
const DOUBLE: u8 = 0x05;
const NULL: u8 = 0x06;
const TIMESTAMP: u8 = 0x07;
const LONGLONG: u8 = 0x08;
const INT24: u8 = 0x09;
const DATE: u8 = 0x0a;
const TIME: u8 = 0x0b;
const DATETIME: u8 = 0x0c;
const YEAR: u8 = 0x0d;
const NEWDECIMAL: u8 = 0xf6;
const STRING: u8 = 0xfe;

const UNSIGNED: u16 = 0x20;

/// A column as far as its values are decoded by it.
struct BinaryColumn {
    code: u8,
    is_unsigned: bool,
}

impl Mysql {
    pub(super) fn visited(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        visitor: &mut dyn RowVisitor,
    ) -> Result<u64, Error> {
        self.write_execution(statement, values);
        self.send()?;
        let mut count = 0;
        loop {
            let head = self.payload()?;
            let status = match head {
                [OK, rest @ ..] => {
                    let (changed, rest) = length_encoded(rest)?;
                    count += changed;
                    status_flags(length_encoded(rest)?.1)?
                }
                [ERROR, ..] => return Err(server_error(head)),
                [] => return Err(unexpected(head)),
                _ => {
                    let (columns, _) = length_encoded(head)?;
                    let columns = self.described(columns, visitor)?;
                    let deprecate_eof = self.deprecate_eof;
                    loop {
                        let payload = self.payload()?;
                        if let Some(status) = end_of_rows(payload, deprecate_eof)? {
                            break status;
                        }
                        visitor.row(&row(payload, &columns)?);
                        count += 1;
                    }
                }
            };
            if status & MORE_RESULTS == 0 {
                return Ok(count);
            }
        }
    }

    /// Reads the descriptions of columns.
    fn described(
        &mut self,
        count: u64,
        visitor: &mut dyn RowVisitor,
    ) -> Result<Vec<BinaryColumn>, Error> {
        let (mut columns, mut described) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let payload = self.payload()?;
            if payload.first() == Some(&ERROR) {
                return Err(server_error(payload));
            }
            let (column, one) = description(payload)?;
            columns.push(column);
            described.push(one);
        }
        if !self.deprecate_eof && count > 0 {
            self.payload()?;
        }
        visitor.columns(columns);
        Ok(described)
    }
}

fn short() -> Error {
    Error::Protocol("a row that ends within a field".to_string())
}

/// Bytes that begin with their length, and what follows them.
fn counted(bytes: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let (length, rest) = length_encoded(bytes)?;
    rest.split_at_checked(length as usize).ok_or_else(short)
}

/// Catalogue, schema, table, original table, name, original name; then, behind a length, character
/// set, length, type, flags.
fn description(payload: &[u8]) -> Result<(ResultColumn, BinaryColumn), Error> {
    let mut rest = payload;
    for _ in 0..4 {
        rest = counted(rest)?.1;
    }
    let (name, rest) = counted(rest)?;
    let (_, rest) = counted(rest)?;
    let (fixed, _) = counted(rest)?;
    let [_, _, _, _, _, _, code, low, high, ..] = *fixed else { return Err(unexpected(payload)) };
    let kind = match code {
        TINY | SHORT | LONG | INT24 | LONGLONG | YEAR => ColumnKind::Int,
        FLOAT | DOUBLE => ColumnKind::Float,
        DECIMAL | NEWDECIMAL => ColumnKind::Decimal,
        STRING => ColumnKind::Char,
        _ => ColumnKind::Other,
    };
    let is_unsigned = u16::from_le_bytes([low, high]) & UNSIGNED != 0;
    let name = String::from_utf8_lossy(name).into_owned();
    Ok((ResultColumn { name, kind }, BinaryColumn { code, is_unsigned }))
}

/// A row: a byte 0, a bit for each NULL from the third bit on, the other values.
fn row<'a>(payload: &'a [u8], columns: &[BinaryColumn]) -> Result<Vec<Field<'a>>, Error> {
    let nulls = payload.get(1..).ok_or_else(short)?;
    let (nulls, mut rest) =
        nulls.split_at_checked((columns.len() + 2).div_ceil(8)).ok_or_else(short)?;
    let mut fields = Vec::with_capacity(columns.len());
    for (place, column) in columns.iter().enumerate() {
        let bit = place + 2;
        if nulls[bit / 8] & 1 << (bit % 8) != 0 {
            fields.push(Field::Null);
            continue;
        }
        let (field, behind) = field(rest, column)?;
        fields.push(field);
        rest = behind;
    }
    Ok(fields)
}

fn field<'a>(bytes: &'a [u8], column: &BinaryColumn) -> Result<(Field<'a>, &'a [u8]), Error> {
    let width = match column.code {
        TINY => 1,
        SHORT | YEAR => 2,
        LONG | INT24 | FLOAT => 4,
        LONGLONG | DOUBLE => 8,
        NULL => return Ok((Field::Null, bytes)),
        DATE | DATETIME | TIMESTAMP => {
            let (parts, rest) = counted(bytes)?;
            let text = date(parts, column.code == DATE).ok_or_else(short)?;
            return Ok((Field::Text(Cow::Owned(text.into_bytes())), rest));
        }
        TIME => {
            let (parts, rest) = counted(bytes)?;
            let text = time(parts).ok_or_else(short)?;
            return Ok((Field::Text(Cow::Owned(text.into_bytes())), rest));
        }
        _ => {
            let (text, rest) = counted(bytes)?;
            return Ok((Field::Text(Cow::Borrowed(text)), rest));
        }
    };
    let (value, rest) = bytes.split_at_checked(width).ok_or_else(short)?;
    let mut wide = [0; 8];
    wide[..width].copy_from_slice(value);
    let number = u64::from_le_bytes(wide);
    // The sign is in the highest bit of the value's own width.
    let unused = 64 - 8 * width as u32;
    let signed = ((number << unused) as i64) >> unused;
    let field = match column.code {
        FLOAT => Field::Float(f32::from_bits(number as u32).into()),
        DOUBLE => Field::Float(f64::from_bits(number)),
        _ if column.is_unsigned => match i64::try_from(number) {
            Ok(number) => Field::Int(number),
            Err(_) => Field::Text(Cow::Owned(number.to_string().into_bytes())),
        },
        _ => Field::Int(signed),
    };
    Ok((field, rest))
}

/// As MySQL writes it. Parts that are zero at the end may be missing.
fn date(parts: &[u8], is_date: bool) -> Option<String> {
    let mut all = [0; 11];
    all.get_mut(..parts.len())?.copy_from_slice(parts);
    let [low, high, month, day, hour, minute, second, micros @ ..] = all;
    let year = u16::from_le_bytes([low, high]);
    let date = format!("{year:04}-{month:02}-{day:02}");
    match is_date {
        true => Some(date),
        false => Some(format!("{date} {}", clock(hour.into(), minute, second, micros))),
    }
}

fn time(parts: &[u8]) -> Option<String> {
    let mut all = [0; 12];
    all.get_mut(..parts.len())?.copy_from_slice(parts);
    let [is_negative, a, b, c, d, hour, minute, second, micros @ ..] = all;
    let hours = 24 * u64::from(u32::from_le_bytes([a, b, c, d])) + u64::from(hour);
    let sign = if is_negative == 0 { "" } else { "-" };
    Some(format!("{sign}{}", clock(hours, minute, second, micros)))
}

fn clock(hours: u64, minute: u8, second: u8, micros: [u8; 4]) -> String {
    let whole = format!("{hours:02}:{minute:02}:{second:02}");
    match u32::from_le_bytes(micros) {
        0 => whole,
        micros => format!("{whole}.{micros:06}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(code: u8, is_unsigned: bool, bytes: &[u8]) -> Field<'_> {
        let (field, rest) = field(bytes, &BinaryColumn { code, is_unsigned }).unwrap();
        assert_eq!(rest, b"", "all of it is read");
        field
    }

    fn text(text: &str) -> Field<'static> {
        Field::Text(Cow::Owned(text.as_bytes().to_vec()))
    }

    #[test]
    fn values_are_decoded_by_their_types() {
        assert_eq!(decoded(TINY, false, &[0xff]), Field::Int(-1));
        assert_eq!(decoded(TINY, true, &[0xff]), Field::Int(255));
        assert_eq!(decoded(LONG, false, &(-7_i32).to_le_bytes()), Field::Int(-7));
        assert_eq!(decoded(LONGLONG, true, &u64::MAX.to_le_bytes()), text("18446744073709551615"));
        assert_eq!(decoded(DOUBLE, false, &0.1_f64.to_le_bytes()), Field::Float(0.1));
        assert_eq!(decoded(NEWDECIMAL, false, b"\x041.50"), text("1.50"));
        assert_eq!(decoded(DATE, false, &[4, 0xea, 0x07, 1, 2]), text("2026-01-02"));
        assert_eq!(decoded(DATETIME, false, &[0]), text("0000-00-00 00:00:00"));
        let micros = [11, 0xea, 0x07, 1, 2, 3, 4, 5, 0x20, 0xa1, 0x07, 0];
        assert_eq!(decoded(DATETIME, false, &micros), text("2026-01-02 03:04:05.500000"));
        assert_eq!(decoded(TIME, false, &[8, 1, 1, 0, 0, 0, 2, 3, 4]), text("-26:03:04"));
    }

    #[test]
    fn a_row_has_its_nulls_in_front_and_a_broken_one_is_an_error() {
        let column = |code| BinaryColumn { code, is_unsigned: false };
        let columns = [column(TINY), column(STRING), column(LONG)];
        let payload = [0, 0b0000_1000, 7, 1, 0, 0, 0];
        let expected = [Field::Int(7), Field::Null, Field::Int(1)];
        assert_eq!(row(&payload, &columns).unwrap(), expected);
        for end in 0..payload.len() {
            assert!(row(&payload[..end], &columns).is_err(), "{end}");
        }
        assert!(field(&[13, 1], &column(DATETIME)).is_err());
    }
}
