//! A folder for each server that rqps starts: its configuration, which only rqps may write, the
//! folder of its socket, which only the server's user and rqps may enter, and two locks.
//!
//! A lock is held while its process lives (flock(2)). Other processes can check that even where
//! they do not see its pid, as in two containers with one store.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::RawFd;
use std::os::unix::fs::{
    DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown, symlink,
};
use std::path::{Path, PathBuf};
use std::process::Command;

use command_fds::{CommandFdExt, FdMapping};
use rqps_system::{User, private_folder};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::error::DbmsError;
use crate::home::Home;

/// The longest path of a Unix socket, in bytes.
const LONGEST_SOCKET_PATH: usize = 107;
/// The longest name of a DBMS's socket.
const SOCKET_NAME: &str = "/.s.PGSQL.65535";

/// The first file descriptor after input, output and errors.
const LOCK_FD: RawFd = 3;

const PREFIX: &str = "s-";
const SOCKET: &str = "socket";
/// Locked by the rqps that owns the server.
const OWNER: &str = "owner";
/// Locked by the server and all its processes.
const SERVER: &str = "server";

/// The folder of a server that this process starts; this rqps holds its owner's lock.
pub(crate) struct ServerFolder {
    path: PathBuf,
    socket: PathBuf,
    user: Option<User>,
    _owner: File,
}

impl ServerFolder {
    pub(crate) fn make(home: &Home, user: Option<User>) -> Result<Self, DbmsError> {
        let run = home.run()?;
        // Cleaning up does not take the folder for an abandoned one before its lock is held.
        let _making = alone_in(&run)?;
        let passable = Permissions::from_mode(0o711);
        let made = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&run);
        let made = made.map_err(DbmsError::file("create a folder in", &run))?;
        let path = made.path().to_path_buf();
        fs::set_permissions(&path, passable).map_err(DbmsError::file("create", &path))?;
        let owner = locked(&path.join(OWNER))?;
        let socket = socket_folder(&path, user)?;
        Ok(ServerFolder { path: made.keep(), socket, user, _owner: owner })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder for the server's socket.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Writes a file of settings, which the server may read.
    pub(crate) fn configure(&self, name: &str, text: &str) -> Result<PathBuf, DbmsError> {
        let path = self.path.join(name);
        let write = || {
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(text.as_bytes())?;
            if let Some(user) = self.user {
                fchown(&file, None, Some(user.gid))?;
                file.set_permissions(Permissions::from_mode(0o640))?;
            }
            Ok(())
        };
        write().map_err(DbmsError::file("write", &path))?;
        Ok(path)
    }

    /// Makes the server that a command starts hold a lock while any of its processes lives: it
    /// inherits the open file. (Not as its input: MariaDB closes that.)
    pub(crate) fn lend_lock(&self, command: &mut Command) -> Result<(), DbmsError> {
        let lock = locked(&self.path.join(SERVER))?;
        let mapping = FdMapping { parent_fd: lock.into(), child_fd: LOCK_FD };
        command.fd_mappings(vec![mapping]).expect("one file goes to one number");
        Ok(())
    }
}

/// The folder in which the server creates its socket: here or, where the path is too long for a
/// socket, among temporary files, with a link to it.
fn socket_folder(folder: &Path, user: Option<User>) -> Result<PathBuf, DbmsError> {
    let mut path = folder.join(SOCKET);
    if path.as_os_str().len() + SOCKET_NAME.len() > LONGEST_SOCKET_PATH {
        let link = path;
        path = private_folder().map_err(DbmsError::file("create a folder for", &link))?.keep();
        symlink(&path, &link).map_err(DbmsError::file("create", &link))?;
    } else {
        DirBuilder::new().mode(0o700).create(&path).map_err(DbmsError::file("create", &path))?;
    }
    give(&path, user).map_err(DbmsError::file("change the owner of", &path))?;
    Ok(path)
}

/// Gives a new folder to a user only.
pub(crate) fn give(folder: &Path, user: Option<User>) -> io::Result<()> {
    let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits() as i32;
    let folder = OpenOptions::new().read(true).custom_flags(flags).open(folder)?;
    if let Some(user) = user {
        fchown(&folder, Some(user.uid), Some(user.gid))?;
    }
    folder.set_permissions(Permissions::from_mode(0o700))
}

/// The right to create and remove folders, held by one process at a time.
pub(crate) fn alone_in(run: &Path) -> Result<File, DbmsError> {
    let lock = File::open(run).map_err(DbmsError::file("open", run))?;
    match flock(&lock, FlockOperation::LockExclusive) {
        // A file system without locks does not prevent work.
        Ok(()) | Err(Errno::NOLCK | Errno::OPNOTSUPP) => Ok(lock),
        Err(error) => Err(DbmsError::file("lock", run)(error.into())),
    }
}

