//! Where a server listens.

use std::fmt;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket, by the path of its file.
    Unix {
        path: PathBuf,
    },
    Tcp {
        host: String,
        port: u16,
    },
}

impl Address {
    pub(crate) fn transport(&self) -> &'static str {
        match self {
            Address::Unix { .. } => "unix socket",
            Address::Tcp { .. } => "tcp",
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix { path } => write!(f, "{}", path.display()),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
        }
    }
}
