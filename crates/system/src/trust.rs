//! Which users could replace a file or a folder: they would choose what runs from there, and what
//! root writes there.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A place that another user can change, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changeable {
    pub place: PathBuf,
    /// Continues a sentence about the place: `can be written by everybody`.
    pub how: String,
}

/// The first place on the way to a file or folder, by the names in its path or the links behind
/// them, that another user can change or replace. For root that is everything that is not root's.
/// Paths that do not exist yet cannot be checked.
pub fn others_can_change(path: &Path) -> Option<Changeable> {
    let real = path.canonicalize().ok();
    let mut way = path.ancestors().chain(real.iter().flat_map(|real| real.ancestors()));
    way.find_map(|place| {
        let how = changeable(&place.metadata().ok()?)?;
        Some(Changeable { place: place.to_path_buf(), how })
    })
}

fn changeable(found: &Metadata) -> Option<String> {
    let is_root = rustix::process::geteuid().is_root();
    // In a folder with the sticky bit, users can only replace their own files.
    let is_sticky = found.is_dir() && found.mode() & 0o1000 != 0;
    match (found.uid(), found.gid(), found.mode()) {
        (uid, ..) if is_root && uid != 0 => Some(format!("belongs to user {uid}")),
        _ if is_sticky => None,
        (.., mode) if mode & 0o002 != 0 => Some("can be written by everybody".to_string()),
        (_, gid, mode) if is_root && mode & 0o020 != 0 && gid != 0 => {
            Some(format!("can be written by group {gid}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn what_others_can_change_is_found_by_every_way_to_it() {
        let outer = tempfile::tempdir().unwrap();
        let (own, open) = (outer.path().join("own"), outer.path().join("open"));
        for folder in [&own, &open] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("npm"), "").unwrap();
        }
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
        let place = |path: &Path| others_can_change(path).map(|found| found.place);
        mode(&own, 0o755).unwrap();
        assert_eq!(place(&own.join("npm")), None);
        assert_eq!(place(&own.join("not/there")), None);

        mode(&open, 0o777).unwrap();
        assert_eq!(place(&open.join("npm")), Some(open.clone()));
        symlink(open.join("npm"), own.join("link")).unwrap();
        assert_eq!(place(&own.join("link")), Some(open.canonicalize().unwrap()));
        mode(&open, 0o1777).unwrap();
        assert_eq!(place(&open.join("npm")), None, "nobody else may replace what is in it");
        mode(&open.join("npm"), 0o777).unwrap();
        assert_eq!(place(&open.join("npm")), Some(open.join("npm")));
        if rustix::process::geteuid().is_root() {
            chown(own.join("npm"), Some(65533), None).unwrap();
            let found = others_can_change(&own.join("npm")).unwrap();
            assert_eq!((found.place, &*found.how), (own.join("npm"), "belongs to user 65533"));
        }
    }
}
