//! Where the files of a server are, and what it is started with.

use std::ffi::OsString;
use std::path::PathBuf;

/// The user of rqps's own servers over loopback, with a password ([`Place::password`]).
pub const LOOPBACK_USER: &str = "rqps";

/// The places of a server's files.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The data directory: created if missing, else used as it is. In an empty one, a folder
    /// inside.
    pub data: PathBuf,
    /// The server's output is appended here.
    pub log: PathBuf,
    /// On a remote server, which set of tables: it can hold several, counted from 0.
    pub set: u32,
    /// Others work on the same tables of a remote server at the same time.
    pub is_shared: bool,
    /// The server keeps running when rqps ends.
    pub detached: bool,
    /// Variables for the server, beside those that are always set. For measuring rqps itself.
    pub environment: Vec<(&'static str, OsString)>,
    /// The words before the server's command, for a program that runs the server.
    pub under: Vec<OsString>,
    /// Makes the server also listen on loopback, for a user `rqps` with this password. Without it,
    /// the server has a Unix socket only, which only rqps's user and the server's can reach.
    pub password: Option<String>,
}
