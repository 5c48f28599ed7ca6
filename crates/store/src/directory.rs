//! A run directory on disk, and the lock of its only writer.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rqps_plan::{Contender, Plan};
use rqps_system::{Lock, printable};
use rusqlite::Transaction;
use serde_json::Value;

use crate::error::StoreError;
use crate::files::{self, file, is_locked, lock, own, read_own, refuse_unwritable, write_whole};
use crate::manifest::Manifest;
use crate::results::{self, RESULTS};

const PLAN: &str = "plan.toml";
const MANIFEST: &str = "manifest.json";
const LOGS: &str = "logs";

/// A run directory that only this process writes to.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    pub(crate) connection: rusqlite::Connection,
    pub plan: Plan,
    pub manifest: Manifest,
    /// Held for as long as the directory is open.
    _lock: Option<Lock>,
}

impl RunDirectory {
    /// Rejects what cannot become a run directory: it must not exist, or must be empty, and this
    /// user must be able to write to it. Nothing is created or opened.
    pub fn refuse_unfit(path: &Path) -> Result<(), StoreError> {
        if path.join(RESULTS).symlink_metadata().is_ok() {
            return Err(StoreError::Taken(path.to_path_buf()));
        }
        if path.is_dir() && !is_free(path).map_err(file("read", path))? {
            // The entries may be the beginning of a run that another process is creating.
            let error = if is_locked(path) { StoreError::Busy } else { StoreError::NotEmpty };
            return Err(error(path.to_path_buf()));
        }
        refuse_unwritable(path)
    }

    /// Creates a run directory; it must not exist or must be empty.
    pub fn create(path: &Path, plan: Plan, manifest: Manifest) -> Result<Self, StoreError> {
        if !is_shown(&plan) {
            return Err(StoreError::Unprintable);
        }
        Self::refuse_unfit(path)?;
        fs::create_dir_all(path).map_err(|source| {
            let (path, there) = (path.to_path_buf(), path.to_path_buf());
            StoreError::Unwritable { path, there, source }
        })?;
        let lock = lock(path)?;
        // Another process may have created a run and ended since the check above.
        Self::refuse_unfit(path)?;
        files::remove_begun(path);
        let logs = own(path, LOGS)?;
        fs::create_dir_all(&logs).map_err(file("create", &logs))?;
        write_whole(&path.join(PLAN), |out| out.write_all(plan.to_toml().as_bytes()))?;
        write_manifest(path, &manifest)?;
        results::make(path)?;
        let connection = results::open(path, false)?;
        Ok(RunDirectory { path: path.to_path_buf(), connection, plan, manifest, _lock: lock })
    }

    /// Opens a run to resume it.
    pub fn resume(path: &Path) -> Result<Self, StoreError> {
        // A folder without a run gets no lock.
        results::refuse_foreign(path)?;
        read_plan_and_manifest(path)?;
        let lock = lock(path)?;
        files::remove_begun(path);
        refuse_linked_logs(path)?;
        let connection = results::open(path, false)?;
        let (plan, manifest) = read_plan_and_manifest(path)?;
        Ok(RunDirectory { path: path.to_path_buf(), connection, plan, manifest, _lock: lock })
    }

    /// Writes to the results in one transaction.
    pub(crate) fn transact<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let transacted = || {
            let transaction = self.connection.transaction()?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        transacted().map_err(|error: StoreError| error.in_results(&self.path.join(RESULTS)))
    }

