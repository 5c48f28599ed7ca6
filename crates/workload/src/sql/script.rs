//! A file of SQL, statement by statement: a dump may be larger than the memory.

use std::io::{self, Read};
use std::ops::Range;
use std::path::PathBuf;

use memchr::memmem;
use rqps_dbms::Lexis;

use super::dump::restored;
use super::faults::FolderError;
use super::lines::{CHUNK, TextLines, feeds, open};
use super::options::Encoding;
use super::statements::{SqlStatement, StatementReader};
use super::tokens::{SqlTextError, TextState, endless_rows, ends_rows, error};

/// Bytes of a statement: one for another DBMS, or with a quote that does not end, may be as long as
/// the file.
const LONGEST: usize = 64 << 20;

/// A file of SQL, below the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SqlScript {
    pub(crate) file: String,
    source: ScriptSource,
    /// Of its text.
    pub(super) bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ScriptSource {
    /// What is in no file of its own.
    Text(String),
    File(PathBuf, Encoding),
    /// In a format that only pg_restore reads.
    Dump(PathBuf, Encoding),
}

impl SqlScript {
    pub(super) fn of_text(file: String, text: String) -> SqlScript {
        SqlScript { file, bytes: text.len() as u64, source: ScriptSource::Text(text) }
    }

    pub(super) fn of_file(file: String, path: PathBuf, encoding: Encoding) -> SqlScript {
        SqlScript { file, bytes: 0, source: ScriptSource::File(path, encoding) }
    }

    pub(super) fn of_dump(file: String, path: PathBuf, encoding: Encoding) -> SqlScript {
        SqlScript { file, bytes: 0, source: ScriptSource::Dump(path, encoding) }
    }

    fn lines(&self) -> Result<TextLines<'_>, FolderError> {
        let (opened, encoding) = match &self.source {
            ScriptSource::Text(text) => return Ok(TextLines::of(text)),
            ScriptSource::File(path, encoding) => (open(path), *encoding),
            ScriptSource::Dump(path, encoding) => (restored(path), *encoding),
        };
        let wrong = |it: io::Error| FolderError::new(&self.file, format!("cannot read it: {it}"));
        Ok(TextLines::new(opened.map_err(wrong)?, encoding))
    }

    /// Reads its statements one after another, with the rows behind a `COPY … FROM STDIN`, and
    /// returns the bytes of its text.
    pub(super) fn each<E: From<FolderError>>(
        &self,
        lexis: Lexis,
        visit: &mut Visit<'_, E>,
    ) -> Result<u64, E> {
        TextParts::new(&self.file, lexis, self.lines()?, CHUNK).each(visit)
    }
}

/// What is done with a statement.
type Visit<'v, E> =
    dyn FnMut(&SqlStatement<'_>, Option<&mut CopiedRows<'_, '_>>) -> Result<(), E> + 'v;

/// A text of which some is in memory.
struct TextParts<'a> {
    file: &'a str,
    lexis: Lexis,
    lines: TextLines<'a>,
    /// Bytes that are read at a time.
    chunk: usize,
    buffer: String,
    /// Where in the buffer the next statement is looked for, and what is known there.
    at: usize,
    state: TextState,
    /// The line of what is in the buffer only in part.
    open: Option<u32>,
    /// The text ends with the buffer.
    is_last: bool,
}

impl<'a> TextParts<'a> {
    fn new(file: &'a str, lexis: Lexis, lines: TextLines<'a>, chunk: usize) -> TextParts<'a> {
        let (buffer, at, state) = (String::new(), 0, TextState::default());
        let (open, is_last) = (None, false);
        TextParts { file, lexis, lines, chunk, buffer, at, state, open, is_last }
    }

    fn each<E: From<FolderError>>(mut self, visit: &mut Visit<'_, E>) -> Result<u64, E> {
        while !self.is_last {
            self.fill()?;
            while !self.take(visit)? {}
        }
        Ok(self.lines.bytes())
    }

    fn wrong(&self, wrong: SqlTextError) -> FolderError {
        FolderError::of_text(self.file, wrong)
    }

    /// Reads as much again as is in the buffer, so that a long statement is not looked through for
    /// each of its lines.
    fn fill(&mut self) -> Result<(), FolderError> {
        self.buffer.drain(..self.at);
        self.at = 0;
        if self.buffer.len() >= LONGEST {
            let what = format!(
                "the statement that begins here is longer than {} MiB: a quote may be missing, or it \
                 is for another DBMS. Write it as several statements",
                LONGEST >> 20
            );
            return Err(self.wrong(error(self.open.unwrap_or(self.state.line), &what)));
        }
        let enough = self.buffer.len() + self.buffer.len().max(self.chunk);
        while self.buffer.len() < enough && !self.is_last {
            let read = self.lines.append_part(&mut self.buffer, self.chunk);
            self.is_last = read.map_err(|it| self.wrong(it))? == 0;
        }
        Ok(())
    }

    /// Takes the statements that are whole in the buffer, up to one that rows follow. Returns
    /// whether there is none any more.
    fn take<E: From<FolderError>>(&mut self, visit: &mut Visit<'_, E>) -> Result<bool, E> {
        let file = self.file;
        let wrong = |it| E::from(FolderError::of_text(file, it));
        let text = &self.buffer[self.at..];
        let mut reader = StatementReader::of_part(text, self.lexis, &self.state, !self.is_last);
        let mut place = reader.place();
        loop {
            let Some(statement) = reader.whole().map_err(wrong)? else {
                self.open = reader.open();
                // A comment or a command may go on behind the buffer, unless its line ends there.
                if self.open.is_none() && (self.is_last || text.ends_with('\n')) {
                    place = reader.place();
                }
                self.at += place.at;
                self.state = place.state();
                return Ok(true);
            };
            place = reader.place();
            if !statement.takes_rows {
                visit(&statement, None)?;
                continue;
            }
            let mut state = place.state();
            let from = (&mut self.lines, self.chunk);
            let mut rows = CopiedRows::new(&text[place.at..], from, statement.line);
            let done = visit(&statement, Some(&mut rows));
            // Why they could not be read says more than that they were not sent.
            let (rest, feeds) = rows.end().map_err(wrong)?;
            done?;
            state.line += feeds;
            (self.buffer, self.at, self.state) = (rest, 0, state);
            return Ok(false);
        }
    }
}

