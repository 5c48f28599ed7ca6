//! pgbench's scripts as they are: its language, its data, and clients that send what pgbench sends.
//!
//! Source of what scripts mean: PostgreSQL documentation, pgbench, "Custom Scripts" and
//! "Initialization".

mod builtin;
mod client;
mod compiled;
mod conditions;
mod data;
mod driver;
mod error;
mod meta;
mod parser;
mod sample;
mod script;
mod sent;
mod session;
mod settings;
mod shell;
mod variables;
mod work;

#[cfg(test)]
mod tests;

pub use builtin::{BUILTINS, BuiltinScript};
pub use client::{Client, Unended, Watcher};
pub use data::{ALL_STEPS, BEFORE_RUN, Initialization, STEPS, scale, table_of_others};
pub use driver::{MOST_SCRIPTS, check, named, settings};
pub use error::{Aborted, ScriptError};
pub use script::{CommandKind, Script, ScriptCommand};
pub use settings::{Defines, ScriptSettings, define};

pub(crate) use data::is_table;
pub(crate) use driver::{asked, driver, tasks};
