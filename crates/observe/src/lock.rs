//! One measuring session on a host at a time, since two would measure each other.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rqps_system::Lock;
use rustix::fs::{Access, OFlags, access};

/// The folder for locks of the host, shared by all users.
const LOCKS: &str = "/run/lock";

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another session is measuring on this machine ({holder}). Wait for it, or end it")]
    Held { holder: String },
    #[error("cannot lock '{}': {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Held until dropped. The kernel releases it if the process is killed.
#[derive(Debug)]
pub struct SessionLock {
    _lock: Lock,
}

impl SessionLock {
    /// The path of this host's lock. Every user can create and take it, so nothing is ever written
    /// to it, and no link is followed.
    pub fn host_path() -> PathBuf {
        const NAME: &str = "rqps-session.lock";
        let locks = Path::new(LOCKS);
        // Some systems let only root create files there.
        let is_ours = locks.join(NAME).is_file() || access(locks, Access::WRITE_OK).is_ok();
        let folder = if is_ours { locks.into() } else { std::env::temp_dir() };
        folder.join(NAME)
    }

    pub fn take(path: &Path) -> Result<SessionLock, LockError> {
        let failed = |source: io::Error| LockError::File { path: path.to_path_buf(), source };
        let file = open(path).map_err(failed)?;
        match Lock::take(file).map_err(failed)? {
            Ok(lock) => Ok(SessionLock { _lock: lock }),
            Err(held) => Err(LockError::Held { holder: holder(&held) }),
        }
    }
}

/// The file stays when the lock is released, so that no process locks a removed file.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let there = || OpenOptions::new().read(true).custom_flags(flags).open(path);
    let made = || {
        let mut options = OpenOptions::new();
        let new = options.write(true).create_new(true).open(path)?;
        // Other users open it for reading to lock it.
        new.set_permissions(Permissions::from_mode(0o644))
    };
    let file = match there() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match made() {
            // Another session was faster.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => there()?,
        },
        there => there?,
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file. Remove it")),
    }
}

/// The holder of a lock, from the kernel (proc_locks(5)): `1: FLOCK ADVISORY WRITE 77 fe:01:1234
/// 0 EOF`.
fn holder(file: &File) -> String {
    let unknown = || "a process that is not visible from here".to_string();
    let Ok(inode) = file.metadata().map(|found| found.ino()) else { return unknown() };
    // While other locks change, a reading may skip a line of the table.
    let pid = (0..5).find_map(|_| {
        let locks = fs::read_to_string("/proc/locks").ok()?;
        locks.lines().find_map(|line| holder_in(line, inode))
    });
    let Some(pid) = pid else { return unknown() };
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    // The program and its verb only, since arguments may contain anything.
    let words = command.split(|byte| *byte == 0).take(2).map(String::from_utf8_lossy);
    let words = words.map(|word| word.rsplit('/').next().unwrap_or_default().to_string());
    format!("process {pid}: {}", words.collect::<Vec<_>>().join(" "))
}

/// The process of a line about this file; 0 is one that is not visible from here.
fn holder_in(line: &str, inode: u64) -> Option<u32> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let file = fields.get(5)?.rsplit(':').next()?.parse();
    let is_it = fields[1] == "FLOCK" && file == Ok(inode);
    fields[4].parse().ok().filter(|pid| is_it && *pid > 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_second_session_is_told_who_has_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let first = SessionLock::take(&path).unwrap();
        let error = SessionLock::take(&path).unwrap_err().to_string();
        assert!(error.contains(&format!("(process {}: ", std::process::id())), "{error}");
        drop(first);
        // Until its exec, a child of another test holds the file of the first, too.
        let deadline = Instant::now() + Duration::from_secs(100);
        while let Err(LockError::Held { .. }) = SessionLock::take(&path) {
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    }

    #[test]
    fn a_killed_holder_holds_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        File::create(&path).unwrap();
        let script = format!("exec 9<>{}; flock -x 9; echo held; exec sleep 60", path.display());
        let mut holder = crate::child::Script::new(&script);
        holder.line();
        assert!(matches!(SessionLock::take(&path), Err(LockError::Held { .. })));
        drop(holder);
        SessionLock::take(&path).unwrap();
    }

    #[test]
    fn what_another_user_put_in_its_place_is_neither_followed_nor_written_nor_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let (path, theirs) = (directory.path().join("lock"), directory.path().join("theirs"));
        fs::write(&theirs, "precious").unwrap();
        fs::hard_link(&theirs, &path).unwrap();
        drop(SessionLock::take(&path));
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "precious");

        fs::remove_file(&path).unwrap();
        symlink(directory.path().join("new"), &path).unwrap();
        assert!(matches!(SessionLock::take(&path), Err(LockError::File { .. })));
        assert!(!directory.path().join("new").exists());

        fs::remove_file(&path).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        let error = SessionLock::take(&path).unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }
}
