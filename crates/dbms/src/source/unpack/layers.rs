//! Layers of containers' images, unpacked over each other: an upper one replaces and hides files of
//! lower ones (OCI image specification, layer.md).
//!
//! On the disk there are only files and real folders until all layers are unpacked; links are kept
//! in memory, and those in the paths of members are followed there. Links that are made in the end
//! lead to files and folders of the image, without another link on the way.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use sha2::{Digest, Sha256};

use super::tarball::Counted;
use super::{Compression, Kind, Most, Part, TakesMembers, Tarball, Target};
use crate::source::digest::hex;
use crate::source::error::{SourceError, at};
use crate::source::image::ImageError;
use crate::source::progress::{Progress, Tell};

/// The start of the name of a member that hides a file of lower layers.
const HIDES: &[u8] = b".wh.";
/// The name of a member that hides all that lower layers have in its folder.
const HIDES_ALL: &[u8] = b".wh..wh..opq";
/// As many links as the kernel follows (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// A tar archive with what one layer changes.
pub(in crate::source) struct Layer<R> {
    pub(in crate::source) compression: Compression,
    pub(in crate::source) bytes: R,
    /// Its size in bytes.
    pub(in crate::source) size: u64,
}

/// The folder being filled.
pub(in crate::source) struct Layers<'a> {
    target: Target<'a>,
    /// Symbolic links by their paths, as they are written.
    links: BTreeMap<PathBuf, PathBuf>,
    /// What the current layer has.
    of_layer: HashSet<PathBuf>,
    /// How many bytes the archives of further layers may have.
    left: u64,
}

impl<'a> Layers<'a> {
    pub(in crate::source) fn new(
        image: &'a str,
        root: &'a Path,
        part: Part<'a>,
    ) -> Result<Layers<'a>, SourceError> {
        let (links, of_layer) = (BTreeMap::new(), HashSet::new());
        let target = Target::new(image, root, part)?;
        Ok(Layers { target, links, of_layer, left: part.most.bytes })
    }

    /// Unpacks the next layer, and returns the SHA-256 of its tar archive.
    pub(in crate::source) fn unpack(
        &mut self,
        layer: Layer<impl Read>,
        tell: &mut Tell,
    ) -> Result<String, SourceError> {
        self.of_layer.clear();
        let name = self.target.archive;
        let count = Rc::new(Cell::new(0));
        let counted = Counted { inner: layer.bytes, count: Rc::clone(&count) };
        let tar = layer.compression.decoder(counted).map_err(at(self.target.root))?;
        let mut tar = Hashed { inner: tar, digest: Sha256::new(), read: 0 };
        let most = Most { bytes: self.left, ..self.target.part.most };
        let part = Part { most, ..self.target.part };
        let (compression, bytes, size) = (Compression::None, &mut tar, layer.size);
        let tarball = Tarball { name, compression, bytes, size, part };
        let given = tarball.give(self, &mut |progress| match progress {
            Progress::Unpacking { .. } => {
                tell(Progress::Unpacking { done: count.get(), total: size })
            }
            other => tell(other),
        });
        if given.is_err() && tar.read >= self.left {
            let (image, most) = (name.to_string(), self.target.part.most.bytes);
            return Err(ImageError::TooLarge { image, most }.into());
        }
        given?;
        self.left -= tar.read;
        Ok(hex(&tar.digest.finalize()))
    }

    /// Makes the links, except those that lead nowhere.
    pub(in crate::source) fn finish(mut self) -> Result<(), SourceError> {
        for place in self.links.keys() {
            let Some(real) = self.real(place, place)? else { continue };
            // A folder with nothing but links is not there yet.
            let is_there = self.target.root.join(&real).symlink_metadata().is_ok();
            if !is_there && self.links_below(&real).is_empty() {
                continue;
            }
            let climb: PathBuf = place.components().skip(1).map(|_| "..").collect();
            // Of the root in itself, since no link is empty.
            let leads_to = if climb == real { PathBuf::from(".") } else { climb.join(real) };
            self.target.links.push((place.clone(), leads_to));
        }
        self.target.make_links()
    }

    /// Where a path leads by the links in it, as in a container; none if they lead in a circle.
    fn real(&self, path: &Path, member: &Path) -> Result<Option<PathBuf>, SourceError> {
        let parts = |path: &Path| {
            let parts = path.components().rev();
            parts.map(|part| part.as_os_str().to_os_string()).collect::<Vec<OsString>>()
        };
        let (mut real, mut left, mut followed) = (PathBuf::new(), parts(path), 0);
        while let Some(part) = left.pop() {
            match Path::new(&part).components().next() {
                // A target that begins with it begins at the root of the image.
                Some(Component::RootDir) => real.clear(),
                Some(Component::ParentDir) => {
                    if !real.pop() {
                        return Err(self.target.refused(member, "links to outside the image"));
                    }
                }
                Some(Component::Normal(part)) => {
                    real.push(part);
                    if let Some(target) = self.links.get(&real) {
                        real.pop();
                        left.extend(parts(target));
                        followed += 1;
                        if followed > MOST_LINKS {
                            return Ok(None);
                        }
                    }
                }
                Some(Component::CurDir | Component::Prefix(_)) | None => {}
            }
        }
        Ok(Some(real))
    }

    /// The same for a member, whose own name is not followed.
    fn real_place(&self, path: &Path, member: &Path) -> Result<PathBuf, SourceError> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(PathBuf::new());
        };
        match self.real(folder, member)? {
            Some(folder) => Ok(folder.join(name)),
            None => Err(self.target.refused(member, "lies below a link that leads in a circle")),
        }
    }

    /// The links at and below a place.
    fn links_below(&self, place: &Path) -> Vec<PathBuf> {
        // A path is ordered by its parts, so those below it are next to it.
        let after = self.links.range(place.to_path_buf()..).map(|(link, _)| link);
        after.take_while(|link| link.starts_with(place)).cloned().collect()
    }

    /// Removes what is at a place.
    fn remove(&mut self, place: &Path) -> Result<(), SourceError> {
        for link in self.links_below(place) {
            self.links.remove(&link);
        }
        let path = self.target.root.join(place);
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&path).map_err(at(&path)),
            Ok(_) => fs::remove_file(&path).map_err(at(&path)),
            Err(_) => Ok(()),
        }
    }

    /// Removes what lower layers have at a place and below it.
    fn hide(&mut self, place: &Path) -> Result<(), SourceError> {
        for link in self.links_below(place) {
            if !self.of_layer.contains(&link) {
                self.links.remove(&link);
            }
        }
        self.hide_files(place)
    }

    fn hide_files(&self, place: &Path) -> Result<(), SourceError> {
        let path = self.target.root.join(place);
        let is_of_layer = self.of_layer.contains(place);
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => {
                for name in names(&path)? {
                    self.hide_files(&place.join(name))?;
                }
                match names(&path)?.is_empty() && !is_of_layer {
                    true => fs::remove_dir(&path).map_err(at(&path)),
                    false => Ok(()),
                }
            }
            Ok(_) if !is_of_layer => fs::remove_file(&path).map_err(at(&path)),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Removes what lower layers have in a folder.
    fn hide_all_in(&mut self, folder: &Path) -> Result<(), SourceError> {
        for link in self.links_below(folder) {
            if link != folder && !self.of_layer.contains(&link) {
                self.links.remove(&link);
            }
        }
        let path = self.target.root.join(folder);
        if path.is_dir() {
            for name in names(&path)? {
                self.hide_files(&folder.join(name))?;
            }
        }
        Ok(())
    }
}

