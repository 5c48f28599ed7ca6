//! Unpacking tar archives that nobody vouches for: nothing may end up outside the target folder,
//! and no device nodes or set-user-id programs inside it.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use tar::{Entry, EntryType};

use super::error::{SourceError, at};
use super::progress::{Progress, Tell, report};

pub(super) enum Compression {
    Gzip,
    Xz,
}

/// A compressed tar archive.
pub(super) struct Tarball<'a, R> {
    /// What error messages call it.
    pub(super) name: &'a str,
    pub(super) compression: Compression,
    pub(super) bytes: R,
    /// How many bytes there are to read.
    pub(super) size: u64,
    /// Only what lies below this folder of the archive is unpacked; "" for everything.
    pub(super) below: &'a str,
}

impl<R: Read> Tarball<'_, R> {
    /// Unpacks into an existing folder, which after an error holds a part of the archive.
    pub(super) fn unpack(self, into: &Path, tell: &mut Tell) -> Result<(), SourceError> {
        let count = Rc::new(Cell::new(0));
        let counted = Counted { inner: self.bytes, count: Rc::clone(&count) };
        let tar: Box<dyn Read + '_> = match self.compression {
            Compression::Gzip => Box::new(MultiGzDecoder::new(counted)),
            Compression::Xz => Box::new(XzDecoder::new_multi_decoder(counted)),
        };
        let unreadable = |error: io::Error| SourceError::Archive {
            archive: self.name.to_string(),
            reason: format!("{error}; it is damaged, get it again"),
        };
        let mut target = Target { archive: self.name, root: into, links: Vec::new() };
        let mut buffer = vec![0; 64 * 1024];
        let mut archive = tar::Archive::new(tar);
        for entry in archive.entries().map_err(unreadable)? {
            let mut entry = entry.map_err(unreadable)?;
            let Some((path, mut out)) = target.place(&entry, self.below)? else { continue };
            loop {
                report(tell, Progress::Unpacking { done: count.get(), total: self.size })?;
                match entry.read(&mut buffer).map_err(unreadable)? {
                    0 => break,
                    read => out.write_all(&buffer[..read]).map_err(at(&path))?,
                }
            }
        }
        // The checksum at the end of the compressed data is compared only when it is reached.
        io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(unreadable)?;
        target.make_links()
    }
}

struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// The folder being filled. Symbolic links are made last, so no member is written through one.
struct Target<'a> {
    archive: &'a str,
    root: &'a Path,
    links: Vec<(PathBuf, PathBuf)>,
}

impl Target<'_> {
    /// Makes the member, except for a file's contents: the file to write them to is returned.
    fn place<R: Read>(
        &mut self,
        entry: &Entry<R>,
        below: &str,
    ) -> Result<Option<(PathBuf, File)>, SourceError> {
        let unreadable = |error: io::Error| SourceError::Archive {
            archive: self.archive.to_string(),
            reason: error.to_string(),
        };
        let member = entry.path().map_err(unreadable)?;
        let inside = self.inside(&member, &member)?;
        let Ok(place) = inside.strip_prefix(below) else { return Ok(None) };
        let link = || match entry.link_name().map_err(unreadable)? {
            Some(target) => Ok(target.into_owned()),
            None => Err(self.refused(&member, "is a link to nothing")),
        };
        match entry.header().entry_type() {
            EntryType::XGlobalHeader => {}
            EntryType::Directory => self.folder(place, &member)?,
            EntryType::Symlink => {
                let target = link()?;
                if !stays_inside(place, &target) {
                    return Err(self.refused(&member, "links to outside the target folder"));
                }
                self.links.push((place.to_path_buf(), target));
            }
            EntryType::Link => {
                let target = self.inside(&link()?, &member)?;
                let target = target.strip_prefix(below).unwrap_or(&target);
                let path = self.new_path(place, &member)?;
                fs::hard_link(self.root.join(target), &path).map_err(at(&path))?;
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let path = self.new_path(place, &member)?;
                // Of the mode only this bit is kept: builds are for every user, and for running.
                let executable = entry.header().mode().map_err(unreadable)? & 0o111 != 0;
                let mode = if executable { 0o755 } else { 0o644 };
                let mut options = File::options();
                let file = options.write(true).create_new(true).mode(mode).open(&path);
                let file = file.map_err(at(&path))?;
                // Again, since the umask may have taken bits away.
                file.set_permissions(fs::Permissions::from_mode(mode)).map_err(at(&path))?;
                return Ok(Some((path, file)));
            }
            _ => return Err(self.refused(&member, "is neither a file nor a folder nor a link")),
        }
        Ok(None)
    }

    fn make_links(&self) -> Result<(), SourceError> {
        for (place, target) in &self.links {
            let path = self.new_path(place, place)?;
            symlink(target, &path).map_err(at(&path))?;
        }
        Ok(())
    }

    /// A place for something new, in a folder that is there or is made.
    fn new_path(&self, place: &Path, member: &Path) -> Result<PathBuf, SourceError> {
        if let Some(parent) = place.parent() {
            self.folder(parent, member)?;
        }
        let path = self.root.join(place);
        match path.symlink_metadata() {
            Ok(_) => Err(self.refused(member, "is in the place of another member")),
            Err(_) => Ok(path),
        }
    }

    fn folder(&self, place: &Path, member: &Path) -> Result<(), SourceError> {
        let mut path = self.root.to_path_buf();
        for part in place {
            path.push(part);
            match path.symlink_metadata() {
                Ok(meta) if meta.is_dir() => continue,
                Ok(_) => return Err(self.refused(member, "lies below what is not a folder")),
                Err(_) => fs::create_dir(&path).map_err(at(&path))?,
            }
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(at(&path))?;
        }
        Ok(())
    }

    /// The path without its `.` parts, which must be all that is special about it.
    fn inside(&self, path: &Path, member: &Path) -> Result<PathBuf, SourceError> {
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
        let member = member.display().to_string();
        SourceError::Hostile { archive: self.archive.to_string(), member, why }
    }
}

/// Whether a symbolic link leads to a place inside. A `..` is allowed only in front, where it
/// climbs real folders: behind the name of another link it would climb from where that one leads.
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

/// Makes symbolic links that a package lists instead of holding: `(link, what it leads to)`, both
/// relative to `root`.
pub(super) fn link_all(
    archive: &str,
    root: &Path,
    links: impl IntoIterator<Item = (PathBuf, PathBuf)>,
) -> Result<(), SourceError> {
    let mut target = Target { archive, root, links: Vec::new() };
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
