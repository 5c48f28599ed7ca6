//! The user that servers run as, and file operations with that user's rights.

use std::{env, io, panic, thread};

use nix::unistd::{self, Gid, Uid};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::set_thread_groups;

/// The user in place of root without `RQPS_USER`.
const UNPRIVILEGED: &str = "nobody";

/// An unprivileged user and its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
}

/// `RQPS_USER`, or `nobody`, is not a user of this machine, or is root.
#[derive(Debug, thiserror::Error)]
#[error("no user '{0}' to run servers as. Set RQPS_USER to a user that exists and is not root")]
pub struct NoUser(pub String);

impl User {
    /// The user of servers; none when they run as rqps's own user.
    pub fn of_servers() -> Result<Option<User>, NoUser> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let name = env::var("RQPS_USER").unwrap_or_else(|_| UNPRIVILEGED.to_string());
        match unistd::User::from_name(&name) {
            Ok(Some(user)) if !user.uid.is_root() => {
                Ok(Some(User { uid: user.uid.as_raw(), gid: user.gid.as_raw() }))
            }
            _ => Err(NoUser(name)),
        }
    }

    /// Does file operations as this user, on a thread of its own: with any links in the way, it
    /// reads and writes only what this user may, and its new files are this user's. That user
    /// cannot signal or trace the thread (setfsuid(2)).
    pub fn act<T: Send>(self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                self.become_for_files()?;
                Ok(work())
            });
            worker.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
        })
    }

    /// Gives the calling thread this user's rights to files, and takes root's.
    fn become_for_files(self) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        set_thread_groups(&[])?;
        unistd::setfsgid(gid);
        unistd::setfsuid(uid);
        // Neither call reports failure; each returns the previous value.
        if unistd::setfsgid(gid) != gid || unistd::setfsuid(uid) != uid {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        // The kernel has closed /proc/self to the root of a container, and costs are read there.
        Ok(set_dumpable_behavior(DumpableBehavior::Dumpable)?)
    }
}

/// File operations as the user of servers, or as rqps's own user where that is the same.
pub fn act_as<T: Send>(user: Option<User>, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    match user {
        Some(user) => user.act(work),
        None => Ok(work()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn what_is_done_as_another_user_reaches_nothing_of_roots() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can act as another user");
            return;
        }
        let user = User { uid: 65534, gid: 65534 };
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (secret, theirs) = (folder.path().join("secret"), folder.path().join("theirs"));
        fs::write(&secret, "root's").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        fs::create_dir(&theirs).unwrap();
        chown(&theirs, Some(user.uid), Some(user.gid)).unwrap();
        symlink(&secret, theirs.join("link")).unwrap();

        let link = theirs.join("link");
        assert!(user.act(|| fs::read(&link)).unwrap().is_err());
        assert!(user.act(|| fs::write(&link, "theirs")).unwrap().is_err());
        assert!(user.act(|| fs::write(folder.path().join("new"), "")).unwrap().is_err());
        assert_eq!(fs::read_to_string(&secret).unwrap(), "root's");

        user.act(|| fs::write(theirs.join("own"), "")).unwrap().unwrap();
        assert_eq!(fs::metadata(theirs.join("own")).unwrap().uid(), user.uid);
        // This thread is unchanged.
        fs::write(folder.path().join("new"), "").unwrap();
        assert_eq!(fs::metadata(folder.path().join("new")).unwrap().uid(), 0);
    }
}
