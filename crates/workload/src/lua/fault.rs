//! What is wrong with a script, and where.

use mlua::Lua;
use rqps_system::printable;

/// A script that cannot be run as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", printable(.0))]
pub struct LuaFault(pub(super) String);

impl LuaFault {
    pub(super) fn new(what: impl Into<String>) -> LuaFault {
        LuaFault(what.into())
    }
}

/// What Lua tells of an error, without its traceback.
pub(super) fn told(error: &mlua::Error) -> String {
    let text = match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        mlua::Error::RuntimeError(message) | mlua::Error::MemoryError(message) => message.clone(),
        mlua::Error::CallbackError { cause, .. } => told(cause),
        other => other.to_string(),
    };
    text.split("\nstack traceback:").next().unwrap_or_default().trim_end().to_string()
}

/// The error of a text that is no Lua: `name:line:column: what`.
pub(super) fn syntax(lua: &Lua, name: &str, text: &str, error: &mlua::Error) -> LuaFault {
    let told = told(error);
    let rest = told.strip_prefix(name).and_then(|rest| rest.strip_prefix(':'));
    let parts = rest.and_then(|rest| rest.split_once(": "));
    let Some((line, what)) = parts.and_then(|(line, what)| Some((line.parse().ok()?, what))) else {
        return LuaFault(told);
    };
    let near = what.rsplit_once(" near '").and_then(|(_, near)| near.strip_suffix('\''));
    match near.and_then(|near| column(lua, text, line, near)) {
        Some(column) => LuaFault(format!("{name}:{line}:{column}: {what}")),
        None => LuaFault(format!("{name}:{line}: {what}")),
    }
}

/// Where in its line the token is that Lua's parser stopped at. The parser tells no column, but of
/// a text that ends before that token it says that more is missing.
fn column(lua: &Lua, text: &str, line: usize, near: &str) -> Option<usize> {
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let this = text.get(start..)?.lines().next().unwrap_or_default();
    if near == "<eof>" {
        return Some(this.chars().count() + 1);
    }
    let stops_there = |end: usize| {
        let chunk = lua.load(&text[..end]).set_name("=x").set_mode(mlua::ChunkMode::Text);
        chunk.into_function().is_err_and(|error| !told(&error).contains("<eof>"))
    };
    let mut all = this.match_indices(near).map(|(at, _)| at);
    let found = all.clone().find(|at| stops_there(start + at + near.len()));
    // A literal without an end is one until the end of its line.
    let only = || all.next().filter(|_| all.next().is_none());
    found.or_else(only).map(|at| this[..at].chars().count() + 1)
}
