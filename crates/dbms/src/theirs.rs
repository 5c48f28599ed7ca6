//! Work in a data directory, which its server's user may change at any time: it is done with that
//! user's rights, so that links in it do no harm.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rqps_system::{User, act_as};
use rustix::fs::OFlags;

/// Larger than any file that rqps reads there.
const LONGEST: u64 = 1 << 20;

/// The owner of a directory; none if it is rqps's own user, or if rqps cannot act as another.
pub(crate) fn owner(directory: &Path) -> io::Result<Option<User>> {
    let found = directory.symlink_metadata()?;
    let is_others = rustix::process::geteuid().is_root() && found.uid() != 0;
    Ok(is_others.then_some(User { uid: found.uid(), gid: found.gid() }))
}

/// Works in a directory as its owner.
pub(crate) fn work_in<T: Send>(
    directory: &Path,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    act_as(owner(directory)?, work)?
}

/// Opens a file for reading that may have been replaced by a link or a pipe: the link is not
/// followed, and the pipe does not block.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// A text file of the directory; none if it does not exist.
pub(crate) fn read(directory: &Path, name: &str) -> io::Result<Option<String>> {
    let path = directory.join(name);
    let read = || {
        let mut text = String::new();
        open(&path)?.take(LONGEST).read_to_string(&mut text).map(|_| text)
    };
    match work_in(directory, read) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a text file of the directory.
pub(crate) fn write(directory: &Path, name: &str, text: &str) -> io::Result<()> {
    work_in(directory, || fs::write(directory.join(name), text))
}
