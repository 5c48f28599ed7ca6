//! A workload in one file: `shop.toml` in place of the folder `shop`. It is read as the folder that
//! it stands for, and each text keeps the line that it has in the file.

use std::collections::BTreeMap;

use rqps_plan::suggestion;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::options::{DAYS, FolderOptions, LineFinder, days, entries};
use super::query::checked_id;
use super::tokens::{SqlTextError, error};

/// Texts of SQL by their keys, and the files that they stand for.
const TEXTS: [(&str, &str); 3] =
    [("schema", "schema.sql"), ("load", "load/load.sql"), ("indexes", "indexes.sql")];
const NAME: &str = "name";
const QUERY: &str = "query";
const ID: &str = "id";
const SQL: &str = "sql";

/// The files of the folder that a text stands for, and its options.
pub(super) fn read(text: &str) -> Result<(BTreeMap<String, String>, FolderOptions), SqlTextError> {
    let places = LineFinder(text);
    let table = DeTable::parse(text).map_err(|wrong| {
        let line = places.at(wrong.span().map_or(0, |span| span.start)).line;
        error(line, wrong.message())
    })?;
    let (mut files, mut options) = (BTreeMap::new(), FolderOptions::default());
    for (key, value) in table.get_ref() {
        let name: &str = key.get_ref();
        let line = places.at(key.span().start).line;
        if let Some((_, file)) = TEXTS.iter().find(|(known, _)| *known == name) {
            files.insert(file.to_string(), padded(text, name, value)?);
            continue;
        }
        match name {
            NAME => options.name = Some(words(name, value, line)?.to_string()),
            DAYS => {
                let at = places.at(key.span().start);
                options.days = Some(days(value.get_ref(), at)?);
            }
            QUERY => {
                let queries = value.get_ref().as_array();
                let queries = queries.ok_or_else(|| error(line, "write [[query]]"))?;
                for query in queries {
                    let line = places.at(query.span().start).line;
                    let keys = query.get_ref().as_table();
                    let keys = keys.ok_or_else(|| error(line, "write [[query]]"))?;
                    add_query(text, keys, line, (&mut files, &mut options))?;
                }
            }
            _ => {
                let known = TEXTS.iter().map(|(key, _)| *key).chain([NAME, DAYS, QUERY]);
                let hint = suggestion(name, known);
                return Err(error(line, &format!("unknown key '{name}': {hint}")));
            }
        }
    }
    Ok((files, options))
}

/// A query with its id, its SQL and the keys that its lines would have.
fn add_query(
    text: &str,
    keys: &DeTable<'_>,
    line: u32,
    (files, options): (&mut BTreeMap<String, String>, &mut FolderOptions),
) -> Result<(), SqlTextError> {
    let value = |name: &str| {
        let found = keys.iter().find(|(key, _)| key.get_ref() == name);
        let missing = || error(line, &format!("the query that begins here has no {name}"));
        found.map(|(_, value)| value).ok_or_else(missing)
    };
    let id = words(ID, value(ID)?, line)?;
    let id = checked_id(id).map_err(|what| error(line, &what))?.to_string();
    let file = format!("queries/{id}.sql");
    if files.insert(file, padded(text, SQL, value(SQL)?)?).is_some() {
        return Err(error(line, &format!("two queries are called '{id}'")));
    }
    let mut keys = entries(keys, &LineFinder(text))?;
    keys.retain(|entry| ![ID, SQL].contains(&entry.key.as_str()));
    options.queries.insert(id, keys);
    Ok(())
}

fn words<'t>(
    key: &str,
    value: &'t Spanned<DeValue<'_>>,
    line: u32,
) -> Result<&'t str, SqlTextError> {
    let text = value.get_ref().as_str();
    text.ok_or_else(|| error(line, &format!("{key} must be a text in quotes")))
}

/// A text after as many empty lines as there are before it in the file.
fn padded(text: &str, key: &str, value: &Spanned<DeValue<'_>>) -> Result<String, SqlTextError> {
    let begin = value.span().start;
    let line = LineFinder(text).at(begin).line;
    let sql = words(key, value, line)?;
    // A line feed right behind the quotes is no part of the text.
    let after = text[begin..].trim_start_matches(['\'', '"']);
    let above = line - 1 + u32::from(after.starts_with(['\n', '\r']));
    Ok("\n".repeat(above as usize) + sql)
}
