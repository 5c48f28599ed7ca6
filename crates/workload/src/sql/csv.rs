//! Comma-separated values (RFC 4180), where NULL is told from empty text: `\N` and an empty field
//! without quotes are NULL, `""` is empty text.

use super::lines::TextLines;
use super::tokens::{SqlTextError, error};

/// The fields of a line; NULL is none.
pub(crate) type Record = Vec<Option<String>>;

/// A file whose first line has the names of the columns, held in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedColumns {
    pub(crate) names: Vec<String>,
    /// The rows with their lines; each has as many fields as there are names.
    pub(crate) rows: Vec<(u32, Record)>,
}

impl NamedColumns {
    pub(crate) fn read(text: &str) -> Result<NamedColumns, SqlTextError> {
        let rows = NamedRows::begin(TextLines::of(text))?;
        let names = rows.names.clone();
        Ok(NamedColumns { names, rows: rows.collect::<Result<_, _>>()? })
    }
}

/// The same file, of which one row is in memory at a time.
pub(crate) struct NamedRows<'a> {
    pub(crate) names: Vec<String>,
    records: Records<'a>,
}

impl<'a> NamedRows<'a> {
    pub(crate) fn begin(lines: TextLines<'a>) -> Result<NamedRows<'a>, SqlTextError> {
        let mut records = Records::new(lines);
        let first = records.next().transpose()?;
        let (line, first) = first.ok_or_else(|| error(1, "the first line must have names"))?;
        let mut names: Vec<String> = Vec::new();
        for name in first {
            match name.as_deref().map(str::trim).unwrap_or_default() {
                "" => {
                    let what = "a column has no name. The first line must have names";
                    return Err(error(line, what));
                }
                name if names.iter().any(|known| known == name) => {
                    return Err(error(line, &format!("two columns are called '{name}'")));
                }
                name => names.push(name.to_string()),
            }
        }
        Ok(NamedRows { names, records })
    }

    fn checked(&self, (line, row): (u32, Record)) -> Result<(u32, Record), SqlTextError> {
        let (found, expected) = (row.len(), self.names.len());
        match found == expected {
            true => Ok((line, row)),
            false => {
                let what = format!("{found} fields, but the first line has {expected} names");
                Err(error(line, &what))
            }
        }
    }
}

impl Iterator for NamedRows<'_> {
    type Item = Result<(u32, Record), SqlTextError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next()?;
        Some(record.and_then(|record| self.checked(record)))
    }
}

/// The records of a text with the line of each, counted from 1. Empty lines are none.
pub(crate) struct Records<'a> {
    lines: TextLines<'a>,
    /// The lines of one record.
    text: String,
    has_failed: bool,
}

impl<'a> Records<'a> {
    pub(crate) fn new(lines: TextLines<'a>) -> Records<'a> {
        Records { lines, text: String::new(), has_failed: false }
    }

    /// A record goes on in the next line where a quote is open.
    fn read(&mut self) -> Result<Option<(u32, Record)>, SqlTextError> {
        loop {
            let line = self.lines.number();
            self.text.clear();
            let (mut end, mut is_open) = (0, false);
            while self.lines.append(&mut self.text)? {
                is_open ^= self.text[end..].matches('"').count() % 2 == 1;
                end = self.text.len();
                if !is_open {
                    break;
                }
            }
            match self.text.as_str() {
                "" => return Ok(None),
                "\n" | "\r\n" => {}
                text => return Ok(Some((line, record(text, line)?))),
            }
        }
    }
}

impl Iterator for Records<'_> {
    type Item = Result<(u32, Record), SqlTextError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let read = self.read();
        self.has_failed = read.is_err();
        read.transpose()
    }
}

/// All records of a text.
pub(crate) fn records(text: &str) -> Result<Vec<(u32, Record)>, SqlTextError> {
    Records::new(TextLines::of(text)).collect()
}

/// The fields of the lines of one record, of which the first has this number.
fn record(text: &str, first: u32) -> Result<Record, SqlTextError> {
    let (mut rest, mut line, mut record) = (text, first, Vec::new());
    loop {
        let (field, after) = field(rest, line)?;
        line += rest[..rest.len() - after.len()].matches('\n').count() as u32;
        record.push(field);
        match after.strip_prefix(',') {
            Some(after) => rest = after,
            None if matches!(after, "" | "\n" | "\r\n") => return Ok(record),
            None => return Err(error(line, "a carriage return within a field without quotes")),
        }
    }
}

/// The field that a text begins with, and what follows it: a comma, the end of the line or of the
/// text.
fn field(text: &str, line: u32) -> Result<(Option<String>, &str), SqlTextError> {
    let Some(quoted) = text.strip_prefix('"') else {
        let length = text.find([',', '\n', '\r']).unwrap_or(text.len());
        let (field, after) = text.split_at(length);
        return match field {
            "" | "\\N" => Ok((None, after)),
            _ if field.contains('"') => Err(error(line, "a quote within a field without quotes")),
            _ => Ok((Some(field.to_string()), after)),
        };
    };
    let mut value = String::new();
    let mut rest = quoted;
    loop {
        let Some((before, after)) = rest.split_once('"') else {
            return Err(error(
                line,
                "the quoted field that begins here does not end: \" is missing",
            ));
        };
        value.push_str(before);
        rest = match after.strip_prefix('"') {
            Some(after) => {
                value.push('"');
                after
            }
            None if after.is_empty() || after.starts_with([',', '\n', '\r']) => {
                return Ok((Some(value), after));
            }
            None => return Err(error(line, "text behind the closing quote of a field")),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_told_from_empty_text() {
        let columns =
            NamedColumns::read("a,b,c\n1,,\"\"\r\n\\N,\"\\N\",\"x, \"\"y\"\"\nz\"\n\n2,3,4")
                .unwrap();
        let text = |text: &str| Some(text.to_string());
        assert_eq!(columns.names, ["a", "b", "c"]);
        assert_eq!(
            columns.rows,
            [
                (2, vec![text("1"), None, text("")]),
                (3, vec![None, text("\\N"), text("x, \"y\"\nz")]),
                (6, vec![text("2"), text("3"), text("4")]),
            ]
        );
    }

    #[test]
    fn a_broken_file_is_refused_with_its_line() {
        for (text, expected) in [
            ("", "1: the first line must have names"),
            ("a,,b\n", "1: a column has no name. The first line must have names"),
            ("a,a\n", "1: two columns are called 'a'"),
            ("a,b\n1,2\n1\n", "3: 1 fields, but the first line has 2 names"),
            ("a\n\"1\n\n2", "2: the quoted field that begins here does not end: \" is missing"),
            ("a\n\"1\"2\n", "2: text behind the closing quote of a field"),
            ("a\n1\"2\"\n", "2: a quote within a field without quotes"),
            ("a\n1\r2\n", "2: a carriage return within a field without quotes"),
        ] {
            assert_eq!(NamedColumns::read(text).unwrap_err().to_string(), expected);
        }
    }
}
