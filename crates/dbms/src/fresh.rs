//! Making a data directory, whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Place;
use crate::error::DbmsError;
use crate::user::{ServerUser, hand_over};

impl Place {
    /// Has an empty directory filled and moves it to where the data belong, so that what an
    /// interruption leaves is never taken for a data directory.
    pub(crate) fn make_data(
        &self,
        user: Option<ServerUser>,
        fill: impl FnOnce(&Path) -> Result<(), DbmsError>,
    ) -> Result<(), DbmsError> {
        let parent = self.data.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent).map_err(DbmsError::file("make", parent))?;
        // `with_extension` would take a minor version in the name for one.
        let mut fresh = self.data.as_os_str().to_owned();
        fresh.push(".new");
        let fresh = PathBuf::from(fresh);
        if fresh.exists() {
            fs::remove_dir_all(&fresh).map_err(DbmsError::file("remove", &fresh))?;
        }
        fs::create_dir(&fresh).map_err(DbmsError::file("make", &fresh))?;
        hand_over(&fresh, user)?;
        fill(&fresh)?;
        fs::rename(&fresh, &self.data).map_err(DbmsError::file("make", &self.data))
    }
}
