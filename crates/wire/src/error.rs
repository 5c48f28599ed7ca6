//! Errors of a connection, classified alike for every DBMS.

use std::io;
use std::time::Duration;

use rqps_system::{Cancelled, printable};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The DBMS refused a statement. `code` is the SQLSTATE, with MySQL's number before it, or
    /// SQLite's extended result code.
    #[error("{} ({})", printable(message), printable(code))]
    Server { code: String, message: String, class: ErrorClass },
    #[error("the server closed the connection")]
    Closed,
    #[error(transparent)]
    Interrupted(#[from] Cancelled),
    #[error("cannot connect to {address}: {source}")]
    Connect { address: String, source: io::Error },
    #[error(
        "no login at {address} within {} s. Check host and port, and whether the server can answer",
        limit.as_secs()
    )]
    TooLate { address: String, limit: Duration },
    #[error("connection lost: {0}")]
    Io(#[from] io::Error),
    #[error("cannot log in as '{user}': {}", printable(reason))]
    Login { user: String, reason: String },
    #[error("no TLS with {host}: {}", printable(reason))]
    Tls { host: String, reason: String },
    #[error("the server violated the protocol: {}", printable(.0))]
    Protocol(String),
    /// What a client was to do cannot be done; the server has no part in it.
    #[error("{}", printable(.0))]
    Client(String),
    #[error("'{}' is not a usable address: {}", printable(url), printable(reason))]
    Address { url: String, reason: String },
}

/// What to do after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The DBMS chose this transaction as a victim; the same operation may be retried.
    Retry,
    /// Measuring further would be meaningless.
    Stop,
    /// The server is ending, has ended, or cannot be reached; its log may say why.
    Gone,
}

impl Error {
    pub fn class(&self) -> ErrorClass {
        match self {
            Error::Server { class, .. } => *class,
            Error::Closed
            | Error::Interrupted(_)
            | Error::Io(_)
            | Error::Connect { .. }
            | Error::TooLate { .. } => ErrorClass::Gone,
            _ => ErrorClass::Stop,
        }
    }

    /// Whether the server has ended or cannot be reached; otherwise it refused.
    pub fn is_disconnect(&self) -> bool {
        self.class() == ErrorClass::Gone
    }
}
