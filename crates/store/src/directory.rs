//! A run directory on disk, and who may write to it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rqps_plan::{Contender, Plan};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::StoreError;
use crate::record::Manifest;
use crate::{pass, profile, schema};

pub(crate) const RESULTS: &str = "results.sqlite";
const FRESH_RESULTS: &str = "results.new";
const PLAN: &str = "plan.toml";
const MANIFEST: &str = "manifest.json";
const LOCK: &str = "lock";

/// A run directory that this process alone writes to.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    pub(crate) connection: Connection,
    pub plan: Plan,
    pub manifest: Manifest,
    /// Held for as long as the directory is open.
    _lock: File,
}

impl RunDirectory {
    /// Makes a new run directory; it must not exist or must be empty.
    pub fn create(path: &Path, plan: Plan, manifest: Manifest) -> Result<Self, StoreError> {
        fs::create_dir_all(path).map_err(file("make", path))?;
        if path.join(RESULTS).exists() {
            return Err(StoreError::Taken(path.to_path_buf()));
        }
        if !is_free(path).map_err(file("read", path))? {
            // What is there may be the beginning of a run that another is making.
            let busy = path.join(LOCK).exists() && Self::is_busy(path);
            let error = if busy { StoreError::Busy } else { StoreError::NotEmpty };
            return Err(error(path.to_path_buf()));
        }
        let lock = lock(path)?;
        // Another may have made its run and ended it since we looked.
        if path.join(RESULTS).exists() {
            return Err(StoreError::Taken(path.to_path_buf()));
        }
        let logs = path.join("logs");
        fs::create_dir_all(&logs).map_err(file("make", &logs))?;
        write_whole(&path.join(PLAN), |out| out.write_all(plan.to_toml().as_bytes()))?;
        write_manifest(path, &manifest)?;

        // The tables are made under another name, so that a results file always has them.
        let results = path.join(RESULTS);
        let fresh = path.join(FRESH_RESULTS);
        // One that was begun is no beginning.
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(file("remove", &fresh)(error));
            }
            _ => {}
        }
        let connection = Connection::open(&fresh)?;
        connection.execute_batch(schema::TABLES)?;
        connection.execute_batch(pass::TABLES)?;
        connection.execute_batch(profile::TABLES)?;
        connection.pragma_update(None, "user_version", schema::VERSION)?;
        drop(connection);
        fs::rename(&fresh, &results).map_err(file("make", &results))?;
        let connection = open_results(path, false)?;
        Ok(RunDirectory { path: path.to_path_buf(), connection, plan, manifest, _lock: lock })
    }

    /// Opens a run to go on with it.
    pub fn resume(path: &Path) -> Result<Self, StoreError> {
        if !path.join(RESULTS).exists() {
            return Err(StoreError::NoRun(path.to_path_buf()));
        }
        let lock = lock(path)?;
        let connection = open_results(path, false)?;
        let (plan, manifest) = read_plan_and_manifest(path)?;
        Ok(RunDirectory { path: path.to_path_buf(), connection, plan, manifest, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the server of a contender writes its log: a file of its own.
    pub fn log(&self, contender: &str) -> PathBuf {
        let names: Vec<String> = self.plan.contenders.iter().map(Contender::name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.path.join("logs").join(file_name(contender, &names) + ".log")
    }

    /// Notes the order in which the contenders run.
    pub fn set_order(&mut self, order: Vec<String>) -> Result<(), StoreError> {
        self.manifest.order = order;
        write_manifest(&self.path, &self.manifest)
    }

    /// Notes whether a contender reads past the page cache.
    pub fn set_direct_reads(&mut self, contender: &str, is_direct: bool) -> Result<(), StoreError> {
        self.manifest.direct_reads.insert(contender.to_string(), is_direct);
        write_manifest(&self.path, &self.manifest)
    }

    /// Notes how much work the canary is.
    pub fn set_canary(&mut self, rounds: u64) -> Result<(), StoreError> {
        self.manifest.canary_rounds = Some(rounds);
        write_manifest(&self.path, &self.manifest)
    }

    /// Notes who is up together.
    pub fn set_groups(&mut self, groups: Vec<Vec<usize>>) -> Result<(), StoreError> {
        self.manifest.groups = Some(groups);
        write_manifest(&self.path, &self.manifest)
    }

    /// Writes a file of the run, whole or not at all.
    pub fn write(
        &self,
        name: &str,
        contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<PathBuf, StoreError> {
        let path = self.path.join(name);
        write_whole(&path, contents)?;
        Ok(path)
    }

    /// Whether a process is at work in a run directory.
    pub fn is_busy(path: &Path) -> bool {
        matches!(lock(path), Err(StoreError::Busy(_)))
    }
}

/// Whether nothing is in a directory but what an rqps left that was killed while it made a run there:
/// a lock, and of the other files those that come before the results.
fn is_free(path: &Path) -> io::Result<bool> {
    const FIRST: [&str; 8] = [
        LOCK,
        "logs",
        PLAN,
        "plan.toml.new",
        MANIFEST,
        "manifest.json.new",
        FRESH_RESULTS,
        "results.new-journal",
    ];
    let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<io::Result<Vec<_>>>()?;
    let is_ours = names.iter().any(|name| name == LOCK)
        && names.iter().all(|name| FIRST.iter().any(|first| name == first))
        && fs::read_dir(path.join("logs")).map_or(true, |mut logs| logs.next().is_none());
    Ok(names.is_empty() || is_ours)
}

pub(crate) fn open_results(path: &Path, read_only: bool) -> Result<Connection, StoreError> {
    let results = path.join(RESULTS);
    if !results.exists() {
        return Err(StoreError::NoRun(path.to_path_buf()));
    }
    let damaged = |error: rusqlite::Error| StoreError::Damaged {
        path: results.clone(),
        reason: error.to_string(),
    };
    // Also to read: what a killed rqps had begun to write is taken back first. A file that nobody may
    // write to is opened all the same.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = Connection::open_with_flags(&results, flags).map_err(damaged)?;
    let found: u32 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(damaged)?;
    if found != schema::VERSION {
        let (path, found) = (results.clone(), found.to_string());
        return Err(StoreError::Version { path, found, expected: schema::VERSION });
    }
    // SQLite takes what is missing of the last page for zeros.
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let whole = number("page_count").map_err(damaged)? * number("page_size").map_err(damaged)?;
    let length = fs::metadata(&results).map_err(file("read", &results))?.len() as i64;
    if length < whole {
        let reason = format!("its end is missing: it has {length} of {whole} bytes");
        return Err(StoreError::Damaged { path: results, reason });
    }
    let settings: &[(&str, &str)] = match read_only {
        true => &[("query_only", "on")],
        // A step that is said to be done must be on the disk; what is of a pass goes with it.
        false => &[("synchronous", "full"), ("foreign_keys", "on")],
    };
    for (name, value) in settings {
        connection.pragma_update(None, name, value).map_err(damaged)?;
    }
    Ok(connection)
}

/// What a file of one of `names` can be called: a name of its own, whatever in it cannot be in a
/// file's.
pub fn file_name(name: &str, names: &[&str]) -> String {
    let file = plain(name);
    let alike = names.iter().filter(|other| plain(other) == file);
    // A plain name has no '+'.
    match alike.take_while(|other| **other != name).count() {
        0 => file,
        before => format!("{file}+{before}"),
    }
}

/// A contender's name with only what every file system takes.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' };
    name.chars().map(plain).collect()
}

pub(crate) fn read_plan_and_manifest(path: &Path) -> Result<(Plan, Manifest), StoreError> {
    let read = |name: &str| {
        let path = path.join(name);
        fs::read_to_string(&path).map_err(file("read", &path))
    };
    let damaged =
        |name: &str, reason: String| StoreError::Damaged { path: path.join(name), reason };
    let plan = Plan::from_toml(&read(PLAN)?).map_err(|error| damaged(PLAN, error.to_string()))?;
    let manifest = serde_json::from_str(&read(MANIFEST)?)
        .map_err(|error| damaged(MANIFEST, error.to_string()))?;
    Ok((plan, manifest))
}

fn write_manifest(path: &Path, manifest: &Manifest) -> Result<(), StoreError> {
    let text = serde_json::to_vec_pretty(manifest).expect("a manifest is plain data");
    write_whole(&path.join(MANIFEST), |out| out.write_all(&text))
}

/// Writes beside the file and renames, so that a reader never sees half of it.
pub fn write_whole(
    path: &Path,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), StoreError> {
    // With its whole name: relative.csv and relative.txt may be written at once.
    let fresh = path.with_added_extension("new");
    let write = || {
        let mut file = BufWriter::new(File::create(&fresh)?);
        contents(&mut file)?;
        file.into_inner()?.sync_all()?;
        fs::rename(&fresh, path)
    };
    write().map_err(file("write", path))
}

fn lock(path: &Path) -> Result<File, StoreError> {
    let lock = path.join(LOCK);
    let held = File::create(&lock).map_err(file("write", &lock))?;
    match flock(&held, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(held),
        Err(_) => Err(StoreError::Busy(path.to_path_buf())),
    }
}

/// The right to work in a directory of several runs, which one process at a time has; given back
/// when dropped. The directory itself is locked, so that no file is in it for that.
pub fn alone_in(path: &Path) -> Result<File, StoreError> {
    let held = File::open(path).map_err(file("open", path))?;
    match flock(&held, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(StoreError::Busy(path.to_path_buf())),
        // A file system that knows no such locks is no reason not to measure.
        _ => Ok(held),
    }
}

pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |source| StoreError::File { what, path, source }
}
