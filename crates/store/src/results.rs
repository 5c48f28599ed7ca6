//! `results.sqlite` of a run directory, which may be damaged or come from elsewhere.

use std::io::Read;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::error::StoreError;
use crate::files::{begin, file, open_own, own};
use crate::schema;

pub(crate) const RESULTS: &str = "results.sqlite";
const JOURNAL: &str = "results.sqlite-journal";
/// Files beside it that SQLite opens by itself.
const BESIDE: [&str; 3] = [JOURNAL, "results.sqlite-wal", "results.sqlite-shm"];

/// The header of the file, what it begins with, and where its "user version" is (SQLite, Database
/// File Format, 1.3).
const HEADER: u64 = 100;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const USER_VERSION: std::ops::Range<usize> = 60..64;

/// The longest value: a number for each second of a month has a tenth of that.
const LONGEST_VALUE: i32 = 64 << 20;

/// Restrictions for a database that may come from elsewhere: its triggers and views do not run, and
/// functions that its schema calls have no effects.
const CONFINED: [(DbConfig, bool); 6] = [
    (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
    (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
];

/// Creates the file with its tables under another name, so that a results file always has them.
pub(crate) fn make(root: &Path) -> Result<(), StoreError> {
    let results = root.join(RESULTS);
    let fresh = begin(root).map_err(file("create", &results))?;
    let tables = || {
        let connection = Connection::open(fresh.path())?;
        // An incomplete file is never used, so it needs no journal.
        connection.pragma_update(None, "journal_mode", "off")?;
        connection.execute_batch(schema::TABLES)?;
        connection.pragma_update(None, "user_version", schema::VERSION)
    };
    tables().map_err(|error| StoreError::from(error).in_results(&results))?;
    let synced = fresh.as_file().sync_all();
    synced.map_err(file("write", &results))?;
    fresh.persist_noclobber(&results).map_err(|error| file("create", &results)(error.error))?;
    Ok(())
}

/// Rejects a folder without results, and results that are not rqps's or have another schema, as far
/// as this shows without opening them for writing.
pub(crate) fn refuse_foreign(root: &Path) -> Result<(), StoreError> {
    let damaged = |reason: &str| StoreError::damaged(root.join(RESULTS), reason);
    if root.join(RESULTS).symlink_metadata().is_err() {
        return Err(StoreError::NoRun(root.to_path_buf()));
    }
    for name in BESIDE {
        own(root, name)?;
    }
    let mut start = Vec::new();
    let read = open_own(root, RESULTS)?.take(HEADER).read_to_end(&mut start);
    read.map_err(file("read", &root.join(RESULTS)))?;
    match start.as_slice() {
        // With a journal, the beginning may be there.
        _ if root.join(JOURNAL).exists() => Ok(()),
        b"" => Err(damaged("it is empty")),
        start if !start.starts_with(MAGIC) => Err(damaged("it is not an SQLite database")),
        start => match start.get(USER_VERSION).and_then(|bytes| bytes.try_into().ok()) {
            Some(bytes) => of_this_schema(root, u32::from_be_bytes(bytes)),
            // SQLite tells what is missing.
            None => Ok(()),
        },
    }
}

fn of_this_schema(root: &Path, found: u32) -> Result<(), StoreError> {
    match found {
        schema::VERSION => Ok(()),
        // SQLite's own beginning.
        0 => Err(StoreError::damaged(
            root.join(RESULTS),
            "it is a database that rqps did not create",
        )),
        found => {
            let path = root.to_path_buf();
            Err(StoreError::Version { path, found, expected: schema::VERSION })
        }
    }
}

pub(crate) fn open(root: &Path, read_only: bool) -> Result<Connection, StoreError> {
    refuse_foreign(root)?;
    let results = root.join(RESULTS);
    let damaged = |error: rusqlite::Error| StoreError::damaged(results.clone(), error);
    // Also for reading: SQLite first rolls back what a killed rqps had begun to write. A read-only
    // file can be opened nevertheless.
    let real = root.canonicalize().map_err(file("open", root))?.join(RESULTS);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(&real, flags).map_err(damaged)?;
    for (config, value) in CONFINED {
        connection.set_db_config(config, value).map_err(damaged)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE).map_err(damaged)?;
    let found: u32 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(damaged)?;
    of_this_schema(root, found)?;
    // SQLite reads the missing part of the last page as zeros.
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = number("page_count").map_err(damaged)?;
    let whole = pages.saturating_mul(number("page_size").map_err(damaged)?);
    let length = results.metadata().map_err(file("read", &results))?.len() as i64;
    if length < whole {
        let reason = format!("its end is missing: it has {length} of {whole} bytes");
        return Err(StoreError::damaged(results, reason));
    }
    let settings: &[(&str, &str)] = match read_only {
        true => &[("query_only", "on")],
        // A test that is reported as done must be durable; rows of a round are deleted with it.
        false => &[("synchronous", "full"), ("foreign_keys", "on")],
    };
    for (name, value) in settings {
        connection.pragma_update(None, name, value).map_err(damaged)?;
    }
    Ok(connection)
}
