//! From a text of SQL to its words, literals, names, placeholders and symbols, by the rules of one
//! DBMS. This is no parser: it knows only what it takes to find placeholders and the ends of
//! statements.
//!
//! Sources: PostgreSQL documentation, "Lexical Structure"; MySQL Reference Manual, "Language
//! Structure"; SQLite documentation, "SQLite Keywords" and the lexical diagrams of "SQL As
//! Understood By SQLite".

use std::fmt;

use memchr::memchr2;
use rqps_dbms::{Backslash, Body, Lexis};

use super::lines::feeds;

/// Where a value is put into a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Placeholder {
    /// `:name`
    Named(String),
    /// `$1`, on SQLite also `?1`; counted from 1.
    Numbered(u32),
    /// `?`
    Next,
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placeholder::Named(name) => write!(f, ":{name}"),
            Placeholder::Numbered(number) => write!(f, "${number}"),
            Placeholder::Next => f.write_str("?"),
        }
    }
}

/// What is wrong in a text of SQL, and in which line, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {what}")]
pub struct SqlTextError {
    pub(crate) line: u32,
    pub(crate) what: String,
    /// Something has begun there that does not end in the text.
    pub(super) is_open: bool,
}

/// What a part of a text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Word,
    Literal,
    /// A name in quotes.
    Name,
    Number,
    Placeholder(Placeholder),
    Symbol(char),
    /// `/*!50000`, which begins SQL in a comment, or `*/`, which ends it.
    Mark,
    /// What ends a statement.
    Delimiter,
}

#[derive(Clone, Debug)]
pub(crate) struct SqlToken<'a> {
    pub(crate) part: Part,
    pub(crate) text: &'a str,
    /// Its first byte in the whole text, and its line.
    pub(crate) start: usize,
    pub(crate) line: u32,
}

/// An open bracket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Parenthesis(u32),
    Array,
    /// Of a subscript, which may be a slice.
    Subscript,
}

/// What must be known of a text to read on behind one of its statements.
#[derive(Clone, Debug)]
pub(super) struct TextState {
    pub(super) line: u32,
    delimiter: String,
    executable: Option<u32>,
}

impl Default for TextState {
    fn default() -> TextState {
        TextState { line: 1, delimiter: ";".to_string(), executable: None }
    }
}

/// The same with the place in the text.
#[derive(Clone, Copy)]
pub(super) struct TextPlace<'a> {
    pub(super) at: usize,
    line: u32,
    delimiter: &'a str,
    executable: Option<u32>,
}

impl TextPlace<'_> {
    pub(super) fn state(self) -> TextState {
        let TextPlace { line, delimiter, executable, .. } = self;
        TextState { line, delimiter: delimiter.to_string(), executable }
    }
}

/// Reads tokens one after another.
pub(crate) struct Tokens<'a> {
    text: &'a str,
    lexis: Lexis,
    at: usize,
    line: u32,
    delimiter: &'a str,
    /// The line where SQL in a comment began.
    executable: Option<u32>,
    brackets: Vec<Bracket>,
    /// The token before is the word ARRAY, or a bracket or comma in an array.
    may_begin_array: bool,
}

/// mariadb-dump begins its texts with this, a command for its own client: no server is so new.
const SANDBOX: &str = "/*M!999999\\-";

/// Words that `[` follows to begin an array, not a subscript.
const ARRAY: &str = "array";

impl<'a> Tokens<'a> {
    pub(crate) fn new(text: &'a str, lexis: Lexis) -> Tokens<'a> {
        Tokens {
            text,
            lexis,
            at: 0,
            line: 1,
            delimiter: ";",
            executable: None,
            brackets: Vec::new(),
            may_begin_array: false,
        }
    }

    /// The tokens of what follows a place.
    pub(super) fn resumed(text: &'a str, lexis: Lexis, state: &'a TextState) -> Tokens<'a> {
        let TextState { line, delimiter, executable } = state;
        Tokens { line: *line, delimiter, executable: *executable, ..Tokens::new(text, lexis) }
    }

