//! The directory of a search: what it was asked for, which is written once; a file for each commit
//! that was built; and a run directory for each comparison.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use rqps_plan::Contender;
use rqps_store::write_whole;
use rqps_study::{BISECT_SCHEMA, BuildAttempt, SearchDirection, SearchPlan, SearchedCommit};
use rqps_system::printable;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const SEARCH: &str = "search.json";
const RELEASES: &str = "releases.json";
const PLAN: &str = "plan.toml";
const BUILDS: &str = "builds";

/// Where the commits that a merge brought are searched, those on the side of GOOD, and those
/// between two releases.
pub(super) const INSIDE: &str = "inside";
pub(super) const OF_GOOD: &str = "good-side";
pub(super) const COMMITS: &str = "commits";
/// The directories of searches that follow from a search, with what they are among.
pub(super) const FURTHER: [(&str, &str); 3] = [
    (INSIDE, "the commits that the merge brought"),
    (OF_GOOD, "the commits on the side of GOOD"),
    (COMMITS, "the commits of the largest step"),
];

/// What a search was asked for, beside the comparison in `plan.toml`.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredSearch {
    #[serde(flatten)]
    pub(super) search: SearchPlan,
    pub(super) repo: PathBuf,
    pub(super) recipe: Option<PathBuf>,
    pub(super) test: Option<String>,
}

/// The directory of a search.
pub(super) struct SearchFolder(pub(super) PathBuf);

impl SearchFolder {
    /// Writes what was asked for. The directory must not exist, or be empty.
    pub(super) fn create(
        path: &Path,
        stored: &StoredSearch,
        plan: &str,
    ) -> anyhow::Result<SearchFolder> {
        refuse_taken(path)?;
        let folder = SearchFolder(path.to_path_buf());
        let builds = path.join(BUILDS);
        fs::create_dir_all(&builds).with_context(|| cannot("create", &builds))?;
        write(&path.join(PLAN), plan)?;
        // Last: with it the directory is one of a search.
        write(&path.join(SEARCH), &(serde_json::to_string_pretty(stored)? + "\n"))?;
        Ok(folder)
    }

    /// What an earlier process was asked for, to resume it.
    pub(super) fn open(path: &Path) -> anyhow::Result<(SearchFolder, StoredSearch, String)> {
        if !SearchFolder::exists(path) {
            bail!("'{}' is no search to resume: it has no {SEARCH}", path.display());
        }
        let all = SearchFolder::read(path)?;
        let (made, this) = (&all.1.search.rqps_version, env!("CARGO_PKG_VERSION"));
        if made != this {
            bail!(
                "'{}' is a search of rqps {made}, and this is {this}: their measurements may differ. Use \
                 that release, or begin another search",
                path.display()
            );
        }
        Ok(all)
    }

    /// What a search was asked for, with the text of its comparison.
    pub(super) fn read(path: &Path) -> anyhow::Result<(SearchFolder, StoredSearch, String)> {
        let file = path.join(SEARCH);
        let mut stored: StoredSearch = read_stored(&file)?;
        let commits = &mut stored.search.commits;
        if commits.len() < 2 || !commits.iter().all(is_commit) {
            bail!("'{}' is damaged: it has no two commits with their hashes", file.display());
        }
        for commit in commits {
            commit.subject = printable(&commit.subject).into_owned();
        }
        let file = path.join(PLAN);
        let plan = fs::read_to_string(&file).with_context(|| cannot("read", &file))?;
        Ok((SearchFolder(path.to_path_buf()), stored, plan))
    }

    /// Whether a directory has a search that was begun.
    pub(super) fn exists(path: &Path) -> bool {
        path.join(SEARCH).exists()
    }

    fn attempt(&self, place: usize) -> PathBuf {
        self.0.join(BUILDS).join(format!("{place:06}.json"))
    }

    pub(super) fn keep_attempt(&self, place: usize, attempt: &BuildAttempt) -> anyhow::Result<()> {
        write(&self.attempt(place), &(serde_json::to_string_pretty(attempt)? + "\n"))
    }

    /// What commits came to, by their places.
    pub(super) fn attempts(&self, places: usize) -> anyhow::Result<Vec<(usize, BuildAttempt)>> {
        let mut all = Vec::new();
        for place in 0..places {
            let file = self.attempt(place);
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let attempt = serde_json::from_str(&text)
                .map_err(|error| anyhow!("'{}' is damaged: {error}", file.display()))?;
            all.push((place, shown(attempt)));
        }
        Ok(all)
    }

