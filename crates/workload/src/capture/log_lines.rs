//! Lines and records of logs, one after another: a log does not fit into memory, and perhaps not
//! even a line of it.

use std::io::{self, BufRead};

use crate::sql::{Record, SqlTextError, records};

/// Bytes of a line or record that are kept: longer statements are left out.
const LONGEST: usize = 4 << 20;

/// The lines of a log.
pub(super) struct LogLines<'r> {
    from: &'r mut dyn BufRead,
    /// A line that was read too far.
    next: Option<String>,
    /// Of the last line, counted from 1.
    pub(super) number: u32,
    /// Quotes behind what was kept of the last line; none if it was kept whole.
    cut: Option<usize>,
    /// Records of which not all was kept, and which are no records for that.
    pub(super) too_long: u64,
}

impl<'r> LogLines<'r> {
    pub(super) fn new(from: &'r mut dyn BufRead) -> LogLines<'r> {
        LogLines { from, next: None, number: 0, cut: None, too_long: 0 }
    }

    /// The next line with its end, unless it is too long. What is no UTF-8 becomes U+FFFD.
    pub(super) fn next(&mut self) -> io::Result<Option<String>> {
        if let Some(line) = self.next.take() {
            return Ok(Some(line));
        }
        let mut line = Vec::new();
        if io::Read::take(&mut *self.from, LONGEST as u64).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.cut = None;
        while line.len() >= LONGEST && !line.ends_with(b"\n") {
            let mut more = Vec::new();
            io::Read::take(&mut *self.from, LONGEST as u64).read_until(b'\n', &mut more)?;
            let quotes = more.iter().filter(|byte| **byte == b'"').count();
            *self.cut.get_or_insert_default() += quotes;
            if more.len() < LONGEST || more.ends_with(b"\n") {
                break;
            }
        }
        Ok(Some(String::from_utf8_lossy(&line).into_owned()))
    }

    /// The line is read again.
    pub(super) fn put_back(&mut self, line: String) {
        self.next = Some(line);
    }

    /// The next record of comma-separated values, which may have several lines.
    pub(super) fn record(&mut self) -> io::Result<Option<Result<Record, SqlTextError>>> {
        let mut text = String::new();
        let mut first = self.number + 1;
        // Quotes within a field are doubled.
        let (mut is_whole, mut is_cut) = (true, false);
        loop {
            let Some(line) = self.next()? else {
                self.too_long += u64::from(is_cut);
                let is_none = is_cut || text.trim().is_empty();
                return Ok(if is_none { None } else { Some(one(&text, first)) });
            };
            let quotes = line.matches('"').count() + self.cut.unwrap_or_default();
            is_whole ^= quotes % 2 == 1;
            is_cut |= self.cut.is_some() || text.len() + line.len() > LONGEST;
            if !is_cut {
                text += &line;
            }
            if !is_whole {
                continue;
            }
            if !is_cut && !text.trim().is_empty() {
                return Ok(Some(one(&text, first)));
            }
            self.too_long += u64::from(is_cut);
            (is_cut, first) = (false, self.number + 1);
            text.clear();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_too_long_is_counted_and_the_next_one_is_read() {
        let long = "a\"\"\n".repeat(LONGEST / 4 + 2);
        let line = "b\"\"".repeat(LONGEST);
        let text = format!("1,\"x\ny\"\n2,\"{long}\"\n3,\"{line}\"\n\n4,z\n");
        let mut bytes = text.as_bytes();
        let mut lines = LogLines::new(&mut bytes);
        let mut found = Vec::new();
        while let Some(record) = lines.record().unwrap() {
            found.push(record.unwrap().into_iter().flatten().collect::<Vec<_>>().join("|"));
        }
        assert_eq!(found, ["1|x\ny", "4|z"]);
        assert_eq!(lines.too_long, 2);
    }
}
