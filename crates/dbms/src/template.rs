//! Empty data directories of fetched builds, kept for copies: creating one takes MySQL seconds, and
//! every load begins with one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rqps_system::User;
use sha2::{Digest, Sha256};

use crate::error::DbmsError;
use crate::snapshot::{Blocks, copy_directory, settle_data, written_bytes};
use crate::source::Adding;
use crate::source::installed::Installed;

/// In a build's own folder, so that it is removed with the build.
const FOLDER: &str = "rqps.empty";

/// Incremented when the contents change.
const EDITION: u32 = 2;

/// A larger one is not kept: versions of MySQL and MariaDB that write redo logs in full do so as
/// fast as these could be copied.
const MOST_BYTES: u64 = 256 << 20;

/// The place of a template, which may not exist yet.
pub(crate) struct Template {
    path: PathBuf,
}

impl Template {
    /// The template of a build for a user and these arguments. None for a user's own build: rqps
    /// writes nothing there, and it may change.
    pub(crate) fn of(
        installed: &Installed,
        user: Option<User>,
        told: &[String],
    ) -> Option<Template> {
        if installed.archives.is_empty() {
            return None;
        }
        let uid = user.map_or_else(|| rustix::process::geteuid().as_raw(), |user| user.uid);
        let mut digest = Sha256::new();
        digest.update(EDITION.to_le_bytes());
        digest.update(uid.to_le_bytes());
        // A store that was moved, or is reached by another path, has the same templates.
        let root = installed.root.to_string_lossy();
        for argument in told {
            digest.update(argument.replace(&*root, ""));
            digest.update([0]);
        }
        let name: String =
            digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Some(Template { path: installed.root.join(FOLDER).join(name) })
    }

    /// Copies it, with blocks of its own for all of every file, as a server allocates them. Returns
    /// false without a copy where there is none yet.
    pub(crate) fn copy_to(&self, data: &Path) -> Result<bool, DbmsError> {
        if !self.path.is_dir() {
            return Ok(false);
        }
        copy_directory(&self.path, data, Blocks::Own).map(|()| true)
    }

    /// Keeps a copy of a new data directory. Where this fails (another user's store, a full disk,
    /// another rqps that was first or is changing the store), the next one is created anew, or the
    /// template exists already.
    pub(crate) fn keep(&self, made: &Path) -> Option<()> {
        if written_bytes(made).ok()? > MOST_BYTES {
            return None;
        }
        let folder = self.path.parent()?;
        let builds = folder.ancestors().nth(2)?;
        let copying = Adding::begin(builds)?;
        // Files of the server's user are copied as that user.
        fs::set_permissions(copying.path(), Permissions::from_mode(0o711)).ok()?;
        let copy = copying.path().join("data");
        copy_directory(made, &copy, Blocks::Few).ok()?;
        // A power cut must not leave empty files under the final name.
        settle_data(&copy).ok()?;
        fs::create_dir_all(folder).ok()?;
        fs::rename(&copy, &self.path).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use rqps_system::Lock;

    use super::*;

    #[test]
    fn none_is_kept_while_another_rqps_changes_the_store_for_it_removes_what_is_unfinished() {
        let builds = tempfile::tempdir().unwrap();
        let template = Template { path: builds.path().join("postgres-17.6-npm/rqps.empty/1") };
        let (made, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(made.path().join("PG_VERSION"), "17").unwrap();
        let copied = copied.path().join("data");

        let other = Lock::take(File::create(builds.path().join(".lock")).unwrap()).unwrap();
        assert_eq!(template.keep(made.path()), None);
        assert!(!template.copy_to(&copied).unwrap(), "there is none");

        drop(other);
        assert_eq!(template.keep(made.path()), Some(()));
        assert!(template.copy_to(&copied).unwrap());
        assert_eq!(fs::read_to_string(copied.join("PG_VERSION")).unwrap(), "17");
        let left: Vec<_> = fs::read_dir(builds.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 2, "the lock and the build: {left:?}");
    }
}
