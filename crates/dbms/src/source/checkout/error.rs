//! Errors of a local checkout, in words for the person who named it.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    #[error("git is not on PATH (install it, as with 'apt-get install git')")]
    NoGit,
    #[error(
        "'{}' is not a checkout of git: {reason}. Name the folder that contains .git",
        folder.display()
    )]
    NotOne { folder: PathBuf, reason: String },
    #[error(
        "'{}' is a shallow clone, in which commits are missing. Complete it: git -C '{}' fetch \
         --unshallow --tags", .0.display(), .0.display()
    )]
    Shallow(PathBuf),
    #[error("'{}' has no commit '{revision}'{nearest}", folder.display())]
    NoRevision { folder: PathBuf, revision: String, nearest: String },
    #[error(
        "submodule '{submodule}' has no commit {commit} in '{}'. Get it: git -C '{}' submodule update \
         --init --recursive", folder.display(), folder.display()
    )]
    NoSubmodule { folder: PathBuf, submodule: String, commit: String },
    #[error("git cannot read '{}': {reason}", folder.display())]
    Git { folder: PathBuf, reason: String },
}

impl CheckoutError {
    /// Whether the request makes no sense; otherwise something failed.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, CheckoutError::Git { .. })
    }
}