/// An absolute path, as umoci writes the root, is one of the image.
fn of_root(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn names(folder: &Path) -> Result<Vec<OsString>, SourceError> {
    let entries = fs::read_dir(folder).map_err(at(folder))?;
    entries.map(|entry| Ok(entry.map_err(at(folder))?.file_name())).collect()
}

impl<'a> TakesMembers<'a> for Layers<'a> {
    fn target(&mut self) -> &mut Target<'a> {
        &mut self.target
    }

    fn place(&mut self, member: &Path) -> Result<Option<PathBuf>, SourceError> {
        let inside = self.target.path(of_root(member))?;
        let place = self.real_place(&inside, member)?;
        let name = place.file_name().unwrap_or_default().as_bytes();
        let folder = place.parent().unwrap_or(Path::new(""));
        if name == HIDES_ALL {
            self.hide_all_in(folder)?;
            return Ok(None);
        }
        match name.strip_prefix(HIDES) {
            Some(b"" | b"." | b"..") => {
                Err(self.target.refused(member, "hides a file without a name"))
            }
            // Remarks of the file system that these names are from.
            Some(hidden) if hidden.starts_with(HIDES) => Ok(None),
            Some(hidden) => {
                self.hide(&folder.join(OsStr::from_bytes(hidden)))?;
                Ok(None)
            }
            // Of the root, a member can say nothing.
            None => {
                let is_needed = |place: &PathBuf| !place.as_os_str().is_empty();
                let needed = self.target.part.needed;
                Ok(Some(place).filter(is_needed).filter(|place| needed(place)))
            }
        }
    }

    fn make(
        &mut self,
        member: &Path,
        place: &Path,
        kind: Kind,
    ) -> Result<Option<(PathBuf, File)>, SourceError> {
        let is_folder = |place: &Path| {
            let found = self.target.root.join(place).symlink_metadata();
            found.is_ok_and(|found| found.is_dir())
        };
        let made = match kind {
            Kind::Remark | Kind::Other => return Ok(None),
            Kind::Folder if is_folder(place) => None,
            Kind::Symbolic(target) => {
                let target = self.target.checked_link(member, target)?;
                self.remove(place)?;
                self.links.insert(place.to_path_buf(), target);
                None
            }
            Kind::Hard(target) => {
                let target = self.target.checked_link(member, target)?;
                let target =
                    self.real_place(&self.target.inside(of_root(&target), member)?, member)?;
                if target == place || !(self.target.part.needed)(&target) {
                    return Ok(None);
                }
                if let Some(link) = self.links.get(&target).cloned() {
                    return self.make(member, place, Kind::Symbolic(link));
                }
                if !self.target.root.join(&target).is_file() {
                    let why = "links to a member that is not there";
                    return Err(self.target.refused(member, why));
                }
                self.remove(place)?;
                self.target.make(member, place, Kind::Hard(target))?
            }
            Kind::Folder | Kind::File { .. } => {
                self.remove(place)?;
                self.target.make(member, place, kind)?
            }
        };
        self.of_layer.insert(place.to_path_buf());
        Ok(made)
    }
}

/// A reader that hashes what it reads.
struct Hashed<R> {
    inner: R,
    digest: Sha256,
    read: u64,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.digest.update(&buffer[..read]);
        self.read += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
