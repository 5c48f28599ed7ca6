//! `rqps report --index`: a page of all runs in a folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rqps_report::{Entry, Found};
use rqps_store::{Run, StoreError};
use rqps_system::printable;

use super::exit::Exit;
use super::files::{refuse_theirs, replace_file};

const PAGE: &str = "index.html";
const DATA: &str = "index.json";

/// Depth of nested folders that are searched, such as by machine and by month.
const DEPTH: u32 = 4;

pub(super) fn run(folder: &Path) -> anyhow::Result<Exit> {
    refuse_theirs(folder, DATA, [PAGE, DATA].into_iter())?;
    let mut entries = Vec::new();
    for path in directories(folder)? {
        look(folder, &path, DEPTH, &mut entries);
    }
    // The file that marks both as written by rqps comes first.
    replace_file(&folder.join(DATA), rqps_report::index_json(&entries).as_bytes())?;
    replace_file(&folder.join(PAGE), rqps_report::index_html(&entries).as_bytes())?;
    Ok(Exit::Done)
}

/// Lists a run, or the runs below; what cannot be read is listed as such. Returns whether there was
/// a run, damaged or not.
fn look(folder: &Path, path: &Path, depth: u32, entries: &mut Vec<Entry>) -> bool {
    let found = match Run::open_without_samples(path) {
        Ok(run) => Found::of(&run, path.join("report.html").exists()),
        Err(StoreError::NoRun(_)) if is_remainder(path) => {
            Found::Damaged { reason: "it has a plan but no results.sqlite".to_string() }
        }
        Err(StoreError::NoRun(_)) => {
            let below = directories(path).unwrap_or_default();
            let mut runs = false;
            for inner in below.iter().filter(|_| depth > 1) {
                runs |= look(folder, inner, depth - 1, entries);
            }
            // Of folders without a run, only those directly in the top folder are listed.
            if runs || depth < DEPTH {
                return runs;
            }
            Found::Foreign
        }
        Err(error) => Found::Damaged { reason: error.to_string() },
    };
    let is_run = !matches!(found, Found::Foreign);
    let path = path.strip_prefix(folder).unwrap_or(path).display().to_string();
    let path = printable(&path).into_owned();
    entries.push(Entry { path, found });
    is_run
}

fn is_remainder(path: &Path) -> bool {
    path.join("plan.toml").exists() && path.join("manifest.json").exists()
}

/// Without those behind symbolic links, which could lead in circles.
fn directories(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(path).with_context(|| format!("cannot read '{}'", path.display()))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    Ok(found)
}
