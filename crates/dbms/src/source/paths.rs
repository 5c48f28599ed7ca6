//! Names and folders of files in messages.

use std::path::Path;

/// The start of the names of folders that are being filled or removed.
pub(super) const UNFINISHED: &str = ".tmp-";

/// The permanent folder around a path in an unfinished one, for messages.
pub(super) fn lasting(path: &Path) -> &Path {
    let is_unfinished = |path: &&Path| file_name(path).starts_with(UNFINISHED);
    path.ancestors().find(is_unfinished).and_then(Path::parent).unwrap_or(path)
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
