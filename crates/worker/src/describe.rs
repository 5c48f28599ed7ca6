//! A library by its own words: its version, and the options that it has. RocksDB tells both only
//! when it opens a database.

use std::fs;
use std::path::Path;

use crate::database::Database;
use crate::settings::{OWN, OpenSettings};
use crate::{WorkerError, library, options_file};

/// Opens an empty database with these settings, and returns lines: the version, then options with
/// their values.
pub fn describe(
    library: &Path,
    settings: Vec<(String, String)>,
) -> Result<Vec<String>, WorkerError> {
    // What is refused is refused before anything is loaded.
    let (settings, functions) = (OpenSettings::new(settings)?, library::load(library)?);
    let temporary = std::env::temp_dir();
    let at = |path: &Path| {
        let path = path.to_path_buf();
        move |source| WorkerError::File { path, source }
    };
    let folder = tempfile::Builder::new().prefix("rqps-").tempdir().map_err(at(&temporary))?;
    drop(Database::open(functions, folder.path(), &settings)?);
    let file = options_file::newest(folder.path())?;
    let text = fs::read_to_string(&file).map_err(at(&file))?;
    let version = options_file::version(&text).ok_or(WorkerError::NoVersion)?;
    let options = options_file::options(&text).into_iter();
    let options = options.map(|(name, value)| format!("{name} = {value}"));
    let own = OWN.iter().map(|(name, takes)| format!("{name} = {takes}"));
    Ok([format!("RocksDB {version}")].into_iter().chain(options).chain(own).collect())
}
