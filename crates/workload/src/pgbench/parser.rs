//! From the text of a script to its commands: statements end at `;` or before a backslash command,
//! and `\;` sends several together.

use rqps_dbms::Dialect;

use super::conditions::link;
use super::error::ScriptError;
use super::meta::{self, Meta};
use super::script::{
    CommandKind, IntoVariables, Script, ScriptCommand, ScriptQuery, StatementEffect, variables_in,
};
use crate::expression::Position;
use crate::sql::{Begun, Part, SqlTextError, Tokens, only_reads};

/// Characters of a statement's first line that stand for it.
const SHOWN: usize = 127;

/// Statements that neither read nor write.
const NEUTRAL: [&str; 8] =
    ["begin", "start", "commit", "end", "rollback", "set", "savepoint", "release"];

impl Script {
    /// Reads a script; `title` is what reports and errors call it.
    pub fn parse(title: &str, text: &str) -> Result<Script, ScriptError> {
        let mut commands = commands(title, text)?;
        link(title, &mut commands)?;
        if commands.is_empty() {
            return Err(ScriptError::whole(
                title,
                "empty command list: it has no command. Add one",
            ));
        }
        Ok(Script { title: title.to_string(), commands })
    }
}

fn commands(title: &str, text: &str) -> Result<Vec<ScriptCommand>, ScriptError> {
    let error = |at, what: String| ScriptError { file: title.to_string(), at: Some(at), what };
    if let Some(zero) = text.find('\0') {
        let what = "a script cannot have the character of code 0. Remove it".to_string();
        return Err(error(position(text, zero), what));
    }
    let unread = |it: SqlTextError| error(Position { line: it.line, column: 1 }, it.what);
    // Scripts are in the language of psql, whatever DBMS gets their statements.
    let mut tokens = Tokens::new(text, Dialect::POSTGRES.lexis);
    let mut commands: Vec<ScriptCommand> = Vec::new();
    let mut begun = Unfinished::default();
    while let Some(token) = tokens.next().map_err(unread)? {
        let (start, end) = (token.start, token.start + token.text.len());
        match token.part {
            Part::Delimiter if tokens.parenthesis().is_none() && !begun.words.is_in_body() => {
                commands.extend(begun.ended(text, end));
                tokens.forget_brackets();
            }
            Part::Symbol('\\') if text[end..].starts_with([';', ':']) => {
                begun.dropped.push(start);
                tokens.next().map_err(unread)?;
            }
            Part::Symbol('\\') => {
                commands.extend(begun.ended(text, start));
                tokens.forget_brackets();
                let line = tokens.rest_of_command();
                begun.start = end + line.len();
                let at = position(text, start);
                let meta =
                    meta::read(line, position(text, end)).map_err(|it| error(it.at, it.what))?;
                let Some(meta) = meta else { continue };
                let first_line = first(&text[start..end + line.len()]);
                match meta {
                    Meta::Command(kind) => {
                        commands.push(ScriptCommand { first_line, line: at.line, kind });
                    }
                    Meta::Stores(name, store) => {
                        let before = commands.last_mut().map(|command| &mut command.kind);
                        match before {
                            Some(CommandKind::Sql(query))
                                if query.store == IntoVariables::Nothing =>
                            {
                                query.store = store;
                            }
                            _ => {
                                let what = format!("\\{name} must follow an SQL command");
                                return Err(error(at, what));
                            }
                        }
                    }
                }
            }
            _ => {
                begun.line.get_or_insert(token.line);
                begun.words.add(token, Dialect::POSTGRES.lexis.body);
            }
        }
    }
    commands.extend(begun.ended(text, text.len()));
    Ok(commands)
}

/// A statement while it is read.
#[derive(Default)]
struct Unfinished<'a> {
    start: usize,
    line: Option<u32>,
    /// Places of backslashes that are not sent.
    dropped: Vec<usize>,
    words: Begun<'a>,
}

impl Unfinished<'_> {
    /// The statement, which ends here; none where there are blanks and comments only. The next one
    /// begins.
    fn ended(&mut self, text: &str, end: usize) -> Option<ScriptCommand> {
        let Unfinished { start, line, dropped, words } =
            std::mem::replace(self, Unfinished { start: end, ..Unfinished::default() });
        let mut sent = String::with_capacity(end - start);
        let mut from = start;
        for backslash in dropped {
            sent.push_str(&text[from..backslash]);
            from = backslash + 1;
        }
        sent.push_str(&text[from..end]);
        let sent = without_comments(&sent)?;
        let statement = words.statement(sent);
        let is_neutral = NEUTRAL.iter().any(|word| statement.begins_with(&[word]));
        let does = match () {
            () if only_reads(&statement) => StatementEffect::Reads,
            () if is_neutral || statement.words.is_empty() => StatementEffect::Neither,
            () => StatementEffect::MayWrite,
        };
        let query = ScriptQuery {
            text: sent.to_string(),
            variables: variables_in(sent),
            does,
            store: IntoVariables::Nothing,
        };
        let line = line.unwrap_or_else(|| position(text, start).line);
        Some(ScriptCommand { first_line: first(sent), line, kind: CommandKind::Sql(query) })
    }
}

/// The text from its first statement on: blanks and comments of one line before it are not sent.
fn without_comments(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    while rest.starts_with("--") {
        rest = rest.split_once('\n')?.1.trim_start();
    }
    (!rest.is_empty()).then_some(rest)
}

fn first(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(SHOWN).collect()
}

/// Where a byte stands.
fn position(text: &str, at: usize) -> Position {
    let before = &text[..at];
    let begin = before.rfind('\n').map_or(0, |feed| feed + 1);
    let line = before.matches('\n').count() as u32 + 1;
    Position { line, column: before[begin..].chars().count() as u32 + 1 }
}
