//! A user's own SQL: a folder of schema, data and statements as a workload.

mod answer;
mod check;
mod client;
mod csv;
mod driver;
mod examine;
mod faults;
mod files;
mod folder;
mod likeness;
mod limited;
mod load;
mod options;
mod packed;
mod parameter;
mod placeholders;
mod query;
mod refused;
mod sample;
mod sets;
mod single;
mod statements;
mod tokens;

pub use check::{CheckedFolder, check_files, check_folder};
pub(crate) use driver::{asked, driver, rows_of_tables, tables, tasks};
pub(crate) use examine::SqlExaminer;
pub use faults::FolderFaults;
pub use load::RefusedStatement;
pub(crate) use query::checked_id;
pub(crate) use refused::only_reads;
pub(crate) use statements::{Begun, split};
pub(crate) use tokens::{Part, SqlTextError, Tokens};

#[cfg(test)]
mod tests;
