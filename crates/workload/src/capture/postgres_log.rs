//! Postgres's log as CSV, with the lines of auto_explain as JSON.
//!
//! Source: PostgreSQL documentation, "Error Reporting and Logging" (the columns of CSV output, and
//! `log_min_duration_statement`) and "auto_explain".

use std::collections::BTreeMap;

use serde_json::Value;

use super::CaptureError;
use super::executions::{CapturedExecutions, Collector};
use super::known_value::KnownValue;
use super::log_lines::LogLines;
use super::told::Told;
use crate::sql::Record;

/// Columns that are read, by their places.
const TIME: usize = 0;
const DATABASE: usize = 2;
const SESSION: usize = 5;
const MESSAGE: usize = 13;
const DETAIL: usize = 14;
const CONTEXT: usize = 18;

/// Columns of releases before 13; later ones add some.
pub(super) const COLUMNS: usize = 23;

/// Whether this is a record of such a log.
pub(super) fn is_record(record: &Record) -> bool {
    let is = |place: usize, known: &[&str]| {
        record.get(place).and_then(Option::as_deref).is_some_and(|it| known.contains(&it))
    };
    let levels = ["LOG", "ERROR", "FATAL", "PANIC", "WARNING", "NOTICE", "INFO", "DEBUG"];
    record.len() >= COLUMNS && is(11, &levels)
}

/// What a session has said last.
#[derive(Default)]
struct LoggedSession {
    /// A statement whose duration follows in a line of its own.
    begun: Option<CapturedExecutions>,
    /// A plan, whose statement may follow with the same duration.
    planned: Option<CapturedExecutions>,
}

/// Lines of which only the number is told.
#[derive(Default)]
struct NotRead {
    nested: u64,
    plans: u64,
    shortest: Option<f64>,
}

pub(super) fn read(
    lines: &mut LogLines<'_>,
    collector: &mut Collector,
) -> Result<Vec<Told>, CaptureError> {
    let mut sessions: BTreeMap<String, LoggedSession> = BTreeMap::new();
    let mut not_read = NotRead::default();
    while let Some(record) = lines.record()? {
        let record = record?;
        if !is_record(&record) {
            return Err(CaptureError::Line(lines.number, "it is no line of a csvlog"));
        }
        let field = |place: usize| record.get(place).and_then(Option::as_deref).unwrap_or_default();
        let Some(entry) = LogEntry::read(field(MESSAGE), field(DETAIL)) else { continue };
        collector.note_civil_time(field(TIME));
        // Statements of functions are a part of those that call them.
        if !field(CONTEXT).is_empty() {
            not_read.nested += 1;
            continue;
        }
        let database = record.get(DATABASE).cloned().flatten();
        let mut session = sessions.remove(field(SESSION)).unwrap_or_default();
        session.note(entry, database.as_ref(), collector, &mut not_read);
        // Of sessions that say no more, nothing is kept.
        if session.begun.is_some() || session.planned.is_some() {
            sessions.insert(field(SESSION).to_string(), session);
        }
    }
    for session in sessions.into_values() {
        session.begun.iter().chain(&session.planned).for_each(|it| collector.add(it));
    }
    Ok(not_read.told())
}

/// What a line says.
enum LogEntry<'a> {
    /// `statement: …`, `execute …: …`, with its duration if that is in the line.
    Statement { text: &'a str, parameters: Vec<KnownValue>, seconds: Option<f64> },
    /// The duration of what was said before, or of a step of it.
    Duration(f64),
    /// A line of auto_explain, if it is JSON.
    Plan { json: Option<Value>, seconds: f64 },
}

