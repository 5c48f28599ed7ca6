//! Files and folders that a capture makes, so that nothing is left of one that fails.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::CaptureError;

/// What was made, in its order. Only its owner can read it, since it has values of production.
#[derive(Debug, Default)]
pub(super) struct MadeFiles {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl MadeFiles {
    /// Makes a folder, which must not exist.
    pub(super) fn folder(&mut self, path: &Path) -> Result<(), CaptureError> {
        let done = DirBuilder::new().mode(0o700).create(path);
        done.map_err(|source| unmade(path, source))?;
        self.folders.push(path.to_path_buf());
        Ok(())
    }

    /// Makes a file, which must not exist.
    pub(super) fn file(&mut self, path: &Path) -> Result<File, CaptureError> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(path);
        let file = file.map_err(|source| unmade(path, source))?;
        self.files.push(path.to_path_buf());
        Ok(file)
    }

    pub(super) fn text(&mut self, path: &Path, text: &str) -> Result<(), CaptureError> {
        let done = self.file(path)?.write_all(text.as_bytes());
        done.map_err(|source| unmade(path, source))
    }

    /// Removes what was made, and nothing else: a folder with files of others stays.
    pub(super) fn undo(self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn unmade(path: &Path, source: io::Error) -> CaptureError {
    CaptureError::Written { path: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_was_made_can_be_undone_and_files_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (shop, load) = (folder.path().join("shop"), folder.path().join("shop/load"));
        let mut made = MadeFiles::default();
        made.folder(&shop).unwrap();
        made.folder(&load).unwrap();
        made.text(&load.join("a.csv"), "id\n").unwrap();
        assert_eq!(load.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let mode = load.join("a.csv").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(made.file(&load.join("a.csv")).is_err(), "nothing is overwritten");
        fs::write(shop.join("notes"), "mine").unwrap();
        made.undo();
        assert!(!load.exists());
        assert_eq!(fs::read_to_string(shop.join("notes")).unwrap(), "mine");
        let mut made = MadeFiles::default();
        assert!(made.folder(&shop).is_err(), "it is not taken over");
        made.undo();
        assert!(shop.exists());
    }
}
