//! A script as its commands.

use std::ops::Range;

use crate::expression::Expression;

/// A script that was read whole. Its commands are numbered as in pgbench, where `\gset` belongs to
/// the statement before it.
#[derive(Clone, Debug)]
pub struct Script {
    /// As reports show it: a path, or `<builtin: …>`.
    pub title: String,
    pub commands: Vec<ScriptCommand>,
}

#[derive(Clone, Debug)]
pub struct ScriptCommand {
    /// Its first line, which stands for it in reports.
    pub first_line: String,
    /// Where it begins, counted from 1.
    pub line: u32,
    pub kind: CommandKind,
}

/// What a command does. Places are those of commands.
#[derive(Clone, Debug)]
pub enum CommandKind {
    Sql(ScriptQuery),
    Set(String, Calculated),
    /// Where to look further if the condition is not true.
    If(Calculated, usize),
    /// The same, and the `\endif`, to which the commands before it lead.
    Elif(Calculated, usize, usize),
    Else(usize),
    Endif,
    Sleep(Pause),
    /// Words that the shell gets.
    Shell(Vec<String>),
    /// The variable that gets the number which the shell prints.
    Setshell(String, Vec<String>),
    StartPipeline,
    SyncPipeline,
    EndPipeline,
}

/// An expression of a script. It hides the parser's own type from other crates.
#[derive(Clone, Debug)]
pub struct Calculated(pub(super) Expression);

/// One statement, or several that are sent together.
#[derive(Clone, Debug)]
pub struct ScriptQuery {
    /// As it stands in the script.
    pub text: String,
    /// Its variables by their places in the text.
    pub(super) variables: Vec<(Range<usize>, String)>,
    pub(super) does: StatementEffect,
    pub(super) store: IntoVariables,
}

/// What a statement does, by its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatementEffect {
    Reads,
    /// It begins or ends a transaction, or is about the session.
    Neither,
    MayWrite,
}

/// What happens to the rows of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum IntoVariables {
    Nothing,
    /// The one row of the last statement becomes variables with this prefix.
    Gset(String),
    /// The last row of each statement does.
    Aset(String),
}

/// How long `\sleep` sleeps: a number or a variable, in microseconds each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    pub(super) amount: Amount,
    pub(super) micros: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    Number(i64),
    Variable(String),
}

impl Script {
    pub(super) fn queries(&self) -> impl Iterator<Item = (&ScriptCommand, &ScriptQuery)> {
        self.commands.iter().filter_map(|command| match &command.kind {
            CommandKind::Sql(query) => Some((command, query)),
            _ => None,
        })
    }

    /// All names of variables that it mentions, some of them twice.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().flat_map(|command| -> Vec<&str> {
            match &command.kind {
                CommandKind::Sql(query) => {
                    query.variables.iter().map(|(_, name)| name.as_str()).collect()
                }
                CommandKind::Set(name, value) => {
                    value.0.variables().into_iter().chain([name.as_str()]).collect()
                }
                CommandKind::If(condition, _) | CommandKind::Elif(condition, _, _) => {
                    condition.0.variables()
                }
                CommandKind::Sleep(Pause { amount: Amount::Variable(name), .. }) => vec![name],
                CommandKind::Shell(words) => variables_of(words).collect(),
                CommandKind::Setshell(name, words) => {
                    variables_of(words).chain([name.as_str()]).collect()
                }
                _ => Vec::new(),
            }
        })
    }

    /// Whether a command of its own gives a variable its value.
    pub(super) fn sets(&self, name: &str) -> bool {
        self.commands.iter().any(|command| match &command.kind {
            CommandKind::Set(it, _) | CommandKind::Setshell(it, _) => it == name,
            _ => false,
        })
    }

    /// Whether `\gset` or `\aset` can give a variable its value.
    pub(super) fn stores(&self, name: &str) -> bool {
        self.queries().any(|(_, query)| match &query.store {
            IntoVariables::Nothing => false,
            IntoVariables::Gset(prefix) | IntoVariables::Aset(prefix) => {
                name.starts_with(prefix.as_str())
            }
        })
    }

    /// The first command that waits, not for the server: a slice would measure that.
    pub fn sleeps(&self) -> Option<&ScriptCommand> {
        self.commands.iter().find(|command| matches!(command.kind, CommandKind::Sleep(_)))
    }

    /// The first command that runs a program.
    pub fn shells(&self) -> Option<&ScriptCommand> {
        let is_shell = |kind: &CommandKind| {
            matches!(kind, CommandKind::Shell(_) | CommandKind::Setshell(_, _))
        };
        self.commands.iter().find(|command| is_shell(&command.kind))
    }

    /// The first command that begins a pipeline.
    pub(super) fn pipeline(&self) -> Option<&ScriptCommand> {
        self.commands.iter().find(|command| matches!(command.kind, CommandKind::StartPipeline))
    }

    /// The first command that only Postgres's protocol has.
    pub fn needs_postgres(&self) -> Option<&ScriptCommand> {
        self.commands.iter().find(|command| match &command.kind {
            CommandKind::Sql(query) => query.store != IntoVariables::Nothing,
            CommandKind::StartPipeline | CommandKind::SyncPipeline | CommandKind::EndPipeline => {
                true
            }
            _ => false,
        })
    }

    /// Whether it changes nothing, as far as its statements show.
    pub fn only_reads(&self) -> bool {
        self.queries().all(|(_, query)| query.does != StatementEffect::MayWrite)
    }
}

fn variables_of(words: &[String]) -> impl Iterator<Item = &str> {
    words.iter().filter_map(|word| word.strip_prefix(':')).filter(|name| !name.starts_with(':'))
}

/// Whether a text is a name of a variable.
pub(crate) fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_in_variable)
}

pub(super) fn is_in_variable(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

/// The variables of a text of SQL: wherever a name follows a colon that follows no other, also in
/// quotes, as in pgbench.
pub(super) fn variables_in(text: &str) -> Vec<(Range<usize>, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(colon) = text[at..].find(':').map(|colon| at + colon) {
        let rest = &text[colon + 1..];
        let length = rest.find(|c| !is_in_variable(c)).unwrap_or(rest.len());
        if length > 0 {
            at = colon + 1 + length;
            found.push((colon..at, rest[..length].to_string()));
        } else {
            // A type follows several colons.
            at = colon + rest.len() + 1 - rest.trim_start_matches(':').len();
        }
    }
    found
}
