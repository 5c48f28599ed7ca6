//! A file of text, line by line: what is loaded may be larger than the memory, compressed, and in
//! another encoding.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use zstd::stream::read::Decoder;

use super::options::{Encoding, NOT_UTF8};
use super::tokens::{SqlTextError, error};

/// Bytes that are read at a time.
pub(super) const CHUNK: usize = 1 << 16;
/// Bytes of a record or a line: a longer one is none, but a quote that does not end.
const LONGEST: usize = 1 << 30;

const GZIP: &str = ".gz";
const ZSTANDARD: &str = ".zst";

/// Opens a file, which is unpacked while it is read.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let file = BufReader::with_capacity(CHUNK, File::open(path)?);
    let name = path.to_string_lossy();
    Ok(if name.ends_with(GZIP) {
        Box::new(BufReader::with_capacity(CHUNK, MultiGzDecoder::new(file)))
    } else if name.ends_with(ZSTANDARD) {
        Box::new(BufReader::with_capacity(CHUNK, Decoder::with_buffer(file)?))
    } else {
        Box::new(file)
    })
}

/// The name of a file without that of its compression.
pub(super) fn without_compression(name: &str) -> &str {
    [GZIP, ZSTANDARD].into_iter().find_map(|it| name.strip_suffix(it)).unwrap_or(name)
}

/// The lines of a text that is not held in memory.
pub(crate) struct TextLines<'a> {
    from: Box<dyn BufRead + 'a>,
    encoding: Encoding,
    /// Of the next line, counted from 1.
    number: u32,
    /// Bytes that were read.
    before: u64,
    /// Those that are not in a text yet.
    line: Vec<u8>,
}

impl<'a> TextLines<'a> {
    pub(super) fn new(from: Box<dyn BufRead + 'a>, encoding: Encoding) -> TextLines<'a> {
        TextLines { from, encoding, number: 1, before: 0, line: Vec::new() }
    }

    pub(super) fn of(text: &'a str) -> TextLines<'a> {
        TextLines::new(Box::new(text.as_bytes()), Encoding::Utf8)
    }

    /// The number of the next line.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Bytes that were read, unpacked.
    pub(super) fn bytes(&self) -> u64 {
        self.before
    }

    /// Adds the next line with its end to a text; false where there is none.
    pub(super) fn append(&mut self, text: &mut String) -> Result<bool, SqlTextError> {
        let room = LONGEST.saturating_sub(text.len());
        let read = self.append_part(text, room)?;
        if read == room {
            let what =
                format!("a record of more than {} GiB: a quote may be missing", LONGEST >> 30);
            return Err(error(self.number, &what));
        }
        Ok(read > 0)
    }

    /// Adds what follows, up to the end of a line but no more than so many bytes. Returns how many
    /// were read: none where there are none.
    pub(super) fn append_part(
        &mut self,
        text: &mut String,
        most: usize,
    ) -> Result<usize, SqlTextError> {
        let mut from = (&mut *self.from).take(most as u64);
        let read = from.read_until(b'\n', &mut self.line);
        self.decode(read, text, most)
    }

    /// Adds what follows, whatever lines it has, but no more than so many bytes.
    pub(super) fn append_block(
        &mut self,
        text: &mut String,
        most: usize,
    ) -> Result<usize, SqlTextError> {
        let read = (&mut *self.from).take(most as u64).read_to_end(&mut self.line);
        self.decode(read, text, most)
    }

    /// Adds what was read to a text, but for a character that goes on in what follows.
    fn decode(
        &mut self,
        read: io::Result<usize>,
        text: &mut String,
        most: usize,
    ) -> Result<usize, SqlTextError> {
        let read = read.map_err(|it| error(self.number, &format!("cannot read it: {it}")))?;
        let is_first = self.before == 0;
        self.before += read as u64;
        let valid = match (self.encoding, std::str::from_utf8(&self.line)) {
            (Encoding::Latin1, _) => {
                text.extend(self.line.iter().copied().map(char::from));
                self.line.len()
            }
            (Encoding::Utf8, Ok(part)) => {
                // Only a text may begin with a byte order mark.
                let plain = part.strip_prefix('\u{feff}').filter(|_| is_first);
                text.push_str(plain.unwrap_or(part));
                part.len()
            }
            (Encoding::Utf8, Err(cut)) if cut.error_len().is_none() && read == most => {
                let valid = cut.valid_up_to();
                text.push_str(&String::from_utf8_lossy(&self.line[..valid]));
                valid
            }
            (Encoding::Utf8, Err(cut)) => {
                let byte = self.before - self.line.len() as u64 + cut.valid_up_to() as u64 + 1;
                let line = self.number + feeds(&self.line[..cut.valid_up_to()]);
                return Err(error(line, &format!("byte {byte} {NOT_UTF8}")));
            }
        };
        self.number += feeds(&self.line[..valid]);
        self.line.drain(..valid);
        Ok(read)
    }
}

/// The line feeds of a text.
pub(super) fn feeds(text: &[u8]) -> u32 {
    text.iter().filter(|byte| **byte == b'\n').count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_line_by_line_in_its_encoding() {
        let bytes: &[u8] = b"\xef\xbb\xbfa\xc3\xa9\r\nb";
        let mut lines = TextLines::new(Box::new(bytes), Encoding::Utf8);
        let mut text = String::new();
        while lines.append(&mut text).unwrap() {}
        assert_eq!(text, "aé\r\nb");
        let bytes: &[u8] = b"a\xe9\n";
        let mut lines = TextLines::new(Box::new(bytes), Encoding::Latin1);
        let mut text = String::new();
        assert!(lines.append(&mut text).unwrap());
        assert_eq!(text, "aé\n");
        let bytes: &[u8] = b"a\nb\xe9\n";
        let mut lines = TextLines::new(Box::new(bytes), Encoding::Utf8);
        assert!(lines.append(&mut String::new()).unwrap());
        let wrong = lines.append(&mut String::new()).unwrap_err().to_string();
        assert!(wrong.starts_with("2: byte 4 is not UTF-8. Convert the file"), "{wrong}");
    }

    #[test]
    fn a_character_may_be_cut_between_two_parts_but_not_at_the_end() {
        let mut lines = TextLines::new(Box::new("aéb\nö".as_bytes()), Encoding::Utf8);
        let mut text = String::new();
        while lines.append_part(&mut text, 2).unwrap() > 0 {}
        assert_eq!((text.as_str(), lines.number()), ("aéb\nö", 2));
        let bytes: &[u8] = b"a\nb\xc3";
        let mut lines = TextLines::new(Box::new(bytes), Encoding::Utf8);
        let mut parts = (0..4).map(|_| lines.append_part(&mut String::new(), 2));
        let wrong = parts.find_map(Result::err).unwrap().to_string();
        assert!(wrong.starts_with("2: byte 4 is not UTF-8"), "{wrong}");
    }
}
