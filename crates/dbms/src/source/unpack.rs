//! Unpacks untrusted archives: nothing may be written outside the target folder, no device nodes or
//! set-user-id programs inside it, and no more than a build may have.

mod layers;
mod tarball;
mod zipped;

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use rustix::fs::statvfs;

use super::error::{SourceError, at};

pub(super) use layers::{Layer, Layers};
pub(super) use tarball::{Compression, Indexed, Tarball, index};
pub(super) use zipped::Zip;

/// The longest path that the kernel accepts, in bytes.
const LONGEST_PATH: usize = 4096;
/// The longest part of a member's name in an error.
const SHOWN: usize = 100;

/// Which part of an archive is unpacked.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    /// Only members below this folder of the archive; "" for everything.
    pub(super) below: &'a str,
    /// Of these, members for which this holds, by the path below the folder.
    pub(super) needed: &'a dyn Fn(&Path) -> bool,
    /// The archive may not hold more.
    pub(super) most: Most,
}

impl Part<'static> {
    pub(super) const ALL: Part<'static> =
        Part { below: "", needed: &|_| true, most: Most::OF_A_BUILD };
}

/// How much an archive may contain.
#[derive(Clone, Copy)]
pub(super) struct Most {
    /// Bytes of its files and headers.
    bytes: u64,
    members: usize,
}

impl Most {
    /// More than any build contains, with debug builds and test suites.
    const OF_A_BUILD: Most = Most { bytes: 16 << 30, members: 200_000 };
    /// More than an image with a server contains, in all its layers.
    pub(super) const OF_AN_IMAGE: Most = Most { bytes: 20_000_000_000, members: 300_000 };
}

/// The kind of an archive's member.
enum Kind {
    Folder,
    File {
        executable: bool,
    },
    Symbolic(PathBuf),
    /// Leads to another member.
    Hard(PathBuf),
    /// Metadata about the archive.
    Remark,
    Other,
}

/// TakesMembers the members of an archive one after another.
trait TakesMembers<'a> {
    fn target(&mut self) -> &mut Target<'a>;

    /// The place of a member; none if it is not needed.
    fn place(&mut self, member: &Path) -> Result<Option<PathBuf>, SourceError>;

    /// Creates the member; for a file, returns it for writing the contents.
    fn make(
        &mut self,
        member: &Path,
        place: &Path,
        kind: Kind,
    ) -> Result<Option<(PathBuf, File)>, SourceError>;
}

/// The folder being filled. Symbolic links are made last, so no member is written through one.
struct Target<'a> {
    archive: &'a str,
    root: &'a Path,
    part: Part<'a>,
    links: Vec<(PathBuf, PathBuf)>,
    members: usize,
    written: u64,
    /// Free bytes of the disk at the start.
    free: u64,
}

