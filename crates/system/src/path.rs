//! Paths named in a file: a file from elsewhere must not decide what is read, written or removed.

use std::io;
use std::path::{Component, Path, PathBuf};

/// Why a path that came from a file is not used.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    #[error("'{}' is not a path below '{}'", named.display(), root.display())]
    Outside { named: PathBuf, root: PathBuf },
    #[error("'{}' is a symbolic link, but must be a file of rqps's own", .0.display())]
    Link(PathBuf),
    #[error("cannot inspect '{}': {source}", path.display())]
    Unknown { path: PathBuf, source: io::Error },
}

/// The path that a file names, if it leads to something below `root` through real folders only: it
/// has no `..`, and neither it nor a folder in between is a symbolic link. An absolute path may
/// begin with `root`. The path need not exist.
pub fn below(root: &Path, named: &Path) -> Result<PathBuf, PathError> {
    let outside = || PathError::Outside { named: named.to_path_buf(), root: root.to_path_buf() };
    let inside = match named.is_absolute() {
        true => named.strip_prefix(root).map_err(|_| outside())?,
        false => named,
    };
    let mut path = root.to_path_buf();
    let mut parts = inside.components().peekable();
    if parts.peek().is_none() {
        return Err(outside());
    }
    for part in parts {
        let Component::Normal(part) = part else { return Err(outside()) };
        path.push(part);
        match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => return Err(PathError::Link(path)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(PathError::Unknown { path, source }),
        }
    }
    Ok(path)
}

/// Whether a text has the form of rqps's own ids, and so can be a part of a path: ASCII letters,
/// digits and dashes, at most 100.
pub fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (1..=100).contains(&text.len()) && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_what_lies_below_by_real_folders_is_taken() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        fs::create_dir_all(root.join("real")).unwrap();
        symlink(outer.path(), root.join("link")).unwrap();
        symlink("/etc/passwd", root.join("real/file")).unwrap();

        let takes = |named: &str| below(&root, Path::new(named));
        assert_eq!(takes("real/new").unwrap(), root.join("real/new"));
        assert_eq!(takes("not/there/yet").unwrap(), root.join("not/there/yet"));
        assert_eq!(takes(root.join("real").to_str().unwrap()).unwrap(), root.join("real"));
        for outside in ["", ".", "..", "real/../../x", "../root/real", "/etc/passwd", "/"] {
            assert!(matches!(takes(outside), Err(PathError::Outside { .. })), "{outside}");
        }
        assert!(matches!(takes(root.to_str().unwrap()), Err(PathError::Outside { .. })));
        for link in ["link", "link/x", "real/file"] {
            assert!(matches!(takes(link), Err(PathError::Link(_))), "{link}");
        }
    }

    #[test]
    fn an_id_is_no_path() {
        assert!(is_id("20261126T131642-77-0") && is_id("selftest-1"));
        for no in ["", ".", "..", "a/b", "a b", "a.b", "ü", "x\n", &"a".repeat(101)] {
            assert!(!is_id(no), "{no}");
        }
    }
}
