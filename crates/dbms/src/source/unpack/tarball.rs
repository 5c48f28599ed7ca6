//! Compressed tar archives.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use tar::{Entry, EntryType};

use super::{Kind, Part, TakesMembers, Target};
use crate::source::error::SourceError;
use crate::source::progress::{Progress, Tell};

/// Larger than all headers of a member, including those with long names.
const MOST_HEADERS: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::source) enum Compression {
    None,
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

impl Compression {
    /// The compression of a tar archive, by its first bytes; none if it is not a tar archive.
    pub(in crate::source) fn of(file: &File) -> io::Result<Option<Compression>> {
        Compression::at(file, 0)
    }

    /// The same for one that begins at an offset.
    pub(in crate::source) fn at(file: &File, offset: u64) -> io::Result<Option<Compression>> {
        /// The place and value of a tar archive's magic number (tar(5)).
        const USTAR: (usize, &[u8]) = (257, b"ustar");
        let mut start = [0; USTAR.0 + USTAR.1.len()];
        let length = file.read_at(&mut start, offset)?;
        let start = &start[..length];
        let kinds: [(usize, &[u8], Compression); 5] = [
            (0, b"\x1f\x8b", Compression::Gzip),
            (0, b"BZh", Compression::Bzip2),
            (0, b"\xfd7zXZ\0", Compression::Xz),
            (0, b"\x28\xb5\x2f\xfd", Compression::Zstd),
            (USTAR.0, USTAR.1, Compression::None),
        ];
        let is = |(at, magic, _): &&(usize, &[u8], Compression)| {
            start.get(*at..).is_some_and(|rest| rest.starts_with(magic))
        };
        Ok(kinds.iter().find(is).map(|(.., compression)| *compression))
    }

    /// Reads what was compressed.
    pub(super) fn decoder<'a>(self, bytes: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Compression::None => Box::new(bytes),
            Compression::Bzip2 => Box::new(MultiBzDecoder::new(bytes)),
            Compression::Gzip => Box::new(MultiGzDecoder::new(bytes)),
            Compression::Xz => Box::new(XzDecoder::new_multi_decoder(bytes)),
            Compression::Zstd => Box::new(zstd::Decoder::new(bytes)?),
        })
    }
}

/// A compressed tar archive.
pub(in crate::source) struct Tarball<'a, R> {
    /// Its name in error messages.
    pub(in crate::source) name: &'a str,
    pub(in crate::source) compression: Compression,
    pub(in crate::source) bytes: R,
    /// Its size in bytes.
    pub(in crate::source) size: u64,
    pub(in crate::source) part: Part<'a>,
}

impl<R: Read> Tarball<'_, R> {
    /// Unpacks into an existing folder, which after an error contains a part of the archive.
    pub(in crate::source) fn unpack(self, into: &Path, tell: &mut Tell) -> Result<(), SourceError> {
        let mut target = Target::new(self.name, into, self.part)?;
        self.give(&mut target, tell)?;
        target.make_links()
    }

    /// Gives its members to a taker.
    pub(super) fn give<'a>(
        self,
        taker: &mut impl TakesMembers<'a>,
        tell: &mut Tell,
    ) -> Result<(), SourceError> {
        let unreadable = |error: io::Error| damaged(self.name, &error);
        let count = Rc::new(Cell::new(0));
        let counted = Counted { inner: self.bytes, count: Rc::clone(&count) };
        let tar = self.compression.decoder(counted).map_err(unreadable)?;
        let most = self.part.most.bytes;
        let reached = Rc::new(Cell::new(0));
        let end = Rc::new(Cell::new(most));
        let tar = Bounded { inner: tar, reached: Rc::clone(&reached), end: Rc::clone(&end) };
        let mut buffer = vec![0; 64 * 1024];
        let mut archive = tar::Archive::new(tar);
        let mut entries = archive.entries().map_err(unreadable)?;
        loop {
            // The limit of the next member's headers, which are read into memory.
            end.set(most.min(reached.get() + MOST_HEADERS));
            let Some(entry) = entries.next() else { break };
            end.set(most);
            let mut entry = entry.map_err(unreadable)?;
            let member = entry.path().map_err(unreadable)?.into_owned();
            if entry.header().entry_type().is_gnu_sparse() {
                let why = "is a sparse file, whose size has no limit";
                return Err(taker.target().refused(&member, why));
            }
            let made = match taker.place(&member)? {
                Some(place) => {
                    let kind = kind(&entry).map_err(unreadable)?;
                    taker.make(&member, &place, kind)?
                }
                None => None,
            };
            // Also skips to the end of unneeded members, where the next header begins.
            loop {
                tell(Progress::Unpacking { done: count.get(), total: self.size })?;
                let read = entry.read(&mut buffer).map_err(unreadable)?;
                match &made {
                    _ if read == 0 => break,
                    Some((path, out)) => {
                        taker.target().write(&member, path, out, &buffer[..read])?;
                    }
                    None => {}
                }
            }
        }
        // The checksum of the compressed data is compared only at their end.
        end.set(most);
        io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(unreadable)?;
        Ok(())
    }
}

