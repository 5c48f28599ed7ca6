//! SQLite, the one in this binary or a library: a file, and pragmas for settings.

pub(crate) mod descriptor;
pub(crate) mod dialect;
mod library;
pub(crate) mod query_plan;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rqps_plan::{Build, Contender, Flags};
use rqps_system::Cancel;
use rqps_wire::{Connection, SqliteLibrary, Target, scalar};

use crate::config::{Settings, Vocabulary};
use crate::driver::DbmsDriver;
use crate::error::DbmsError;
use crate::files;
use crate::home::Home;
use crate::in_force::InForce;
use crate::meter::EngineMeter;
use crate::process_settings::ProcessSettings;
use crate::source;
use crate::source::installed::Installed;
use crate::source::progress::Tell;
use crate::{Dbms, Place, Quiesce, Server};

use descriptor::DESCRIPTOR;
use library::load;

/// The database's file in its data directory.
const FILE: &str = "ib.sqlite";
/// Its write-ahead log or rollback journal.
const LOGS: [&str; 2] = ["ib.sqlite-wal", "ib.sqlite-journal"];
/// Pragmas that are commands or schema queries rather than settings.
const NOT_SETTINGS: [&str; 20] = [
    "collation_list",
    "compile_options",
    "database_list",
    "foreign_key_check",
    "foreign_key_list",
    "function_list",
    "incremental_vacuum",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "module_list",
    "optimize",
    "pragma_list",
    "quick_check",
    "shrink_memory",
    "table_info",
    "table_list",
    "table_xinfo",
    "wal_checkpoint",
];

/// Pragmas whose number is one of bytes.
const IN_BYTES: [&str; 4] =
    ["hard_heap_limit", "journal_size_limit", "mmap_size", "soft_heap_limit"];

/// The SQLite in this binary, which is not a build that could be fetched.
pub struct SqliteBuild {
    pub version: String,
    pub flags: Flags,
    /// Its compile options, from its `pragma compile_options`.
    pub compile_options: Vec<String>,
}

/// The SQLite of this binary.
pub fn sqlite_build() -> Result<SqliteBuild, DbmsError> {
    let library = SqliteLibrary::bundled();
    let rows = memory(library).connect()?.query("pragma compile_options")?;
    let compile_options: Vec<String> = rows.into_iter().flatten().flatten().collect();
    let flags = source::of_sqlite(&compile_options);
    Ok(SqliteBuild { version: library.version(), flags, compile_options })
}

/// A database that ends with its connection.
fn memory(library: SqliteLibrary) -> Target {
    Target::Sqlite { library, path: ":memory:".into(), pragmas: Vec::new() }
}

pub(crate) static DRIVER: DbmsDriver =
    DbmsDriver { of: &[&DESCRIPTOR], prepare, remote: None, target: None };

pub(crate) struct Sqlite {
    library: SqliteLibrary,
    /// The build of a loaded library; none for the one in this binary.
    installed: Option<Installed>,
    flags: Flags,
    pragmas: Settings,
    process: ProcessSettings,
}

impl Sqlite {
    /// The SQLite in this binary, or another.
    pub(crate) fn prepare(
        contender: &Contender,
        installed: Option<Installed>,
    ) -> Result<Self, DbmsError> {
        let (library, flags) = match &installed {
            None => (SqliteLibrary::bundled(), sqlite_build()?.flags),
            Some(installed) => {
                let library = load(source::vouched(&installed.server()?)?)?;
                (library, installed.flags.clone().unwrap_or_default())
            }
        };
        let version = library.version();
        let known = setting_names(&mut *memory(library).connect()?)?;
        let knows = |name: &str| known.iter().any(|known| known == name);
        let vocabulary =
            Vocabulary { version: &version, names: &known, knows: &knows, reserved: &|_| None };
        let process = ProcessSettings::of_embedded(contender)?;
        let mut pragmas = vocabulary.settings(contender)?;
        for (name, value) in &mut pragmas {
            match (bytes(value), name.to_ascii_lowercase().as_str()) {
                // Pages, or kibibytes if it is negative.
                (Some(bytes), "cache_size") => *value = format!("-{}", bytes >> 10),
                (Some(bytes), name) if IN_BYTES.contains(&name) => *value = bytes.to_string(),
                _ => {}
            }
        }
        try_out(library, &pragmas)?;
        Ok(Sqlite { library, installed, flags, pragmas, process })
    }
}

