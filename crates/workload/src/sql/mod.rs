//! SQL as a workload: a folder of schema, data and statements that a user has, or one that rqps
//! makes.

mod answer;
mod asked;
mod check;
mod client;
mod csv;
mod driver;
mod dump;
mod examine;
mod faults;
mod files;
mod folder;
mod guest;
mod likeness;
mod limited;
mod lines;
mod load;
mod loaded;
mod options;
mod parameter;
mod parquet;
mod placeholders;
mod query;
mod refused;
mod sample;
mod script;
mod sets;
mod single;
mod source;
mod statements;
mod tokens;
mod tpch;
mod watched;

pub(crate) use asked::{asked, tpch_asked};
pub use check::{CheckedFolder, check_files, check_folder};
pub(crate) use csv::{Record, records};
pub(crate) use driver::{calls, driver, made_tables, rows_of_tables, tables, tasks};
pub(crate) use examine::SqlExaminer;
pub use faults::FolderFaults;
pub use guest::{PlaceFile, place_file};
pub(crate) use limited::within;
pub(crate) use lines::open;
pub use load::RefusedStatement;
pub(crate) use query::{checked_id, header};
pub(crate) use refused::{NOT_IN_A_FOLDER, only_reads, refusal, refusal_of_text};
pub(crate) use statements::{Begun, split};
pub(crate) use tokens::{Part, Placeholder, SqlTextError, SqlToken, Tokens};

#[cfg(test)]
mod tests;
