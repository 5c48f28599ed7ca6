//! The rows of a query as lines of comma-separated values, which is what is loaded elsewhere.

use std::io::{self, Write};

use crate::error::Error;
use crate::{Connection, Field, ResultColumn, RowVisitor};

/// See [`Connection::unload`]: for a DBMS that has no statement for it.
pub(crate) fn unload_visited(
    connection: &mut (impl Connection + ?Sized),
    query: &str,
    to: &mut dyn Write,
) -> Result<u64, Error> {
    let interrupter = connection.interrupter()?;
    let statement = connection.prepare(query, &[])?;
    let mut lines = CsvLines { to, line: Vec::new(), failed: None };
    let done = connection.visit(statement, &[], &mut StoppedLines(&mut lines, &interrupter));
    match lines.failed {
        Some(error) => Err(unwritten(&error)),
        None => {
            let rows = done?;
            connection.close(statement)?;
            Ok(rows)
        }
    }
}

/// The rows could not be passed on.
pub(crate) fn unwritten(error: &io::Error) -> Error {
    Error::Client(format!("cannot write rows: {error}"))
}

struct CsvLines<'a> {
    to: &'a mut dyn Write,
    line: Vec<u8>,
    failed: Option<io::Error>,
}

impl CsvLines<'_> {
    fn write(&mut self, fields: &[Field<'_>]) -> io::Result<()> {
        self.line.clear();
        for (place, field) in fields.iter().enumerate() {
            if place > 0 {
                self.line.push(b',');
            }
            match field {
                Field::Null => self.line.extend_from_slice(b"\\N"),
                Field::Int(value) => write!(self.line, "\"{value}\"")?,
                Field::Float(value) => write!(self.line, "\"{value}\"")?,
                Field::Text(text) => {
                    self.line.push(b'"');
                    for part in text.split_inclusive(|byte| *byte == b'"') {
                        self.line.extend_from_slice(part);
                        if part.ends_with(b"\"") {
                            self.line.push(b'"');
                        }
                    }
                    self.line.push(b'"');
                }
            }
        }
        self.line.push(b'\n');
        self.to.write_all(&self.line)
    }
}

/// Ends the query when a line cannot be written: the server may have many more.
struct StoppedLines<'l, 'a>(&'l mut CsvLines<'a>, &'l crate::Interrupter);

impl RowVisitor for StoppedLines<'_, '_> {
    fn columns(&mut self, _columns: Vec<ResultColumn>) {}

    fn row(&mut self, fields: &[Field<'_>]) {
        if self.0.failed.is_some() {
            return;
        }
        if let Err(error) = self.0.write(fields) {
            self.0.failed = Some(error);
            self.1.interrupt();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn every_value_is_in_quotes_and_null_is_not() {
        let mut written = Vec::new();
        let mut lines = CsvLines { to: &mut written, line: Vec::new(), failed: None };
        let text = |text: &'static str| Field::Text(Cow::Borrowed(text.as_bytes()));
        lines.write(&[Field::Int(-7), Field::Null, text(""), text("a \"b\",\n")]).unwrap();
        lines.write(&[Field::Float(0.5)]).unwrap();
        assert_eq!(written, b"\"-7\",\\N,\"\",\"a \"\"b\"\",\n\"\n\"0.5\"\n");
    }
}
