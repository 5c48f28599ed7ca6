//! A file of text, line by line: what is loaded may be larger than the memory, compressed, and in
//! another encoding.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::options::{Encoding, NOT_UTF8};
use super::tokens::{SqlTextError, error};

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 16;
/// Bytes of a record or a line: a longer one is none, but a quote that does not end.
const LONGEST: usize = 1 << 30;

pub(crate) const GZIP: &str = ".gz";

/// Opens a file, which is unpacked while it is read.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let file = BufReader::with_capacity(CHUNK, File::open(path)?);
    Ok(match path.to_string_lossy().ends_with(GZIP) {
        true => Box::new(BufReader::with_capacity(CHUNK, MultiGzDecoder::new(file))),
        false => Box::new(file),
    })
}

/// The lines of a text that is not held in memory.
pub(crate) struct TextLines<'a> {
    from: Box<dyn BufRead + 'a>,
    encoding: Encoding,
    /// Of the next line, counted from 1.
    number: u32,
    /// Bytes before it.
    before: u64,
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

    /// Adds the next line with its end to a text; false where there is none.
    pub(super) fn append(&mut self, text: &mut String) -> Result<bool, SqlTextError> {
        self.line.clear();
        let room = LONGEST.saturating_sub(text.len()) as u64;
        let mut from = (&mut *self.from).take(room);
        let read = from.read_until(b'\n', &mut self.line);
        let read = read.map_err(|it| error(self.number, &format!("cannot read it: {it}")))?;
        if read as u64 == room {
            let what =
                format!("a record of more than {} GiB: a quote may be missing", LONGEST >> 30);
            return Err(error(self.number, &what));
        }
        match (self.encoding, std::str::from_utf8(&self.line)) {
            (Encoding::Latin1, _) => text.extend(self.line.iter().copied().map(char::from)),
            (Encoding::Utf8, Ok(line)) => {
                // Only a text may begin with a byte order mark.
                let plain = line.strip_prefix('\u{feff}').filter(|_| self.before == 0);
                text.push_str(plain.unwrap_or(line));
            }
            (Encoding::Utf8, Err(wrong)) => {
                let byte = self.before + wrong.valid_up_to() as u64 + 1;
                return Err(error(self.number, &format!("byte {byte} {NOT_UTF8}")));
            }
        }
        self.number += 1;
        self.before += read as u64;
        Ok(read > 0)
    }
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
}
