//! The files of this repository, for tests that read them.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a folder whose names have this ending.
pub(crate) fn add_files(folder: &Path, ending: &str, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_files(&path, ending, into);
        } else if path.extension().is_some_and(|it| it == ending) {
            into.push(path);
        }
    }
}