/// Tests the pragmas on a temporary file: SQLite silently ignores invalid ones.
fn try_out(library: SqliteLibrary, pragmas: &Settings) -> Result<(), DbmsError> {
    let folder = std::env::temp_dir();
    let folder = tempfile::tempdir().map_err(DbmsError::file("create a folder in", &folder))?;
    let (path, pragmas) = (folder.path().join("db"), pragmas.clone());
    let target = Target::Sqlite { library, path, pragmas: pragmas.clone() };
    let mut connection = target.connect()?;
    for (name, value) in &pragmas {
        let actual = scalar(&mut *connection, &format!("pragma {name}"))?.unwrap_or_default();
        // A word that SQLite stores as a number cannot be compared, so only values of one kind are.
        let numbers = value.parse::<i64>().is_ok() && actual.parse::<i64>().is_ok();
        let words = value.parse::<i64>().is_err() && actual.parse::<i64>().is_err();
        // SQLite reads only the number of `64M`, in a unit of its own.
        let is_cut = bytes(value).is_some();
        if (numbers || words || is_cut) && !actual.is_empty() && !actual.eq_ignore_ascii_case(value)
        {
            let (name, value) = (name.clone(), value.clone());
            return Err(DbmsError::Ignored { name, value, actual });
        }
    }
    Ok(())
}

/// `256M` in bytes; SQLite itself would read it as 256.
fn bytes(value: &str) -> Option<u64> {
    let shift = match value.chars().last()? {
        'K' | 'k' => 10,
        'M' | 'm' => 20,
        'G' | 'g' => 30,
        _ => return None,
    };
    value[..value.len() - 1].parse::<u64>().ok().map(|number| number << shift)
}

fn setting_names(connection: &mut dyn Connection) -> Result<Vec<String>, DbmsError> {
    let rows = connection.query("select name from pragma_pragma_list order by name")?;
    let names = rows.into_iter().flatten().flatten();
    Ok(names.filter(|name| !NOT_SETTINGS.contains(&name.as_str())).collect())
}

impl Dbms for Sqlite {
    fn build(&self) -> Option<&Installed> {
        self.installed.as_ref()
    }

    fn flags(&self) -> Flags {
        self.flags.clone()
    }

    fn start(
        &self,
        _home: &Home,
        place: &Place,
        _cancel: &Cancel,
    ) -> Result<Box<dyn Server>, DbmsError> {
        fs::create_dir_all(&place.data).map_err(DbmsError::file("create", &place.data))?;
        let path = place.data.join(FILE);
        let (library, pragmas) = (self.library, self.pragmas.clone());
        let target = Target::Sqlite { library, path, pragmas };
        let (version, data) = (library.version(), place.data.clone());
        Ok(Box::new(Open { target, version, data, process: self.process.clone() }))
    }
}

/// An open database file.
struct Open {
    target: Target,
    version: String,
    data: PathBuf,
    process: ProcessSettings,
}

