//! The file with all options that RocksDB writes when it opens a database: the only place where it
//! says what is in force, and its version.

use std::fs;
use std::path::{Path, PathBuf};

use crate::WorkerError;
use crate::settings::full_name;

const PREFIX: &str = "OPTIONS-";

/// The newest one of a database.
pub(crate) fn newest(folder: &Path) -> Result<PathBuf, WorkerError> {
    let at = |source| WorkerError::File { path: folder.to_path_buf(), source };
    let names = fs::read_dir(folder).map_err(at)?.flatten().map(|entry| entry.file_name());
    // While one is written it has another name, with more than a number.
    let numbered = names.filter_map(|name| {
        let number: u64 = name.to_str()?.strip_prefix(PREFIX)?.parse().ok()?;
        Some((number, name))
    });
    let newest = numbered.max().ok_or(WorkerError::NoVersion)?;
    Ok(folder.join(newest.1))
}

/// The names and values of its sections.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let mut section = "";
    text.lines().filter_map(move |line| {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[') {
            // `[CFOptions "default"]`
            section = name.split([' ', ']']).next().unwrap_or_default();
            return None;
        }
        let (name, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
        Some((section, name, value))
    })
}

/// `10.4.2`
pub(crate) fn version(text: &str) -> Option<String> {
    let found = lines(text).find(|line| (line.0, line.1) == ("Version", "rocksdb_version"))?;
    Some(found.2.to_string())
}

/// All options by the names that settings have.
pub(crate) fn options(text: &str) -> Vec<(String, String)> {
    let option = |(section, name, value): (&str, &str, &str)| {
        Some((full_name(section, name)?, value.to_string()))
    };
    lines(text).filter_map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# a comment = none\n[Version]\n  rocksdb_version=10.4.2\n  \
                        options_file_version=1.1\n\n[DBOptions]\n  max_open_files=-1\n\
                        [CFOptions \"default\"]\n  compaction_options_universal={size_ratio=1;}\n\
                        [TableOptions/BlockBasedTable \"default\"]\n  block_size=4096\n";

    #[test]
    fn version_and_options_are_read_from_their_sections() {
        assert_eq!(version(TEXT).as_deref(), Some("10.4.2"));
        let options = options(TEXT);
        let named = |name: &str| options.iter().find(|it| it.0 == name).map(|it| it.1.as_str());
        assert_eq!(named("max_open_files"), Some("-1"));
        assert_eq!(named("compaction_options_universal"), Some("{size_ratio=1;}"));
        assert_eq!(named("block_based_table_factory.block_size"), Some("4096"));
        assert_eq!(options.len(), 3, "the version is no option");
    }

    #[test]
    fn the_newest_file_is_the_one_with_the_largest_number() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["OPTIONS-000009", "OPTIONS-000010", "OPTIONS-000011.dbtmp", "CURRENT"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(newest(folder.path()).unwrap(), folder.path().join("OPTIONS-000010"));
    }
}