fn damaged(archive: &str, error: &io::Error) -> SourceError {
    let reason = format!("{error}. It is damaged; fetch it again");
    SourceError::Archive { archive: archive.to_string(), reason }
}

/// A member of an archive that is read in place.
pub(in crate::source) enum Indexed {
    File { offset: u64, size: u64 },
    Symbolic(PathBuf),
}

/// Where the files of a plain tar archive are in it, by their paths as written. Their contents are
/// not read.
pub(in crate::source) fn index(
    name: &str,
    file: &File,
    most: usize,
) -> Result<BTreeMap<PathBuf, Indexed>, SourceError> {
    let unreadable = |error: io::Error| damaged(name, &error);
    let length = file.metadata().map_err(unreadable)?.len();
    let end = Rc::new(Cell::new(MOST_HEADERS));
    let tar = Bounded { inner: file, reached: Rc::new(Cell::new(0)), end: Rc::clone(&end) };
    let mut archive = tar::Archive::new(tar);
    let entries = archive.entries_with_seek().map_err(unreadable)?;
    let mut members = BTreeMap::new();
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        let (offset, size) = (entry.raw_file_position(), entry.size());
        let behind = offset.saturating_add(size);
        if behind > length {
            return Err(unreadable(io::Error::other("it is cut off")));
        }
        // The next headers begin behind it.
        end.set(behind.saturating_add(MOST_HEADERS));
        if members.len() == most {
            return Err(unreadable(io::Error::other("it has too many members")));
        }
        let path = entry.path().map_err(unreadable)?.into_owned();
        match kind(&entry).map_err(unreadable)? {
            Kind::File { .. } => members.insert(path, Indexed::File { offset, size }),
            Kind::Symbolic(target) => members.insert(path, Indexed::Symbolic(target)),
            Kind::Folder | Kind::Hard(_) | Kind::Remark | Kind::Other => None,
        };
    }
    Ok(members)
}

fn kind<R: Read>(entry: &Entry<R>) -> io::Result<Kind> {
    let target = || entry.link_name().map(|name| name.unwrap_or_default().into_owned());
    Ok(match entry.header().entry_type() {
        EntryType::XGlobalHeader => Kind::Remark,
        EntryType::Directory => Kind::Folder,
        EntryType::Symlink => Kind::Symbolic(target()?),
        EntryType::Link => Kind::Hard(target()?),
        EntryType::Regular | EntryType::Continuous => {
            Kind::File { executable: entry.header().mode()? & 0o111 != 0 }
        }
        _ => Kind::Other,
    })
}

pub(super) struct Counted<R> {
    pub(super) inner: R,
    pub(super) count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// A reader that returns an error at its current limit.
struct Bounded<R> {
    inner: R,
    reached: Rc<Cell<u64>>,
    end: Rc<Cell<u64>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.end.get().saturating_sub(self.reached.get());
        if left == 0 {
            return Err(io::Error::other("it is larger than a build may be"));
        }
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = self.inner.read(&mut buffer[..most])?;
        self.reached.set(self.reached.get() + read as u64);
        Ok(read)
    }
}

impl<R: Seek> Seek for Bounded<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let reached = self.inner.seek(to)?;
        self.reached.set(reached);
        Ok(reached)
    }
}
