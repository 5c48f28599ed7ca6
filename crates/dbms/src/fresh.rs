//! Creates a data directory atomically, and records which build created it.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rqps_plan::Dbms;
use rqps_system::User;

use crate::Place;
use crate::error::DbmsError;
use crate::registry::descriptor;
use crate::rights::can_reach;
use crate::server_folder::give;
use crate::source::installed::Installed;
use crate::template::Template;
use crate::theirs;

/// The file in a data directory that names the build that created it.
const MAKER: &str = "rqps.maker";
/// The data directory inside an existing empty directory, such as a mount point.
const WITHIN: &str = "data";
/// The folder in a new file system.
const LOST_AND_FOUND: &str = "lost+found";
/// The prefix of an incomplete data directory, followed by random letters.
pub const BEGUN: &str = ".rqps-";

impl Place {
    /// The same with the place of the existing or future data. In an existing directory, data are
    /// created only if it is empty, and then in a folder inside, so that it stays the user's.
    /// `mark` is in every data directory of the DBMS.
    pub(crate) fn settled(&self, dbms: &'static str, mark: &str) -> Result<Place, DbmsError> {
        let at = |data: PathBuf| Place { data, ..self.clone() };
        let data = match self.data.symlink_metadata() {
            Ok(found) if found.is_symlink() => fs::canonicalize(&self.data),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(self.clone()),
            found => found.map(|_| self.data.clone()),
        };
        let data = data.map_err(DbmsError::file("inspect", &self.data))?;
        let within = data.join(WITHIN);
        if data.join(mark).exists() {
            return Ok(at(data));
        }
        let entries = fs::read_dir(&data).map_err(DbmsError::file("read", &data))?;
        let others = |entry: fs::DirEntry| entry.file_name() != LOST_AND_FOUND;
        let is_empty = !entries.flatten().any(others);
        match is_empty || within.join(mark).exists() && within.join(MAKER).exists() {
            true => Ok(at(within)),
            false => Err(DbmsError::NotData { data, dbms }),
        }
    }

    /// Fills an empty directory and moves it to the place of the data, so that an interrupted one
    /// is never taken for a data directory. The result of a fetched build for these arguments is
    /// copied from then on.
    pub(crate) fn make_data(
        &self,
        installed: &Installed,
        user: Option<User>,
        told: &[String],
        fill: impl FnOnce(&Path) -> Result<(), DbmsError>,
    ) -> Result<(), DbmsError> {
        let parent = self.data.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent).map_err(DbmsError::file("create", parent))?;
        can_reach(user, &[parent])?;
        // Under an unpredictable name: entries with other names are not rqps's.
        let scratch = tempfile::Builder::new().prefix(BEGUN).tempdir_in(parent);
        let scratch = scratch.map_err(DbmsError::file("create a folder in", parent))?;
        let passable = Permissions::from_mode(0o711);
        fs::set_permissions(&scratch, passable)
            .map_err(DbmsError::file("create", scratch.path()))?;
        let fresh = scratch.path().join(WITHIN);
        let template = Template::of(installed, user, told);
        let is_copied = match &template {
            Some(template) => template.copy_to(&fresh)?,
            None => false,
        };
        if !is_copied {
            fs::create_dir(&fresh).map_err(DbmsError::file("create", &fresh))?;
            give(&fresh, user).map_err(DbmsError::file("change the owner of", &fresh))?;
            fill(&fresh).map_err(|error| error.with_shortage(parent))?;
            theirs::write(&fresh, MAKER, &format!("{}\n", named(installed)))
                .map_err(DbmsError::file("write", &fresh.join(MAKER)))?;
            template.and_then(|template| template.keep(&fresh));
        }
        fs::rename(&fresh, &self.data).map_err(DbmsError::file("create", &self.data))
    }

    /// Ensures that no server opens data of another kind or version: it would fail with a long log,
    /// or convert them irreversibly. A directory that rqps did not create is not checked.
    pub(crate) fn check_maker(&self, installed: &Installed) -> Result<(), DbmsError> {
        let Ok(Some(maker)) = theirs::read(&self.data, MAKER) else { return Ok(()) };
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

/// A build's name without the last number, in which builds that open each other's data may differ.
fn series(dbms: Dbms, name: &str) -> &str {
    let version = name.split(' ').next_back().unwrap_or(name);
    let first = version.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    let dots = (descriptor(dbms, None).numbers)(first.parse().unwrap_or(0)) - 1;
    name.match_indices('.').nth(dots - 1).map_or(name, |(end, _)| &name[..end])
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rqps_plan::Source;
    use rqps_system::Cancelled;

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
            flags: None,
            loader: None,
            built: None,
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
            let place = Place { data, log, ..Place::default() };
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
        // Arguments that name the build's own files are the same wherever the store is.
        let share = |build: &Installed| format!("--share={}/share", build.root.display());
        let moved = builds.with_file_name("link");
        symlink(&builds, &moved).unwrap();
        let moved = installed(&moved.join("postgres-17.6-npm"), fetched.archives.clone());
        let [here, there] = [&fetched, &moved].map(share);
        assert_eq!(make(&fetched, &[here.as_str()]), (4, here.clone()));
        assert_eq!(make(&moved, &[there.as_str()]), (4, here));
        assert_eq!(make(&own, &[]), (5, String::new()));
        assert_eq!(make(&own, &[]), (6, String::new()), "it may be another build by now");
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
        let place = Place { data, log, ..Place::default() };
        let fails = |_: &Path| Err(DbmsError::Cancelled(Cancelled));
        assert!(place.make_data(&build, None, &[], fails).is_err());
        assert!(place.make_data(&build, None, &[], |_| Ok(())).is_ok());
        assert!(place.data.join(MAKER).is_file());
    }

    #[test]
    fn data_are_only_made_where_nothing_is() {
        let folder = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        let at = |name: &str| {
            let (data, log) = (folder.join(name), folder.join("log"));
            Place { data, log, ..Place::default() }.settled("postgres", "PG_VERSION")
        };
        for name in ["new.new", "mounted/lost+found", "full", "made", "again/data"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        for name in ["full/thesis", "made/PG_VERSION", "again/data/PG_VERSION", "file"] {
            fs::write(folder.join(name), "").unwrap();
        }
        fs::write(folder.join("again/data").join(MAKER), "").unwrap();
        std::os::unix::fs::symlink(folder.join("made"), folder.join("link")).unwrap();

        for (name, chosen) in [
            ("new", "new"),
            ("mounted", "mounted/data"),
            ("made", "made"),
            ("link", "made"),
            ("again", "again/data"),
        ] {
            assert_eq!(at(name).unwrap().data, folder.join(chosen), "{name}");
        }
        let error = at("full").unwrap_err().to_string();
        assert!(error.contains("full' is not empty and contains no postgres data"), "{error}");
        assert!(at("file").is_err());
    }

    #[test]
    fn what_is_beside_the_data_stays_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let theirs = folder.path().join("data.new/thesis");
        fs::create_dir_all(&theirs).unwrap();
        let (data, log) = (folder.path().join("data"), folder.path().join("log"));
        let place = Place { data, log, ..Place::default() };
        place.make_data(&installed(folder.path(), Vec::new()), None, &[], |_| Ok(())).unwrap();
        assert!(theirs.exists() && place.data.exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "and nothing of rqps's");
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
