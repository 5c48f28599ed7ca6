//! `workload.toml`: what a folder says about all of its queries, and about some of them in place of
//! the lines in their files.

use std::collections::BTreeMap;

use rqps_plan::suggestion;
use toml::de::{DeTable, DeValue};

use crate::expression::Position;

use super::query::{Entry, PARAM};
use super::tokens::{SqlTextError, error};

/// The options of a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FolderOptions {
    pub(crate) name: Option<String>,
    /// Weights are the executions of so many days.
    pub(crate) days: Option<f64>,
    pub(crate) encoding: Encoding,
    /// By the ids of queries.
    pub(crate) queries: BTreeMap<String, Vec<Entry>>,
}

/// The encoding of all files but this one, which is UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    #[default]
    Utf8,
    Latin1,
}

/// What is said of a byte that is not UTF-8.
pub(super) const NOT_UTF8: &str = "is not UTF-8. Convert the file, or set encoding = \"latin1\" in \
                                   workload.toml";

const ENCODINGS: [(&str, Encoding); 2] = [("utf-8", Encoding::Utf8), ("latin1", Encoding::Latin1)];

pub(super) const DAYS: &str = "days";
const KEYS: [&str; 4] = ["name", "encoding", DAYS, "query"];

impl FolderOptions {
    pub(crate) fn read(text: &str) -> Result<FolderOptions, SqlTextError> {
        let places = LineFinder(text);
        let table = DeTable::parse(text).map_err(|wrong| {
            let line = places.at(wrong.span().map_or(0, |span| span.start)).line;
            error(line, wrong.message())
        })?;
        let mut options = FolderOptions::default();
        for (key, value) in table.get_ref() {
            let at = places.at(key.span().start);
            let wrong = |what: &str| error(at.line, what);
            let name: &str = key.get_ref();
            let text = value.get_ref().as_str();
            let is_no_text = || wrong(&format!("{name} must be a text in quotes"));
            match name {
                "name" => options.name = Some(text.ok_or_else(is_no_text)?.to_string()),
                "encoding" => {
                    options.encoding = one_of(text.ok_or_else(is_no_text)?, &ENCODINGS, name, at)?;
                }
                DAYS => options.days = Some(days(value.get_ref(), at)?),
                "query" => {
                    let queries = value.get_ref().as_table();
                    let queries = queries.ok_or_else(|| wrong("write [query.ID]"))?;
                    for (id, value) in queries {
                        let at = places.at(id.span().start);
                        let keys = value.get_ref().as_table();
                        let keys = keys.ok_or_else(|| error(at.line, "write [query.ID]"))?;
                        options.queries.insert(id.get_ref().to_string(), entries(keys, &places)?);
                    }
                }
                _ => {
                    let hint = suggestion(name, KEYS);
                    return Err(wrong(&format!("unknown key '{name}': {hint}")));
                }
            }
        }
        Ok(options)
    }
}

/// A number of days above 0.
pub(super) fn days(value: &DeValue<'_>, at: Position) -> Result<f64, SqlTextError> {
    let number = match value {
        DeValue::Integer(number) => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    };
    let is_time = |days: &f64| days.is_finite() && *days > 0.0;
    number.filter(is_time).ok_or_else(|| {
        error(at.line, &format!("{DAYS} must be a number above 0, as in {DAYS} = 7"))
    })
}

fn one_of<T: Copy>(
    text: &str,
    known: &[(&str, T)],
    key: &str,
    at: Position,
) -> Result<T, SqlTextError> {
    let found = known.iter().find(|(name, _)| *name == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let hint = suggestion(text, known.iter().map(|(name, _)| *name));
        error(at.line, &format!("{key} = \"{text}\": {hint}"))
    })
}

/// The keys of a query. The value of `param` is a text or a list of texts.
pub(super) fn entries(
    keys: &DeTable<'_>,
    places: &LineFinder<'_>,
) -> Result<Vec<Entry>, SqlTextError> {
    let mut entries = Vec::new();
    for (key, value) in keys {
        let name = key.get_ref().to_string();
        let values = match value.get_ref() {
            DeValue::Array(values) if name == PARAM => values.iter().collect(),
            _ => vec![value],
        };
        for value in values {
            let at = places.at(value.span().start);
            let text = match value.get_ref() {
                DeValue::String(text) => text.to_string(),
                DeValue::Integer(number) => number.as_str().to_string(),
                DeValue::Float(number) => number.as_str().to_string(),
                _ => return Err(error(at.line, &format!("{name} must be a text or a number"))),
            };
            entries.push(Entry { key: name.clone(), value: text, at });
        }
    }
    entries.sort_by_key(|entry| (entry.at.line, entry.at.column));
    Ok(entries)
}

/// Finds the lines of a text.
pub(super) struct LineFinder<'a>(pub(super) &'a str);

impl LineFinder<'_> {
    pub(super) fn at(&self, byte: usize) -> Position {
        let before = &self.0[..byte];
        let line = before.bytes().filter(|byte| *byte == b'\n').count() as u32 + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() as u32 + 1;
        Position { line, column }
    }
}
