//! Errors of a folder of nights.

use std::path::PathBuf;

use crate::error::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum TrackError {
    #[error("'{}' contains no track.toml. Create it with rqps track init {}", .0.display(), .0.display())]
    NoTrack(PathBuf),
    #[error("'{}' already contains a track. Edit its track.toml, or use another folder", .0.display())]
    Taken(PathBuf),
    #[error("'{}' is not empty and contains no track. Use another folder", .0.display())]
    NotEmpty(PathBuf),
    #[error(
        "'{}' has schema {found}, and this rqps knows {known}. Nothing was changed; use the rqps that \
         wrote it, or a newer one",
        path.display()
    )]
    Newer { path: PathBuf, found: String, known: &'static str },
    #[error("cannot read '{}': line {line}: {reason}", path.display())]
    Settings { path: PathBuf, line: usize, reason: String },
    #[error("'{}' and '{}' have the same name and different contents. Keep the right one", one.display(), other.display())]
    Conflict { one: PathBuf, other: PathBuf },
    #[error("the run '{run}' is already in the track, as night {night}")]
    Twice { run: String, night: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}
