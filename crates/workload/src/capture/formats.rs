//! The files that statements are captured from, and how one is told from another.

use rqps_plan::suggestion;

use super::CaptureError;
use super::executions::Collector;
use super::log_lines::LogLines;
use super::told::Told;
use super::{exported, mysql_logs, postgres_log, pt_digest};
use crate::Dialect;
use crate::sql::Record;

/// A kind of file.
pub(super) struct CaptureFormat {
    pub(super) name: &'static str,
    pub(super) dialect: Dialect,
    /// What its values are called: those of all executions, or of an example.
    pub(super) values: &'static str,
    /// Whether a file that begins with this text is one.
    looks: fn(&str) -> bool,
    pub(super) read: fn(&mut LogLines<'_>, &mut Collector) -> Result<Vec<Told>, CaptureError>,
}

pub(super) const LOGGED: &str = "logged";
pub(super) const EXAMPLE: &str = "example";

static FORMATS: [CaptureFormat; 6] = [
    CaptureFormat {
        name: "csvlog",
        dialect: Dialect::POSTGRES,
        values: LOGGED,
        looks: |head| first_record(head).is_some_and(|it| postgres_log::is_record(&it)),
        read: postgres_log::read,
    },
    CaptureFormat {
        name: "pg_stat_statements",
        dialect: Dialect::POSTGRES,
        values: EXAMPLE,
        looks: |head| first_record(head).is_some_and(|it| exported::PG_STAT_STATEMENTS.are_in(&it)),
        read: |lines, collector| exported::read(&exported::PG_STAT_STATEMENTS, lines, collector),
    },
    CaptureFormat {
        name: "digests",
        dialect: Dialect::INNODB,
        values: EXAMPLE,
        looks: |head| first_record(head).is_some_and(|it| exported::DIGESTS.are_in(&it)),
        read: |lines, collector| exported::read(&exported::DIGESTS, lines, collector),
    },
    CaptureFormat {
        name: "pt-query-digest",
        dialect: Dialect::INNODB,
        values: EXAMPLE,
        looks: pt_digest::is_report,
        read: pt_digest::read,
    },
    CaptureFormat {
        name: "slow-log",
        dialect: Dialect::INNODB,
        values: LOGGED,
        looks: |head| head.lines().any(|line| line.starts_with(mysql_logs::QUERY_TIME)),
        read: mysql_logs::read_slow,
    },
    CaptureFormat {
        name: "general-log",
        dialect: Dialect::INNODB,
        values: LOGGED,
        looks: |head| head.lines().any(|line| mysql_logs::general_entry(line).is_some()),
        read: mysql_logs::read_general,
    },
];

/// What a file that is none of these may be.
const KNOWN: &str = "it is none of the files that statements are captured from: Postgres's log as \
                     csvlog, a slow log or general log of MySQL or MariaDB, what pt-query-digest writes \
                     with --output json, and pg_stat_statements or events_statements_summary_by_digest as CSV with the \
                     names of the columns";

/// The format of this name.
pub(super) fn named(name: &str) -> Result<&'static CaptureFormat, String> {
    let found = FORMATS.iter().find(|format| format.name == name);
    found.ok_or_else(|| {
        let hint = suggestion(name, FORMATS.each_ref().map(|format| format.name));
        format!("unknown format '{name}': {hint}")
    })
}

/// The format of a file by the text that it begins with.
pub(super) fn recognised(head: &str) -> Result<&'static CaptureFormat, String> {
    FORMATS.iter().find(|format| (format.looks)(head)).ok_or_else(|| KNOWN.to_string())
}

fn first_record(head: &str) -> Option<Record> {
    let mut bytes = head.as_bytes();
    LogLines::new(&mut bytes).record().ok()??.ok()
}
