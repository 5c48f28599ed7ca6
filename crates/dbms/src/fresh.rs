//! Making a data directory, whole or not at all, and knowing later what made it.

use std::fs;
use std::path::{Path, PathBuf};

use rqps_plan::Dbms;

use crate::Place;
use crate::error::DbmsError;
use crate::source::Installed;
use crate::template::Template;
use crate::user::{ServerUser, hand_over};

/// The file in a data directory that names the build which made it.
const MAKER: &str = "rqps.maker";

impl Place {
    /// Has an empty directory filled and moves it to where the data belong, so that what an interruption
    /// leaves is never taken for a data directory. What a fetched build has made when it was told
    /// this is copied from then on.
    pub(crate) fn make_data(
        &self,
        installed: &Installed,
        user: Option<ServerUser>,
        told: &[String],
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
        let template = Template::of(installed, user, told);
        let is_copied = match &template {
            Some(template) => template.copy_to(&fresh)?,
            None => false,
        };
        if !is_copied {
            fs::create_dir(&fresh).map_err(DbmsError::file("make", &fresh))?;
            hand_over(&fresh, user)?;
            fill(&fresh)?;
            let maker = fresh.join(MAKER);
            fs::write(&maker, format!("{}\n", named(installed)))
                .map_err(DbmsError::file("write", &maker))?;
            template.and_then(|template| template.keep(&fresh));
        }
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
    use rqps_plan::Source;

    use super::*;
    use crate::source::Archive;

    fn installed(root: &Path, archives: Vec<Archive>) -> Installed {
        Installed {
            dbms: Dbms::Postgres,
            version: "17.6".to_string(),
            source: Some(Source::Npm),
            root: root.to_path_buf(),
            archives,
            server_sha256: String::new(),
            libc: None,
            compiler: None,
            loader: None,
        }
    }

    #[test]
    fn a_fetched_build_makes_an_empty_directory_once_and_another_when_told_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let builds = folder.path().join("builds");
        let (fetched, own) = (builds.join("postgres-17.6-npm"), folder.path().join("own"));
        fs::create_dir_all(&fetched).unwrap();
        fs::create_dir(&own).unwrap();
        let archive = Archive { name: "postgres.tgz".to_string(), sha256: String::new() };
        let (fetched, own) = (installed(&fetched, vec![archive]), installed(&own, Vec::new()));
        let mut made = 0;
        let mut make = |build: &Installed, told: &[&str]| {
            let data = folder.path().join("data");
            let log = folder.path().join("log");
            let place = Place { data, log, detached: false, environment: Vec::new() };
            let told: Vec<String> = told.iter().map(ToString::to_string).collect();
            let fill = |fresh: &Path| {
                made += 1;
                fs::write(fresh.join("PG_VERSION"), told.join(" ")).unwrap();
                Ok(())
            };
            place.make_data(build, None, &told, fill).unwrap();
            place.check_maker(build).unwrap();
            let version = fs::read_to_string(place.data.join("PG_VERSION")).unwrap();
            fs::remove_dir_all(&place.data).unwrap();
            (made, version)
        };
        assert_eq!(make(&fetched, &[]), (1, String::new()));
        assert_eq!(make(&fetched, &[]), (1, String::new()));
        assert_eq!(make(&fetched, &["a", "b"]), (2, "a b".to_string()));
        assert_eq!(make(&fetched, &["ab"]), (3, "ab".to_string()));
        assert_eq!(make(&fetched, &["a", "b"]), (3, "a b".to_string()));
        assert_eq!(make(&own, &[]), (4, String::new()));
        assert_eq!(make(&own, &[]), (5, String::new()), "it may be another build by now");
        assert_eq!(fs::read_dir(&own.root).unwrap().count(), 0, "nothing is written there");
        let beside: Vec<_> =
            fs::read_dir(&builds).unwrap().flatten().map(|one| one.file_name()).collect();
        assert_eq!(beside.len(), 2, "the build and the lock of the store: {beside:?}");
    }

    #[test]
    fn a_failure_leaves_nothing_to_copy() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("builds/postgres-17.6-npm");
        fs::create_dir_all(&root).unwrap();
        let archive = Archive { name: "postgres.tgz".to_string(), sha256: String::new() };
        let build = installed(&root, vec![archive]);
        let (data, log) = (folder.path().join("data"), folder.path().join("log"));
        let place = Place { data, log, detached: false, environment: Vec::new() };
        let fails = |_: &Path| Err(DbmsError::User("nobody".to_string()));
        assert!(place.make_data(&build, None, &[], fails).is_err());
        assert!(place.make_data(&build, None, &[], |_| Ok(())).is_ok());
        assert!(place.data.join(MAKER).is_file());
    }

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
