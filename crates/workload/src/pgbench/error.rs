//! What is wrong with a script, and why a client ended.

use std::fmt;

use rqps_system::printable;

use super::script::{Script, ScriptCommand};
use crate::expression::Position;

/// Why a text is no script. It shows the file, the line and the column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    pub file: String,
    /// None for what is wrong with the script as a whole.
    pub(crate) at: Option<Position>,
    pub what: String,
}

impl ScriptError {
    /// At a command of a script.
    pub(super) fn at(
        script: &Script,
        command: &ScriptCommand,
        what: impl Into<String>,
    ) -> ScriptError {
        let at = Some(Position { line: command.line, column: 1 });
        ScriptError { file: script.title.clone(), at, what: what.into() }
    }

    pub(crate) fn whole(file: &str, what: impl Into<String>) -> ScriptError {
        ScriptError { file: file.to_string(), at: None, what: what.into() }
    }
}

impl std::error::Error for ScriptError {}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = printable(&self.what);
        match self.at {
            Some(Position { line, column }) => {
                write!(f, "{}:{line}:{column}: {what}", printable(&self.file))
            }
            None => write!(f, "{}: {what}", printable(&self.file)),
        }
    }
}

/// Why a client cannot go on, and at which command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aborted {
    pub script: String,
    /// The command's line in the script, and its first line; none where it is none's.
    pub command: Option<(u32, String)>,
    pub what: String,
}

impl std::error::Error for Aborted {}

impl fmt::Display for Aborted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = printable(&self.script);
        if let Some((line, command)) = &self.command {
            return write!(
                f,
                "{script}:{line}: {} in: {}",
                printable(&self.what),
                printable(command)
            );
        }
        write!(f, "{script}: {}", printable(&self.what))
    }
}
