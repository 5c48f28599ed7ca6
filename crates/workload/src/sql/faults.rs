//! What is wrong in a folder, with its file and line.

use rqps_system::printable;

use super::tokens::SqlTextError;
use crate::task::WorkloadError;

/// What is wrong in a folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FolderError {
    /// Below the folder; empty for the folder.
    pub(crate) file: String,
    /// Counted from 1.
    pub(crate) line: Option<u32>,
    pub(crate) what: String,
}

impl std::fmt::Display for FolderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (file, what) = (printable(&self.file), printable(&self.what));
        match self.line {
            Some(line) => write!(f, "{file}:{line}: {what}"),
            None if file.is_empty() => write!(f, "{what}"),
            None => write!(f, "{file}: {what}"),
        }
    }
}

impl FolderError {
    pub(super) fn new(file: &str, what: impl Into<String>) -> FolderError {
        FolderError { file: file.to_string(), line: None, what: what.into() }
    }

    pub(super) fn of_text(
        file: &str,
        SqlTextError { line, what, .. }: SqlTextError,
    ) -> FolderError {
        FolderError { file: file.to_string(), line: Some(line), what }
    }
}

/// Everything that is wrong in a folder; as an error at least one thing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FolderFaults(pub(super) Vec<FolderError>);

impl std::fmt::Display for FolderFaults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0[..] {
            [one] => one.fmt(f),
            all => {
                write!(f, "{} faults:", all.len())?;
                all.iter().try_for_each(|one| write!(f, "\n  {one}"))
            }
        }
    }
}

impl FolderFaults {
    /// Queries that no contender can execute, with what one of them says: that is no verdict.
    pub fn of_failing(queries: &[(String, String)]) -> FolderFaults {
        let one = |(query, detail): &(String, String)| {
            FolderError::new("", format!("query '{query}' fails in all contenders: {detail}"))
        };
        FolderFaults(queries.iter().map(one).collect())
    }

    pub(super) fn none() -> FolderFaults {
        FolderFaults(Vec::new())
    }

    /// Adds what was found for another contender, which may be known already.
    pub(super) fn add(&mut self, found: FolderFaults) {
        for one in found.0 {
            if !self.0.contains(&one) {
                self.0.push(one);
            }
        }
    }

    pub(super) fn none_or_all(self) -> Result<(), FolderFaults> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl From<FolderError> for FolderFaults {
    fn from(error: FolderError) -> Self {
        FolderFaults(vec![error])
    }
}

impl From<FolderError> for WorkloadError {
    fn from(error: FolderError) -> Self {
        FolderFaults::from(error).into()
    }
}

/// Collects what is wrong while a folder is read.
#[derive(Default)]
pub(super) struct FaultNotes(pub(super) Vec<FolderError>);

impl FaultNotes {
    pub(super) fn or_default<T: Default>(&mut self, read: Result<T, FolderError>) -> T {
        self.each([read]).pop().unwrap_or_default()
    }

    /// Those that are right.
    pub(super) fn each<T>(
        &mut self,
        all: impl IntoIterator<Item = Result<T, FolderError>>,
    ) -> Vec<T> {
        all.into_iter().filter_map(|one| one.map_err(|wrong| self.0.push(wrong)).ok()).collect()
    }
}
