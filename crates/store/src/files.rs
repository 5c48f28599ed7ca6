//! Files of a folder that may come from elsewhere: only regular files in it are read and written,
//! and no link is followed.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rqps_system::{Lock, PathError};
use rustix::fs::{Access, AtFlags, CWD, OFlags, accessat};
use tempfile::NamedTempFile;

use crate::error::StoreError;

/// Prefix and suffix of files that are not complete. A crash of the machine may leave some.
const BEGUN: (&str, &str) = (".rqps-", ".new");

const LOCK: &str = "lock";
/// The contents of rqps's lock, which identify a lock that is alone in a folder.
const MARK: &str = "rqps holds a lock on this file while it works in this directory\n";

/// The longest plan or manifest, about a hundred times as long as any that rqps has written.
const LONGEST_TEXT: u64 = 64 << 20;

pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |source| StoreError::file(what, path, source)
}

/// The path of a file of a run directory. It is no link, and neither is a folder on the way to it.
pub(crate) fn own(root: &Path, name: impl AsRef<Path>) -> Result<PathBuf, StoreError> {
    rqps_system::below(root, name.as_ref()).map_err(|error| match error {
        PathError::Link(path) => StoreError::Link(path),
        PathError::Outside { named, root } => StoreError::Outside { named, root },
        PathError::Unknown { path, source } => StoreError::file("inspect", path, source),
    })
}

/// A file of a run directory, to be read.
pub(crate) fn open_own(root: &Path, name: impl AsRef<Path>) -> Result<File, StoreError> {
    let path = own(root, name)?;
    open_real(&path, File::options().read(true)).map_err(file("read", &path))
}

/// Opens a regular file: no link, and nothing that opening or reading would block on or trigger.
fn open_real(path: &Path, options: &mut fs::OpenOptions) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options.custom_flags(flags.bits() as i32).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// All of a text file of a run directory.
pub(crate) fn read_own(root: &Path, name: &str) -> Result<String, StoreError> {
    let mut bytes = Vec::new();
    let path = root.join(name);
    let mut limited = open_own(root, name)?.take(LONGEST_TEXT + 1);
    limited.read_to_end(&mut bytes).map_err(file("read", &path))?;
    if bytes.len() as u64 > LONGEST_TEXT {
        return Err(StoreError::damaged(path, "it is longer than any that rqps writes"));
    }
    String::from_utf8(bytes).map_err(|_| StoreError::damaged(path, "it is not text"))
}

/// A temporary file in a folder.
pub(crate) fn begin(folder: &Path) -> io::Result<NamedTempFile> {
    let (start, end) = BEGUN;
    // The mode of any new file, subject to the umask.
    let mode = Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(start).suffix(end).permissions(mode).tempfile_in(folder)
}

pub(crate) fn is_begun(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(BEGUN.0.as_bytes()) && name.ends_with(BEGUN.1.as_bytes())
}

/// Removes incomplete files that an earlier rqps left in a folder.
pub(crate) fn remove_begun(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| is_begun(&entry.file_name())) {
        // Files that cannot be removed do no harm.
        let _ = fs::remove_file(entry.path());
    }
}

/// Writes beside the file and renames, so that a reader never sees half of it. A link that has the
/// file's name is replaced.
pub fn write_whole(
    path: &Path,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let write = || {
        let mut fresh = begin(folder.unwrap_or(Path::new(".")))?;
        let mut out = BufWriter::new(fresh.as_file_mut());
        contents(&mut out)?;
        out.into_inner()?.sync_all()?;
        fresh.persist(path)?;
        Ok(())
    };
    write().map_err(file("write", path))
}

/// The same for a file that must not exist yet: it appears whole, or not at all.
pub(crate) fn write_new(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut fresh = begin(path.parent().unwrap_or(Path::new(".")))?;
    fresh.write_all(contents)?;
    fresh.as_file().sync_all()?;
    fresh.persist_noclobber(path)?;
    Ok(())
}

/// The right to write to a run directory, held by one process at a time and released on drop. None
/// on a file system without such locks, which does not prevent measuring.
pub(crate) fn lock(root: &Path) -> Result<Option<Lock>, StoreError> {
    let path = own(root, LOCK)?;
    let mut options = File::options();
    let held = match open_real(&path, options.read(true).write(true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match new_lock(&path) {
            // Another process was faster, and may have removed the file of this one.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound
                ) =>
            {
                open_real(&path, &mut options)
            }
            made => return made.map_err(file("create", &path)),
        },
        opened => opened,
    };
    hold(held.map_err(file("open", &path))?, root)
}

