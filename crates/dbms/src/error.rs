//! Errors between a contender's name and a server that answers.

use std::io;
use std::path::{Path, PathBuf};

use rqps_plan::Dbms;
use rqps_system::Cancelled;
use rustix::io::Errno;

use crate::guest_error::GuestError;
use crate::home::HomeError;
use crate::shortage::shortage;
use crate::source::error::SourceError;

#[derive(Debug, thiserror::Error)]
pub enum DbmsError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Wire(#[from] rqps_wire::Error),
    /// `whose` is a DBMS, or one with an engine.
    #[error("{whose} has no config '{name}': {hint}. Begin the path of a file with ./ or /")]
    Config { whose: String, name: String, hint: String },
    #[error(
        "a config cannot include the file '{0}'. Include one that comes with rqps, by its name"
    )]
    IncludedFile(String),
    #[error("cannot read config '{}': {reason}", path.display())]
    ConfigFile { path: PathBuf, reason: String },
    #[error("{dbms} {version} has no setting '{name}': {hint}")]
    Setting { dbms: Dbms, version: String, name: String, hint: String },
    #[error("the build of {dbms} {version} in '{}' has no MyRocks. {hint}", root.display())]
    NoMyRocks { dbms: Dbms, version: String, root: PathBuf, hint: &'static str },
    #[error("cannot set '{name}': {why}. Remove it")]
    Reserved { name: String, why: &'static str },
    #[error("cannot set '{name}': {why}")]
    ProcessSetting { name: String, why: String },
    #[error("'{}': {reason}", library.display())]
    Settings { library: PathBuf, reason: String },
    #[error("sqlite did not accept {name} = {value}: the value is {actual}")]
    Ignored { name: String, value: String, actual: String },
    #[error("{what} did not start: {reason}")]
    Start { what: &'static str, reason: String },
    #[error(
        "'{}' was created by {maker}; {build} cannot open it. Use {maker}, or another directory",
        data.display()
    )]
    OtherMaker { data: PathBuf, maker: String, build: String },
    #[error(transparent)]
    User(#[from] rqps_system::NoUser),
    #[error(
        "cannot run servers as '{user}': rqps runs as root without {missing}. Add what is missing \
         (docker run --cap-add), or run rqps as an unprivileged user"
    )]
    Rights { missing: String, user: String },
    #[error(
        "user '{user}', which runs the servers, cannot enter '{}' on the way to '{}'. Allow it (chmod \
         o+x), or use another place (RQPS_HOME holds builds and data)", closed.display(), to.display()
    )]
    Closed { user: String, closed: PathBuf, to: PathBuf },
    #[error(
        "'{}' is not empty and contains no {dbms} data. Use an empty or a new directory", data.display()
    )]
    NotData { data: PathBuf, dbms: &'static str },
    #[error("cannot end server process {pid}{}. End it with kill -9 {pid}", because(*why))]
    LivesOn { pid: i32, why: Option<Errno> },
    #[error(
        "cannot stop '{spec}' ({url}): it was started in another container or another boot. Stop it \
         there"
    )]
    Elsewhere { spec: String, url: String },
    #[error(transparent)]
    Guest(#[from] GuestError),
    #[error(
        "cannot pass the path '{}' to a server: it is not UTF-8 or contains a line feed. Use another",
        path.display()
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
    /// Adds the resource that the machine ran out of, where a server's last words name one.
    pub(crate) fn with_shortage(self, data: &Path) -> DbmsError {
        match self {
            DbmsError::Start { what, reason } => {
                let short = shortage(&reason, data).map(|short| format!("{short}\n"));
                DbmsError::Start { what, reason: short.unwrap_or_default() + &reason }
            }
            other => other,
        }
    }

    /// For `map_err`: the operation, and the file that it was for.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DbmsError {
        let path = path.to_path_buf();
        move |source| DbmsError::File { what, path, source }
    }
}
