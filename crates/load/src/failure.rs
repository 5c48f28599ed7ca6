//! What ends a run early: an error, an operation that takes too long, or the caller.

use std::io;
use std::time::Duration;

use rqps_wire::Error;

/// Why a run ended early.
#[derive(Debug)]
pub enum Failure {
    /// An error of a worker; the index is its place among the clients.
    Worker { index: usize, error: Error },
    /// An operation took longer than it may, and was ended.
    Overdue(Overdue),
    /// The caller cancelled it.
    Cancelled,
}

/// A thread could not be started: the server has no part in it.
pub(crate) fn no_thread(error: io::Error) -> Error {
    Error::Client(format!("cannot start a thread: {error}"))
}

/// An operation that took longer than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdue {
    /// Whose, by its place in the work.
    pub contender: usize,
    /// The number of the operation.
    pub operation: u64,
    pub limit: Duration,
}
