//! The attempts at a cell, each in a file of its own that is written when it begins and when it
//! ends. They are ordered by number, never by the clocks of two hosts.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rqps_store::write_whole;
use serde::{Deserialize, Serialize};

use crate::error::{FleetError, io};
use crate::holder::CellHolder;

const ATTEMPTS: &str = "attempts";

/// How an attempt ended, for a scheduler: it says what to do, not what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellExit {
    /// Measured, whatever was found.
    Measured,
    /// The machine measures something else, or cannot be measured on now.
    Busy,
    /// The cell can never be run here.
    Refused,
    /// A server, a check or a download failed.
    Failed,
    /// It was asked to end, and can be resumed.
    Interrupted,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    #[serde(skip)]
    pub number: u32,
    pub holder: CellHolder,
    /// None: it is running, or was killed.
    pub exit: Option<CellExit>,
    pub why: Option<String>,
    /// RFC 3339, by the clock of its host.
    pub end: Option<String>,
    /// Attempts up to this one no longer count: a person wants it tried again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_forgiven: bool,
}

impl Attempt {
    /// Those of a cell, by number, and the names of files that are damaged.
    pub fn all(cell: &Path) -> (Vec<Attempt>, Vec<String>) {
        let folder = cell.join(ATTEMPTS);
        let (mut attempts, mut damaged) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(number) = name.strip_suffix(".json").and_then(|it| it.parse().ok()) else {
                continue;
            };
            match fs::read(entry.path()).map(|bytes| serde_json::from_slice::<Attempt>(&bytes)) {
                Ok(Ok(attempt)) => attempts.push(Attempt { number, ..attempt }),
                _ => damaged.push(name),
            }
        }
        attempts.sort_by_key(|attempt| attempt.number);
        (attempts, damaged)
    }

    /// Begins the next attempt.
    pub fn begin(cell: &Path) -> Result<(Attempt, PathBuf), FleetError> {
        let folder = rqps_system::below(cell, Path::new(ATTEMPTS))?;
        fs::create_dir_all(&folder).map_err(io("create", &folder))?;
        let last = Attempt::all(cell).0.last().map_or(0, |last| last.number);
        for number in last + 1.. {
            let path = folder.join(format!("{number}.json"));
            let attempt = Attempt {
                number,
                holder: CellHolder::current(),
                exit: None,
                why: None,
                end: None,
                is_forgiven: false,
            };
            match File::create_new(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made.map_err(io("create", &path))?,
            };
            attempt.write(&path)?;
            return Ok((attempt, path));
        }
        unreachable!("there are more numbers than attempts")
    }

    pub fn end(self, path: &Path, exit: CellExit, why: Option<String>) -> Result<(), FleetError> {
        let end = Some(jiff::Timestamp::now().to_string());
        Attempt { exit: Some(exit), why, end, ..self }.write(path)
    }

    /// Lets a cell be tried as often again as it was allowed at first.
    pub fn forgive(cell: &Path) -> Result<(), FleetError> {
        let Some(last) = Attempt::all(cell).0.pop() else { return Ok(()) };
        let name = Path::new(ATTEMPTS).join(format!("{}.json", last.number));
        Attempt { is_forgiven: true, ..last }.write(&rqps_system::below(cell, &name)?)
    }

    fn write(&self, path: &Path) -> Result<(), FleetError> {
        let text = serde_json::to_vec_pretty(self).expect("an attempt is plain data");
        Ok(write_whole(path, |out| out.write_all(&text))?)
    }

    /// Refuses a cell that has failed too often, or in the same way on two hosts.
    pub fn refuse_hopeless(all: &[Attempt], id: &str, most: u32) -> Result<(), FleetError> {
        let forgiven = all.iter().rposition(|one| one.is_forgiven).map_or(0, |last| last + 1);
        let counts = |one: &&Attempt| matches!(one.exit, None | Some(CellExit::Failed));
        let failed: Vec<&Attempt> = all[forgiven..].iter().filter(counts).collect();
        let why = |one: &Attempt| one.why.clone().unwrap_or("it was killed".to_string());
        let id = id.to_string();
        let Some(last) = failed.last() else { return Ok(()) };
        let is_same = |one: &&&Attempt| {
            one.why.is_some()
                && one.why == last.why
                && !one.holder.machine.is_same(&last.holder.machine)
        };
        if failed.iter().any(|one| is_same(&one)) {
            return Err(FleetError::SameFailure { id, why: why(last) });
        }
        match failed.len() >= most as usize {
            true => Err(FleetError::TriedOut { id, count: failed.len(), why: why(last) }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(exit: Option<CellExit>, why: Option<&str>, host: &str) -> Attempt {
        let mut holder = CellHolder::current();
        holder.machine.host = host.to_string();
        holder.machine.boot = host.to_string();
        let why = why.map(str::to_string);
        Attempt { number: 1, holder, exit, why, end: None, is_forgiven: false }
    }

    #[test]
    fn attempts_are_numbered_and_never_overwritten() {
        let cell = tempfile::tempdir().unwrap();
        let (first, path) = Attempt::begin(cell.path()).unwrap();
        let (second, _) = Attempt::begin(cell.path()).unwrap();
        assert_eq!((first.number, second.number), (1, 2));
        first.end(&path, CellExit::Failed, Some("no disk".to_string())).unwrap();
        fs::write(cell.path().join("attempts/3.json"), "{").unwrap();
        fs::write(cell.path().join("attempts/note.txt"), "").unwrap();
        let (all, damaged) = Attempt::all(cell.path());
        let exits: Vec<_> = all.iter().map(|one| (one.number, one.exit)).collect();
        assert_eq!(exits, [(1, Some(CellExit::Failed)), (2, None)]);
        assert_eq!(damaged, ["3.json"]);
    }

    #[test]
    fn what_failed_too_often_is_tried_when_a_person_wants_it() {
        let failed = |host| attempt(Some(CellExit::Failed), Some("no disk"), host);
        let is_tried = |all: &[Attempt]| Attempt::refuse_hopeless(all, "abc", 3);
        assert!(is_tried(&[]).is_ok());
        assert!(is_tried(&[failed("a"), failed("a")]).is_ok());
        let three = [failed("a"), attempt(None, None, "a"), failed("a")];
        let error = is_tried(&three).unwrap_err();
        assert!(matches!(error, FleetError::TriedOut { count: 3, .. }), "{error}");
        let forgiven = Attempt { is_forgiven: true, ..failed("a") };
        assert!(is_tried(&[failed("a"), failed("a"), forgiven, failed("a")]).is_ok());
        let two_hosts = is_tried(&[failed("a"), failed("b")]).unwrap_err();
        assert!(matches!(two_hosts, FleetError::SameFailure { .. }), "{two_hosts}");
        let others = [CellExit::Busy, CellExit::Interrupted].map(|it| attempt(Some(it), None, "a"));
        assert!(is_tried(&[others.clone(), others].concat()).is_ok(), "these are no failures");
    }
}
