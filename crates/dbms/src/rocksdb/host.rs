//! What the process that loads a library tells of it.

use std::path::Path;

use super::command::{DESCRIBE, arguments, program};
use crate::config::Settings;
use crate::error::DbmsError;
use crate::source::error::SourceError;
use crate::source::probe::ask_library;
use crate::source::progress::Tell;

/// The options of a library, with their values when these are set.
pub(super) fn options(
    library: &Path,
    settings: &Settings,
    tell: &mut Tell,
) -> Result<Vec<(String, String)>, DbmsError> {
    let mut arguments = arguments(library, settings);
    arguments.push(DESCRIBE.into());
    let said = ask_library(&program()?, &arguments, library, tell)?;
    if !said.status.success() {
        let reason = said.stderr.lines().find(|line| !line.trim().is_empty());
        let reason = reason.map_or_else(|| said.status.to_string(), str::to_string);
        let reason = reason.strip_prefix("error: ").unwrap_or(&reason).to_string();
        return Err(match settings.is_empty() {
            true => SourceError::DoesNotRun { program: library.to_path_buf(), reason }.into(),
            false => DbmsError::Settings { library: library.to_path_buf(), reason },
        });
    }
    let option = |line: &str| {
        let (name, value) = line.split_once(" = ")?;
        Some((name.to_string(), value.to_string()))
    };
    Ok(said.stdout.lines().filter_map(option).collect())
}
