//! Where to connect, as which user, and under which conditions.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use rqps_system::Cancel;

use crate::address::Address;
use crate::patience::Waits;

/// How long a server may take to be asked to end a statement.
const CANCELLING: Duration = Duration::from_secs(2);

/// Everything that a connection needs. Debug output omits the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub address: Address,
    pub user: String,
    pub password: Option<String>,
    /// None if it is empty, which only MySQL and MariaDB have.
    pub database: String,
    /// Settings of the session, such as `search_path`.
    pub parameters: Vec<(String, String)>,
    /// Statements that every connection runs after its login, before anything else.
    pub setup: Vec<String>,
    pub terms: Terms,
    /// Cancellation of all waits for answers: connecting, logging in and statements; except on
    /// connections that were handed over ([`crate::Connection::hand_over`]), and while a host's
    /// name is looked up.
    pub cancel: Cancel,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.user, self.address, self.database)
    }
}

impl Login {
    /// For a connection that ends a statement of another: it is made although the user has given
    /// up, but only for a moment.
    pub(crate) fn to_cancel(&self) -> Login {
        let terms = Terms { limit: Some(CANCELLING), ..self.terms.clone() };
        Login { terms, cancel: Cancel::default(), ..self.clone() }
    }

    pub(crate) fn waits(&self) -> Waits {
        Waits::to_log_in(self.address.to_string(), self.terms.limit, self.cancel.clone())
    }
}

/// Conditions of a connection beside its address. By default there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// How long connecting and logging in may take; rqps's own limit if none is given.
    pub limit: Option<Duration>,
    /// The address in place of a look-up of the host's name. Certificates are still checked for the
    /// name.
    pub at: Option<IpAddr>,
    pub channel_binding: ChannelBinding,
    /// The only allowed methods of authentication; all if none is given.
    pub methods: Option<Vec<&'static str>>,
    /// The server must accept writes.
    pub is_writable: bool,
    /// How a password is encrypted on an unencrypted connection.
    pub server_key: ServerKey,
}

/// Whether SCRAM proves that nobody is in between the ends of the TLS connection.
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
    /// The key that the server sends, or somebody in its place.
    AsTold,
    File(PathBuf),
}
