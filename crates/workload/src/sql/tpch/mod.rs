//! A workload derived from TPC-H (Standard Specification, Revision 3), not a TPC result: its tables
//! and its 22 queries as a folder that is made in the process. `docs/tpch.md` says what differs
//! from the standard.

mod tables;
mod values;

use std::collections::BTreeMap;

use rqps_plan::ScaleFactor;

use super::folder::{MadeFolder, MadeRows};

/// Defines [`QUERIES`] from the files of these names.
macro_rules! queries {
    ($($name:literal)*) => {
        /// The files of the queries by their names.
        static QUERIES: &[(&str, &str)] =
            &[$((concat!($name, ".sql"), include_str!(concat!("queries/", $name, ".sql"))),)*];
    };
}

queries! {
    "q01" "q02" "q03" "q04" "q05" "q06" "q07" "q07.sqlite" "q08" "q08.sqlite" "q09" "q09.sqlite"
    "q10" "q11" "q12" "q13" "q14" "q15" "q16" "q17" "q18" "q19" "q20" "q21" "q22"
}

/// Its schema, its queries and their values, and what fills its tables.
pub(super) fn made(scale: ScaleFactor) -> MadeFolder {
    let scripts = [
        ("schema.sql".to_string(), include_str!("schema.sql").to_string()),
        ("indexes.sql".to_string(), include_str!("indexes.sql").to_string()),
    ];
    let queries = QUERIES.iter().map(|(name, text)| (format!("queries/{name}"), text.to_string()));
    let values = values::files(scale).into_iter();
    let values = values.map(|(name, text)| (format!("params/{name}"), text));
    let files: BTreeMap<String, String> =
        scripts.into_iter().chain(queries).chain(values).collect();
    MadeFolder { name: "tpch", files, rows: MadeRows { scale, load: tables::load } }
}

#[cfg(test)]
mod tests;
