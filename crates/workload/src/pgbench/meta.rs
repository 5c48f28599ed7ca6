//! Backslash commands.

use rqps_plan::suggestion;

use super::script::{Amount, Calculated, CommandKind, IntoVariables, Pause, is_variable};
use crate::expression::{Expression, ExpressionError, Position};

/// Words of a command at most, its name included.
const MOST_WORDS: usize = 256;

/// What a line with a backslash is.
pub(super) enum Meta {
    Command(CommandKind),
    /// `\gset` or `\aset`, for the statement before it.
    Stores(&'static str, IntoVariables),
}

const NAMES: [&str; 13] = [
    "set",
    "if",
    "elif",
    "else",
    "endif",
    "gset",
    "aset",
    "sleep",
    "shell",
    "setshell",
    "startpipeline",
    "syncpipeline",
    "endpipeline",
];

/// Units of `\sleep`, in microseconds.
const UNITS: [(&str, u64); 3] = [("us", 1), ("ms", 1_000), ("s", 1_000_000)];

/// A word of a line, and where it stands.
struct Word<'a> {
    text: &'a str,
    at: Position,
    /// Its first byte in the line.
    start: usize,
}

/// Reads what follows a backslash; none where nothing does.
pub(super) fn read(line: &str, at: Position) -> Result<Option<Meta>, ExpressionError> {
    let words = words(line, at);
    let Some(name) = words.first() else { return Ok(None) };
    let Some(known) = NAMES.into_iter().find(|known| known.eq_ignore_ascii_case(name.text)) else {
        let what = format!("invalid command \\{}: {}", name.text, suggestion(name.text, NAMES));
        return Err(ExpressionError { at: name.at, what });
    };
    if words.len() > MOST_WORDS {
        let what = format!("too many arguments, maximum is {}, in \\{known}", MOST_WORDS - 1);
        return Err(ExpressionError { at: words[MOST_WORDS].at, what });
    }
    let command = Line { text: line, name: known, end: end(line, at), words: &words[1..] };
    command.read().map(Some)
}

/// A command with its words.
struct Line<'a> {
    text: &'a str,
    name: &'static str,
    /// Behind the last character.
    end: Position,
    /// Without the name.
    words: &'a [Word<'a>],
}

