//! Compressed tar archives.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::path::Path;
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use tar::{Entry, EntryType};

use super::{Kind, Part, Target};
use crate::source::error::{SourceError, at};
use crate::source::progress::{Progress, Tell, report};

pub(in crate::source) enum Compression {
    Gzip,
    Xz,
}

/// A compressed tar archive.
pub(in crate::source) struct Tarball<'a, R> {
    /// What error messages call it.
    pub(in crate::source) name: &'a str,
    pub(in crate::source) compression: Compression,
    pub(in crate::source) bytes: R,
    /// How many bytes there are to read.
    pub(in crate::source) size: u64,
    pub(in crate::source) part: Part<'a>,
}

impl<R: Read> Tarball<'_, R> {
    /// Unpacks into an existing folder, which after an error holds a part of the archive.
    pub(in crate::source) fn unpack(self, into: &Path, tell: &mut Tell) -> Result<(), SourceError> {
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
        let mut target = Target::new(self.name, into, self.part);
        let mut buffer = vec![0; 64 * 1024];
        let mut archive = tar::Archive::new(tar);
        for entry in archive.entries().map_err(unreadable)? {
            report(tell, Progress::Unpacking { done: count.get(), total: self.size })?;
            let mut entry = entry.map_err(unreadable)?;
            let member = entry.path().map_err(unreadable)?.into_owned();
            let Some(place) = target.place(&member)? else { continue };
            let kind = kind(&entry).map_err(unreadable)?;
            let Some((path, mut out)) = target.make(&member, &place, kind)? else { continue };
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

fn kind<R: Read>(entry: &Entry<R>) -> io::Result<Kind> {
    let target = || entry.link_name().map(|name| name.unwrap_or_default().into_owned());
    Ok(match entry.header().entry_type() {
        EntryType::XGlobalHeader => Kind::Remark,
        EntryType::Directory => Kind::Folder,
        EntryType::Symlink => Kind::Symbolic(target()?),
        EntryType::Link => Kind::Hard(target()?),
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
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
