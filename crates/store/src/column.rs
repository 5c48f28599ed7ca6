//! Values in the rows of the results, which may come from elsewhere: each in the range that rqps
//! writes, or an error that says what is wrong with it.

use std::fmt::Display;
use std::ops::RangeInclusive;

use rqps_system::printable;
use rusqlite::Row;
use rusqlite::types::{FromSql, ValueRef};
use serde::de::DeserializeOwned;

/// A value that rqps does not write.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Garbled(String);

/// As an error of the library, with the same message.
pub(crate) fn garbled(what: impl Into<String>) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(Garbled(what.into())))
}

/// The largest number of any column, nine years in nanoseconds: sums of many do not overflow.
const MOST: i64 = 1 << 58;
/// Per second.
const MOST_REAL: f64 = 1e15;
/// Of a test, in 30 days. Reports have an entry for each.
pub(crate) const MOST_SECONDS: u32 = 30 * 24 * 3600;
/// Slices of 10 ms in half a day, which reports count up to, and clients.
const MOST_SLICES: u32 = 1 << 22;
const MOST_CLIENTS: u32 = 1 << 16;

/// A column with text, made printable for display.
pub(crate) fn text(row: &Row<'_>, column: &str) -> Result<String, rusqlite::Error> {
    Ok(printable(row.get_ref(column)?.as_str()?).into_owned())
}

pub(crate) fn some_text(row: &Row<'_>, column: &str) -> Result<Option<String>, rusqlite::Error> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => text(row, column).map(Some),
    }
}

/// A column of numbers in a range.
fn number<T: FromSql + PartialOrd + Display>(
    row: &Row<'_>,
    column: &str,
    allowed: RangeInclusive<T>,
) -> Result<T, rusqlite::Error> {
    let value: T = row.get(column)?;
    match allowed.contains(&value) {
        true => Ok(value),
        false => Err(garbled(format!("{column} {value} is out of range"))),
    }
}

/// A column that counts something.
pub(crate) fn count(row: &Row<'_>, column: &str) -> Result<u64, rusqlite::Error> {
    number(row, column, 0..=MOST).map(|value: i64| value as u64)
}

/// The measured nanoseconds of a slice.
pub(crate) fn nanos(row: &Row<'_>) -> Result<u64, rusqlite::Error> {
    let most = i64::from(MOST_SECONDS) * 1_000_000_000;
    number(row, "nanos", 0..=most).map(|value: i64| value as u64)
}

/// The place of a slice in its round.
pub(crate) fn place(row: &Row<'_>) -> Result<u32, rusqlite::Error> {
    number(row, "place", 0..=MOST_SLICES)
}

/// One of the clients, counted from 1.
pub(crate) fn client(row: &Row<'_>) -> Result<u32, rusqlite::Error> {
    number(row, "client", 1..=MOST_CLIENTS)
}

pub(crate) fn some_count(row: &Row<'_>, column: &str) -> Result<Option<u64>, rusqlite::Error> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => count(row, column).map(Some),
    }
}

pub(crate) fn seconds(row: &Row<'_>, column: &str) -> Result<f64, rusqlite::Error> {
    number(row, column, 0.0..=f64::from(MOST_SECONDS))
}

pub(crate) fn some_seconds(row: &Row<'_>, column: &str) -> Result<Option<f64>, rusqlite::Error> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => seconds(row, column).map(Some),
    }
}

/// The rows per second that clients are to insert.
pub(crate) fn target_rate(row: &Row<'_>) -> Result<Option<f64>, rusqlite::Error> {
    match row.get_ref("target_rate")? {
        ValueRef::Null => Ok(None),
        _ => number(row, "target_rate", 0.0..=MOST_REAL).map(Some),
    }
}

/// A column with one of several names.
pub(crate) fn known<T>(
    row: &Row<'_>,
    column: &str,
    from_name: impl Fn(&str) -> Option<T>,
) -> Result<T, rusqlite::Error> {
    let name = row.get_ref(column)?.as_str()?;
    from_name(name).ok_or_else(|| {
        let name = printable(name);
        garbled(format!("{column} '{name}' is not known to this rqps; a newer one may know it"))
    })
}

/// A column that holds JSON.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T, rusqlite::Error> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|error| garbled(format!("{column}: {error}")))
}