    /// The directory of a comparison.
    pub(super) fn comparison(&self, number: usize, name: &str) -> PathBuf {
        self.0.join(format!("{number:03}-{name}"))
    }

    /// All comparisons that were begun, in their order.
    pub(super) fn comparisons(&self) -> anyhow::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(&self.0).with_context(|| cannot("read", &self.0))?;
        let is_one = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let number = name.split_once('-').map_or("", |(number, _)| number);
            number.len() >= 3 && number.bytes().all(|byte| byte.is_ascii_digit()) && path.is_dir()
        };
        let mut all: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(is_one).collect();
        all.sort();
        Ok(all)
    }
}

/// A scan of releases as it was asked for. It is written once.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredScan {
    schema: String,
    rqps_version: String,
    /// Without its build.
    pub(super) contender: Contender,
    pub(super) releases: Vec<String>,
    pub(super) direction: SearchDirection,
}

impl StoredScan {
    pub(super) fn new(
        contender: &Contender,
        releases: &[String],
        direction: SearchDirection,
    ) -> StoredScan {
        StoredScan {
            schema: BISECT_SCHEMA.to_string(),
            rqps_version: env!("CARGO_PKG_VERSION").to_string(),
            contender: contender.clone(),
            releases: releases.to_vec(),
            direction,
        }
    }

    /// Whether a directory has a scan that was begun.
    pub(super) fn exists(path: &Path) -> bool {
        path.join(RELEASES).exists()
    }

    pub(super) fn write(&self, path: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(path).with_context(|| cannot("create", path))?;
        write(&path.join(RELEASES), &(serde_json::to_string_pretty(self)? + "\n"))
    }

    pub(super) fn read(path: &Path) -> anyhow::Result<StoredScan> {
        let file = path.join(RELEASES);
        let mut stored: StoredScan = read_stored(&file)?;
        if stored.releases.len() < 2 {
            bail!("'{}' is damaged: it has no two releases", file.display());
        }
        for release in &mut stored.releases {
            *release = printable(release).into_owned();
        }
        Ok(stored)
    }

    /// The directory of a comparison.
    pub(super) fn comparison(path: &Path, number: usize) -> PathBuf {
        path.join(format!("{number:03}-releases"))
    }
}

/// Reads a file of a search, which may come from elsewhere.
fn read_stored<T: DeserializeOwned>(file: &Path) -> anyhow::Result<T> {
    let text = fs::read_to_string(file).with_context(|| cannot("read", file))?;
    let wrong = |error: serde_json::Error| anyhow!("'{}' is damaged: {error}", file.display());
    let value: serde_json::Value = serde_json::from_str(&text).map_err(wrong)?;
    let schema = value["schema"].as_str().unwrap_or_default();
    if schema != BISECT_SCHEMA {
        bail!(
            "'{}' has schema '{schema}'; this rqps reads {BISECT_SCHEMA}. Use the rqps that made it",
            file.display()
        );
    }
    serde_json::from_value(value).map_err(wrong)
}

/// SHA-1 or SHA-256: commands are made of it.
fn is_commit(commit: &SearchedCommit) -> bool {
    let hash = commit.hash.as_bytes();
    [40, 64].contains(&hash.len()) && hash.iter().all(u8::is_ascii_hexdigit)
}

/// A compiler's words may hold anything.
fn shown(attempt: BuildAttempt) -> BuildAttempt {
    match attempt {
        BuildAttempt::Failed { why, log } => {
            BuildAttempt::Failed { why: printable(&why).into_owned(), log }
        }
        built => built,
    }
}

/// Refuses a directory with anything in it.
pub(super) fn refuse_taken(path: &Path) -> anyhow::Result<()> {
    if SearchFolder::exists(path) {
        bail!("'{}' already contains a search. Use --resume, or another --out", path.display());
    }
    if fs::read_dir(path).is_ok_and(|mut files| files.next().is_some()) {
        bail!("'{}' is not empty. Use another --out", path.display());
    }
    Ok(rqps_store::refuse_unwritable(path)?)
}

/// Removes what is left of a run directory that was not completed when its process was killed: it
/// has no results yet.
pub(super) fn remove_begun(path: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| cannot("remove", path))
        }
        _ => Ok(()),
    }
}

fn cannot(what: &str, path: &Path) -> String {
    format!("cannot {what} '{}'", path.display())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    Ok(write_whole(path, |out| out.write_all(text.as_bytes()))?)
}