impl<'a> LogEntry<'a> {
    fn read(message: &'a str, detail: &str) -> Option<LogEntry<'a>> {
        let mut rest = message;
        let mut seconds = None;
        if let Some(after) = rest.strip_prefix("duration: ") {
            let (number, after) = after.split_once(" ms").unwrap_or((after, ""));
            seconds = number.parse::<f64>().ok().map(|milliseconds| milliseconds / 1e3);
            rest = after.trim_start();
        }
        if let (Some(plan), Some(seconds)) = (rest.strip_prefix("plan:"), seconds) {
            return Some(LogEntry::Plan { json: serde_json::from_str(plan.trim()).ok(), seconds });
        }
        if let (true, Some(seconds)) = (rest.is_empty(), seconds) {
            return Some(LogEntry::Duration(seconds));
        }
        let (step, text) = rest.split_once(": ")?;
        // `execute <unnamed>`, or with the name of a statement and a portal. Before it come
        // `parse` and `bind` of the same execution.
        match step.split(' ').next() {
            Some("statement") if step == "statement" => {
                Some(LogEntry::Statement { text, parameters: Vec::new(), seconds })
            }
            Some("execute") if !step.starts_with("execute fetch from") => {
                let listed = ["Parameters: ", "parameters: "];
                let listed = listed.iter().find_map(|it| detail.strip_prefix(it));
                let parameters = listed.map(parameters).unwrap_or_default();
                Some(LogEntry::Statement { text, parameters, seconds })
            }
            _ => None,
        }
    }
}

impl LoggedSession {
    fn note(
        &mut self,
        entry: LogEntry<'_>,
        database: Option<&String>,
        collector: &mut Collector,
        not_read: &mut NotRead,
    ) {
        match entry {
            LogEntry::Statement { text, parameters, seconds } => {
                if let Some(begun) = self.begun.take() {
                    collector.add(&begun);
                }
                // The plan is that of this execution.
                match self.planned.take() {
                    Some(planned) if planned.text != text => collector.add(&planned),
                    _ => {}
                }
                let database = database.cloned();
                let one = CapturedExecutions::one(text.to_string());
                let mut executions = CapturedExecutions { database, parameters, ..one };
                match seconds {
                    Some(seconds) => {
                        executions.seconds = seconds;
                        not_read.note(seconds);
                        collector.add(&executions);
                    }
                    None => self.begun = Some(executions),
                }
            }
            LogEntry::Duration(seconds) => {
                if let Some(mut begun) = self.begun.take() {
                    begun.seconds = seconds;
                    self.planned = None;
                    collector.add(&begun);
                }
            }
            LogEntry::Plan { json, seconds } => {
                let text = json.as_ref().and_then(|json| json["Query Text"].as_str());
                let Some(text) = text else {
                    not_read.plans += 1;
                    return;
                };
                if let Some(planned) = self.planned.take() {
                    collector.add(&planned);
                }
                // A statement that was said before is the same execution.
                if self.begun.as_ref().is_some_and(|begun| begun.text == text) {
                    return;
                }
                let listed = json.as_ref().and_then(|json| json["Query Parameters"].as_str());
                let parameters = listed.map(parameters).unwrap_or_default();
                let one = CapturedExecutions::one(text.to_string());
                let database = database.cloned();
                not_read.note(seconds);
                self.planned = Some(CapturedExecutions { database, parameters, seconds, ..one });
            }
        }
    }
}

impl NotRead {
    fn note(&mut self, seconds: f64) {
        self.shortest = Some(self.shortest.map_or(seconds, |shortest| shortest.min(seconds)));
    }

    fn told(&self) -> Vec<Told> {
        let mut told = Vec::new();
        if self.nested > 0 {
            told.push(format!("{} statements within functions are not counted", self.nested));
        }
        if self.plans > 0 {
            told.push(format!(
                "{} lines of auto_explain are not JSON and were not read: set \
                 auto_explain.log_format = json",
                self.plans
            ));
        }
        told.extend(self.shortest.and_then(super::told::shortest));
        told
    }
}

/// `$1 = '71', $2 = NULL`
fn parameters(listed: &str) -> Vec<KnownValue> {
    let mut found = Vec::new();
    let mut rest = listed;
    while let Some((number, after)) =
        rest.strip_prefix('$').and_then(|after| after.split_once(" = "))
    {
        let (value, after) = value(after);
        let place = number.parse::<usize>().unwrap_or_default();
        if place == found.len() + 1 {
            found.push(value);
        }
        rest = after.strip_prefix(", ").unwrap_or_default();
    }
    found
}

/// A value in quotes or NULL, and what follows it. A value that `log_parameter_max_length` has cut
/// is not known.
fn value(text: &str) -> (KnownValue, &str) {
    let Some(quoted) = text.strip_prefix('\'') else {
        return match text.strip_prefix("NULL") {
            Some(after) => (KnownValue::Null, after),
            None => (KnownValue::Unknown, ""),
        };
    };
    let mut value = String::new();
    let mut rest = quoted;
    while let Some((before, after)) = rest.split_once('\'') {
        value += before;
        match after.strip_prefix('\'') {
            Some(after) => {
                value.push('\'');
                rest = after;
            }
            None if value.ends_with("...") => return (KnownValue::Unknown, after),
            None => return (KnownValue::Value(value), after),
        }
    }
    (KnownValue::Unknown, "")
}
