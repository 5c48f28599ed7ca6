//! Where a server listens.

use std::fmt;
use std::path::PathBuf;

use crate::tls_parameters::Tls;

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
    /// TCP with TLS.
    Tls {
        host: String,
        port: u16,
        tls: Tls,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix { path } => write!(f, "{}", path.display()),
            Address::Tcp { host, port } | Address::Tls { host, port, .. } => {
                write!(f, "{host}:{port}")
            }
        }
    }
}
