//! Statistics of statements that somebody has written into a file: pg_stat_statements and the
//! digests of the performance schema as CSV with the names of the columns.

use super::CaptureError;
use super::digest::counted;
use super::executions::{CapturedExecutions, Collector};
use super::log_lines::LogLines;
use super::told::Told;
use crate::sql::Record;

/// The names of the columns that are read; of each, the first that the file has.
pub(super) struct ExportedColumns {
    pub(super) text: &'static str,
    pub(super) calls: &'static str,
    time: &'static [&'static str],
    /// How many times of the file are a second.
    per_second: f64,
    rows: &'static str,
    example: &'static str,
    database: &'static str,
}

pub(super) const PG_STAT_STATEMENTS: ExportedColumns = ExportedColumns {
    text: "query",
    calls: "calls",
    time: &["total_exec_time", "total_time"],
    per_second: 1e3,
    rows: "rows",
    example: "",
    database: "datname",
};

pub(super) const DIGESTS: ExportedColumns = ExportedColumns {
    text: "digest_text",
    calls: "count_star",
    time: &["sum_timer_wait"],
    per_second: 1e12,
    rows: "sum_rows_sent",
    example: "query_sample_text",
    database: "schema_name",
};

impl ExportedColumns {
    /// Whether a first line has them.
    pub(super) fn are_in(&self, names: &Record) -> bool {
        place(names, self.text).is_some() && place(names, self.calls).is_some()
    }
}

fn place(names: &Record, name: &str) -> Option<usize> {
    names.iter().position(|it| it.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(name)))
}

pub(super) fn read(
    columns: &ExportedColumns,
    lines: &mut LogLines<'_>,
    collector: &mut Collector,
) -> Result<Vec<Told>, CaptureError> {
    let Some(names) = lines.record()?.transpose()? else { return Ok(Vec::new()) };
    let time = columns.time.iter().find_map(|name| place(&names, name));
    let mut told = Vec::new();
    if time.is_none() {
        told.push(format!(
            "the file has no column {}: shares are those of the calls",
            columns.time.join(" or ")
        ));
    }
    let mut nameless = 0;
    while let Some(record) = lines.record()? {
        let record = record?;
        let field = |place: Option<usize>| place.and_then(|it| record.get(it)).cloned().flatten();
        let number = |place: Option<usize>| field(place).and_then(|it| it.parse::<f64>().ok());
        let calls = number(place(&names, columns.calls)).unwrap_or_default() as u64;
        let Some(text) = field(place(&names, columns.text)) else {
            nameless += calls;
            continue;
        };
        let example = field(place(&names, columns.example));
        let one = CapturedExecutions {
            calls,
            seconds: number(time).unwrap_or_default() / columns.per_second,
            rows: number(place(&names, columns.rows)).map(|rows| rows as u64),
            database: field(place(&names, columns.database)),
            ..CapturedExecutions::one(String::new())
        };
        collector.add(&counted(collector.dialect, one, text, example));
    }
    if nameless > 0 {
        told.push(format!("{nameless} calls have no text: shares leave them out"));
    }
    Ok(told)
}
