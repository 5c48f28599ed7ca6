//! The slow log and the general log of MySQL and MariaDB.
//!
//! Source: MySQL Reference Manual, "The Slow Query Log", "The General Query Log"; MariaDB
//! documentation, "Slow Query Log Overview".

use std::collections::BTreeMap;

use super::CaptureError;
use super::executions::{CapturedExecutions, Collector, MOST_TEXT};
use super::log_lines::LogLines;
use super::told::{Told, shortest};

/// Lines that begin an entry of a slow log.
const TIME: &str = "# Time: ";
const USER: &str = "# User@Host: ";
pub(super) const QUERY_TIME: &str = "# Query_time: ";

/// The head of an entry of a slow log.
#[derive(Default)]
struct SlowEntry {
    thread: String,
    schema: Option<String>,
    seconds: f64,
    rows: Option<u64>,
    has_failed: bool,
    /// One of so many is logged; 0 is not told.
    one_of: u64,
}

impl SlowEntry {
    /// Words of a line `# Name: value  Name: value`.
    fn note(&mut self, line: &str) {
        let mut words = line.trim_start_matches('#').split_whitespace().peekable();
        while let Some(word) = words.next() {
            let Some(name) = word.strip_suffix(':') else { continue };
            let value = words.next_if(|next| !next.ends_with(':')).unwrap_or_default();
            match name {
                "Id" | "Thread_id" => self.thread = value.to_string(),
                "Schema" if !value.is_empty() => self.schema = Some(value.to_string()),
                "Query_time" => self.seconds = value.parse().unwrap_or_default(),
                "Rows_sent" => self.rows = value.parse().ok(),
                // Percona Server samples queries or sessions.
                "Log_slow_rate_limit" => self.one_of = value.parse().unwrap_or_default(),
                "Errno" | "Last_errno" | "Killed" => self.has_failed |= value != "0",
                _ => {}
            }
        }
    }
}

pub(super) fn read_slow(
    lines: &mut LogLines<'_>,
    collector: &mut Collector,
) -> Result<Vec<Told>, CaptureError> {
    let (mut failed, mut least, mut last) = (0, None::<f64>, None::<String>);
    let mut sampled = 1;
    let mut schemas: BTreeMap<String, String> = BTreeMap::new();
    while let Some(line) = lines.next()? {
        if !(line.starts_with(TIME) || line.starts_with(USER)) {
            continue;
        }
        let mut entry = SlowEntry::default();
        let mut line = line;
        // The head, then `use`, `SET timestamp` and the statement.
        loop {
            entry.note(&line);
            match lines.next()? {
                Some(next) if next.starts_with("# ") && !next.starts_with("# administrator") => {
                    line = next;
                }
                Some(next) => {
                    lines.put_back(next);
                    break;
                }
                None => break,
            }
        }
        let mut text = String::new();
        while let Some(next) = lines.next()? {
            if next.starts_with(TIME) || next.starts_with(USER) {
                lines.put_back(next);
                break;
            }
            if text.is_empty() {
                if let Some(schema) = used(&next) {
                    entry.schema = Some(schema);
                    continue;
                }
                if let Some(at) = timestamp(&next) {
                    collector.note_time(at);
                }
                if is_timestamp(&next) || is_banner(&next) || next.starts_with("# administrator") {
                    continue;
                }
            }
            // One that is longer is left out.
            if !is_banner(&next) && text.len() <= MOST_TEXT {
                text += &next;
            }
        }
        // The log names a schema where it changes, for whichever connection.
        if let Some(schema) = entry.schema.clone() {
            schemas.insert(entry.thread.clone(), schema.clone());
            last = Some(schema);
        }
        if text.trim().is_empty() {
            continue;
        }
        if entry.has_failed {
            failed += 1;
            continue;
        }
        least = Some(least.map_or(entry.seconds, |least| least.min(entry.seconds)));
        let database =
            entry.schema.or_else(|| schemas.get(&entry.thread).cloned()).or(last.clone());
        let one = CapturedExecutions::one(text.trim_end().to_string());
        let one_of = entry.one_of.max(1);
        sampled = sampled.max(one_of);
        collector.add(&CapturedExecutions {
            database,
            calls: one_of,
            seconds: entry.seconds * one_of as f64,
            rows: entry.rows.map(|rows| rows * one_of),
            ..one
        });
    }
    let failed = (failed > 0).then(|| format!("{failed} executions that failed are not counted"));
    let sampled = (sampled > 1)
        .then(|| format!("one of {sampled} executions was logged, and stands for as many of them"));
    Ok(failed.into_iter().chain(sampled).chain(least.and_then(shortest)).collect())
}

