//! Debian packages: an `ar` archive that contains a compressed tar archive with the files.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::error::{SourceError, at};
use super::unpack::Compression;

/// The files of a package.
pub(super) struct Data {
    pub(super) compression: Compression,
    pub(super) bytes: io::Take<File>,
    pub(super) size: u64,
}

/// Finds the tar archive with the files.
pub(super) fn data(file: &Path, name: &str) -> Result<Data, SourceError> {
    const MAGIC: &[u8] = b"!<arch>\n";
    let unreadable = |reason: &str| {
        let reason = format!("{reason}. It is damaged; fetch it again");
        SourceError::Archive { archive: name.to_string(), reason }
    };
    let mut bytes = File::open(file).map_err(at(file))?;
    let mut magic = [0; MAGIC.len()];
    let mut header = [0; 60];
    bytes.read_exact(&mut magic).map_err(|_| unreadable("it is too short"))?;
    if magic != MAGIC {
        return Err(unreadable("it is not a Debian package"));
    }
    loop {
        bytes.read_exact(&mut header).map_err(|_| unreadable("it contains no files"))?;
        let field = |range| str::from_utf8(&header[range]).unwrap_or_default().trim_end();
        let (member, size) = (field(0..16).trim_end_matches('/'), field(48..58));
        let size: u64 = size.parse().map_err(|_| unreadable("a size in it is not a number"))?;
        let compression = match member {
            "data.tar.gz" => Some(Compression::Gzip),
            "data.tar.xz" => Some(Compression::Xz),
            _ if member.starts_with("data.tar") => {
                let reason = format!("its {member} is compressed in a way that rqps cannot read");
                return Err(SourceError::Archive { archive: name.to_string(), reason });
            }
            _ => None,
        };
        if let Some(compression) = compression {
            return Ok(Data { compression, bytes: bytes.take(size), size });
        }
        // Members start at even offsets. There is no header beyond the end.
        let skipped = i64::try_from(size + size % 2).map_err(|_| unreadable("it is cut off"))?;
        bytes.seek(SeekFrom::Current(skipped)).map_err(at(file))?;
    }
}
