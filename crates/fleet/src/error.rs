//! Why a fleet, or a cell of it, cannot be worked on.

use std::io;
use std::path::{Path, PathBuf};

use rqps_store::StoreError;
use rqps_system::PathError;

#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("line {line}: {reason}")]
    File { line: usize, reason: String },
    #[error(
        "'{}' is not the folder of a fleet: it has no {name}. Create one with rqps fleet plan FILE \
         --out DIR", path.display()
    )]
    NoFleet { path: PathBuf, name: &'static str },
    #[error("'{}' is damaged: {reason}. Restore it, or plan the fleet again", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error(
        "'{}' is not empty and contains no fleet. Use another --out", .0.display()
    )]
    NotEmpty(PathBuf),
    #[error("cell '{id}' is not in this fleet: {hint}")]
    NoCell { id: String, hint: String },
    #[error(
        "this rqps is another than the one that cell {id} was planned with (SHA-256 {found}, not \
         {planned}). Install the same binary, or plan the fleet again"
    )]
    OtherBinary { id: String, planned: String, found: String },
    #[error(
        "'{}' is the folder of another fleet than the job was made for. Submit again", .0.display()
    )]
    OtherFleet(PathBuf),
    #[error(
        "cell {id} was changed after it was planned: its contents do not have its id. Plan the \
         fleet again"
    )]
    Changed { id: String },
    #[error("cell {id} is being measured by {holder}. Wait for it, or cancel it")]
    Held { id: String, holder: String },
    #[error(
        "cell {id} has failed {count} times; the last time: {why}. To try it again: rqps fleet \
         retry DIR {id}"
    )]
    TriedOut { id: String, count: usize, why: String },
    #[error(
        "cell {id} has failed in the same way on two hosts: {why}. Correct that, then: rqps fleet \
         retry DIR {id}"
    )]
    SameFailure { id: String, why: String },
    #[error("no {program} on this machine, which {scheduler} is reached by. {hint}")]
    NoClient { program: &'static str, scheduler: &'static str, hint: &'static str },
    #[error("{program}: {said}")]
    Client { program: String, said: String },
    #[error("cannot use the {what} '{value}': {reason}")]
    Name { what: &'static str, value: String, reason: &'static str },
    #[error("cannot unpack what '{host}' sent: {reason}. Collect again")]
    Transfer { host: String, reason: String },
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot {what} '{}': {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
}

impl FleetError {
    /// Whether it may work later without any change.
    pub fn is_busy(&self) -> bool {
        matches!(self, FleetError::Held { .. })
    }

    /// Whether something failed that no change of the command corrects.
    pub fn is_failure(&self) -> bool {
        matches!(
            self,
            FleetError::Client { .. }
                | FleetError::Transfer { .. }
                | FleetError::Io { .. }
                | FleetError::TriedOut { .. }
                | FleetError::SameFailure { .. }
        )
    }
}

pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FleetError {
    let path = path.to_path_buf();
    move |source| FleetError::Io { what, path, source }
}
