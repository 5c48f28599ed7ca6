//! The directory of everything that rqps keeps between runs.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rqps_system::{Changeable, is_id, others_can_change};

const FOR_ROOT: &str = "/var/cache/rqps";

/// rqps's own directory: fetched builds, downloads, data directories and running servers. It and
/// its folders have mode 0755, since servers may run as another user than rqps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error("no place for rqps's files: HOME is not set. Set RQPS_HOME to a directory")]
    Nowhere,
    #[error(
        "cannot create '{}' for rqps's files: {source}. Set RQPS_HOME to another place",
        path.display()
    )]
    Create { path: PathBuf, source: io::Error },
    #[error("'{0}' is not the id of a run: its manifest is damaged, or is not rqps's")]
    NoId(String),
    #[error(
        "'{}' is not a safe place for rqps's files: '{}' {how}, so others could change what rqps runs. \
         Set RQPS_HOME to a directory that only you can change",
        home.display(), changed.display()
    )]
    Unsafe { home: PathBuf, changed: PathBuf, how: String },
}

impl Home {
    /// `$RQPS_HOME`, else `$XDG_CACHE_HOME/rqps`, else `~/.cache/rqps`. For root, `/var/cache/rqps`
    /// replaces the last two if an unprivileged server could not reach them, or another user could
    /// change them.
    pub fn from_env() -> Result<Home, HomeError> {
        let set = |name| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        if let Some(root) = set("RQPS_HOME") {
            return Home::at(root);
        }
        let cache = set("XDG_CACHE_HOME").map(PathBuf::from).filter(|cache| cache.is_absolute());
        let cache = cache.or_else(|| set("HOME").map(|home| Path::new(&home).join(".cache")));
        let is_root = rustix::process::geteuid().is_root();
        let root = default_root(cache, is_root, |cache| {
            anyone_can_reach(cache) && others_can_change(cache).is_none()
        });
        Home::at(root.ok_or(HomeError::Nowhere)?)
    }

    /// A home at a directory of the caller's choice, which is created on first use.
    pub fn at(root: impl Into<PathBuf>) -> Result<Home, HomeError> {
        let root = root.into();
        match std::path::absolute(&root) {
            Ok(root) => Ok(Home { root }),
            Err(source) => Err(HomeError::Create { path: root, source }),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Unpacked builds, one directory each: `<dbms>-<version>-<source>`.
    pub fn builds(&self) -> Result<PathBuf, HomeError> {
        self.folder("builds")
    }

    /// Downloads, for as long as they are being unpacked.
    pub fn archives(&self) -> Result<PathBuf, HomeError> {
        self.folder("archives")
    }

    /// Data directories of servers.
    pub fn data(&self) -> Result<PathBuf, HomeError> {
        self.folder("data")
    }

    /// The folder for the data directories of a run, created if missing.
    pub fn data_of(&self, run: &str) -> Result<PathBuf, HomeError> {
        if !is_id(run) {
            return Err(HomeError::NoId(run.to_string()));
        }
        let path = self.data()?.join(run);
        match make_readable(&path) {
            Ok(()) => Ok(path),
            Err(source) => Err(HomeError::Create { path, source }),
        }
    }

    /// Logs of the servers that run without rqps.
    pub fn logs(&self) -> Result<PathBuf, HomeError> {
        self.folder("logs")
    }

    /// Builds from source, and the logs of failed ones.
    pub fn source(&self) -> Result<PathBuf, HomeError> {
        self.folder("source")
    }

    /// An empty folder, for programs that read files in their working directory.
    pub fn empty(&self) -> Result<PathBuf, HomeError> {
        self.folder("empty")
    }

    /// Folders of the servers that are running.
    pub fn run(&self) -> Result<PathBuf, HomeError> {
        self.folder("run")
    }

    fn folder(&self, name: &str) -> Result<PathBuf, HomeError> {
        let path = self.root.join(name);
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| HomeError::Create { path, source }
        };
        let refuse_unsafe = || match others_can_change(&path) {
            Some(Changeable { place, how }) => {
                Err(HomeError::Unsafe { home: self.root.clone(), changed: place, how })
            }
            None => Ok(()),
        };
        // Checked before anything is created there, and again for the folder itself.
        refuse_unsafe()?;
        if let Some(parent) = self.root.parent() {
            fs::create_dir_all(parent).map_err(failed(parent))?;
        }
        make_readable(&self.root).map_err(failed(&self.root))?;
        make_readable(&path).map_err(failed(&path))?;
        refuse_unsafe()?;
        Ok(path)
    }
}

/// Creates one directory with mode 0755 for any umask; an existing one stays as it is.
fn make_readable(path: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o755).create(path) {
        Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(0o755)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

fn default_root(
    cache: Option<PathBuf>,
    is_root: bool,
    is_good_for_root: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    match cache {
        Some(cache) if !is_root || is_good_for_root(&cache) => Some(cache.join("rqps")),
        None if !is_root => None,
        _ => Some(PathBuf::from(FOR_ROOT)),
    }
}

/// Whether every existing directory on the way lets other users pass.
fn anyone_can_reach(path: &Path) -> bool {
    let existing = path.ancestors().filter_map(|ancestor| fs::metadata(ancestor).ok());
    existing.into_iter().all(|ancestor| ancestor.mode() & 0o001 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_keeps_builds_where_an_unprivileged_server_can_read_them() {
        let cache = || Some(PathBuf::from("/home/ann/.cache"));
        let chosen = |cache, is_root, reach: bool| default_root(cache, is_root, |_| reach);
        assert_eq!(chosen(cache(), true, false), Some("/var/cache/rqps".into()));
        assert_eq!(chosen(cache(), true, true), Some("/home/ann/.cache/rqps".into()));
        assert_eq!(chosen(cache(), false, false), Some("/home/ann/.cache/rqps".into()));
        assert_eq!(chosen(None, true, true), Some("/var/cache/rqps".into()));
        assert_eq!(chosen(None, false, true), None);
    }

    #[test]
    fn a_closed_directory_on_the_way_is_seen() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("not/yet/there");
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(anyone_can_reach(&inner));
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(!anyone_can_reach(&inner));
    }

    #[test]
    fn a_place_that_others_can_change_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let mode =
            |mode| fs::set_permissions(outer.path(), fs::Permissions::from_mode(mode)).unwrap();
        let home = Home::at(outer.path().join("rqps")).unwrap();
        mode(0o777);
        let error = home.builds().unwrap_err().to_string();
        assert!(error.contains("can be written by everybody"), "{error}");
        // Like /tmp: users can only remove their own files.
        mode(0o1777);
        home.builds().unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(outer.path(), Some(65533), None).unwrap();
            let error = home.builds().unwrap_err().to_string();
            assert!(error.contains("belongs to user 65533"), "{error}");
        }
    }

    #[test]
    fn folders_are_made_readable_for_everyone() {
        let outer = tempfile::tempdir().unwrap();
        let home = Home::at(outer.path().join("deep/rqps")).unwrap();
        for folder in [home.builds(), home.archives(), home.data(), home.run()] {
            let folder = folder.unwrap();
            assert!(folder.starts_with(home.root()));
            assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o755);
        }
        assert_eq!(fs::metadata(home.root()).unwrap().mode() & 0o777, 0o755);
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let outer = tempfile::tempdir().unwrap();
        let file = outer.path().join("rqps");
        fs::write(&file, "").unwrap();
        let error = Home::at(&file).unwrap().builds().unwrap_err().to_string();
        assert!(error.contains("/rqps'") && error.contains("RQPS_HOME"), "{error}");
    }
}