impl Server for Open {
    fn target(&self) -> &Target {
        &self.target
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn process(&self) -> Option<u32> {
        Some(std::process::id())
    }

    fn is_embedded(&self) -> bool {
        true
    }

    fn data(&self) -> Option<&Path> {
        Some(&self.data)
    }

    fn database_path(&self) -> Result<Option<PathBuf>, DbmsError> {
        Ok(Some(self.data.join(FILE)))
    }

    fn settings(&self) -> Result<InForce, DbmsError> {
        let mut connection = self.target.connect()?;
        let mut settings = BTreeMap::new();
        for name in setting_names(&mut *connection)? {
            // Reading some pragmas needs an argument; those are not settings in force.
            if let Ok(Some(value)) = scalar(&mut *connection, &format!("pragma {name}")) {
                settings.insert(name, value);
            }
        }
        settings.extend(self.process.in_force(&self.data));
        Ok(InForce { values: settings, ..InForce::default() })
    }

    fn database_bytes(&self) -> Result<u64, DbmsError> {
        let mut connection = self.target.connect()?;
        let sql = "select page_count * page_size from pragma_page_count, pragma_page_size";
        Ok(scalar(&mut *connection, sql)?.and_then(|bytes| bytes.parse().ok()).unwrap_or(0))
    }

    fn log_bytes(&self) -> Option<u64> {
        Some(files::bytes(&self.data, &LOGS))
    }

    fn meter(&self) -> Result<Option<EngineMeter>, DbmsError> {
        Ok(None)
    }

    fn quiesce(&self, what: Quiesce, tables: &[String]) -> Result<Option<String>, DbmsError> {
        // Freed pages are reused at once, so there is no counterpart of a plain vacuum.
        if what == Quiesce::Full {
            let mut connection = self.target.connect()?;
            for table in tables {
                connection.run(&format!("analyze {table}"))?;
            }
            connection.query("pragma wal_checkpoint(truncate)")?;
        }
        Ok(None)
    }

    fn settle(&self) -> Result<(), DbmsError> {
        for entry in
            fs::read_dir(&self.data).map_err(DbmsError::file("read", &self.data))?.flatten()
        {
            let path = entry.path();
            let synced = File::open(&path).and_then(|file| file.sync_all());
            synced.map_err(DbmsError::file("sync", &path))?;
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), DbmsError> {
        Ok(())
    }

    fn discard(&mut self) -> Result<(), DbmsError> {
        fs::remove_dir_all(&self.data).map_err(DbmsError::file("remove", &self.data))
    }
}

fn prepare(
    home: &Home,
    contender: &Contender,
    tell: &mut Tell,
) -> Result<Box<dyn Dbms>, DbmsError> {
    let installed = match &contender.build {
        Build::Any => None,
        build => Some(source::obtain(home, contender.dbms, build, tell)?),
    };
    Ok(Box::new(Sqlite::prepare(contender, installed)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(contender: &str) -> Result<(tempfile::TempDir, Box<dyn Server>), DbmsError> {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path()).unwrap();
        let dbms = Sqlite::prepare(&contender.parse().unwrap(), None)?;
        let (data, log) = (directory.path().join("data"), directory.path().join("log"));
        let place = Place { data, log, ..Place::default() };
        let server = dbms.start(&home, &place, &Cancel::default())?;
        Ok((directory, server))
    }

    #[test]
    fn pragmas_are_in_force_and_listed() {
        let (_directory, server) = start("sqlite?mmap_size=64M&cache_size=-4000").unwrap();
        let settings = server.settings().unwrap().values;
        let value = |name: &str| settings.get(name).map(String::as_str);
        assert_eq!(value("journal_mode"), Some("wal"));
        assert_eq!(value("mmap_size"), Some("67108864"));
        assert_eq!(value("cache_size"), Some("-4000"));
    }

    #[test]
    fn a_cache_of_so_many_bytes_has_no_more() {
        let (_directory, server) = start("sqlite?cache_size=16M").unwrap();
        let settings = server.settings().unwrap().values;
        assert_eq!(settings["cache_size"], "-16384", "kibibytes, and not pages");
        let error = start("sqlite?wal_autocheckpoint=4M").err().unwrap().to_string();
        assert!(error.contains("wal_autocheckpoint = 4M"), "that is in pages: {error}");
    }

    #[test]
    fn an_unknown_pragma_is_answered_with_the_nearest() {
        let error = start("sqlite?jurnal_mode=wal").err().unwrap().to_string();
        assert!(error.contains("did you mean 'journal_mode'"), "{error}");
    }

    #[test]
    fn a_value_that_sqlite_does_not_take_is_an_error() {
        let error = start("sqlite?journal_mode=wall").err().unwrap().to_string();
        assert!(error.contains("journal_mode = wall"), "{error}");
    }
}
