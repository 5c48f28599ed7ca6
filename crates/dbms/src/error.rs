//! What can go wrong between a contender's name and a server that answers.

use std::io;
use std::path::{Path, PathBuf};

use rqps_plan::Dbms;
use rqps_system::Cancelled;
use rustix::io::Errno;

use crate::guest::GuestError;
use crate::home::HomeError;
use crate::rights::shortage;
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
    #[error(transparent)]
    User(#[from] rqps_system::NoUser),
    #[error(
        "rqps runs as root without {missing}, so it cannot run servers as '{user}' and end them: give \
         it what is missing (docker run --cap-add), or run rqps as an unprivileged user"
    )]
    Rights { missing: String, user: String },
    #[error(
        "user '{user}', as which servers run, cannot enter '{}' on the way to '{}': allow it (chmod \
         o+x), or name another place (RQPS_HOME is that of builds and data)", closed.display(), to.display()
    )]
    Closed { user: String, closed: PathBuf, to: PathBuf },
    #[error(
        "'{}' is not empty and holds no data of {dbms}: name an empty or a new directory", data.display()
    )]
    NotData { data: PathBuf, dbms: &'static str },
    #[error("process {pid} of a server could not be ended{}: end it yourself (kill -9 {pid})", because(*why))]
    LivesOn { pid: i32, why: Option<Errno> },
    #[error(
        "'{spec}' ({url}) runs in another container or since another boot, where its process can be \
         ended: stop it there"
    )]
    Elsewhere { spec: String, url: String },
    #[error(transparent)]
    Guest(#[from] GuestError),
    #[error(
        "'{}' cannot be told to a server, since it is no UTF-8, or has a line feed: name another place", path.display()
    )]
    NotText { path: PathBuf },
    #[error("cannot {what} '{}': {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

fn because(why: Option<Errno>) -> String {
    why.map(|why| format!(" ({})", io::Error::from(why))).unwrap_or_default()
}

impl DbmsError {
    /// With what the machine was short of, where a server's last words tell.
    pub(crate) fn with_shortage(self, data: &Path) -> DbmsError {
        match self {
            DbmsError::Start { what, reason } => {
                let short = shortage(&reason, data).map(|short| format!("{short}\n"));
                DbmsError::Start { what, reason: short.unwrap_or_default() + &reason }
            }
            other => other,
        }
    }

    /// For `map_err`: what was to be done with which file.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DbmsError {
        let path = path.to_path_buf();
        move |source| DbmsError::File { what, path, source }
    }
}
