//! Whose files a folder has.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rqps_system::User;

/// The user that reads the files of a folder: its owner, where that is not rqps's own user.
pub(super) fn owner(folder: &Path) -> io::Result<Option<User>> {
    let found = folder.metadata()?;
    let is_foreign = rustix::process::geteuid().is_root() && found.uid() != 0;
    Ok(is_foreign.then_some(User { uid: found.uid(), gid: found.gid() }))
}
