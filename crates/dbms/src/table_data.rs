//! What is known of the tables of somebody else's server before their rows are read: names, sizes,
//! columns, keys. All of it comes from catalogs. What is sent beside that are SELECT, COPY TO
//! STDOUT and what begins and ends a transaction that cannot write.

use std::collections::BTreeMap;

use rqps_wire::{Connection, Error, Row};

use crate::statement_statistics::number;

/// A share of rows is told in millionths.
pub const ALL_ROWS: u32 = 1_000_000;

/// How the rows of all tables are read in one snapshot.
#[derive(Clone, Copy, Debug)]
pub struct TableReading {
    /// Begins a transaction that writes nothing, sees one snapshot and waits for no lock for long.
    pub(crate) begin: &'static [&'static str],
    pub end: &'static str,
    /// The queries for tables, their columns and their foreign keys: see [`source_tables`].
    pub(crate) tables: &'static str,
    pub(crate) columns: &'static str,
    pub(crate) foreign_keys: &'static str,
    /// A name as scripts that are loaded elsewhere have it, by what the server says of it.
    pub(crate) names: fn(&mut dyn Connection) -> Result<NameQuoting, Error>,
    /// The condition that a row is one of so many in a million, by the columns of its key: the same
    /// ones each time.
    pub sampled: fn(&[String], u32) -> String,
}

/// How names are quoted that a script cannot have as they are.
#[derive(Clone, Debug)]
pub(crate) enum NameQuoting {
    /// The server has done it.
    Done,
    /// Those that are these words, or have other characters than letters, digits and underscores;
    /// all where the words are not known.
    Backticks(Option<Vec<String>>),
}

/// The tables of a database.
#[derive(Clone, Debug, Default)]
pub struct SourceTables {
    pub tables: Vec<SourceTable>,
    pub foreign_keys: Vec<SourceForeignKey>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceTable {
    /// What a SELECT of this server reads it from.
    pub from: String,
    /// What a script that is loaded elsewhere calls it.
    pub name: String,
    /// On disk.
    pub bytes: u64,
    pub columns: Vec<SourceColumn>,
    /// The names of the primary key's columns, as the server takes them.
    pub key: Vec<String>,
    /// Why its rows cannot be written as text, if so.
    pub defect: Option<String>,
    /// What a reader must know.
    pub remark: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceColumn {
    pub name: String,
    /// Its value as text, in a SELECT of this server.
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceForeignKey {
    pub name: String,
    /// The places of the tables.
    pub child: usize,
    pub parent: usize,
    /// Columns of the child with those of the parent, as the server takes them.
    pub columns: Vec<(String, String)>,
}

impl TableReading {
    pub fn begin(&self, connection: &mut dyn Connection) -> Result<(), Error> {
        self.begin.iter().try_for_each(|sql| connection.run(sql).map(drop))
    }

    /// The tables of the database that a connection uses.
    pub fn tables(&self, connection: &mut dyn Connection) -> Result<SourceTables, Error> {
        let quoting = (self.names)(connection)?;
        let mut found = SourceTables::default();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for row in connection.query(self.tables)? {
            let Ok([id, from, name, bytes, remark]) = <[Option<String>; 5]>::try_from(row) else {
                continue;
            };
            let name = quoting.written(&name.unwrap_or_default());
            places.insert(id.unwrap_or_default(), found.tables.len());
            let (from, bytes) = (from.unwrap_or_default(), number(bytes.as_ref()));
            found.tables.push(SourceTable { from, name, bytes, remark, ..SourceTable::default() });
        }
        let mut keys: BTreeMap<usize, BTreeMap<u32, String>> = BTreeMap::new();
        for row in connection.query(self.columns)? {
            let Ok([table, column, name, value, key, defect]) =
                <[Option<String>; 6]>::try_from(row)
            else {
                continue;
            };
            let Some(place) = places.get(&table.unwrap_or_default()).copied() else { continue };
            let table = &mut found.tables[place];
            if let Some(at) = key.and_then(|at| at.parse().ok()) {
                keys.entry(place).or_default().insert(at, column.clone().unwrap_or_default());
            }
            let name = quoting.written(&name.unwrap_or_default());
            if let Some(defect) = defect {
                let what = format!("the column {name} is of type {defect}");
                table.defect.get_or_insert(what);
            }
            table.columns.push(SourceColumn { name, value: value.unwrap_or_default() });
        }
        for (place, columns) in keys {
            found.tables[place].key = columns.into_values().collect();
        }
        let rows = connection.query(self.foreign_keys)?;
        found.foreign_keys = foreign_keys(rows, &places);
        Ok(found)
    }
}

/// Rows are in the order of keys and of the columns in them: id, name, tables, columns. Keys of
/// tables that are not read are left out.
fn foreign_keys(rows: Vec<Row>, places: &BTreeMap<String, usize>) -> Vec<SourceForeignKey> {
    let mut found: Vec<(String, SourceForeignKey)> = Vec::new();
    for row in rows {
        let Ok(row) = <[Option<String>; 6]>::try_from(row) else { continue };
        let [id, name, child, parent, column, referred] = row.map(Option::unwrap_or_default);
        let (Some(child), Some(parent)) = (places.get(&child), places.get(&parent)) else {
            continue;
        };
        match found.last_mut() {
            Some((last, key)) if *last == id => key.columns.push((column, referred)),
            _ => {
                let (child, parent, columns) = (*child, *parent, vec![(column, referred)]);
                found.push((id, SourceForeignKey { name, child, parent, columns }));
            }
        }
    }
    found.into_iter().map(|(_, key)| key).collect()
}

impl NameQuoting {
    fn written(&self, name: &str) -> String {
        let is_plain = |words: &Vec<String>| {
            let is_word = words.iter().any(|word| word.eq_ignore_ascii_case(name));
            let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let has_only = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            begins && has_only && !is_word
        };
        match self {
            NameQuoting::Done => name.to_string(),
            NameQuoting::Backticks(Some(words)) if is_plain(words) => name.to_string(),
            NameQuoting::Backticks(_) => format!("`{}`", name.replace('`', "``")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_script_cannot_have_as_they_are_get_quotes() {
        let quoting = NameQuoting::Backticks(Some(vec!["ORDER".to_string()]));
        let written = ["orders", "order", "my table", "a`b", "1a"].map(|it| quoting.written(it));
        assert_eq!(written, ["orders", "`order`", "`my table`", "`a``b`", "`1a`"]);
        assert_eq!(NameQuoting::Backticks(None).written("orders"), "`orders`");
        assert_eq!(NameQuoting::Done.written("\"Order\""), "\"Order\"");
    }

    #[test]
    fn the_columns_of_a_foreign_key_belong_together() {
        let places = BTreeMap::from([("1".to_string(), 0), ("2".to_string(), 1)]);
        let row = |texts: [&str; 6]| texts.map(|text| Some(text.to_string())).to_vec();
        let rows = vec![
            row(["7", "fk", "2", "1", "a", "x"]),
            row(["7", "fk", "2", "1", "b", "y"]),
            row(["8", "gone", "2", "9", "c", "z"]),
        ];
        let pair = |one: &str, other: &str| (one.to_string(), other.to_string());
        let columns = vec![pair("a", "x"), pair("b", "y")];
        let expected = SourceForeignKey { name: "fk".to_string(), child: 1, parent: 0, columns };
        assert_eq!(foreign_keys(rows, &places), [expected]);
    }
}
