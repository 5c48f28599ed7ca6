//! The store of fetched builds: a folder for each, which is complete once it has its name.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rqps_plan::{Dbms, Flags, Source};
use rqps_system::Lock;
use rustix::fs::syncfs;
use tempfile::TempDir;

use super::error::{SourceError, at};
use super::installed::Installed;
use super::paths::UNFINISHED;
use super::progress::{Progress, Tell};
use super::{layout, probe, version};
use crate::descriptor::FlagsIn;
use crate::home::Home;
use crate::registry::descriptor;

/// The description in a build's folder; written last.
const DESCRIPTION: &str = "installed.json";
/// Files in a build's folder that are not its own.
pub(super) const BUILD_FILES: [&str; 2] = [DESCRIPTION, "build.log"];

/// A version's complete build in the store, if it exists. No process is started.
pub(super) fn find(
    home: &Home,
    dbms: Dbms,
    version: &str,
    source: &Source,
) -> Result<Option<Installed>, SourceError> {
    Ok(described(&home.builds()?.join(name(dbms, version, source))))
}

/// The build in a folder of the store.
pub(super) fn find_folder(home: &Home, folder: &str) -> Result<Option<Installed>, SourceError> {
    Ok(read(&home.builds()?.join(folder)))
}

/// All builds in the store, by DBMS and newest first.
pub(super) fn builds(home: &Home) -> Result<Vec<Installed>, SourceError> {
    let folder = home.builds()?;
    let entries = fs::read_dir(&folder).map_err(at(&folder))?;
    let mut builds: Vec<Installed> =
        entries.flatten().filter_map(|entry| described(&entry.path())).collect();
    builds.sort_by(|a, b| {
        let newest_first = || version::compare(&b.version, &a.version);
        a.dbms.cmp(&b.dbms).then_with(newest_first).then_with(|| a.source.cmp(&b.source))
    });
    Ok(builds)
}

/// A build's description, completed once with facts that the rqps that fetched it did not record.
/// Nothing else writes into a named build, and every rqps would add the same.
fn described(root: &Path) -> Option<Installed> {
    let mut installed = read(root)?;
    let is_of_code = descriptor(installed.dbms, None).flags == FlagsIn::Code;
    let is_complete = |flags: &Flags| flags.crc32.is_some() || !is_of_code;
    if !installed.flags.as_ref().is_some_and(is_complete) {
        let unreadable = |error: SourceError| Flags::unknown(error.to_string());
        let flags = probe::flags(&installed).unwrap_or_else(unreadable);
        installed.compiler = flags.compiler.clone().or(installed.compiler);
        installed.flags = Some(flags);
        // In another user's store it is read each time.
        let _ = describe(root, &installed);
    }
    Some(installed)
}

fn describe(root: &Path, installed: &Installed) -> Result<(), SourceError> {
    let description = root.join(DESCRIPTION);
    let text = serde_json::to_string_pretty(installed).map_err(io::Error::from);
    let text = text.map_err(at(&description))?;
    replace(&description, |mut file| {
        file.write_all(text.as_bytes())?;
        file.set_permissions(fs::Permissions::from_mode(0o644))
    })
}

fn read(root: &Path) -> Option<Installed> {
    if root.file_name()?.to_str()?.starts_with('.') {
        return None;
    }
    let text = fs::read_to_string(root.join(DESCRIPTION)).ok()?;
    let mut installed: Installed = serde_json::from_str(&text).ok()?;
    // The store may have been moved.
    installed.root = root.to_path_buf();
    layout::server(installed.dbms, root).ok()?;
    Some(installed)
}

fn name(dbms: Dbms, version: &str, source: &Source) -> String {
    format!("{dbms}-{version}-{source}")
}

/// The right to change the store, held by one process at a time; released on drop, and by the
/// kernel when the process dies.
pub(super) struct Changing<'a> {
    home: &'a Home,
    builds: PathBuf,
    _lock: Lock,
}

