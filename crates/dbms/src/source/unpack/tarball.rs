//! Compressed tar archives.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use tar::{Entry, EntryType};

use super::{Kind, Part, Target};
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
}

impl Compression {
    /// The compression of a tar archive, by its first bytes; none if it is not a tar archive.
    pub(in crate::source) fn of(file: &File) -> io::Result<Option<Compression>> {
        /// The place and value of a tar archive's magic number (tar(5)).
        const USTAR: (usize, &[u8]) = (257, b"ustar");
        let mut start = [0; USTAR.0 + USTAR.1.len()];
        let length = file.read_at(&mut start, 0)?;
        let start = &start[..length];
        let kinds: [(usize, &[u8], Compression); 4] = [
            (0, b"\x1f\x8b", Compression::Gzip),
            (0, b"BZh", Compression::Bzip2),
            (0, b"\xfd7zXZ\0", Compression::Xz),
            (USTAR.0, USTAR.1, Compression::None),
        ];
        let is = |(at, magic, _): &&(usize, &[u8], Compression)| {
            start.get(*at..).is_some_and(|rest| rest.starts_with(magic))
        };
        Ok(kinds.iter().find(is).map(|(.., compression)| *compression))
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
        let count = Rc::new(Cell::new(0));
        let counted = Counted { inner: self.bytes, count: Rc::clone(&count) };
        let tar: Box<dyn Read + '_> = match self.compression {
            Compression::None => Box::new(counted),
            Compression::Bzip2 => Box::new(MultiBzDecoder::new(counted)),
            Compression::Gzip => Box::new(MultiGzDecoder::new(counted)),
            Compression::Xz => Box::new(XzDecoder::new_multi_decoder(counted)),
        };
        let unreadable = |error: io::Error| SourceError::Archive {
            archive: self.name.to_string(),
            reason: format!("{error}. It is damaged; fetch it again"),
        };
        let most = self.part.most.bytes;
        let reached = Rc::new(Cell::new(0));
        let end = Rc::new(Cell::new(most));
        let tar = Bounded { inner: tar, reached: Rc::clone(&reached), end: Rc::clone(&end) };
        let mut target = Target::new(self.name, into, self.part)?;
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
                return Err(target.refused(&member, "is a sparse file, whose size has no limit"));
            }
            let made = match target.place(&member)? {
                Some(place) => {
                    let kind = kind(&entry).map_err(unreadable)?;
                    target.make(&member, &place, kind)?
                }
                None => None,
            };
            // Also skips to the end of unneeded members, where the next header begins.
            loop {
                tell(Progress::Unpacking { done: count.get(), total: self.size })?;
                let read = entry.read(&mut buffer).map_err(unreadable)?;
                match &made {
                    _ if read == 0 => break,
                    Some((path, out)) => target.write(&member, path, out, &buffer[..read])?,
                    None => {}
                }
            }
        }
        // The checksum of the compressed data is compared only at their end.
        end.set(most);
        io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(unreadable)?;
        target.make_links()
    }
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
