//! How a connection is encrypted, and which authorities it trusts.

use std::path::PathBuf;

/// Parameters of an encrypted connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    pub need: Need,
    pub check: Check,
    pub authorities: Authorities,
    /// PEM files with revocation lists.
    pub revoked: Vec<PathBuf>,
    /// The client's certificate and key.
    pub identity: Option<Identity>,
    /// The oldest and the newest allowed version.
    pub versions: (Version, Version),
    /// The connection begins with TLS, without a message of the protocol before it.
    pub is_direct: bool,
    /// The name of the server is sent before the encryption (SNI).
    pub names_server: bool,
}

impl Default for Tls {
    fn default() -> Self {
        Tls {
            need: Need::Always,
            check: Check::Nothing,
            authorities: Authorities::System,
            revoked: Vec::new(),
            identity: None,
            versions: (Version::V12, Version::V13),
            is_direct: false,
            names_server: true,
        }
    }
}

/// Whether a connection may do without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Only where the server requires it.
    IfAsked,
    /// Where the server supports it.
    IfThere,
    Always,
}

/// Which parts of the server's certificate are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// Nothing: nobody can listen, but anybody may be the server.
    Nothing,
    /// That an authority has signed it.
    Authority,
    /// That it is also for the host that was named.
    Host,
}

/// The trusted authorities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authorities {
    /// Those that the operating system trusts.
    System,
    /// The certificates of a PEM file.
    File(PathBuf),
}

/// PEM files of a client's certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The implemented versions of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    V12,
    V13,
}