/// A lock appears with its mark and already held, so that no crash leaves an unmarked one.
fn new_lock(path: &Path) -> io::Result<Option<Lock>> {
    let mut fresh = begin(path.parent().unwrap_or(Path::new(".")))?;
    fresh.write_all(MARK.as_bytes())?;
    fresh.as_file().sync_all()?;
    let lock = Lock::take(fresh.as_file().try_clone()?).ok().and_then(Result::ok);
    fresh.persist_noclobber(path)?;
    Ok(lock)
}

fn hold(file: File, root: &Path) -> Result<Option<Lock>, StoreError> {
    match Lock::take(file) {
        Ok(Ok(lock)) => Ok(Some(lock)),
        Ok(Err(_)) => Err(StoreError::Busy(root.to_path_buf())),
        Err(_) => Ok(None),
    }
}

/// Whether a process holds the lock of a directory. Nothing is created.
pub(crate) fn is_locked(root: &Path) -> bool {
    let opened = open_real(&root.join(LOCK), File::options().read(true).write(true));
    opened.is_ok_and(|lock| hold(lock, root).is_err())
}

/// Whether a directory has a lock that rqps created.
fn has_marked_lock(root: &Path) -> bool {
    let mut text = String::new();
    let opened = open_real(&root.join(LOCK), File::options().read(true));
    let read = opened.and_then(|lock| lock.take(MARK.len() as u64 + 1).read_to_string(&mut text));
    read.is_ok() && text == MARK
}

/// Rejects a folder that could not be written to; for a missing one, the nearest existing folder
/// counts. Nothing is opened or created.
pub fn refuse_unwritable(folder: &Path) -> Result<(), StoreError> {
    let whole = std::path::absolute(folder).map_err(file("resolve", folder))?;
    let nearest = whole.ancestors().find(|above| above.symlink_metadata().is_ok());
    refuse(folder, nearest.unwrap_or(Path::new("/")), true)
}

/// The same for a file, whose folder must exist.
pub fn refuse_unwritable_file(path: &Path) -> Result<(), StoreError> {
    let whole = std::path::absolute(path).map_err(file("resolve", path))?;
    match whole.metadata() {
        Ok(_) => refuse(path, &whole, false),
        Err(_) => refuse(path, whole.parent().unwrap_or(&whole), true),
    }
}

fn refuse(path: &Path, there: &Path, is_folder: bool) -> Result<(), StoreError> {
    let checked = match (there.is_dir(), is_folder) {
        (true, true) => access(there, Access::WRITE_OK | Access::EXEC_OK),
        (false, false) => access(there, Access::WRITE_OK),
        (false, true) if there.exists() => Err(io::ErrorKind::NotADirectory.into()),
        (false, true) => Err(io::ErrorKind::NotFound.into()),
        (true, false) => Err(io::ErrorKind::IsADirectory.into()),
    };
    checked.map_err(|source| {
        let (path, there) = (path.to_path_buf(), there.to_path_buf());
        StoreError::Unwritable { path, there, source }
    })
}

fn access(path: &Path, rights: Access) -> io::Result<()> {
    Ok(accessat(CWD, path, rights, AtFlags::EACCESS)?)
}

/// Whether a directory contains only what an rqps left that was killed while it created a run: a
/// marked lock, and files named in `first`, which are written before the results.
pub(crate) fn is_free(root: &Path, first: &[&str]) -> io::Result<bool> {
    let names = fs::read_dir(root)?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<io::Result<Vec<_>>>()?;
    let is_first = |name: &OsStr| name == LOCK || first.iter().any(|first| name == *first);
    let is_known = |name: &OsStr| is_begun(name) || is_first(name);
    Ok(names.iter().all(|name| is_begun(name))
        || has_marked_lock(root) && names.iter().all(|name| is_known(name)))
}

/// The right to work in a directory of several runs, held by one process at a time and released on
/// drop. The lock is on the directory itself, so that it needs no file.
pub fn alone_in(path: &Path) -> Result<Option<Lock>, StoreError> {
    hold(File::open(path).map_err(file("open", path))?, path)
}
