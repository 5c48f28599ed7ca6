//! Sizes of the logs, or other files, in a data directory.

use std::fs;
use std::path::Path;

/// The total size of the files and directories named in `patterns`: paths below `data`, with at
/// most one `*` in the last part. Files may appear and vanish meanwhile.
pub(crate) fn bytes(data: &Path, patterns: &[&str]) -> u64 {
    let of = |pattern: &&str| {
        let (folder, name) = match pattern.rsplit_once('/') {
            Some((folder, name)) => (data.join(folder), name),
            None => (data.to_path_buf(), *pattern),
        };
        let is_meant = |found: &str| match name.split_once('*') {
            Some((start, end)) => found.starts_with(start) && found[start.len()..].ends_with(end),
            None => found == name,
        };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let meant = entries.filter(|entry| is_meant(&entry.file_name().to_string_lossy()));
        meant.map(|entry| bytes_of(&entry)).sum::<u64>()
    };
    patterns.iter().map(of).sum()
}

fn bytes_of(entry: &fs::DirEntry) -> u64 {
    match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => {
            let below = fs::read_dir(entry.path()).into_iter().flatten().flatten();
            below.map(|entry| bytes_of(&entry)).sum()
        }
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_as_a_log_counts() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("wal/archive");
        fs::create_dir_all(&folder).unwrap();
        let files = [("wal/1", 100), ("wal/archive/2", 20), ("binlog.000001", 3), ("wall", 7000)];
        for (name, size) in files {
            fs::write(data.path().join(name), vec![0; size]).unwrap();
        }
        assert_eq!(bytes(data.path(), &["wal", "binlog.*", "absent"]), 123);
        assert_eq!(bytes(data.path(), &["wal/1"]), 100);
        assert_eq!(bytes(data.path(), &["w*l"]), 7120);
    }
}
