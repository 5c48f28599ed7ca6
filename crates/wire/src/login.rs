//! Where to connect, as whom, and on what terms.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use rqps_system::Cancel;

use crate::address::Address;
use crate::patience::Waits;

/// Everything a connection needs. Debug output leaves the password out.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub address: Address,
    pub user: String,
    pub password: Option<String>,
    /// None if it is empty, which only MySQL and MariaDB have.
    pub database: String,
    /// Settings of the session, such as `search_path`.
    pub parameters: Vec<(String, String)>,
    /// Statements that every connection runs when it has logged in, before anything else.
    pub setup: Vec<String>,
    pub terms: Terms,
    /// The wish that ends waiting for answers: connecting, logging in and statements alike; not so
    /// on connections that were handed over ([`crate::Connection::hand_over`]), nor while a host's
    /// name is looked up.
    pub cancel: Cancel,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.user, self.address, self.database)
    }
}

impl Login {
    pub(crate) fn waits(&self) -> Waits {
        Waits::to_log_in(self.address.to_string(), self.terms.limit, self.cancel.clone())
    }
}

/// What a connection keeps to beside its address. Nothing is asked for by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// How long connecting and logging in may take; a limit of rqps's own if there is none.
    pub limit: Option<Duration>,
    /// Asked in place of the host's name, which is what certificates are for all the same.
    pub at: Option<IpAddr>,
    pub channel_binding: ChannelBinding,
    /// The only methods of logging in that will do; all, if there are none.
    pub methods: Option<Vec<&'static str>>,
    /// The server must take writes.
    pub is_writable: bool,
    /// How a password is encrypted where the connection is not.
    pub server_key: ServerKey,
}

/// Whether SCRAM proves that nobody is between both ends of the TLS connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelBinding {
    Never,
    #[default]
    IfThere,
    Always,
}

/// The public key of a MySQL server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerKey {
    #[default]
    Unknown,
    /// Whatever the server, or who speaks in its place, says it is.
    AsTold,
    File(PathBuf),
}
