//! The disk of a contender's data: `process.data=/mnt/fast`. In a run, rqps makes a folder of its
//! own there.

use std::path::{Path, PathBuf};

use rqps_system::others_can_change;

/// A folder in which rqps may work; an error if another user could put something else there.
pub(super) fn parse(value: &str) -> Result<PathBuf, String> {
    let folder = Path::new(value);
    if !folder.is_absolute() {
        return Err("write the whole path of the folder".to_string());
    }
    let real = folder.canonicalize().map_err(|error| error.to_string())?;
    // Paths are kept as lines.
    if real.to_str().is_none_or(|path| path.contains('\n')) {
        return Err("its path is not UTF-8 or contains a line feed".to_string());
    }
    if !real.is_dir() {
        return Err("it is no folder".to_string());
    }
    match others_can_change(folder) {
        Some(found) => Err(format!(
            "'{}' {}, who could put another folder in its place. Use one that only {} can change",
            found.place.display(),
            found.how,
            if rustix::process::geteuid().is_root() { "root" } else { "you" }
        )),
        None => Ok(real),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_that_others_can_change_is_refused_and_so_is_what_is_none() {
        let outer = tempfile::tempdir().unwrap();
        let (own, open, file) =
            (outer.path().join("own"), outer.path().join("open"), outer.path().join("file"));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&open).unwrap();
        fs::write(&file, "").unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        let refused = |path: &Path| parse(path.to_str().unwrap()).unwrap_err();
        assert_eq!(parse(own.to_str().unwrap()), Ok(own.canonicalize().unwrap()));
        assert!(refused(&open).contains("can be written by everybody"), "{}", refused(&open));
        assert_eq!(refused(&file), "it is no folder");
        assert!(refused(&outer.path().join("none")).contains("No such file"));
        assert_eq!(refused(Path::new("data")), "write the whole path of the folder");
    }
}
