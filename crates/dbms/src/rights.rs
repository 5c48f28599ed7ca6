//! What rqps and the user of servers may do on this machine, checked before anything depends on
//! it, and which limit of the machine a failure hit.

use std::fs;
use std::io;
use std::path::Path;

use nix::unistd::{Uid, User as Account};
use rqps_system::User;
use rustix::fs::statvfs;
use rustix::process::{Resource, getrlimit};
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

/// With more MiB free than these, the disk is not full: single writes are smaller.
const FULL_MB: u64 = 256;
/// With a limit of at least so many open files, no server lacks them at its start.
const MANY_FILES: u64 = 1024;

/// The limit or disk of the machine that the words of an error or a log point to, and what to do.
/// `data` is on the disk that servers fill.
pub fn shortage(said: &str, data: &Path) -> Option<String> {
    let limit = |resource| {
        let limit = getrlimit(resource).current;
        limit.map_or("unlimited".to_string(), |limit| limit.to_string())
    };
    let has_few_files =
        || getrlimit(Resource::Nofile).current.is_some_and(|limit| limit < MANY_FILES);
    let says = |any: &[&str]| any.iter().any(|words| said.contains(words));
    let on = data.ancestors().find(|place| place.exists()).unwrap_or(Path::new("/"));
    let free = statvfs(on).map_or(0, |of| (of.f_bavail * of.f_frsize) >> 20);
    // MySQL and SQLite say the same of a limit that a setting gives a table or a database.
    let or_limit = says(&["(1114, HY000)", "database or disk is full"]) && free < FULL_MB;
    if says(&["No space left on device"]) || or_limit {
        return Some(format!(
            "a disk is full: that of '{}' has {free} MiB free. Make room, or set RQPS_HOME to another \
             disk, then continue with --resume",
            on.display()
        ));
    }
    if says(&["Resource temporarily unavailable", "os error 11"]) {
        let most = limit(Resource::Nproc);
        return Some(format!(
            "too many processes: 'ulimit -u' is {most}, and a container may have a lower limit. Raise \
             the limit"
        ));
    }
    // InnoDB says this of a file that it cannot open for whatever reason.
    let or_files = says(&["can't be opened in read-write mode"]) && has_few_files();
    if or_files
        || says(&["Too many open files", "os error 24", "file descriptors", "open_files_limit"])
    {
        let most = limit(Resource::Nofile);
        return Some(format!("too many open files: 'ulimit -n' is {most}. Raise the limit"));
    }
    None
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

    #[test]
    fn what_ran_out_is_named_with_its_limit() {
        for (said, named) in [
            ("FATAL: could not write: No space left on device", "a disk is full: that of '/'"),
            ("Resource temporarily unavailable (os error 11)", "'ulimit -u'"),
            ("insufficient file descriptors available to start", "'ulimit -n'"),
        ] {
            let told = shortage(said, Path::new("/")).unwrap();
            assert!(told.contains(named), "{told}");
        }
        assert_eq!(shortage("password authentication failed", Path::new("/")), None);
        // A limit of the database's own: `max_page_count` of SQLite. (`/proc` has no room at all.)
        let full = "database or disk is full (13)";
        assert!(shortage(full, Path::new("/proc")).is_some());
        assert_eq!(shortage(full, &std::env::temp_dir()), None);
    }
}
