//! The process that loads a library: rqps's own program under a verb that people do not need.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::argument;
use crate::config::Settings;
use crate::error::DbmsError;
use crate::source::{SourceError, Tell, ask_library};

/// The verb, which src/cli has.
const VERB: &str = "rocksdb-worker";
/// Makes it tell version and options, and end.
const DESCRIBE: &str = "--describe";

/// The program.
pub(super) fn program() -> Result<PathBuf, DbmsError> {
    std::env::current_exe().map_err(DbmsError::file("find", Path::new("the program of rqps")))
}

/// Its first arguments.
pub(super) fn arguments(library: &Path, settings: &Settings) -> Vec<OsString> {
    let mut arguments = vec![VERB.into(), library.into()];
    for setting in settings {
        arguments.extend(["--set".into(), argument(setting)]);
    }
    arguments
}

/// The command that tells the version of a library, and its options.
pub(crate) fn telling(library: &Path) -> std::io::Result<(PathBuf, Vec<OsString>)> {
    let mut arguments = arguments(library, &Settings::new());
    arguments.push(DESCRIBE.into());
    Ok((std::env::current_exe()?, arguments))
}

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
