//! A user's own SQL: a folder of schema, data and statements as a workload.

mod csv;
mod folder;
mod options;
mod parameter;
mod placeholders;
mod query;
mod refused;
mod sets;
mod statements;
mod tokens;

#[cfg(test)]
mod tests;
