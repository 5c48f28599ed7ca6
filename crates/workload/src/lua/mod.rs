//! sysbench's Lua scripts as they are: the interface that sysbench gives to them, and clients that
//! send what sysbench sends.
//!
//! Sources: sysbench 1.0.20, its manual and what its scripts call.

mod busy;
mod client;
mod driver;
mod fault;
mod files;
mod host;
mod options;
mod random;
mod report;
mod script;
mod state;
mod statement;
mod values;
mod zipf;

#[cfg(test)]
mod tests;

pub use busy::is_in_lua;
pub use client::{ClientCounts, ClientEvent, LuaClient};
pub use fault::LuaFault;
pub use files::ScriptFiles;
pub use host::{HostSettings, Output, Reach};
pub use options::{DeclaredOption, OptionKind, ScriptOptions, general_help, help};
pub use random::{UniqueNumbers, arrival_gaps, client_seeds};
pub use report::ReportHooks;
pub use script::{LuaScript, Trial, driver_name};
pub use state::{LuaCommand, StateSettings};

pub(crate) use driver::{asked, driver, tasks};
