//! Where the data of a comparison are, by arm and load.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rqps_dbms::DbmsError;
use rqps_plan::Memory;

use crate::other_disk;

/// The data directories of a comparison.
pub(crate) struct Folders {
    of_run: PathBuf,
    /// By arm: another folder if its data are on another disk.
    of_arms: Vec<PathBuf>,
}

impl Folders {
    pub(crate) fn new(of_run: PathBuf, of_arms: Vec<PathBuf>) -> Self {
        Folders { of_run, of_arms }
    }

    /// The folder for data of an arm.
    pub(crate) fn of(&self, arm: usize) -> &Path {
        self.of_arms.get(arm).unwrap_or(&self.of_run)
    }

    /// All folders for data.
    pub(crate) fn all(&self) -> BTreeSet<&Path> {
        self.of_arms.iter().chain([&self.of_run]).map(PathBuf::as_path).collect()
    }

    /// A loaded directory whose server has been stopped.
    pub(crate) fn loaded(&self, arm: usize, load: u32) -> PathBuf {
        self.of(arm).join(format!("{arm}-load{load}"))
    }

    /// The same while it is loaded.
    pub(crate) fn unfinished(&self, arm: usize, load: u32) -> PathBuf {
        unfinished(&self.loaded(arm, load))
    }

    /// The data that a round works on.
    pub(crate) fn round(&self, arm: usize) -> PathBuf {
        self.of(arm).join(format!("{arm}-round"))
    }

    /// A note for the reader about a load, such as aborted maintenance.
    pub(crate) fn note(&self, arm: usize, load: u32) -> Option<String> {
        fs::read_to_string(beside(&self.loaded(arm, load))).ok()
    }

    /// The last existing load of an arm, of at most `most`.
    pub(crate) fn last(&self, arm: usize, most: u32) -> Option<PathBuf> {
        let loads = (1..=most).rev().map(|load| self.loaded(arm, load));
        loads.into_iter().find(|loaded| loaded.exists())
    }

    /// The folder for temporary files.
    pub(crate) fn path(&self) -> &Path {
        &self.of_run
    }

    /// Removes a load of these arms, which no round needs any more.
    pub(super) fn forget(&self, arms: impl Iterator<Item = usize>, load: u32) {
        for arm in arms {
            let loaded = self.loaded(arm, load);
            let _ = fs::remove_dir_all(&loaded);
            let _ = fs::remove_file(beside(&loaded));
        }
    }

    pub(crate) fn remove_all(&self) {
        // `rqps dbms prune` finds what cannot be removed now.
        let _ = other_disk::remove(&self.of_run);
    }
}

/// A loaded directory has another name until it is complete.
pub(super) fn unfinished(loaded: &Path) -> PathBuf {
    let mut name = loaded.as_os_str().to_owned();
    name.push(".making");
    PathBuf::from(name)
}

/// The file beside a loaded directory, in which only the DBMS writes.
pub(super) fn beside(loaded: &Path) -> PathBuf {
    loaded.with_extension("note")
}

/// Gives a round the data of a load: the loaded directory itself, or a copy. If the memory of the
/// server is limited, its files are dropped from the page cache, where they would count as rqps's
/// and not as the server's.
pub(crate) fn restore(
    from: &Path,
    to: &Path,
    is_moved: bool,
    memory: Option<Memory>,
) -> Result<(), DbmsError> {
    match is_moved {
        true => rqps_dbms::move_data(from, to)?,
        false => rqps_dbms::copy_data(from, to)?,
    }
    if memory.is_some() {
        rqps_dbms::forget_data(to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_known_of_a_load_is_beside_it_and_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let folders = Folders::new(folder.path().to_path_buf(), Vec::new());
        let loaded = folders.loaded(1, 2);
        fs::create_dir(&loaded).unwrap();
        assert_eq!(folders.note(1, 2), None, "there is nothing to know");
        fs::write(beside(&loaded), "the vacuum was given up").unwrap();
        assert_eq!(folders.note(1, 2).as_deref(), Some("the vacuum was given up"));
        assert_eq!(fs::read_dir(&loaded).unwrap().count(), 0, "only its DBMS writes there");
        assert_eq!((folders.note(0, 2), folders.note(1, 1)), (None, None), "those are other loads");
        folders.forget(0..2, 2);
        assert_eq!((folders.note(1, 2), loaded.exists()), (None, false));
    }
}
