//! The rows that a statement returned, in a form in which two of them can be compared.

use rqps_wire::{ColumnKind, Field, ResultColumn, RowVisitor};
use sha2::{Digest, Sha256};

use super::query::RowCount;

/// Bytes of rows that are kept. Of more, digests are compared.
const MOST_BYTES: usize = 64 << 20;

/// What a value takes beside its bytes.
const BESIDE: usize = 24;

/// Digits of a number in a digest: with the first of them, nine.
const DIGITS: usize = 8;

/// A value. Whole numbers and decimals are text, so that a column may become wider.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AnswerValue {
    Null,
    Float(f64),
    Text(Box<[u8]>),
}

pub(super) type AnswerRow = Box<[AnswerValue]>;

/// What one execution of a statement returned.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// It is compared with that of another DBMS, which writes the same value differently.
    is_across: bool,
    pub(super) columns: Vec<ResultColumn>,
    /// In their order, unless they are too many.
    pub(super) rows: Vec<AnswerRow>,
    pub(super) is_whole: bool,
    pub(super) count: u64,
    /// Rows that it changed, if it returns none.
    pub(super) changed: u64,
    bytes: usize,
    digest: AnswerDigest,
    sequence: Sha256,
    scratch: Vec<u8>,
}

/// A digest of rows. The multiset is the sum of the hashes of all rows, whatever their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AnswerDigest {
    exact: u128,
    /// With nine digits of each number.
    pub(super) rounded: u128,
}

impl Answer {
    pub(super) fn new(is_across: bool) -> Answer {
        Answer {
            is_across,
            columns: Vec::new(),
            rows: Vec::new(),
            is_whole: true,
            count: 0,
            changed: 0,
            bytes: 0,
            digest: AnswerDigest::default(),
            sequence: Sha256::new(),
            scratch: Vec::new(),
        }
    }

    pub(super) fn returns_rows(&self) -> bool {
        !self.columns.is_empty()
    }

    pub(super) fn digest(&self) -> AnswerDigest {
        self.digest
    }

    /// A digest of the rows in their order.
    pub(super) fn sequence(&self) -> u128 {
        first_half(&self.sequence.clone().finalize())
    }

    fn hash(&mut self, row: &[AnswerValue], is_rounded: bool) -> u128 {
        self.scratch.clear();
        for cell in row {
            match cell {
                AnswerValue::Null => self.scratch.push(0),
                AnswerValue::Float(value) => {
                    self.scratch.push(1);
                    match is_rounded {
                        true => {
                            self.scratch.extend_from_slice(format!("{value:.DIGITS$e}").as_bytes());
                        }
                        false => self.scratch.extend_from_slice(&value.to_bits().to_le_bytes()),
                    }
                }
                AnswerValue::Text(text) => {
                    self.scratch.push(2);
                    self.scratch.extend_from_slice(&(text.len() as u64).to_le_bytes());
                    self.scratch.extend_from_slice(text);
                }
            }
        }
        first_half(&Sha256::digest(&self.scratch))
    }
}

fn first_half(digest: &[u8]) -> u128 {
    digest.iter().take(16).fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}

impl RowVisitor for Answer {
    fn columns(&mut self, columns: Vec<ResultColumn>) {
        self.columns = columns;
    }

