//! The command of the process that loads a library: rqps's own program under a verb that people do
//! not need.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::DbmsError;

/// The verb, which src/cli has.
const VERB: &str = "rocksdb-worker";

/// Makes it tell version and options, and end.
pub(super) const DESCRIBE: &str = "--describe";

/// The program.
pub(super) fn program() -> Result<PathBuf, DbmsError> {
    std::env::current_exe().map_err(DbmsError::file("find", Path::new("the program of rqps")))
}

/// Its first arguments.
pub(super) fn arguments(library: &Path, settings: &[(String, String)]) -> Vec<OsString> {
    let mut arguments = vec![VERB.into(), library.into()];
    for setting in settings {
        arguments.extend(["--set".into(), argument(setting)]);
    }
    arguments
}

/// The command that tells the version of a library, and its options.
pub(super) fn telling(library: &Path) -> std::io::Result<(PathBuf, Vec<OsString>)> {
    let mut arguments = arguments(library, &[]);
    arguments.push(DESCRIBE.into());
    Ok((std::env::current_exe()?, arguments))
}

/// A setting as an argument.
fn argument((name, value): &(String, String)) -> OsString {
    format!("{name}={value}").into()
}
