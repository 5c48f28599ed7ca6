//! The user that servers run as: rqps's own, unless that is root.

use std::os::unix::fs::chown;
use std::path::Path;

use nix::unistd::User;

use crate::error::DbmsError;

/// Who takes root's place when `RQPS_USER` names nobody else.
const UNPRIVILEGED: &str = "nobody";

/// An unprivileged user and its group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerUser {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl ServerUser {
    /// None when servers run as the user that rqps runs as.
    pub(crate) fn find() -> Result<Option<ServerUser>, DbmsError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let name = std::env::var("RQPS_USER").unwrap_or_else(|_| UNPRIVILEGED.to_string());
        match User::from_name(&name) {
            Ok(Some(user)) if !user.uid.is_root() => {
                Ok(Some(ServerUser { uid: user.uid.as_raw(), gid: user.gid.as_raw() }))
            }
            _ => Err(DbmsError::User(name)),
        }
    }
}

/// Gives a file or directory to the server's user, if that is another.
pub(crate) fn hand_over(path: &Path, user: Option<ServerUser>) -> Result<(), DbmsError> {
    match user {
        Some(user) => {
            chown(path, Some(user.uid), Some(user.gid)).map_err(DbmsError::file("hand over", path))
        }
        None => Ok(()),
    }
}
