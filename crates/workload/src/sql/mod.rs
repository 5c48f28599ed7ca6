//! A user's own SQL: a folder of schema, data and statements as a workload.

mod placeholders;
mod statements;
mod tokens;

#[cfg(test)]
mod tests;
