//! Lines and records of logs, one after another: a log does not fit into memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::sql::{Record, SqlTextError, records};

/// Bytes of a line or record at most: servers write no longer statements.
const LONGEST: usize = 1 << 30;

/// Reads a file, also a compressed one.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let file = BufReader::with_capacity(1 << 16, File::open(path)?);
    Ok(match path.extension().is_some_and(|it| it == "gz") {
        true => Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(file))),
        false => Box::new(file),
    })
}

/// The lines of a log.
pub(super) struct LogLines<'r> {
    from: &'r mut dyn BufRead,
    /// A line that was read too far.
    next: Option<String>,
    /// Of the last line, counted from 1.
    pub(super) number: u32,
}

impl<'r> LogLines<'r> {
    pub(super) fn new(from: &'r mut dyn BufRead) -> LogLines<'r> {
        LogLines { from, next: None, number: 0 }
    }

    /// The next line with its end. What is no UTF-8 becomes U+FFFD.
    pub(super) fn next(&mut self) -> io::Result<Option<String>> {
        if let Some(line) = self.next.take() {
            return Ok(Some(line));
        }
        let mut line = Vec::new();
        if io::Read::take(&mut *self.from, LONGEST as u64).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(String::from_utf8_lossy(&line).into_owned()))
    }

    /// The line is read again.
    pub(super) fn put_back(&mut self, line: String) {
        self.next = Some(line);
    }

    /// The next record of comma-separated values, which may have several lines.
    pub(super) fn record(&mut self) -> io::Result<Option<Result<Record, SqlTextError>>> {
        let mut text = String::new();
        let first = self.number + 1;
        loop {
            let Some(line) = self.next()? else {
                let rest = if text.trim().is_empty() { None } else { Some(one(&text, first)) };
                return Ok(rest);
            };
            text += &line;
            // Quotes within a field are doubled.
            let is_whole = text.matches('"').count().is_multiple_of(2);
            if is_whole && !text.trim().is_empty() {
                return Ok(Some(one(&text, first)));
            }
            if is_whole || text.len() > LONGEST {
                text.clear();
            }
        }
    }
}

fn one(text: &str, first: u32) -> Result<Record, SqlTextError> {
    let shifted = |mut error: SqlTextError| {
        error.line += first - 1;
        error
    };
    let found = records(text).map_err(shifted)?;
    Ok(found.into_iter().next().map(|(_, record)| record).unwrap_or_default())
}
