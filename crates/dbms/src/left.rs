//! The record on this machine of data that rqps has on a remote server.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::DbmsError;
use crate::guest::PLACE;

/// The file with the place of the data, in a run's folder in place of a data directory.
const LEFT: &str = "guest.json";

/// A record on this machine of rqps's data on a remote server, kept as long as these exist.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Left {
    /// Of the server, without the password.
    pub url: String,
    /// For messages.
    pub place: String,
    /// The name of the place.
    #[serde(default = "first_place")]
    pub(crate) name: String,
    /// Identifies the data as this run's.
    pub(crate) token: String,
}

/// Before a server could have several.
pub(crate) fn first_place() -> String {
    PLACE.to_string()
}

impl Left {
    /// The record in a folder of a contender, if its data are on a remote server.
    pub fn read(data: &Path) -> Option<Left> {
        serde_json::from_str(&fs::read_to_string(data.join(LEFT)).ok()?).ok()
    }

    pub(crate) fn write(&self, data: &Path) -> Result<(), DbmsError> {
        fs::create_dir_all(data).map_err(DbmsError::file("create", data))?;
        let (path, text) = (data.join(LEFT), serde_json::to_string(self).unwrap_or_default());
        fs::write(&path, text).map_err(DbmsError::file("write", &path))
    }
}
