//! A file of SQL, statement by statement: a dump may be larger than the memory.

use std::io::{self, Read};
use std::path::PathBuf;

use rqps_dbms::Lexis;

use super::faults::FolderError;
use super::lines::{CHUNK, TextLines, open};
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
}

impl SqlScript {
    pub(super) fn of_text(file: String, text: String) -> SqlScript {
        SqlScript { file, bytes: text.len() as u64, source: ScriptSource::Text(text) }
    }

    pub(super) fn of_file(file: String, path: PathBuf, encoding: Encoding) -> SqlScript {
        SqlScript { file, bytes: 0, source: ScriptSource::File(path, encoding) }
    }

    fn lines(&self) -> Result<TextLines<'_>, FolderError> {
        let wrong = |it: io::Error| FolderError::new(&self.file, format!("cannot read it: {it}"));
        Ok(match &self.source {
            ScriptSource::Text(text) => TextLines::of(text),
            ScriptSource::File(path, encoding) => {
                TextLines::new(open(path).map_err(wrong)?, *encoding)
            }
        })
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
            let mut rows = CopiedRows::new(&text[place.at..], &mut self.lines, statement.line);
            let done = visit(&statement, Some(&mut rows));
            // Why they could not be read says more than that they were not sent.
            let (rest, feeds) = rows.end().map_err(wrong)?;
            done?;
            state.line += feeds;
            self.at = self.buffer.len() - rest.len();
            self.state = state;
            return Ok(false);
        }
    }
}

/// The rows behind a `COPY … FROM STDIN`, without the line `\.` that ends them.
pub(super) struct CopiedRows<'r, 'a> {
    /// What is in memory of them and of what follows.
    rest: &'r str,
    lines: &'r mut TextLines<'a>,
    /// Of the COPY.
    line: u32,
    /// Some of a row, and how much of it is read.
    piece: String,
    read: usize,
    begins_line: bool,
    feeds: u32,
    has_ended: bool,
    failed: Option<SqlTextError>,
}

impl<'r, 'a> CopiedRows<'r, 'a> {
    fn new(rest: &'r str, lines: &'r mut TextLines<'a>, line: u32) -> CopiedRows<'r, 'a> {
        let (piece, read, begins_line, feeds) = (String::new(), 0, false, 0);
        let (has_ended, failed) = (false, None);
        CopiedRows { rest, lines, line, piece, read, begins_line, feeds, has_ended, failed }
    }

    /// Takes the next line, or a part of it if it is long.
    fn next(&mut self) -> Result<(), SqlTextError> {
        self.piece.clear();
        self.read = 0;
        match self.rest.find('\n') {
            Some(feed) => {
                let (line, rest) = self.rest.split_at(feed + 1);
                self.piece.push_str(line);
                self.rest = rest;
            }
            None => {
                self.piece.push_str(std::mem::take(&mut self.rest));
                self.lines.append_part(&mut self.piece, CHUNK)?;
            }
        }
        if self.piece.is_empty() {
            return Err(endless_rows(self.line));
        }
        let begins_line = std::mem::replace(&mut self.begins_line, self.piece.ends_with('\n'));
        self.feeds += u32::from(self.begins_line);
        self.has_ended = begins_line && ends_rows(&self.piece);
        Ok(())
    }

    /// Skips what was not read. Returns what is in memory of the text behind, and the line feeds
    /// before it.
    fn end(mut self) -> Result<(&'r str, u32), SqlTextError> {
        if let Some(wrong) = self.failed {
            return Err(wrong);
        }
        while !self.has_ended {
            self.next()?;
        }
        Ok((self.rest, self.feeds))
    }
}

impl Read for CopiedRows<'_, '_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.read == self.piece.len() && !self.has_ended {
            // The rest of the line of the COPY is none of its rows.
            let is_row = self.begins_line || self.feeds > 0;
            if let Err(wrong) = self.next() {
                let said = io::Error::other(wrong.to_string());
                self.failed = Some(wrong);
                return Err(said);
            }
            if !is_row || self.has_ended {
                self.piece.clear();
            }
        }
        let piece = &self.piece.as_bytes()[self.read..];
        let length = piece.len().min(to.len());
        to[..length].copy_from_slice(&piece[..length]);
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