impl Line<'_> {
    fn read(&self) -> Result<Meta, ExpressionError> {
        let words = || self.words.iter().map(|word| word.text.to_string());
        let simple = |kind: CommandKind| self.has_at_most(0).map(|()| kind);
        let prefix = || self.words.first().map_or(String::new(), |word| word.text.to_string());
        let kind = match self.name {
            "set" => {
                let Some(name) = self.words.first() else { return Err(self.lacks("a variable")) };
                self.variable(name)?;
                CommandKind::Set(name.text.to_string(), self.expression(self.words.get(1))?)
            }
            "if" => CommandKind::If(self.expression(self.words.first())?, 0),
            "elif" => CommandKind::Elif(self.expression(self.words.first())?, 0, 0),
            "else" => simple(CommandKind::Else(0))?,
            "endif" => simple(CommandKind::Endif)?,
            "startpipeline" => simple(CommandKind::StartPipeline)?,
            "syncpipeline" => simple(CommandKind::SyncPipeline)?,
            "endpipeline" => simple(CommandKind::EndPipeline)?,
            "gset" => {
                self.has_at_most(1)?;
                return Ok(Meta::Stores("gset", IntoVariables::Gset(prefix())));
            }
            "aset" => {
                self.has_at_most(1)?;
                return Ok(Meta::Stores("aset", IntoVariables::Aset(prefix())));
            }
            "sleep" => CommandKind::Sleep(self.pause()?),
            "shell" if self.words.is_empty() => return Err(self.lacks("a command")),
            "shell" => CommandKind::Shell(words().collect()),
            _ => {
                let [name, _, ..] = self.words else {
                    return Err(self.lacks("a variable and a command"));
                };
                self.variable(name)?;
                CommandKind::Setshell(name.text.to_string(), words().skip(1).collect())
            }
        };
        Ok(Meta::Command(kind))
    }

    fn error(&self, at: Position, what: String) -> ExpressionError {
        ExpressionError { at, what: format!("{what}, in \\{}", self.name) }
    }

    fn lacks(&self, what: &str) -> ExpressionError {
        self.error(self.end, format!("missing argument: {what} was expected"))
    }

    fn has_at_most(&self, words: usize) -> Result<(), ExpressionError> {
        match self.words.get(words) {
            None => Ok(()),
            Some(word) if words == 0 => {
                let what = format!("unexpected argument '{}': it takes none", word.text);
                Err(self.error(word.at, what))
            }
            Some(word) => {
                let what = format!("too many arguments: '{}' follows the last one", word.text);
                Err(self.error(word.at, what))
            }
        }
    }

    fn variable(&self, word: &Word<'_>) -> Result<(), ExpressionError> {
        match is_variable(word.text) {
            true => Ok(()),
            false => {
                let text = word.text;
                let what = format!(
                    "invalid variable name '{text}': letters, digits and '_' were expected"
                );
                Err(self.error(word.at, what))
            }
        }
    }

    /// The expression that begins with a word and goes up to the end.
    fn expression(&self, first: Option<&Word<'_>>) -> Result<Calculated, ExpressionError> {
        let (text, at) = first.map_or(("", self.end), |word| (&self.text[word.start..], word.at));
        let read = Expression::parse(text, at);
        read.map(Calculated).map_err(|it| self.error(it.at, format!("syntax error: {}", it.what)))
    }

    fn pause(&self) -> Result<Pause, ExpressionError> {
        let Some(first) = self.words.first() else {
            return Err(self.lacks("a time, as in \\sleep 10 ms,"));
        };
        self.has_at_most(2)?;
        let unit = |unit: &str, at: Position| {
            let found = UNITS.iter().find(|(known, _)| known.eq_ignore_ascii_case(unit));
            found.map(|(_, micros)| *micros).ok_or_else(|| {
                let what = format!("unrecognized time unit '{unit}': us, ms or s was expected");
                self.error(at, what)
            })
        };
        let given = self.words.get(1).map(|word| unit(word.text, word.at)).transpose()?;
        if let Some(name) = first.text.strip_prefix(':') {
            let amount = Amount::Variable(name.to_string());
            return Ok(Pause { amount, micros: given.unwrap_or(UNITS[2].1) });
        }
        let sign = usize::from(first.text.starts_with(['+', '-']));
        let is_digit = |c: char| c.is_ascii_digit();
        let length =
            sign + first.text[sign..].find(|c| !is_digit(c)).unwrap_or(first.text.len() - sign);
        let (number, attached) = first.text.split_at(length);
        let Ok(amount) = number.parse() else {
            let what = format!("invalid sleep time '{}': an integer was expected", first.text);
            return Err(self.error(first.at, what));
        };
        let micros = match (attached, given) {
            ("", given) => given.unwrap_or(UNITS[2].1),
            (attached, None) => unit(attached, first.at)?,
            (_, Some(_)) => {
                let what = format!("invalid sleep time '{}': it has two units", first.text);
                return Err(self.error(first.at, what));
            }
        };
        Ok(Pause { amount: Amount::Number(amount), micros })
    }
}

/// The words of a line, which may go over several if a backslash ends each but the last.
fn words(line: &str, at: Position) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let (mut place, mut now) = (0, at);
    while place < line.len() {
        let rest = &line[place..];
        if let Some(length) = continuation(rest) {
            now = Position { line: now.line + 1, column: 1 };
            place += length;
        } else if rest.starts_with(char::is_whitespace) {
            now.column += 1;
            place += rest.chars().next().map_or(1, char::len_utf8);
        } else {
            let ends = |(index, c): (usize, char)| {
                (c.is_whitespace() || continuation(&rest[index..]).is_some()).then_some(index)
            };
            let length = rest.char_indices().find_map(ends).unwrap_or(rest.len());
            words.push(Word { text: &rest[..length], at: now, start: place });
            now.column += rest[..length].chars().count() as u32;
            place += length;
        }
    }
    words
}

/// The bytes of a backslash at the end of a line with that end.
fn continuation(rest: &str) -> Option<usize> {
    ["\\\n", "\\\r\n"].into_iter().find(|it| rest.starts_with(it)).map(str::len)
}

/// Behind the last character of a line.
fn end(line: &str, at: Position) -> Position {
    match line.rsplit_once('\n') {
        None => Position { column: at.column + line.trim_end().chars().count() as u32, ..at },
        Some((before, last)) => Position {
            line: at.line + before.matches('\n').count() as u32 + 1,
            column: last.trim_end().chars().count() as u32 + 1,
        },
    }
}
