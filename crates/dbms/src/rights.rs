//! What rqps and the user of servers may do on this machine, checked before anything depends on
//! it.

use std::fs;
use std::io;
use std::path::Path;

use nix::unistd::{Uid, User as Account};
use rqps_system::User;
use rustix::thread::{CapabilitySet, capabilities};

use crate::error::DbmsError;

/// What root needs to run servers as another user, to end them and to keep their files.
const NEEDED: [(CapabilitySet, &str); 6] = [
    (CapabilitySet::CHOWN, "CAP_CHOWN"),
    (CapabilitySet::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
    (CapabilitySet::FOWNER, "CAP_FOWNER"),
    (CapabilitySet::KILL, "CAP_KILL"),
    (CapabilitySet::SETGID, "CAP_SETGID"),
    (CapabilitySet::SETUID, "CAP_SETUID"),
];

/// The user of servers, after a check that rqps has the rights to act as that user.
pub(crate) fn servers_user() -> Result<Option<User>, DbmsError> {
    let Some(user) = User::of_servers()? else { return Ok(None) };
    // Where capabilities cannot be read, the first use of each shows whether it is there.
    let held = capabilities(None).map_or(CapabilitySet::all(), |sets| sets.effective);
    let missing = NEEDED.iter().filter(|(right, _)| !held.contains(*right));
    let missing: Vec<&str> = missing.map(|(_, name)| *name).collect();
    match missing.is_empty() {
        true => Ok(Some(user)),
        false => Err(DbmsError::Rights { missing: missing.join(", "), user: name(user) }),
    }
}

fn name(user: User) -> String {
    let account = Account::from_uid(Uid::from_raw(user.uid)).ok().flatten();
    account.map_or_else(|| user.uid.to_string(), |account| account.name)
}

/// Rejects places for a program or its data that the server's user cannot enter.
pub(crate) fn can_reach(user: Option<User>, places: &[&Path]) -> Result<(), DbmsError> {
    let Some(user) = user else { return Ok(()) };
    let closed = |place: &Path| {
        let mut folders: Vec<&Path> = place.ancestors().collect();
        folders.reverse();
        folders.into_iter().find_map(|folder| match fs::metadata(folder.join(".")) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Some((folder.to_path_buf(), place.to_path_buf()))
            }
            _ => None,
        })
    };
    let closed = user.act(|| places.iter().find_map(|place| closed(place)));
    match closed.map_err(DbmsError::file("inspect", places[0]))? {
        Some((closed, to)) => Err(DbmsError::Closed { user: name(user), closed, to }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_first_closed_folder_on_the_way_is_named() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root runs servers as another user");
            return;
        }
        let outer = tempfile::tempdir().unwrap();
        let mode =
            |mode| fs::set_permissions(outer.path(), fs::Permissions::from_mode(mode)).unwrap();
        let place = outer.path().join("not/yet/there");
        let nobody = Some(User { uid: 65534, gid: 65534 });
        mode(0o700);
        let error = can_reach(nobody, &[Path::new("/usr"), &place]).unwrap_err().to_string();
        let named = format!(
            "user 'nobody', which runs the servers, cannot enter '{}'",
            outer.path().display()
        );
        assert!(error.starts_with(&named), "{error}");
        mode(0o711);
        can_reach(nobody, &[&place]).unwrap();
        can_reach(None, &[Path::new("/root")]).unwrap();
    }
}
