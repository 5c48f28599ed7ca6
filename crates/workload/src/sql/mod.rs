//! A user's own SQL: a folder of schema, data and statements as a workload.

mod answer;
mod client;
mod csv;
mod driver;
mod examine;
mod files;
mod folder;
mod likeness;
mod load;
mod options;
mod parameter;
mod placeholders;
mod query;
mod refused;
mod sample;
mod sets;
mod statements;
mod tokens;

pub(crate) use driver::{asked, driver, tasks};
pub(crate) use examine::SqlExaminer;
pub use folder::FolderError;
pub use load::RefusedStatement;

#[cfg(test)]
mod tests;