/// The schema of a line `use shop;`.
fn used(line: &str) -> Option<String> {
    let (word, name) = line.trim().strip_suffix(';')?.split_once(' ')?;
    if !word.eq_ignore_ascii_case("use") {
        return None;
    }
    Some(name.trim().trim_matches('`').to_string())
}

/// `SET timestamp=1700000000;`, with which a replay would have the same time.
fn is_timestamp(line: &str) -> bool {
    let line = line.trim();
    line.get(..14).is_some_and(|it| it.eq_ignore_ascii_case("set timestamp="))
        || line.starts_with("SET last_insert_id=")
        || line.starts_with("SET insert_id=")
}

/// The seconds since 1970 in such a line.
fn timestamp(line: &str) -> Option<i64> {
    let (name, number) = line.trim().trim_end_matches(';').split_once('=')?;
    if !name.eq_ignore_ascii_case("set timestamp") {
        return None;
    }
    number.split('.').next()?.parse().ok()
}

/// What a server writes when it opens the log.
fn is_banner(line: &str) -> bool {
    line.ends_with("started with:\n")
        || line.starts_with("Tcp port: ")
        || line.starts_with("TCP Port: ")
        || is_heading(line)
}

pub(super) fn is_heading(line: &str) -> bool {
    line.starts_with("Time ") && line.trim_end().ends_with("Argument")
}

/// The commands of a general log.
const COMMANDS: [&str; 33] = [
    "Sleep",
    "Quit",
    "Init DB",
    "Query",
    "Field List",
    "Create DB",
    "Drop DB",
    "Refresh",
    "Shutdown",
    "Statistics",
    "Processlist",
    "Connect",
    "Kill",
    "Debug",
    "Ping",
    "Time",
    "Delayed insert",
    "Change user",
    "Binlog Dump",
    "Table Dump",
    "Connect Out",
    "Register Slave",
    "Register Replica",
    "Prepare",
    "Execute",
    "Long Data",
    "Close stmt",
    "Reset stmt",
    "Set option",
    "Fetch",
    "Daemon",
    "Reset Connection",
    "Binlog Dump GTID",
];

/// The connection, the command and the argument of a line that begins an entry of a general log.
pub(super) fn general_entry(line: &str) -> Option<(&str, &str, &str)> {
    let line = line.trim_end_matches(['\n', '\r']);
    let (head, argument) = line.split_once('\t').unwrap_or((line, ""));
    // `2026-11-26T12:00:00.1Z<tab>   8 Query<tab>…`; of old releases and MariaDB also
    // `261126 12:00:00<tab>…` or two tabs.
    let is_time = |head: &str| {
        head.is_empty() || head.starts_with(|c: char| c.is_ascii_digit()) && head.contains(':')
    };
    if !is_time(head) {
        return None;
    }
    let rest = argument.trim_start_matches('\t').trim_start();
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let (connection, command) = rest.split_at(digits);
    let command = command.strip_prefix(' ')?;
    let (command, argument) = command.split_once('\t').unwrap_or((command, ""));
    let is_known = !connection.is_empty() && COMMANDS.contains(&command.trim());
    is_known.then(|| (connection, command.trim(), argument))
}

pub(super) fn read_general(
    lines: &mut LogLines<'_>,
    collector: &mut Collector,
) -> Result<Vec<Told>, CaptureError> {
    let mut databases: BTreeMap<String, String> = BTreeMap::new();
    while let Some(line) = lines.next()? {
        let Some((connection, command, argument)) = general_entry(&line) else { continue };
        let mut text = argument.to_string();
        while let Some(next) = lines.next()? {
            if general_entry(&next).is_some() || is_heading(&next) {
                lines.put_back(next);
                break;
            }
            if text.len() <= MOST_TEXT {
                text += "\n";
                text += next.trim_end_matches(['\n', '\r']);
            }
        }
        match command {
            "Init DB" => drop(databases.insert(connection.to_string(), text)),
            "Connect" => {
                // `user@host on shop using Socket`
                let database = text.split_once(" on ").map_or("", |it| it.1);
                let database = database.split(" using ").next().unwrap_or_default().trim();
                if !database.is_empty() {
                    databases.insert(connection.to_string(), database.to_string());
                }
            }
            "Query" | "Execute" => {
                if let Some(schema) = used(&format!("{};", text.trim_end_matches(';'))) {
                    databases.insert(connection.to_string(), schema);
                    continue;
                }
                let database = databases.get(connection).cloned();
                let is_bound = command == "Execute";
                collector.add(&CapturedExecutions {
                    database,
                    is_bound,
                    ..CapturedExecutions::one(text)
                });
            }
            _ => {}
        }
    }
    Ok(vec!["a general log has no times: shares are those of the calls".to_string()])
}
