//! Whether the data are those that the workload makes: all keys are read in their order.

use std::collections::HashSet;

use crate::WorkerError;
use crate::data::{ValuePool, number};
use crate::database::Database;

/// What was read. Every key was one of the workload's, and after the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) keys: u64,
    /// Keys with the value that the load gave them; the others have other values of the workload.
    pub(crate) as_loaded: u64,
}

/// Reads everything, which also brings it into the cache.
pub(crate) fn read_all(database: &Database, seed: u64) -> Result<Read, WorkerError> {
    let values = ValuePool::new(seed);
    let known: HashSet<&[u8]> = values.all().collect();
    let (mut read, mut last, mut failure) = (Read::default(), None, None);
    let mut cursor = database.iterator();
    cursor.first();
    while failure.is_none()
        && cursor.visit(true, |key, value| {
            let Some(found) = number(key).filter(|found| last < Some(*found)) else {
                failure = Some(WorkerError::ForeignKey(key.escape_ascii().to_string()));
                return;
            };
            last = Some(found);
            read.keys += 1;
            if value == values.value(found) {
                read.as_loaded += 1;
            } else if !known.contains(value) {
                failure = Some(WorkerError::ForeignValue(found));
            }
        })
    {}
    cursor.check()?;
    failure.map_or(Ok(read), Err)
}
