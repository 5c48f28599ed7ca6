//! Comma-separated values (RFC 4180), where NULL is told from empty text: `\N` and an empty field
//! without quotes are NULL, `""` is empty text.

use super::tokens::{SqlTextError, error};

/// The fields of a line; NULL is none.
pub(crate) type Record = Vec<Option<String>>;

/// A file whose first line has the names of the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedColumns {
    pub(crate) names: Vec<String>,
    /// The rows with their lines; each has as many fields as there are names.
    pub(crate) rows: Vec<(u32, Record)>,
}

impl NamedColumns {
    pub(crate) fn read(text: &str) -> Result<NamedColumns, SqlTextError> {
        let mut records = records(text)?.into_iter();
        let (_, first) =
            records.next().ok_or_else(|| error(1, "the first line must have names"))?;
        let mut names: Vec<String> = Vec::new();
        for name in first {
            match name.as_deref().map(str::trim).unwrap_or_default() {
                "" => return Err(error(1, "a column has no name. The first line must have names")),
                name if names.iter().any(|known| known == name) => {
                    return Err(error(1, &format!("two columns are called '{name}'")));
                }
                name => names.push(name.to_string()),
            }
        }
        let rows: Vec<(u32, Record)> = records.collect();
        match rows.iter().find(|(_, row)| row.len() != names.len()) {
            None => Ok(NamedColumns { names, rows }),
            Some((line, row)) => {
                let (found, expected) = (row.len(), names.len());
                let what = format!("{found} fields, but the first line has {expected} names");
                Err(error(*line, &what))
            }
        }
    }
}

/// The records of a text with the line of each, counted from 1. Empty lines are none.
pub(crate) fn records(text: &str) -> Result<Vec<(u32, Record)>, SqlTextError> {
    let mut records = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('\n').or_else(|| rest.strip_prefix("\r\n")) {
            rest = after;
            line += 1;
            continue;
        }
        let (begun, mut record) = (line, Vec::new());
        loop {
            let (field, after) = field(rest, line)?;
            line += rest[..rest.len() - after.len()].matches('\n').count() as u32;
            record.push(field);
            rest = after;
            match rest.strip_prefix(',') {
                Some(after) => rest = after,
                None => break,
            }
        }
        let after = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'));
        line += u32::from(after.is_some());
        rest = after.unwrap_or(rest);
        records.push((begun, record));
    }
    Ok(records)
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
        ] {
            assert_eq!(NamedColumns::read(text).unwrap_err().to_string(), expected);
        }
    }
}