/// The rows behind a `COPY … FROM STDIN`, without the line `\.` that ends them.
pub(super) struct CopiedRows<'r, 'a> {
    lines: &'r mut TextLines<'a>,
    /// Bytes that are read at a time.
    chunk: usize,
    /// Of the COPY.
    line: u32,
    /// What is in memory of them and of what follows.
    text: String,
    /// How much of the text is read, and how much of it is rows.
    read: usize,
    rows: usize,
    /// The rest of the line of the COPY, which is none of its rows, is skipped.
    has_begun: bool,
    /// The text begins with a line.
    begins_line: bool,
    /// Where the text behind the last line begins.
    end: Option<usize>,
    /// Line feeds before the text.
    feeds: u32,
    failed: Option<SqlTextError>,
}

impl<'r, 'a> CopiedRows<'r, 'a> {
    fn new(
        text: &str,
        (lines, chunk): (&'r mut TextLines<'a>, usize),
        line: u32,
    ) -> CopiedRows<'r, 'a> {
        CopiedRows {
            lines,
            chunk,
            line,
            text: text.to_string(),
            read: 0,
            rows: 0,
            has_begun: false,
            begins_line: false,
            end: None,
            feeds: 0,
            failed: None,
        }
    }

    /// Forgets the beginning of the text.
    fn forget(&mut self, bytes: usize) {
        let past = &self.text.as_bytes()[..bytes];
        self.feeds += feeds(past);
        self.begins_line = past.last().map_or(self.begins_line, |byte| *byte == b'\n');
        self.text.drain(..bytes);
        (self.read, self.rows) = (0, 0);
    }

    /// Reads more of the text; an error at its end.
    fn append(&mut self) -> Result<(), SqlTextError> {
        match self.lines.append_block(&mut self.text, self.chunk)? {
            0 => Err(endless_rows(self.line)),
            _ => Ok(()),
        }
    }

    /// Forgets the rows, and finds the next ones or their end.
    fn next(&mut self) -> Result<(), SqlTextError> {
        self.forget(self.rows);
        while !self.has_begun {
            let feed = self.text.find('\n');
            self.has_begun = feed.is_some();
            self.forget(feed.map_or(self.text.len(), |feed| feed + 1));
            if !self.has_begun {
                self.append()?;
            }
        }
        loop {
            let whole = self.text.rfind('\n').map_or(0, |feed| feed + 1);
            if let Some(line) = self.last_line(whole) {
                (self.rows, self.end) = (line.start, Some(line.end));
                return Ok(());
            }
            // A row may be as long as the file. Only of a line that may be the last one must the
            // end be seen.
            let may_be_last =
                self.begins_line && "\\.".starts_with(self.text.trim_end_matches('\r'));
            self.rows = match whole {
                0 if !may_be_last => self.text.len(),
                whole => whole,
            };
            if self.rows > 0 {
                return Ok(());
            }
            if let Err(wrong) = self.append() {
                // The text may end with that line.
                let is_last = self.begins_line && ends_rows(&self.text);
                self.end = is_last.then_some(self.text.len());
                return self.end.map(drop).ok_or(wrong);
            }
        }
    }

    /// The line that ends the rows, if it is in this part of the text.
    fn last_line(&self, whole: usize) -> Option<Range<usize>> {
        let text = &self.text[..whole];
        let first = self.begins_line.then_some(0);
        let others = memmem::find_iter(text.as_bytes(), "\n\\.").map(|feed| feed + 1);
        let mut lines = first.into_iter().chain(others).map(|start| {
            let line = text[start..].split_inclusive('\n').next().unwrap_or_default();
            (start, line)
        });
        let found = lines.find(|(_, line)| ends_rows(line));
        found.map(|(start, line)| start..start + line.len())
    }

