//! The report of a search: written when it ends, and made again from its directory.

use std::path::{Path, PathBuf};

use anyhow::Context;
use rqps_plan::{Build, Contender, Plan};
use rqps_report::{BisectReport, JointReport, SearchPlace, Terminal};
use rqps_store::{Run, write_whole};
use rqps_study::{CommitSearch, ReleaseScan};

use super::files::{FURTHER, SearchFolder, StoredScan};
use crate::cli::output::note;

/// The file that marks the others as written by rqps.
pub(crate) const JSON: &str = "bisect.json";
const TEXT: &str = "bisect.txt";
const PAGE: &str = "report.html";
const SUMMARY: &str = "summary.md";

/// The files of a report, by name.
pub(crate) fn report_files(report: &JointReport) -> [(&'static str, String); 4] {
    [
        (JSON, report.json().to_string()),
        (TEXT, report.text(Terminal::PLAIN)),
        (PAGE, report.html()),
        (SUMMARY, report.markdown()),
    ]
}

/// Writes the report of a search into a directory.
pub(crate) fn write(out: &Path, report: &JointReport) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for (name, text) in report_files(report) {
        let path = out.join(name);
        write_whole(&path, |file| file.write_all(text.as_bytes()))?;
        paths.push(path);
    }
    Ok(paths)
}

/// Where a search lies.
pub(super) fn place(out: &Path, contender: &Contender, repo: Option<&Path>) -> SearchPlace {
    let is_there = |(directory, _): &&(&str, &str)| is_search(&out.join(directory));
    let further = FURTHER.iter().filter(is_there);
    let contender = Contender { label: None, build: Build::Any, ..contender.clone() };
    SearchPlace {
        contender: contender.to_string(),
        repo: repo.map(|repo| repo.display().to_string()),
        further: further.map(|(name, among)| (among.to_string(), name.to_string())).collect(),
    }
}

/// Whether a directory is that of a search.
pub(crate) fn is_search(path: &Path) -> bool {
    SearchFolder::exists(path) || StoredScan::exists(path)
}

/// Makes the report of a search again, from what is in its directory.
pub(crate) fn with_report<T>(
    path: &Path,
    make: impl FnOnce(&JointReport) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    if !SearchFolder::exists(path) {
        let stored = StoredScan::read(path)?;
        let contender = stored.contender.clone();
        let mut scan = ReleaseScan::new(stored.releases, stored.direction);
        // In the order in which they were made: each step follows from those before.
        for number in 1.. {
            let (step, directory) = (scan.next(), StoredScan::comparison(path, number));
            if step.places().is_empty() || !directory.exists() {
                break;
            }
            let Some(run) = read(&directory) else { break };
            scan.add_run(&name(&directory), &step, &run);
        }
        let report = BisectReport::of_releases(&scan, place(path, &contender, None));
        return make(&report.formats());
    }
    let (folder, stored, plan) = SearchFolder::read(path)?;
    let contender = Plan::from_toml(&plan)?.contenders.into_iter().next();
    let contender = contender.context("the search has no contender")?;
    let mut search = CommitSearch::new(stored.search, stored.test);
    for (place, attempt) in folder.attempts(search.last() + 1)? {
        search.add_attempt(place, attempt);
    }
    for directory in folder.comparisons()? {
        let Some(run) = read(&directory) else { continue };
        if !search.add_run(&name(&directory), &run) {
            note(&format!("'{}' is no comparison of this search", directory.display()));
        }
    }
    let place = place(path, &contender, Some(&stored.repo));
    make(&BisectReport::of_commits(&search, place).formats())
}

/// The name of the directory of a comparison.
pub(super) fn name(directory: &Path) -> String {
    directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A comparison; one that cannot be read is left out, and said so.
fn read(directory: &Path) -> Option<Run> {
    let run = Run::open_without_samples(directory);
    run.map_err(|error| note(&format!("left out '{}': {error}", directory.display()))).ok()
}
