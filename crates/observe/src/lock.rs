//! One measuring session on a host at a time: two would measure each other.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FlockOperation, access, flock};
use rustix::io::Errno;

/// Where locks of the host lie, of whichever user.
const LOCKS: &str = "/run/lock";

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another session is measuring on this machine ({holder}); wait for it, or end it")]
    Held { holder: String },
    #[error("cannot lock '{}': {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Held for as long as the value lives. The kernel lets go of it if the process is killed.
#[derive(Debug)]
pub struct SessionLock {
    _file: File,
}

impl SessionLock {
    /// Where the lock of this host lies: where nobody has made it yet, and this user cannot, among
    /// temporary files.
    pub fn host_path() -> PathBuf {
        const NAME: &str = "rqps-session.lock";
        let locks = Path::new(LOCKS);
        let is_ours = locks.join(NAME).is_file() || access(locks, Access::WRITE_OK).is_ok();
        let directory = if is_ours { locks.into() } else { std::env::temp_dir() };
        directory.join(NAME)
    }

    /// Takes the lock at `path`. `what` is told to those who find it taken.
    pub fn take(path: &Path, what: &str) -> Result<SessionLock, LockError> {
        let failed = |source: io::Error| LockError::File { path: path.to_path_buf(), source };
        let mut file = open(path).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                file.read_to_string(&mut holder).map_err(failed)?;
                return Err(LockError::Held { holder: holder.trim().to_string() });
            }
            Err(error) => return Err(failed(error.into())),
        }
        let note = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "process {}: {what}", std::process::id())
        };
        note(&mut file).map_err(failed)?;
        Ok(SessionLock { _file: file })
    }
}

/// The file stays when the lock goes, so that nobody locks one that was just removed; any user may
/// take the lock.
fn open(path: &Path) -> io::Result<File> {
    let there = OpenOptions::new().read(true).write(true).open(path);
    match there {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut new = OpenOptions::new();
            let file = new.read(true).write(true).create(true).truncate(false).open(path)?;
            file.set_permissions(Permissions::from_mode(0o666))?;
            Ok(file)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_second_session_is_told_who_has_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let first = SessionLock::take(&path, "rqps selftest, a longer line").unwrap();
        let error = SessionLock::take(&path, "rqps ibench").unwrap_err().to_string();
        let holder = format!("process {}: rqps selftest, a longer line", std::process::id());
        assert!(error.contains(&format!("({holder})")), "{error}");
        drop(first);
        // Until it has become another program, a child of another test holds the first's file, too.
        let deadline = Instant::now() + Duration::from_secs(100);
        let second = loop {
            match SessionLock::take(&path, "rqps ibench") {
                Err(LockError::Held { .. }) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                taken => break taken.unwrap(),
            }
        };
        let error = SessionLock::take(&path, "").unwrap_err().to_string();
        assert!(error.contains("rqps ibench)"), "nothing is left of the first: {error}");
        drop(second);
    }

    #[test]
    fn a_killed_holder_holds_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        File::create(&path).unwrap();
        let script = format!("exec 9<>{}; flock -x 9; echo held; exec sleep 60", path.display());
        let mut holder = crate::child::Script::new(&script);
        holder.line();
        assert!(matches!(SessionLock::take(&path, ""), Err(LockError::Held { .. })));
        drop(holder);
        SessionLock::take(&path, "").unwrap();
    }
}
