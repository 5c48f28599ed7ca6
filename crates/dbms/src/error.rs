//! What can go wrong between a contender's name and a server that answers.

use std::io;
use std::path::{Path, PathBuf};

use rqps_plan::Dbms;

use crate::guest::GuestError;
use crate::home::HomeError;
use crate::source::SourceError;

#[derive(Debug, thiserror::Error)]
pub enum DbmsError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Wire(#[from] rqps_wire::Error),
    /// `whose` is a DBMS, or one with an engine.
    #[error("{whose} has no config '{name}': {hint}; a file of your own starts with ./ or /")]
    Config { whose: String, name: String, hint: String },
    #[error("a config includes others by their names, and not files such as '{0}'")]
    IncludedFile(String),
    #[error("cannot read config '{}': {reason}", path.display())]
    ConfigFile { path: PathBuf, reason: String },
    #[error("{dbms} {version} has no setting '{name}': {hint}")]
    Setting { dbms: Dbms, version: String, name: String, hint: String },
    #[error("the build of {dbms} {version} in '{}' has no MyRocks: {hint}", root.display())]
    NoMyRocks { dbms: Dbms, version: String, root: PathBuf, hint: &'static str },
    #[error("rqps chooses '{0}' itself; it cannot be set")]
    Reserved(String),
    #[error("sqlite did not take {name} = {value}: it is {actual}")]
    Ignored { name: String, value: String, actual: String },
    #[error("{what} did not start: {reason}")]
    Start { what: &'static str, reason: String },
    #[error(
        "the data in '{}' were made by {maker}, which {build} does not take: name that build, or \
         another directory", data.display()
    )]
    OtherMaker { data: PathBuf, maker: String, build: String },
    #[error("no user '{0}' to run servers as: RQPS_USER names one that exists")]
    User(String),
    #[error(transparent)]
    Guest(#[from] GuestError),
    #[error("cannot {what} '{}': {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("interrupted")]
    Cancelled,
}

impl DbmsError {
    /// For `map_err`: what was to be done with which file.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DbmsError {
        let path = path.to_path_buf();
        move |source| DbmsError::File { what, path, source }
    }
}
