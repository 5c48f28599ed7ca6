//! The folder in which a DBMS is built: one for all its builds, so that all paths in binaries are
//! the same, and used by one process at a time.

use std::fs::{self, File, Permissions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use rqps_plan::Dbms;
use rqps_system::{Lock, User, act_as};
use rustix::fs::statvfs;

use super::error::BuildError;
use crate::home::Home;
use crate::source::checkout::Archived;
use crate::source::error::{SourceError, at};
use crate::source::progress::{Progress, Tell};
use crate::source::unpack::{Compression, Part, Tarball};

/// The modification time of every source file, in seconds since 1970: files generated before the
/// release are as new as their sources. make(1) does not accept zero as a time.
const CHANGED: u64 = 315_532_800;
/// The folder that is not part of the sources.
const NO_SOURCES: &str = ".git";

/// The right to build a DBMS, and the place for it, which is emptied on drop.
pub(super) struct Workshop {
    folder: PathBuf,
    _lock: Lock,
}

impl Workshop {
    /// Waits for the right, and removes the leftovers of a killed process.
    pub(super) fn begin(home: &Home, dbms: Dbms, tell: &mut Tell) -> Result<Workshop, SourceError> {
        let all = home.source()?;
        let path = all.join(format!("{dbms}.lock"));
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(false).open(&path);
        let mut file = file.map_err(at(&path))?;
        let lock = loop {
            match Lock::take(file).map_err(at(&path))? {
                Ok(lock) => break lock,
                Err(held) => file = held,
            }
            let whom = format!("another rqps that is building {dbms}");
            tell(Progress::WaitingToBuild { whom })?;
            thread::sleep(Duration::from_millis(50));
        };
        let workshop = Workshop { folder: all.join(dbms.name()), _lock: lock };
        workshop.clear().map_err(at(&workshop.folder))?;
        make(&workshop.folder, 0o755)?;
        // Root's apt downloads as a user of its own, which must be able to enter; no other may
        // write.
        make(&workshop.downloads(), 0o711)?;
        Ok(workshop)
    }

    fn clear(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// For files that no other user may change while they are read.
    pub(super) fn downloads(&self) -> PathBuf {
        self.folder.join("downloads")
    }

    pub(super) fn sources(&self) -> PathBuf {
        self.folder.join("src")
    }

    /// The working directory of the commands.
    pub(super) fn build(&self) -> PathBuf {
        self.folder.join("build")
    }

    /// The staging root, which stands for `/` during the installation.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    pub(super) fn check_room(&self, megabytes: u64) -> Result<(), SourceError> {
        let disk = statvfs(&self.folder).map_err(|errno| at(&self.folder)(errno.into()))?;
        let (free, needed) = (disk.f_bavail.saturating_mul(disk.f_frsize), megabytes << 20);
        let folder = self.folder.clone();
        if free < needed { Err(SourceError::NoRoom { folder, needed, free }) } else { Ok(()) }
    }

    /// Unpacks a tarball of a release, which has one folder at the top.
    pub(super) fn unpack(
        &self,
        file: &Path,
        name: &str,
        called: &Path,
        tell: &mut Tell,
    ) -> Result<(), SourceError> {
        let bytes = File::open(file).map_err(at(file))?;
        let compression = Compression::of(&bytes).map_err(at(file))?;
        let none = || BuildError::NotATarball(called.to_path_buf());
        let compression = compression.ok_or_else(none)?;
        let size = bytes.metadata().map_err(at(file))?.len();
        let into = self.folder.join("unpacked");
        make(&into, 0o755)?;
        Tarball { name, compression, bytes, size, part: Part::ALL }.unpack(&into, tell)?;
        let top = fs::read_dir(&into).map_err(at(&into))?;
        let top: Vec<PathBuf> = top.flatten().map(|entry| entry.path()).collect();
        let sources = match &top[..] {
            [one] if one.symlink_metadata().is_ok_and(|found| found.is_dir()) => one,
            _ => &into,
        };
        fs::rename(sources, self.sources()).map_err(at(sources))?;
        age(&self.sources())
    }

    /// Unpacks a folder of sources, packed by [`pack`], in place of a tarball.
    pub(super) fn unpack_tree(
        &self,
        tree: &File,
        name: &str,
        tell: &mut Tell,
    ) -> Result<(), SourceError> {
        make(&self.sources(), 0o755)?;
        unpack(tree, name, &self.sources(), tell)?;
        age(&self.sources())
    }

    /// Unpacks the files of a commit, and those of its submodules into their folders.
    pub(super) fn unpack_commit(
        &self,
        archives: &[Archived],
        name: &str,
        tell: &mut Tell,
    ) -> Result<(), SourceError> {
        make(&self.sources(), 0o755)?;
        for Archived { file, below } in archives {
            let mut into = self.sources();
            if !below.as_os_str().is_empty() {
                // A tree that somebody crafted may have a link in the place of a folder.
                let inside = rqps_system::below(&into, below).map_err(io::Error::other);
                into = inside.map_err(at(&into))?;
                // The tree has an empty folder in the place of a submodule.
                fs::create_dir_all(&into).map_err(at(&into))?;
            }
            unpack(file, name, &into, tell)?;
        }
        age(&self.sources())
    }

    /// Creates the folders that the commands write to, as their user.
    pub(super) fn open_for(&self, user: Option<User>) -> Result<(), SourceError> {
        for folder in [self.build(), self.root()] {
            make(&folder, 0o755)?;
            if let Some(User { uid, gid }) = user {
                chown(&folder, Some(uid), Some(gid)).map_err(at(&folder))?;
            }
        }
        Ok(())
    }

    /// Copies the installed files to a folder of rqps's own. The user that built them reads them,
    /// and the data are unpacked like any archive: nothing leads out of the folder.
    pub(super) fn take(
        &self,
        user: Option<User>,
        prefix: &str,
        into: &Path,
        tell: &mut Tell,
    ) -> Result<(), SourceError> {
        let installed = self.root().join(prefix.trim_start_matches('/'));
        let packed = tempfile::tempfile_in(self.downloads()).map_err(at(&self.downloads()))?;
        let done = act_as(user, || pack(&installed, &packed)).and_then(|packed| packed);
        done.map_err(at(&installed))?;
        unpack(&packed, "what was built", into, tell)
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // The next build removes it, too.
        let _ = self.clear();
    }
}

fn make(folder: &Path, mode: u32) -> Result<(), SourceError> {
    let made = fs::create_dir(folder);
    made.and_then(|()| fs::set_permissions(folder, Permissions::from_mode(mode)))
        .map_err(at(folder))
}

fn unpack(mut tree: &File, name: &str, into: &Path, tell: &mut Tell) -> Result<(), SourceError> {
    tree.seek(SeekFrom::Start(0)).map_err(at(into))?;
    let size = tree.metadata().map_err(at(into))?.len();
    let part = Part::ALL;
    Tarball { name, compression: Compression::None, bytes: tree, size, part }.unpack(into, tell)
}

/// Writes a folder into a tar archive that depends only on the names, contents, links and execute
/// bits of its files, not on their times and place.
pub(super) fn pack(folder: &Path, mut file: &File) -> io::Result<()> {
    let mut tar = tar::Builder::new(io::BufWriter::with_capacity(1 << 20, &mut file));
    tar.follow_symlinks(false);
    tar.mode(tar::HeaderMode::Deterministic);
    append(&mut tar, folder, Path::new(""))?;
    tar.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(())
}

fn append<W: io::Write>(tar: &mut tar::Builder<W>, folder: &Path, inside: &Path) -> io::Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder.join(inside))? {
        names.push(entry?.file_name());
    }
    names.sort();
    for name in names {
        if inside.as_os_str().is_empty() && name == NO_SOURCES {
            continue;
        }
        let inside = inside.join(name);
        let path = folder.join(&inside);
        let kind = path.symlink_metadata()?.file_type();
        if kind.is_dir() {
            tar.append_dir(&inside, &path)?;
            append(tar, folder, &inside)?;
        } else if kind.is_file() || kind.is_symlink() {
            tar.append_path_with_name(&path, &inside)?;
        }
    }
    Ok(())
}

/// Gives every file the same modification time. Otherwise it would be the time of unpacking, and
/// make(1) would regenerate files that were generated before the release.
fn age(folder: &Path) -> Result<(), SourceError> {
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(CHANGED);
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        let kind = path.symlink_metadata().map_err(at(&path))?.file_type();
        if kind.is_dir() {
            age(&path)?;
        } else if kind.is_file() {
            let aged = File::open(&path).and_then(|file| file.set_modified(changed));
            aged.map_err(at(&path))?;
        }
    }
    Ok(())
}
