//! Making a data directory, whole or not at all, and knowing later what made it.

use std::fs;
use std::path::{Path, PathBuf};

use rqps_plan::Dbms;

use crate::Place;
use crate::error::DbmsError;
use crate::source::Installed;
use crate::user::{ServerUser, hand_over};

/// The file in a data directory that names the build which made it.
const MAKER: &str = "rqps.maker";

impl Place {
    /// Has an empty directory filled and moves it to where the data belong, so that what an
    /// interruption leaves is never taken for a data directory.
    pub(crate) fn make_data(
        &self,
        installed: &Installed,
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
        let maker = fresh.join(MAKER);
        fs::write(&maker, format!("{}\n", named(installed)))
            .map_err(DbmsError::file("write", &maker))?;
        fs::rename(&fresh, &self.data).map_err(DbmsError::file("make", &self.data))
    }

    /// Sees to it that no server is let loose on data of another kind or version: it would fail with
    /// many words, or convert them for good. A directory that rqps did not make is the user's
    /// affair.
    pub(crate) fn check_maker(&self, installed: &Installed) -> Result<(), DbmsError> {
        let Ok(maker) = fs::read_to_string(self.data.join(MAKER)) else { return Ok(()) };
        let (maker, build) = (maker.trim().to_string(), named(installed));
        match series(installed.dbms, &maker) == series(installed.dbms, &build) {
            true => Ok(()),
            false => Err(DbmsError::OtherMaker { data: self.data.clone(), maker, build }),
        }
    }
}

fn named(installed: &Installed) -> String {
    format!("{} {}", installed.dbms, installed.version)
}

/// A build's name without what may differ between two that take each other's data: the last number,
/// of two in Postgres since 10 and of three elsewhere.
fn series(dbms: Dbms, name: &str) -> &str {
    let is_old_postgres = name.starts_with("postgres 9.");
    let dots = if dbms == Dbms::Postgres && !is_old_postgres { 1 } else { 2 };
    name.match_indices('.').nth(dots - 1).map_or(name, |(end, _)| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minor_versions_take_each_others_data_and_major_ones_do_not() {
        for (dbms, name, expected) in [
            (Dbms::Postgres, "postgres 17.6", "postgres 17"),
            (Dbms::Postgres, "postgres 9.6.24", "postgres 9.6"),
            (Dbms::Postgres, "postgres 19devel", "postgres 19devel"),
            (Dbms::Mysql, "mysql 8.0.33", "mysql 8.0"),
            (Dbms::Mariadb, "mariadb 10.11.18", "mariadb 10.11"),
        ] {
            assert_eq!(series(dbms, name), expected);
        }
    }
}
