//! Failed builds, so that none is tried again for minutes: a folder for each, under the key of the
//! build, with its log.

use std::path::Path;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::error::Failure;
use super::steps;
use crate::home::Home;
use crate::source::error::{SourceError, at};
use crate::source::{paths, store};

/// In the folder with all sources.
const FAILED: &str = "failed";
const DESCRIPTION: &str = "failed.json";

#[derive(Serialize, Deserialize)]
struct Record {
    what: String,
    contender: String,
    step: String,
    reason: String,
    log: String,
}

/// Stores a failure, and moves its log there.
pub(super) fn keep(home: &Home, folder: &str, failure: Failure) -> Result<Failure, SourceError> {
    let kept = home.source()?.join(FAILED).join(folder);
    fs::create_dir_all(&kept).map_err(at(&kept))?;
    let log = steps::keep(&failure.log, &kept)?;
    let record = Record {
        what: failure.what.clone(),
        contender: failure.contender.clone(),
        step: failure.step.clone(),
        reason: failure.reason.clone(),
        log: paths::file_name(&log),
    };
    let description = kept.join(DESCRIPTION);
    store::replace(&description, |file| Ok(serde_json::to_writer_pretty(file, &record)?))?;
    Ok(Failure { log, ..failure })
}

/// The failure of an earlier attempt at a build.
pub(super) fn recall(home: &Home, folder: &str) -> Result<Option<Failure>, SourceError> {
    let kept = home.source()?.join(FAILED).join(folder);
    let Ok(text) = fs::read_to_string(kept.join(DESCRIPTION)) else { return Ok(None) };
    let Ok(record) = serde_json::from_str::<Record>(&text) else { return Ok(None) };
    let log = kept.join(Path::new(&record.log).file_name().unwrap_or_default());
    let Record { what, contender, step, reason, .. } = record;
    let tail = steps::tail(&log);
    Ok(Some(Failure { what, contender, step, reason, log, tail, is_remembered: true }))
}

/// Removes one, since it was built.
pub(super) fn drop(home: &Home, folder: &str) -> Result<(), SourceError> {
    let kept = home.source()?.join(FAILED).join(folder);
    remove(&kept)
}

/// Removes all, with their logs. Returns their number.
pub(super) fn forget(home: &Home) -> Result<usize, SourceError> {
    let all = home.source()?.join(FAILED);
    let count = fs::read_dir(&all).map_or(0, Iterator::count);
    remove(&all)?;
    Ok(count)
}

pub(super) fn remove(folder: &Path) -> Result<(), SourceError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(folder)(error)),
        _ => Ok(()),
    }
}
