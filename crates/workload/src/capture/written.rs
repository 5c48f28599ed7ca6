//! Writes a folder of captured statements.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use rqps_dbms::Lexis;
use sha2::{Digest, Sha256};

use super::data::{SourceData, WrittenData, data_report};
use super::fill::FilledStatement;
use super::items::{SqlItem, items};
use super::made::MadeFiles;
use super::report::report;
use super::{Capture, CaptureError, CapturedStatement};
use crate::sql::{Record, header, only_reads, split};

/// What was written.
#[derive(Clone, Debug, PartialEq)]
pub struct CaptureSummary {
    pub statements: usize,
    /// In percent.
    pub share: f64,
    pub left_out: usize,
    /// Shares are those of the calls.
    pub is_by_calls: bool,
    /// What a reader must know.
    pub remarks: Vec<String>,
    /// Where rows were read, too.
    pub data: Option<WrittenData>,
}

/// What was counted for a minute says little of a day.
const SHORTEST_DAYS: f64 = 60.0 / 86_400.0;

/// Letters of a hash in an id; a number follows where several are alike.
const LETTERS: usize = 4;
/// Letters of the words before it.
const MOST_LETTERS: usize = 48;

impl Capture {
    /// Writes the folder, which must not exist. Nobody else can read it: it has values. If the rows
    /// of the tables cannot be written, too, nothing is left.
    pub fn write(
        &self,
        folder: &Path,
        from: &str,
        data: Option<SourceData>,
    ) -> Result<CaptureSummary, CaptureError> {
        let mut made = MadeFiles::default();
        let written = self.write_all(folder, from, data, &mut made);
        if written.is_err() {
            made.undo();
        }
        written
    }

    fn write_all(
        &self,
        folder: &Path,
        from: &str,
        data: Option<SourceData>,
        made: &mut MadeFiles,
    ) -> Result<CaptureSummary, CaptureError> {
        let ids = self.ids();
        for path in [folder, &folder.join("queries"), &folder.join("params")] {
            made.folder(path)?;
        }
        let data = data.map(|data| data.write(&folder.join("load"), made)).transpose()?;
        let mut file = |name: &str, text: &str| made.text(&folder.join(name), text);
        for (statement, id) in self.statements.iter().zip(&ids) {
            let Ok(filled) = &statement.outcome else { continue };
            let text = query(id, &statement.captured, filled, self.dialect.lexis);
            let text = text.map_err(|what| CaptureError::Written {
                path: id.clone(),
                source: io::Error::new(io::ErrorKind::InvalidData, what),
            })?;
            file(&format!("queries/{id}.sql"), &text)?;
            if !filled.names.is_empty() {
                file(&format!("params/{id}.csv"), &csv(&filled.names, &filled.rows))?;
            }
        }
        if let Some(days) = self.days.filter(|days| *days >= SHORTEST_DAYS) {
            let what = "# The weights are the calls of so many days.";
            file("workload.toml", &format!("{what}\ndays = {days:.4}\n"))?;
        }
        let page = report(self, &ids, from) + &data.as_ref().map(data_report).unwrap_or_default();
        file("capture.md", &page)?;
        let kept = || self.statements.iter().filter(|it| it.outcome.is_ok());
        Ok(CaptureSummary {
            statements: kept().count(),
            share: f64::from(kept().map(|it| it.share).sum::<u32>()) / 100.0,
            left_out: self.statements.len() - kept().count(),
            is_by_calls: self.is_by_calls,
            remarks: self.remarks.clone(),
            data,
        })
    }

    /// Names that stay the same from one capture to the next: verb, table, and a hash.
    fn ids(&self) -> Vec<String> {
        let mut taken = BTreeSet::new();
        let ids = self.statements.iter().map(|statement| {
            let captured = &statement.captured;
            if statement.outcome.is_err() {
                return String::new();
            }
            let digest = Sha256::digest(captured.key.as_bytes());
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            let words = words(captured, self.dialect.lexis);
            let first = format!("{words}_{}", &digest[..LETTERS]);
            let others = (2..).map(|nth| format!("{first}_{nth}"));
            let mut free = [first.clone()].into_iter().chain(others);
            // `insert` says whether it is free.
            free.find(|id| taken.insert(id.clone())).unwrap_or(first)
        });
        ids.collect()
    }
}

/// The first word of a statement and the first table that it names.
fn words(captured: &CapturedStatement, lexis: Lexis) -> String {
    let items = items(&captured.shape, lexis);
    let is_before =
        |item: &SqlItem| ["from", "into", "update"].iter().any(|word| item.is_word(word));
    let first = items.iter().find_map(SqlItem::name).unwrap_or("statement");
    let place = items.iter().position(is_before).map(|place| place + 1);
    let mut place = place.unwrap_or(items.len());
    while items.get(place + 1) == Some(&SqlItem::Symbol('.')) {
        place += 2;
    }
    let table = items.get(place).and_then(SqlItem::name).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let words: String = format!("{first}_{table}").chars().map(plain).collect();
    words.trim_matches('_').chars().take(MOST_LETTERS).collect()
}

/// An error if the file of a query would not be read as it is meant.
pub(super) fn check(
    captured: &CapturedStatement,
    filled: &FilledStatement,
    lexis: Lexis,
) -> Result<(), String> {
    query("id", captured, filled, lexis).map(drop)
}

/// The text of a query's file. It is read again: names in it, which are somebody else's, must not
/// become statements or lines of its header.
fn query(
    id: &str,
    captured: &CapturedStatement,
    filled: &FilledStatement,
    lexis: Lexis,
) -> Result<String, String> {
    const WRONG: &str = "a file would not be read as its statement";
    let wrong = |_| WRONG.to_string();
    let statement = captured.shape.filled(|_, _| "0".to_string());
    let expected = split(&statement, lexis).map_err(wrong)?.len();
    let text = with_header(id, captured, filled, false);
    let written = split(&text, lexis).map_err(wrong)?;
    let reads = matches!(&written[..], [one] if only_reads(one));
    let text = if reads { text.clone() } else { with_header(id, captured, filled, true) };
    let written = split(&text, lexis).map_err(wrong)?.len();
    let entries = header(&text).map_err(wrong)?.len();
    let meant = 1 + usize::from(!reads) + filled.parameters.len();
    match written == expected && entries == meant {
        true => Ok(text),
        false => Err(WRONG.to_string()),
    }
}

fn with_header(
    id: &str,
    captured: &CapturedStatement,
    filled: &FilledStatement,
    is_undone: bool,
) -> String {
    let mut text = format!("-- rqps: weight = {}\n", captured.calls);
    if is_undone {
        text += "-- rqps: transaction = rollback\n";
    }
    for parameter in &filled.parameters {
        let literal = if parameter.is_literal { " literal" } else { "" };
        let own = || format!("from {id}.csv#{}", parameter.name);
        let source = parameter.source.clone().unwrap_or_else(own);
        text +=
            &format!("-- rqps: param {} {}{literal} {source}\n", parameter.name, parameter.kind);
    }
    text + filled.text.trim_start() + "\n"
}

fn csv(names: &[String], rows: &[Record]) -> String {
    let field = |value: &Option<String>| match value {
        Some(value) => format!("\"{}\"", value.replace('"', "\"\"")),
        None => "\\N".to_string(),
    };
    let lines = rows.iter().map(|row| row.iter().map(field).collect::<Vec<_>>().join(",") + "\n");
    names.join(",") + "\n" + &lines.collect::<String>()
}
