//! The conditions of a script: each `\if` finds its `\elif`, `\else` and `\endif`.

use super::error::ScriptError;
use super::script::{CommandKind, ScriptCommand};
use crate::expression::Position;

/// An open `\if`.
struct OpenCondition {
    /// All its commands so far, by their places.
    parts: Vec<usize>,
    has_else: bool,
}

/// Fills in the places of commands. An error names the first command that has no partner.
pub(super) fn link(title: &str, commands: &mut [ScriptCommand]) -> Result<(), ScriptError> {
    let mut open: Vec<OpenCondition> = Vec::new();
    for place in 0..commands.len() {
        let at = Position { line: commands[place].line, column: 1 };
        let error = |what: &str| {
            let what = what.to_string();
            Err(ScriptError { file: title.to_string(), at: Some(at), what })
        };
        match (&commands[place].kind, open.last_mut()) {
            (CommandKind::If(..), _) => {
                open.push(OpenCondition { parts: vec![place], has_else: false })
            }
            (CommandKind::Elif(..), None) => return error("\\elif without matching \\if"),
            (CommandKind::Else(_), None) => return error("\\else without matching \\if"),
            (CommandKind::Endif, None) => return error("\\endif without matching \\if"),
            (CommandKind::Elif(..), Some(it)) if it.has_else => {
                return error("\\elif after \\else");
            }
            (CommandKind::Else(_), Some(it)) if it.has_else => return error("\\else after \\else"),
            (CommandKind::Elif(..), Some(it)) => it.parts.push(place),
            (CommandKind::Else(_), Some(it)) => {
                it.parts.push(place);
                it.has_else = true;
            }
            (CommandKind::Endif, Some(it)) => {
                it.parts.push(place);
                let parts = std::mem::take(&mut it.parts);
                open.pop();
                close(commands, &parts, place);
            }
            _ => {}
        }
    }
    match open.first().and_then(|it| it.parts.first()) {
        None => Ok(()),
        Some(place) => {
            let at = Position { line: commands[*place].line, column: 1 };
            let what = "\\if without matching \\endif".to_string();
            Err(ScriptError { file: title.to_string(), at: Some(at), what })
        }
    }
}

fn close(commands: &mut [ScriptCommand], parts: &[usize], end: usize) {
    for (place, following) in parts.iter().zip(&parts[1..]) {
        match &mut commands[*place].kind {
            CommandKind::If(_, next) => *next = *following,
            CommandKind::Elif(_, next, its_end) => (*next, *its_end) = (*following, end),
            CommandKind::Else(its_end) => *its_end = end,
            _ => {}
        }
    }
}