    fn row(&mut self, fields: &[Field<'_>]) {
        let cell = |(field, column): (&Field<'_>, &ResultColumn)| cell(field, column.kind, self);
        let row: AnswerRow = fields.iter().zip(&self.columns).map(cell).collect();
        let exact = self.hash(&row, false);
        let has_floats = row.iter().any(|cell| matches!(cell, AnswerValue::Float(_)));
        let rounded = if has_floats { self.hash(&row, true) } else { exact };
        self.count += 1;
        self.digest.exact = self.digest.exact.wrapping_add(exact);
        self.digest.rounded = self.digest.rounded.wrapping_add(rounded);
        self.sequence.update(rounded.to_le_bytes());
        self.bytes += row.iter().map(|cell| BESIDE + length(cell)).sum::<usize>();
        self.is_whole &= self.bytes <= MOST_BYTES;
        match self.is_whole {
            true => self.rows.push(row),
            false => self.rows = Vec::new(),
        }
    }
}

/// The rows that the last statement that returns rows returned.
pub(super) fn returned(answers: &[Answer]) -> Option<u64> {
    let returning = answers.iter().rev().find(|answer| answer.returns_rows());
    returning.map(|answer| answer.count)
}

/// What is wrong with the number of rows, by what a query's file says.
pub(super) fn unexpected(rows: Option<RowCount>, answers: &[Answer]) -> Option<String> {
    let (rows, found) = (rows?, returned(answers)?);
    let what = format!("it returns {found} rows, but its file says rows = {rows}");
    (!rows.includes(found)).then_some(what)
}

fn length(cell: &AnswerValue) -> usize {
    match cell {
        AnswerValue::Text(text) => text.len(),
        AnswerValue::Null | AnswerValue::Float(_) => 0,
    }
}

fn cell(field: &Field<'_>, kind: ColumnKind, Answer { is_across, .. }: &Answer) -> AnswerValue {
    let text = |bytes: &[u8]| AnswerValue::Text(bytes.into());
    match field {
        Field::Null => AnswerValue::Null,
        Field::Int(value) => text(value.to_string().as_bytes()),
        // SQL compares 0 with -0, and NaN with NaN, as equal.
        Field::Float(value) if *value == 0.0 => AnswerValue::Float(0.0),
        Field::Float(value) if value.is_nan() => AnswerValue::Float(f64::NAN),
        Field::Float(value) => AnswerValue::Float(*value),
        Field::Text(bytes) if !is_across => text(bytes),
        Field::Text(bytes) => text(&in_common(bytes, kind)),
    }
}

/// A text in the form that DBMSs have in common.
fn in_common(bytes: &[u8], kind: ColumnKind) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(bytes) else { return bytes.to_vec() };
    let common = match kind {
        ColumnKind::Bool if text == "t" => "1".to_string(),
        ColumnKind::Bool if text == "f" => "0".to_string(),
        ColumnKind::Decimal => without_zeros(text).to_string(),
        ColumnKind::Char => text.trim_end_matches(' ').to_string(),
        _ => moment(text).unwrap_or_else(|| text.to_string()),
    };
    common.into_bytes()
}

/// A decimal without the zeros at its end.
fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// A date with a time, in UTC and without the zeros of its fraction; none if it is another text.
fn moment(text: &str) -> Option<String> {
    // `2026-01-02 03:04:05`
    let at = |place: usize| text.as_bytes().get(place).copied();
    let is_moment = at(4) == Some(b'-') && at(7) == Some(b'-') && at(13) == Some(b':');
    if !is_moment || !matches!(at(10), Some(b' ' | b'T')) {
        return None;
    }
    let civil = match text.parse::<jiff::Timestamp>() {
        Ok(moment) => moment.to_zoned(jiff::tz::TimeZone::UTC).datetime(),
        Err(_) => text.parse::<jiff::civil::DateTime>().ok()?,
    };
    let (date, time) = (civil.date(), civil.time());
    Some(format!("{date} {time}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dbmss_write_differently_has_one_form() {
        let common =
            |text: &str, kind| String::from_utf8(in_common(text.as_bytes(), kind)).unwrap();
        assert_eq!(common("1.50", ColumnKind::Decimal), "1.5");
        assert_eq!(common("2.00", ColumnKind::Decimal), "2");
        assert_eq!(common("100", ColumnKind::Decimal), "100");
        assert_eq!(common("t", ColumnKind::Bool), "1");
        assert_eq!(common("t", ColumnKind::Other), "t");
        assert_eq!(common("ab  ", ColumnKind::Char), "ab");
        let moment = "2026-01-02 03:04:05.5";
        for text in [
            "2026-01-02 03:04:05.500000",
            "2026-01-02T03:04:05.5",
            "2026-01-02 05:04:05.5+02",
            "2026-01-02 03:04:05.500+00:00",
        ] {
            assert_eq!(common(text, ColumnKind::Other), moment, "{text}");
        }
        for text in ["2026-01-02", "2026-99-02 03:04:05", "it's"] {
            assert_eq!(common(text, ColumnKind::Other), text);
        }
    }
}