    pub(crate) fn unreadable(&self, error: rusqlite::Error) -> StoreError {
        StoreError::damaged(self.path.join(RESULTS), error)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The id in the names of the run's data directories. A run from elsewhere may have any text
    /// there.
    pub fn id(&self) -> Result<&str, StoreError> {
        let id = self.manifest.id.as_str();
        match rqps_system::is_id(id) {
            true => Ok(id),
            false => {
                let reason = format!("its id '{id}' is not one that rqps creates");
                Err(StoreError::damaged(self.path.join(MANIFEST), reason))
            }
        }
    }

    /// The log file of a contender's server, one for each.
    pub fn log(&self, contender: &str) -> PathBuf {
        let names: Vec<String> = self.plan.contenders.iter().map(Contender::name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.path.join(LOGS).join(file_name(contender, &names) + ".log")
    }

    /// Records the order in which the contenders run.
    pub fn set_order(&mut self, order: Vec<String>) -> Result<(), StoreError> {
        self.manifest.order = order;
        write_manifest(&self.path, &self.manifest)
    }

    /// Records whether a contender uses direct IO.
    pub fn set_direct_reads(&mut self, contender: &str, is_direct: bool) -> Result<(), StoreError> {
        self.manifest.direct_reads.insert(contender.to_string(), is_direct);
        write_manifest(&self.path, &self.manifest)
    }

    /// Records how much work the reference loop does.
    pub fn set_reference_loop(&mut self, rounds: u64) -> Result<(), StoreError> {
        self.manifest.reference_loop_rounds = Some(rounds);
        write_manifest(&self.path, &self.manifest)
    }

    /// Records which arms are started together.
    pub fn set_groups(&mut self, groups: Vec<Vec<usize>>) -> Result<(), StoreError> {
        self.manifest.groups = Some(groups);
        write_manifest(&self.path, &self.manifest)
    }

    /// Writes a file of the run atomically.
    pub fn write(
        &self,
        name: &str,
        contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<PathBuf, StoreError> {
        let path = own(&self.path, name)?;
        write_whole(&path, contents)?;
        Ok(path)
    }

    /// Whether a process is using a run directory.
    pub fn is_busy(path: &Path) -> bool {
        is_locked(path)
    }
}

/// Whether a directory contains nothing but the beginning of a run.
fn is_free(path: &Path) -> io::Result<bool> {
    let logs = path.join(LOGS);
    let has_no_log = || match logs.symlink_metadata() {
        Ok(found) => {
            found.is_dir() && fs::read_dir(&logs).is_ok_and(|mut all| all.next().is_none())
        }
        Err(_) => true,
    };
    Ok(files::is_free(path, &[LOGS, PLAN, MANIFEST])? && has_no_log())
}

/// Servers write to these files, so none may be a link.
fn refuse_linked_logs(path: &Path) -> Result<(), StoreError> {
    let logs = own(path, LOGS)?;
    for log in fs::read_dir(&logs).into_iter().flatten().flatten() {
        own(&logs, log.file_name())?;
    }
    fs::create_dir_all(&logs).map_err(file("create", &logs))
}

/// A unique file name for one of `names`, whichever characters it has.
pub fn file_name(name: &str, names: &[&str]) -> String {
    let file = plain(name);
    let alike = names.iter().filter(|other| plain(other) == file);
    // A plain name has no '+'.
    match alike.take_while(|other| **other != name).count() {
        0 => file,
        before => format!("{file}+{before}"),
    }
}

/// A contender's name with only the characters that every file system takes.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' };
    name.chars().map(plain).collect()
}

pub(crate) fn read_plan_and_manifest(path: &Path) -> Result<(Plan, Manifest), StoreError> {
    let plan = Plan::from_toml(&read_own(path, PLAN)?)
        .map_err(|error| StoreError::damaged(path.join(PLAN), error))?;
    if !is_shown(&plan) {
        return Err(StoreError::damaged(path.join(PLAN), "a string in it has control characters"));
    }
    let manifest: Manifest = serde_json::from_str(&read_own(path, MANIFEST)?)
        .and_then(|manifest: Value| serde_json::from_value(shown(manifest)))
        .map_err(|error| StoreError::damaged(path.join(MANIFEST), error))?;
    let groups = manifest.groups.iter().flatten().flatten();
    // The baseline has an A/A control, and so may every remote server.
    let remote = plan.contenders.iter().skip(1).filter(|one| one.is_remote());
    let arms = plan.contenders.len() + 1 + remote.count();
    if let Some(place) = groups.copied().find(|place| *place >= arms) {
        let reason = format!("a group names arm {place} of {arms}");
        return Err(StoreError::damaged(path.join(MANIFEST), reason));
    }
    Ok((plan, manifest))
}

/// Whether all strings of a plan are printable.
fn is_shown(plan: &Plan) -> bool {
    let in_plan = serde_json::to_value(plan).expect("a plan is plain data");
    shown(in_plan.clone()) == in_plan
}

/// The same data with all strings printable.
pub(crate) fn shown(value: Value) -> Value {
    let text = |text: String| printable(&text).into_owned();
    match value {
        Value::String(of) => Value::String(text(of)),
        Value::Array(items) => items.into_iter().map(shown).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (text(name), shown(value))).collect()
        }
        other => other,
    }
}

fn write_manifest(path: &Path, manifest: &Manifest) -> Result<(), StoreError> {
    let text = serde_json::to_vec_pretty(manifest).expect("a manifest is plain data");
    write_whole(&path.join(MANIFEST), |out| out.write_all(&text))
}