impl Changing<'_> {
    /// Waits for the right, and removes unfinished folders of others.
    pub(super) fn begin<'a>(home: &'a Home, tell: &mut Tell) -> Result<Changing<'a>, SourceError> {
        let builds = home.builds()?;
        let (path, mut file) = lock_file(&builds)?;
        let lock = loop {
            match Lock::take(file).map_err(at(&path))? {
                Ok(lock) => break lock,
                Err(held) => file = held,
            }
            tell(Progress::Waiting)?;
            thread::sleep(Duration::from_millis(50));
        };
        let changing = Changing { home, builds, _lock: lock };
        for folder in [&changing.builds, &home.archives()?] {
            for entry in fs::read_dir(folder).map_err(at(folder))?.flatten() {
                if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                    fs::remove_dir_all(entry.path()).map_err(at(&entry.path()))?;
                }
            }
        }
        Ok(changing)
    }

    pub(super) fn home(&self) -> &Home {
        self.home
    }

    /// The folder with the builds.
    pub(super) fn builds(&self) -> &Path {
        &self.builds
    }

    /// A folder for downloads that only this user can enter, removed with its contents on drop.
    pub(super) fn downloads(&self) -> Result<TempDir, SourceError> {
        unfinished(&self.home.archives()?, 0o700)
    }

    /// A folder for unpacking a build, removed when dropped before [`Changing::finish`].
    pub(super) fn build(&self) -> Result<TempDir, SourceError> {
        // Another user runs its programs to ask for their versions.
        unfinished(&self.builds, 0o755)
    }

    /// Removes a build of the store.
    pub(super) fn remove(&self, root: &Path) -> Result<(), SourceError> {
        if root.parent() != Some(&self.builds) || read(root).is_none() {
            return Err(SourceError::NotOurs(root.to_path_buf()));
        }
        // Renamed first, so that no process finds half a build.
        let unfinished = unfinished(&self.builds, 0o755)?;
        fs::rename(root, unfinished.path().join("build")).map_err(at(root))?;
        unfinished.close().map_err(at(root))
    }

    /// Gives a complete build its name.
    pub(super) fn finish(
        &self,
        build: TempDir,
        installed: Installed,
        source: &Source,
    ) -> Result<Installed, SourceError> {
        let folder = name(installed.dbms, &installed.version, source);
        self.finish_as(build, installed, &folder)
    }

    /// The same with the caller's name for its folder.
    pub(super) fn finish_as(
        &self,
        build: TempDir,
        mut installed: Installed,
        folder: &str,
    ) -> Result<Installed, SourceError> {
        let unfinished = build.path();
        let root = self.builds.join(folder);
        installed.root.clone_from(&root);
        describe(unfinished, &installed)?;
        // A power cut must not leave a named build with empty files, and writing it later would
        // disturb measurements.
        let folder = File::open(unfinished).map_err(at(unfinished))?;
        syncfs(&folder).map_err(|errno| at(unfinished)(errno.into()))?;
        if root.exists() {
            // It is incomplete, or it would have been found.
            fs::remove_dir_all(&root).map_err(at(&root))?;
        }
        fs::rename(build.keep(), &root).map_err(at(&root))?;
        Ok(installed)
    }
}

/// A folder in one of the store's folders, which is removed on drop, or else when the store is next
/// changed.
fn unfinished(folder: &Path, mode: u32) -> Result<TempDir, SourceError> {
    // With any umask, and closed until then.
    let closed = fs::Permissions::from_mode(0o700);
    let made = tempfile::Builder::new().prefix(UNFINISHED).permissions(closed).tempdir_in(folder);
    let made = made.map_err(at(folder))?;
    fs::set_permissions(made.path(), fs::Permissions::from_mode(mode)).map_err(at(folder))?;
    Ok(made)
}

/// Replaces a file of the store atomically.
pub(super) fn replace(
    path: &Path,
    write: impl FnOnce(&File) -> io::Result<()>,
) -> Result<(), SourceError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let file = tempfile::NamedTempFile::new_in(folder).map_err(at(path))?;
    write(file.as_file()).map_err(at(path))?;
    file.persist(path).map_err(|error| at(path)(error.error))?;
    Ok(())
}

/// The lock for all changes of the store.
fn lock_file(builds: &Path) -> Result<(PathBuf, File), SourceError> {
    let path = builds.join(".lock");
    let mut options = File::options();
    let file = options.write(true).create(true).truncate(false).open(&path).map_err(at(&path))?;
    Ok((path, file))
}

/// A folder beside the builds for creating something for one of them, removed on drop. It holds the
/// lock of the store, since a change would remove unfinished folders.
pub(crate) struct Adding {
    folder: TempDir,
    _lock: Lock,
}

impl Adding {
    /// None while another process changes the store, or where that is not allowed.
    pub(crate) fn begin(builds: &Path) -> Option<Adding> {
        let (_, file) = lock_file(builds).ok()?;
        let lock = Lock::take(file).ok()?.ok()?;
        Some(Adding { folder: unfinished(builds, 0o755).ok()?, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// The one file with this extension that a client has created in a folder.
pub(super) fn only_file(folder: &Path, extension: &str) -> Result<PathBuf, SourceError> {
    let entries = fs::read_dir(folder).map_err(at(folder))?;
    let mut files = entries.flatten().map(|entry| entry.path());
    let file = files.find(|path| path.extension().is_some_and(|found| found == extension));
    file.ok_or_else(|| {
        let reason = format!("it contains no .{extension} file");
        at(folder)(io::Error::new(io::ErrorKind::NotFound, reason))
    })
}

/// The text of a file from a registry, if its length is plausible.
pub(super) fn read_text(path: &Path) -> Result<String, SourceError> {
    const MOST: u64 = 16 << 20;
    let file = File::open(path).map_err(at(path))?;
    if file.metadata().map_err(at(path))?.len() > MOST {
        return Err(at(path)(io::ErrorKind::FileTooLarge.into()));
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(at(path))?;
    Ok(text)
}
