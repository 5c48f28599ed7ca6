//! Folders for files that no other user may see or create.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::{env, io};

use tempfile::TempDir;

/// A new folder that only this user can enter, removed on drop: in `$XDG_RUNTIME_DIR` if that is
/// this user's own, else among temporary files.
pub fn private_folder() -> io::Result<TempDir> {
    let mode = Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix("rqps-").permissions(mode).tempdir_in(parent())
}

fn parent() -> PathBuf {
    let own = |folder: &PathBuf| {
        let found = folder.symlink_metadata();
        found.is_ok_and(|found| {
            let is_own = found.uid() == rustix::process::geteuid().as_raw();
            folder.is_absolute() && found.is_dir() && is_own && found.mode() & 0o077 == 0
        })
    };
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    runtime.filter(own).unwrap_or_else(env::temp_dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_can_enter_it_and_it_goes() {
        let folder = private_folder().unwrap();
        let path = folder.path().to_path_buf();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        drop(folder);
        assert!(!path.exists());
    }
}
