//! The files of a folder by their contents, so that a resumed run measures what it began with.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use rqps_system::below;
use sha2::{Digest, Sha256};

use super::dump::is_dump_folder;
use super::faults::FolderError;

/// Folders of a folder that are read.
const FOLDERS: [&str; 3] = ["load", "params", "queries"];

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 20;

/// The SHA-256 of each file that is read for any DBMS, in hexadecimal digits, and the bytes of the
/// data.
pub(super) fn digests(root: &Path) -> Result<(BTreeMap<String, String>, u64), FolderError> {
    let (mut all, mut bytes) = (BTreeMap::new(), 0);
    if let (true, Some(folder), Some(name)) = (root.is_file(), root.parent(), root.file_name()) {
        let file = name.to_string_lossy().into_owned();
        let (digest, bytes) = digest(folder, &file)?;
        return Ok((BTreeMap::from([(file, digest)]), bytes));
    }
    for folder in std::iter::once("").chain(FOLDERS) {
        let path = root.join(folder);
        if !path.exists() {
            continue;
        }
        let wrong = |error: io::Error| FolderError::new(folder, format!("cannot read it: {error}"));
        for entry in fs::read_dir(&path).map_err(wrong)? {
            let name = entry.map_err(wrong)?.file_name().to_string_lossy().into_owned();
            let file = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let is_read =
                FOLDERS.contains(&folder) || file.ends_with(".sql") || file.ends_with(".toml");
            if is_read && !file.starts_with('.') && !file.contains("/.") {
                for file in files_of(root, file)? {
                    let (digest, length) = digest(root, &file)?;
                    bytes += if folder == "load" { length } else { 0 };
                    all.insert(file, digest);
                }
            }
        }
    }
    Ok((all, bytes))
}

/// The file itself, or the files of a dump that is a folder.
fn files_of(root: &Path, file: String) -> Result<Vec<String>, FolderError> {
    let path = root.join(&file);
    if !is_dump_folder(&path) {
        return Ok(vec![file]);
    }
    let wrong = |error: io::Error| FolderError::new(&file, format!("cannot read it: {error}"));
    let entries = fs::read_dir(&path).map_err(wrong)?;
    let names = entries.map(|entry| entry.map(|it| it.file_name().to_string_lossy().into_owned()));
    let names = names.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    Ok(names.into_iter().map(|name| format!("{file}/{name}")).collect())
}

fn digest(root: &Path, file: &str) -> Result<(String, u64), FolderError> {
    let path = below(root, Path::new(file)).map_err(|it| FolderError::new(file, it.to_string()))?;
    let wrong = |error: io::Error| FolderError::new(file, format!("cannot read it: {error}"));
    let mut hasher = Sha256::new();
    let mut reader = BufReader::with_capacity(CHUNK, File::open(path).map_err(wrong)?);
    let mut length = 0;
    loop {
        let chunk = reader.fill_buf().map_err(wrong)?;
        if chunk.is_empty() {
            break;
        }
        hasher.update(chunk);
        let bytes = chunk.len();
        length += bytes as u64;
        reader.consume(bytes);
    }
    let digits = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((digits, length))
}

/// An error if a file is not what it was.
pub(super) fn check_unchanged(
    root: &Path,
    before: &BTreeMap<String, String>,
) -> Result<(), FolderError> {
    let (now, _) = digests(root)?;
    let differs = |file: &&String| now.get(*file) != before.get(*file);
    match before.keys().chain(now.keys()).find(differs) {
        None => Ok(()),
        Some(file) => {
            let what = "it has changed since this run began. Restore it, or begin another run";
            Err(FolderError::new(file, what))
        }
    }
}