    /// Skips what was not read. Returns what is in memory of the text behind, and the line feeds
    /// before it.
    fn end(mut self) -> Result<(String, u32), SqlTextError> {
        if let Some(wrong) = self.failed {
            return Err(wrong);
        }
        loop {
            if let Some(end) = self.end {
                self.forget(end);
                return Ok((self.text, self.feeds));
            }
            self.next()?;
        }
    }
}

impl Read for CopiedRows<'_, '_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.read == self.rows && self.end.is_none() {
            if let Err(wrong) = self.next() {
                let said = io::Error::other(wrong.to_string());
                self.failed = Some(wrong);
                return Err(said);
            }
        }
        let rows = &self.text.as_bytes()[self.read..self.rows];
        let length = rows.len().min(to.len());
        to[..length].copy_from_slice(&rows[..length]);
        self.read += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use rqps_dbms::Dialect;

    use super::*;
    use crate::sql::faults::FolderFaults;

    /// The statements of a text with their lines, and the rows of each COPY, of which so many bytes
    /// are read at a time.
    fn read(text: &str, dialect: Dialect, chunk: usize) -> Result<Vec<String>, String> {
        let mut all = Vec::new();
        let parts = TextParts::new("a.sql", dialect.lexis, TextLines::of(text), chunk);
        let read = parts.each::<FolderError>(&mut |statement, rows| {
            let mut copied = String::new();
            if let Some(rows) = rows {
                // As after an error, which the reader of the rows keeps.
                let _ = rows.read_to_string(&mut copied);
            }
            all.push(format!("{}: {} {copied}", statement.line, statement.text));
            Ok(())
        });
        read.map(|_| all).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn statements_are_the_same_wherever_the_text_is_cut() {
        const DIALECTS: [Dialect; 3] = [Dialect::POSTGRES, Dialect::INNODB, Dialect::SQLITE];
        for (text, dialect, expected) in [
            (
                "select 1;\n-- it's\nselect $a$ ; $b$ $a$, 'é;',\n\"x;\" /* ; /* ; */ */;;select 3",
                DIALECTS[0],
                &["1: select 1 ", "3: select $a$ ; $b$ $a$, 'é;',\n\"x;\" ", "4: select 3 "][..],
            ),
            (
                "copy t from stdin; -- rows\n1\té\n\\.x\n\n\\.\ncopy u (a)\nfrom stdin;\n\\.\r\nselect 1;",
                DIALECTS[0],
                &[
                    "1: copy t from stdin 1\té\n\\.x\n\n",
                    "6: copy u (a)\nfrom stdin ",
                    "9: select 1 ",
                ],
            ),
            ("copy t from stdin;\n1\n2\n\\.", DIALECTS[0], &["1: copy t from stdin 1\n2\n"]),
            (
                "create function f() returns int begin atomic select 1; end;\n\\restrict a;b\nselect 2",
                DIALECTS[0],
                &["1: create function f() returns int begin atomic select 1; end ", "3: select 2 "],
            ),
            (
                "/*!40101 set a = 1 */;\ndelimiter ;;\nselect 1; select `;;`;;\ndelimiter ;\nselect 4; # ;\n",
                DIALECTS[1],
                &["1: /*!40101 set a = 1 */ ", "3: select 1; select `;;` ", "5: select 4 "],
            ),
            (
                "create trigger t after insert on a begin delete from b; end;\nselect 'a''b;';",
                DIALECTS[2],
                &[
                    "1: create trigger t after insert on a begin delete from b; end ",
                    "2: select 'a''b;' ",
                ],
            ),
        ] {
            for chunk in 4..=text.len() {
                assert_eq!(read(text, dialect, chunk).unwrap(), expected, "by {chunk}: {text}");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_wherever_the_text_is_cut() {
        for (text, told) in [
            ("select 1;\nselect 'a;\n;", "a.sql:2: the literal that begins here does not end"),
            ("select 1;\n\nselect (1;\n", "a.sql:3: the parenthesis that opens here does not"),
            ("\nselect $a$ $b$", "a.sql:2: the literal that begins here does not end: $a$ is"),
            ("select 1;\ncopy t from stdin;\n1\n", "a.sql:2: the data of the COPY that begins"),
            ("select 1;\n\\connect db\nselect 2;", "a.sql:2: '\\connect' is a command of psql"),
            ("copy t from stdin;\n1\n\\.\n\\d\n", "a.sql:4: '\\d' is a command of psql"),
        ] {
            for chunk in 4..=text.len() {
                let wrong = read(text, Dialect::POSTGRES, chunk).unwrap_err();
                assert!(wrong.starts_with(told), "by {chunk}: {text}: {wrong}");
            }
        }
    }

    #[test]
    fn a_fault_is_told_before_the_rest_is_read() {
        let script = SqlScript::of_text("a.sql".into(), "\\d\n".to_string() + &"x\n".repeat(CHUNK));
        let mut parts =
            TextParts::new("a.sql", Dialect::POSTGRES.lexis, script.lines().unwrap(), 64);
        parts.fill().unwrap();
        let told = parts.take::<FolderFaults>(&mut |_, _| Ok(())).unwrap_err();
        assert!(told.to_string().starts_with("a.sql:1: '\\d'"), "{told}");
    }
}