impl<'a> Target<'a> {
    fn new(archive: &'a str, root: &'a Path, part: Part<'a>) -> Result<Target<'a>, SourceError> {
        let disk = statvfs(root).map_err(|errno| at(root)(errno.into()))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        Ok(Target { archive, root, part, links: Vec::new(), members: 0, written: 0, free })
    }

    /// The path of a member inside, which is counted.
    fn path(&mut self, member: &Path) -> Result<PathBuf, SourceError> {
        self.members += 1;
        if self.members > self.part.most.members {
            return Err(self.refused(member, "exceeds the number of members that a build may have"));
        }
        self.inside(member, member)
    }

    /// Where a symbolic link leads.
    fn checked_link(&self, member: &Path, target: PathBuf) -> Result<PathBuf, SourceError> {
        match target.as_os_str().len() {
            0 => Err(self.refused(member, "is a link without a target")),
            length if length > LONGEST_PATH => {
                Err(self.refused(member, "links to a path that is too long"))
            }
            _ => Ok(target),
        }
    }

    /// Writes a part of a file's contents.
    fn write(
        &mut self,
        member: &Path,
        path: &Path,
        mut out: &File,
        bytes: &[u8],
    ) -> Result<(), SourceError> {
        self.written += bytes.len() as u64;
        if self.written > self.part.most.bytes {
            return Err(self.refused(member, "makes it larger than a build may be"));
        }
        if self.written > self.free {
            return Err(at(path)(io::ErrorKind::StorageFull.into()));
        }
        out.write_all(bytes).map_err(at(path))
    }

    fn make_links(&self) -> Result<(), SourceError> {
        for (place, target) in &self.links {
            let path = self.new_path(place, place)?;
            symlink(target, &path).map_err(at(&path))?;
        }
        Ok(())
    }

    /// A free place in a folder that exists or is created.
    fn new_path(&self, place: &Path, member: &Path) -> Result<PathBuf, SourceError> {
        if let Some(parent) = place.parent() {
            self.folder(parent, member)?;
        }
        let path = self.root.join(place);
        match path.symlink_metadata() {
            Ok(_) => Err(self.refused(member, "has the path of another member")),
            Err(_) => Ok(path),
        }
    }

    fn folder(&self, place: &Path, member: &Path) -> Result<(), SourceError> {
        let mut path = self.root.to_path_buf();
        for part in place {
            path.push(part);
            match path.symlink_metadata() {
                Ok(meta) if meta.is_dir() => continue,
                Ok(_) => {
                    return Err(self.refused(member, "lies below a member that is not a folder"));
                }
                Err(_) => fs::create_dir(&path).map_err(at(&path))?,
            }
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(at(&path))?;
        }
        Ok(())
    }

    /// The path without its `.` parts; other special parts are errors.
    fn inside(&self, path: &Path, member: &Path) -> Result<PathBuf, SourceError> {
        if path.as_os_str().len() > LONGEST_PATH {
            return Err(self.refused(member, "has a path that is too long"));
        }
        let mut inside = PathBuf::new();
        for part in path.components() {
            match part {
                Component::Normal(part) => inside.push(part),
                Component::CurDir => {}
                _ => return Err(self.refused(member, "leaves the target folder")),
            }
        }
        Ok(inside)
    }

    fn refused(&self, member: &Path, why: &'static str) -> SourceError {
        let member = member.to_string_lossy().chars().take(SHOWN).collect();
        SourceError::Hostile { archive: self.archive.to_string(), member, why }
    }
}

impl<'a> TakesMembers<'a> for Target<'a> {
    fn target(&mut self) -> &mut Target<'a> {
        self
    }

    fn place(&mut self, member: &Path) -> Result<Option<PathBuf>, SourceError> {
        let inside = self.path(member)?;
        let place = inside.strip_prefix(self.part.below).ok();
        Ok(place.filter(|place| (self.part.needed)(place)).map(Path::to_path_buf))
    }

    fn make(
        &mut self,
        member: &Path,
        place: &Path,
        kind: Kind,
    ) -> Result<Option<(PathBuf, File)>, SourceError> {
        match kind {
            Kind::Remark => {}
            Kind::Folder => self.folder(place, member)?,
            Kind::Symbolic(target) => {
                let target = self.checked_link(member, target)?;
                if !stays_inside(place, &target) {
                    return Err(self.refused(member, "links to outside the target folder"));
                }
                self.links.push((place.to_path_buf(), target));
            }
            Kind::Hard(target) => {
                let target = self.checked_link(member, target)?;
                let target = self.inside(&target, member)?;
                let target = target.strip_prefix(self.part.below).unwrap_or(&target);
                let path = self.new_path(place, member)?;
                fs::hard_link(self.root.join(target), &path).map_err(at(&path))?;
            }
            Kind::File { executable } => {
                let path = self.new_path(place, member)?;
                // Only this bit of the mode is kept: every user may read and run builds.
                let mode = if executable { 0o755 } else { 0o644 };
                let mut options = File::options();
                let file = options.write(true).create_new(true).mode(mode).open(&path);
                let file = file.map_err(at(&path))?;
                // Again, since the umask may have removed bits.
                file.set_permissions(fs::Permissions::from_mode(mode)).map_err(at(&path))?;
                return Ok(Some((path, file)));
            }
            Kind::Other => {
                return Err(self.refused(member, "is not a file, a folder or a link"));
            }
        }
        Ok(None)
    }
}

/// Whether a symbolic link leads to a place inside. A `..` is allowed only at the start, where it
/// leaves real folders: after the name of another link it would start at the target of that link.
fn stays_inside(link: &Path, target: &Path) -> bool {
    let mut depth = link.components().count().saturating_sub(1);
    let mut climbing = true;
    target.components().all(|part| match part {
        Component::ParentDir if climbing && depth > 0 => {
            depth -= 1;
            true
        }
        Component::Normal(_) => {
            climbing = false;
            true
        }
        Component::CurDir => true,
        _ => false,
    })
}

/// Creates symbolic links that a package lists instead of containing them: `(link, target)`, both
/// relative to `root`.
pub(super) fn link_all(
    archive: &str,
    root: &Path,
    links: impl IntoIterator<Item = (PathBuf, PathBuf)>,
) -> Result<(), SourceError> {
    let mut target = Target::new(archive, root, Part::ALL)?;
    for (link, leads_to) in links {
        let place = target.inside(&link, &link)?;
        let leads_to = target.inside(&leads_to, &link)?;
        let climb = place.components().skip(1).map(|_| "..").collect::<PathBuf>();
        target.links.push((place, climb.join(leads_to)));
    }
    target.make_links()
}

#[cfg(test)]
mod tests;