    pub(super) fn place(&self) -> TextPlace<'a> {
        let Tokens { at, line, delimiter, executable, .. } = *self;
        TextPlace { at, line, delimiter, executable }
    }

    pub(crate) fn delimiter(&self) -> &'a str {
        self.delimiter
    }

    /// The line of the outermost open parenthesis, where a semicolon within does not end a
    /// statement.
    pub(crate) fn parenthesis(&self) -> Option<u32> {
        self.brackets.iter().find_map(|bracket| match bracket {
            Bracket::Parenthesis(line) => Some(*line),
            _ => None,
        })
    }

    /// A new statement begins.
    pub(crate) fn forget_brackets(&mut self) {
        self.brackets.clear();
    }

    /// The rest of the line, which is taken.
    pub(crate) fn rest_of_line(&mut self) -> &'a str {
        let rest = self.rest();
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        self.advance(line.len());
        line.trim()
    }

    /// The rest of the line, and of the next ones if a backslash ends each but the last, which is
    /// taken without its end.
    pub(crate) fn rest_of_command(&mut self) -> &'a str {
        let rest = self.rest();
        let is_end = |(feed, _): &(usize, &str)| {
            let line = rest[..*feed].strip_suffix('\r').unwrap_or(&rest[..*feed]);
            !line.ends_with('\\')
        };
        let end = rest.match_indices('\n').find(is_end).map_or(rest.len(), |(feed, _)| feed);
        self.advance(end);
        &rest[..end]
    }

    /// Changes what ends a statement, to the rest of the line.
    pub(crate) fn change_delimiter(&mut self, line: u32) -> Result<(), SqlTextError> {
        self.delimiter = self.rest_of_line();
        match self.delimiter.is_empty() || self.delimiter.contains('\\') {
            true => Err(error(line, "DELIMITER needs another delimiter, as in DELIMITER //")),
            false => Ok(()),
        }
    }

    /// Skips the lines of data behind a `COPY … FROM STDIN` and the line that ends them.
    pub(crate) fn skip_copied_lines(&mut self, line: u32) -> Result<(), SqlTextError> {
        self.rest_of_line();
        self.advance(self.rest().len().min(1));
        let mut length = 0;
        for row in self.rest().split_inclusive('\n') {
            length += row.len();
            if ends_rows(row) {
                self.advance(length);
                return Ok(());
            }
        }
        Err(endless_rows(line))
    }

    pub(crate) fn next(&mut self) -> Result<Option<SqlToken<'a>>, SqlTextError> {
        self.skip()?;
        let (start, line) = (self.at, self.line);
        if self.rest().is_empty() {
            return match self.executable {
                Some(line) => {
                    Err(open(line, "the comment that begins here does not end: */ is missing"))
                }
                None => Ok(None),
            };
        }
        let part = self.part()?;
        let text = &self.text[start..self.at];
        self.note(&part, text);
        Ok(Some(SqlToken { part, text, start, line }))
    }

    /// Keeps track of brackets.
    fn note(&mut self, part: &Part, text: &str) {
        let in_array = self.brackets.last() == Some(&Bracket::Array);
        let may_begin_array = self.may_begin_array;
        self.may_begin_array = false;
        match part {
            Part::Word => self.may_begin_array = text.eq_ignore_ascii_case(ARRAY),
            Part::Symbol('(') => self.brackets.push(Bracket::Parenthesis(self.line)),
            Part::Symbol('[') if may_begin_array => {
                self.brackets.push(Bracket::Array);
                self.may_begin_array = true;
            }
            Part::Symbol('[') => self.brackets.push(Bracket::Subscript),
            Part::Symbol(')' | ']') => drop(self.brackets.pop()),
            Part::Symbol(',') => self.may_begin_array = in_array,
            _ => {}
        }
    }

    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn advance(&mut self, bytes: usize) {
        self.line += feeds(&self.rest().as_bytes()[..bytes]);
        self.at += bytes;
    }

    /// Blanks and comments.
    fn skip(&mut self) -> Result<(), SqlTextError> {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start().len();
            if blanks > 0 {
                self.advance(blanks);
            } else if self.begins_line_comment() {
                self.advance(rest.find('\n').unwrap_or(rest.len()));
            } else if rest.starts_with("/*") && !self.begins_executable() {
                let length = self.comment()?;
                self.advance(length);
            } else {
                return Ok(());
            }
        }
    }

    fn begins_line_comment(&self) -> bool {
        let rest = self.rest();
        if self.lexis.has_hash_comments {
            let dashes = rest.strip_prefix("--");
            let is_blank = |c: char| c.is_whitespace() || c.is_control();
            return rest.starts_with('#')
                || dashes.is_some_and(|after| after.is_empty() || after.starts_with(is_blank));
        }
        rest.starts_with("--")
    }

    fn begins_executable(&self) -> bool {
        let rest = self.rest();
        let begins = rest.starts_with("/*!") || rest.starts_with("/*M!");
        self.lexis.runs_comments && begins && !rest.starts_with(SANDBOX)
    }

    /// The bytes of the comment that begins here.
    fn comment(&self) -> Result<usize, SqlTextError> {
        let rest = self.rest();
        let (mut depth, mut length) = (1, 2);
        while depth > 0 {
            let after = &rest[length..];
            let opens = self.lexis.nests_comments.then(|| after.find("/*")).flatten();
            match (opens, after.find("*/")) {
                (Some(opens), Some(closes)) if opens < closes => {
                    depth += 1;
                    length += opens + 2;
                }
                (_, Some(closes)) => {
                    depth -= 1;
                    length += closes + 2;
                }
                (_, None) => {
                    let what = "the comment that begins here does not end: */ is missing";
                    return Err(open(self.line, what));
                }
            }
        }
        Ok(length)
    }

    /// Takes the part that begins here.
    fn part(&mut self) -> Result<Part, SqlTextError> {
        let rest = self.rest();
        let mut chars = rest.chars();
        let (first, second) = (chars.next().unwrap_or_default(), chars.next());
        let is = |it: char| second == Some(it);
        if rest.starts_with(self.delimiter) {
            self.advance(self.delimiter.len());
            return Ok(Part::Delimiter);
        }
        if self.begins_executable() {
            return Ok(self.executable());
        }
        match first {
            '*' if is('/') && self.executable.take().is_some() => self.take(2, Part::Mark),
            '\'' => self.quoted('\'', self.lexis.backslash == Backslash::InLiterals, "literal"),
            'e' | 'E' if is('\'') && self.lexis.backslash == Backslash::InE => {
                self.advance(1);
                self.quoted('\'', true, "literal")
            }
            // A literal or a name: which of them depends on settings.
            '"' => self.quoted('"', self.lexis.backslash == Backslash::InLiterals, "quote"),
            '$' => self.dollar(second),
            '?' if self.lexis.has_question_marks => {
                let digits = match self.lexis.body {
                    Body::Trigger => digits(&rest[1..]),
                    _ => "",
                };
                match digits.is_empty() {
                    true => self.take(1, Part::Placeholder(Placeholder::Next)),
                    false => self.numbered(digits),
                }
            }
            ':' if is(':') || is('=') => self.take(2, Part::Symbol(':')),
            ':' if second.is_some_and(begins_name) => self.named(),
            c if self.lexis.own_placeholders.contains(&c) && second.is_some_and(begins_name) => {
                Err(self.not_ours(c))
            }
            c if begins_name(c) => {
                let length = rest.find(|c| !is_in_name(c) && c != '$').unwrap_or(rest.len());
                self.take(length, Part::Word)
            }
            c if c.is_ascii_digit() => {
                let length = rest.find(|c| !is_in_name(c) && c != '.').unwrap_or(rest.len());
                self.take(length, Part::Number)
            }
            c => match self.lexis.name_quotes.iter().find(|(open, _)| *open == c) {
                Some((_, close)) => self.quoted(*close, false, "name"),
                None => self.take(c.len_utf8(), Part::Symbol(c)),
            },
        }
    }

    fn take(&mut self, bytes: usize, part: Part) -> Result<Part, SqlTextError> {
        self.advance(bytes);
        Ok(part)
    }

    /// SQL begins in a comment: its mark is the version of the server.
    fn executable(&mut self) -> Part {
        self.executable = Some(self.line);
        let mark = self.rest().find('!').map_or(0, |mark| mark + 1);
        self.advance(mark + digits(&self.rest()[mark..]).len());
        Part::Mark
    }

    /// What stands in quotes, the first of which begins here. All quotes are ASCII, so that bytes
    /// are looked at: a dump is mostly literals.
    fn quoted(&mut self, close: char, escapes: bool, what: &str) -> Result<Part, SqlTextError> {
        let bytes = self.rest().as_bytes();
        let quote = close as u8;
        let escape = if escapes { b'\\' } else { quote };
        let mut at = 1;
        while let Some(found) = memchr2(quote, escape, bytes.get(at..).unwrap_or_default()) {
            at += found;
            let is_doubled = close != ']' && bytes.get(at + 1) == Some(&quote);
            if bytes[at] == quote && !is_doubled {
                self.advance(at + 1);
                return Ok(if what == "name" { Part::Name } else { Part::Literal });
            }
            // A quote twice, or a backslash and what it is before.
            at += 2;
        }
        let what = format!("the {what} that begins here does not end: {close} is missing");
        Err(open(self.line, &what))
    }

    /// `$1` or, where there are such, `$tag$ … $tag$`.
    fn dollar(&mut self, second: Option<char>) -> Result<Part, SqlTextError> {
        let rest = self.rest();
        let digits = digits(&rest[1..]);
        if !digits.is_empty() {
            return self.numbered(digits);
        }
        if self.lexis.has_dollar_quotes {
            let after = &rest[1..];
            let length = after.find(|c| !is_in_name(c)).unwrap_or(after.len());
            if after[length..].starts_with('$') {
                let tag = &rest[..length + 2];
                let Some(end) = rest[tag.len()..].find(tag) else {
                    let what =
                        format!("the literal that begins here does not end: {tag} is missing");
                    return Err(open(self.line, &what));
                };
                return self.take(2 * tag.len() + end, Part::Literal);
            }
        }
        match self.lexis.own_placeholders.contains(&'$') && second.is_some_and(begins_name) {
            true => Err(self.not_ours('$')),
            false => self.take(1, Part::Symbol('$')),
        }
    }

    /// A placeholder with a number behind its first character.
    fn numbered(&mut self, digits: &str) -> Result<Part, SqlTextError> {
        let number = digits.parse().ok().filter(|number| *number > 0);
        let number = number.ok_or_else(|| {
            error(self.line, &format!("placeholders are numbered from 1, not {digits}"))
        })?;
        self.take(1 + digits.len(), Part::Placeholder(Placeholder::Numbered(number)))
    }

    fn named(&mut self) -> Result<Part, SqlTextError> {
        let rest = self.rest();
        let name = word(&rest[1..]);
        if self.brackets.last() == Some(&Bracket::Subscript) && self.lexis.has_dollar_quotes {
            let what = format!(
                "':{name}' in a subscript may be a parameter or the end of a slice. Write (:{name}) \
                 for a parameter, ': {name}' for a slice"
            );
            return Err(error(self.line, &what));
        }
        self.take(1 + name.len(), Part::Placeholder(Placeholder::Named(name.to_string())))
    }

    fn not_ours(&self, mark: char) -> SqlTextError {
        let name = word(&self.rest()[1..]);
        let what = format!("'{mark}{name}' would be a parameter without a value. Write :{name}");
        error(self.line, &what)
    }
}

pub(crate) fn error(line: u32, what: &str) -> SqlTextError {
    SqlTextError { line, what: what.to_string(), is_open: false }
}

/// What has begun in this line does not end.
pub(super) fn open(line: u32, what: &str) -> SqlTextError {
    SqlTextError { is_open: true, ..error(line, what) }
}

/// Whether a line ends the rows of a COPY.
pub(super) fn ends_rows(line: &str) -> bool {
    line.trim_end_matches(['\r', '\n']) == "\\."
}

pub(super) fn endless_rows(line: u32) -> SqlTextError {
    let what = "the data of the COPY that begins here do not end. End them with a line \\.";
    open(line, what)
}

fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

fn is_in_name(c: char) -> bool {
    begins_name(c) || c.is_ascii_digit()
}

/// The name that a text begins with.
fn word(text: &str) -> &str {
    &text[..text.find(|c| !is_in_name(c)).unwrap_or(text.len())]
}

/// The digits that a text begins with.
fn digits(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())]
}