fn locked(path: &Path) -> Result<File, DbmsError> {
    let make = || {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        // For reading only, so that the server cannot write to it.
        let file = File::open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) | Err(Errno::NOLCK | Errno::OPNOTSUPP) => Ok(file),
            Err(error) => Err(error.into()),
        }
    };
    make().map_err(DbmsError::file("lock", path))
}

/// Whose lock is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whose {
    Owner,
    Server,
}

/// Whether a lock is held, so that its process lives; none if unknown.
pub(crate) fn is_held(folder: &Path, whose: Whose) -> Option<bool> {
    let name = match whose {
        Whose::Owner => OWNER,
        Whose::Server => SERVER,
    };
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    match OpenOptions::new().read(true).custom_flags(flags).open(folder.join(name)) {
        Ok(lock) => match flock(&lock, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Some(false),
            Err(Errno::WOULDBLOCK) => Some(true),
            Err(_) => None,
        },
        // The file is created before the process that would hold its lock.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(false),
        Err(_) => None,
    }
}

/// The folders of all servers in a store.
pub(crate) fn all(run: &Path) -> Result<Vec<PathBuf>, DbmsError> {
    let entries = fs::read_dir(run).map_err(DbmsError::file("read", run))?;
    let is_ours = |entry: &fs::DirEntry| {
        let is_named_so = entry.file_name().to_string_lossy().starts_with(PREFIX);
        is_named_so && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    let mut all: Vec<PathBuf> =
        entries.flatten().filter(is_ours).map(|entry| entry.path()).collect();
    all.sort();
    Ok(all)
}

/// Removes a server's folder, and that of its socket.
pub(crate) fn remove(folder: &Path) {
    let link = folder.join(SOCKET);
    if let Ok(socket) = fs::read_link(&link)
        && is_of_a_socket(&socket)
    {
        let _ = fs::remove_dir_all(&socket);
    }
    // A folder that is gone already need not be removed.
    let _ = fs::remove_dir_all(folder);
}

/// Whether rqps can have created a folder for a socket among temporary files. A store from
/// elsewhere may name any folder.
fn is_of_a_socket(folder: &Path) -> bool {
    let name = folder.file_name().map(|name| name.to_string_lossy());
    let Ok(found) = folder.symlink_metadata() else { return false };
    let only_sockets = || {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.into_iter().all(|name| name.starts_with(".s.PGSQL.") || name.starts_with("mysql."))
    };
    name.is_some_and(|name| name.starts_with("rqps-"))
        && found.is_dir()
        && found.mode() & 0o777 == 0o700
        && only_sockets()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path().join("home")).unwrap();
        (directory, home)
    }

    #[test]
    fn a_lock_tells_for_as_long_as_somebody_has_it() {
        let (_directory, home) = home();
        let folder = ServerFolder::make(&home, None).unwrap();
        let path = folder.path().to_path_buf();
        assert_eq!(is_held(&path, Whose::Owner), Some(true));
        assert_eq!(is_held(&path, Whose::Server), Some(false), "none is started yet");
        // Its child keeps running.
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & echo $!"]).stdout(Stdio::piped());
        folder.lend_lock(&mut command).unwrap();
        let mut server = command.spawn().unwrap();
        drop(command);
        let mut child = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut child).unwrap();
        server.wait().unwrap();
        assert_eq!(is_held(&path, Whose::Server), Some(true));
        let child = Pid::from_raw(child.trim().parse().unwrap()).unwrap();
        kill_process(child, Signal::KILL).unwrap();
        while is_held(&path, Whose::Server) == Some(true) {
            std::thread::yield_now();
        }
        drop(folder);
        // What another test starts has a copy of the lock until it executes its program.
        while is_held(&path, Whose::Owner) == Some(true) {
            std::thread::yield_now();
        }
        remove(&path);
        assert!(all(&home.run().unwrap()).unwrap().is_empty());
    }

    #[test]
    fn a_long_path_has_its_socket_elsewhere_and_both_go() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path().join("long/".repeat(20))).unwrap();
        let folder = ServerFolder::make(&home, None).unwrap();
        let socket = folder.socket().to_path_buf();
        assert!(socket.as_os_str().len() + SOCKET_NAME.len() <= LONGEST_SOCKET_PATH);
        assert_eq!(fs::metadata(&socket).unwrap().mode() & 0o777, 0o700);
        remove(folder.path());
        assert!(!socket.exists() && !folder.path().exists());
    }

    #[test]
    fn a_store_from_elsewhere_has_nothing_removed_that_rqps_did_not_make() {
        let (directory, home) = home();
        let theirs = directory.path().join("rqps-theirs");
        fs::create_dir(&theirs).unwrap();
        fs::set_permissions(&theirs, Permissions::from_mode(0o700)).unwrap();
        fs::write(theirs.join("thesis"), "").unwrap();
        let folder = home.run().unwrap().join("s-hostile");
        fs::create_dir(&folder).unwrap();
        symlink(&theirs, folder.join(SOCKET)).unwrap();
        remove(&folder);
        assert!(theirs.join("thesis").exists() && !folder.exists());
    }
}
