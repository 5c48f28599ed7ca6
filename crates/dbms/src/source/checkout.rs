//! A local checkout of a DBMS's sources: its commits, and their files. It is only read: nothing is
//! fetched into it, checked out or written, and git runs as the owner of its folder, without hooks
//! and without the configuration of rqps's user.

mod commit;
pub(super) mod error;
mod text;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rqps_system::program::{self, RunError, Said, Surroundings};
use rqps_system::{User, others_can_change};
use rustix::process::Signal;

pub use commit::Commit;
pub use error::CheckoutError;

use super::error::{SourceError, at};
use super::owner::owner;
use super::progress::{Progress, Tell};

/// How long git may take to read history, and to write the files of a commit.
const PATIENCE: Duration = Duration::from_secs(600);
/// What git does by the configuration of a repository, and must not do here.
const CONFIGURED: [&str; 5] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "log.showSignature=false",
    "protocol.allow=never",
];
const ENVIRONMENT: [(&str, &str); 7] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
];

/// A folder with a repository of git.
#[derive(Debug)]
pub struct Checkout {
    folder: PathBuf,
    git: PathBuf,
    user: Option<User>,
}

impl Checkout {
    /// Checks that it is one. A folder inside a repository stands for the repository.
    pub fn open(folder: &Path, tell: &mut Tell) -> Result<Checkout, SourceError> {
        let wrong = |reason: String| {
            let folder = folder.to_path_buf();
            SourceError::from(CheckoutError::NotOne { folder, reason })
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let git = program::find("git", &path).ok_or(CheckoutError::NoGit)?;
        if let Some(found) = others_can_change(&git) {
            return Err(SourceError::ForeignClient { program: git, found });
        }
        if !folder.is_dir() {
            return Err(wrong("there is no such folder".to_string()));
        }
        let folder = std::path::absolute(folder).map_err(at(folder))?;
        let user = owner(&folder).map_err(at(&folder))?;
        let checkout = Checkout { folder, git, user };
        let said = checkout.ask(&["rev-parse", "--is-shallow-repository"], tell)?;
        match (said.status.success(), said.stdout.trim()) {
            (false, _) => Err(wrong(text::reason(&said.stderr))),
            (true, "true") => Err(CheckoutError::Shallow(checkout.folder).into()),
            (true, _) => Ok(checkout),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let around = Surroundings {
            folder: Path::new("/"),
            user: self.user,
            environment: &[],
            at_end: Some(Signal::KILL),
        };
        let mut command = program::command(&self.git, &around);
        command.envs(ENVIRONMENT).env("LC_ALL", "C");
        command.args(["--no-pager".as_ref(), "-C".as_ref(), self.folder.as_os_str()]);
        command.args(CONFIGURED.iter().flat_map(|setting| ["-c", setting]));
        command.args(arguments);
        command
    }

    fn ask(&self, arguments: &[&str], tell: &mut Tell) -> Result<Said, SourceError> {
        let reading = Progress::Reading { checkout: self.folder.clone() };
        let said =
            program::run(&mut self.command(arguments), PATIENCE, &mut || tell(reading.clone()));
        said.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: RunError) -> SourceError {
        match error {
            RunError::Cancelled(wish) => wish.into(),
            error => self.wrong(error.to_string()),
        }
    }

    fn wrong(&self, reason: String) -> SourceError {
        CheckoutError::Git { folder: self.folder.clone(), reason }.into()
    }

    /// What git says, which must succeed.
    fn read(&self, arguments: &[&str], tell: &mut Tell) -> Result<String, SourceError> {
        let said = self.ask(arguments, tell)?;
        match said.status.success() {
            true => Ok(said.stdout),
            false => Err(self.wrong(text::reason(&said.stderr))),
        }
    }

    /// The commit that a revision names.
    pub fn commit(&self, revision: &str, tell: &mut Tell) -> Result<Commit, SourceError> {
        let wanted = format!("{revision}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        let said = self.ask(&arguments, tell)?;
        if revision.is_empty() || !said.status.success() {
            let tags = self.read(&["tag", "--list"], tell)?;
            let (folder, revision) = (self.folder.clone(), revision.to_string());
            let nearest = text::nearest(&revision, &tags);
            return Err(CheckoutError::NoRevision { folder, revision, nearest }.into());
        }
        let hash = said.stdout.trim().to_string();
        let commits = self.log(&["--max-count=1", &hash], &[], tell)?;
        commits.into_iter().next().ok_or_else(|| self.wrong(format!("it has no commit {hash}")))
    }

    /// The newest commit that both have behind them; none if there is none.
    pub fn merge_base(
        &self,
        one: &Commit,
        other: &Commit,
        tell: &mut Tell,
    ) -> Result<Option<Commit>, SourceError> {
        let said = self.ask(&["merge-base", &one.hash, &other.hash], tell)?;
        match said.stdout.lines().next().filter(|_| said.status.success()) {
            Some(hash) => self.commit(hash, tell).map(Some),
            None => Ok(None),
        }
    }

    /// The commits after one up to another, oldest first, along first parents: a merge stands for
    /// what it brings. Files that match `quiet` cannot change the server.
    pub fn between(
        &self,
        from: &Commit,
        to: &Commit,
        quiet: &[String],
        tell: &mut Tell,
    ) -> Result<Vec<Commit>, SourceError> {
        let range = format!("{}..{}", from.hash, to.hash);
        self.log(&["--reverse", &range], quiet, tell)
    }

    fn log(
        &self,
        which: &[&str],
        quiet: &[String],
        tell: &mut Tell,
    ) -> Result<Vec<Commit>, SourceError> {
        let format = format!("--format={}", text::FORMAT);
        let mut arguments = vec!["log", "--first-parent", "--no-show-signature", "--no-color"];
        arguments.extend(["--no-ext-diff", "--no-textconv", "--no-renames", &format]);
        if !quiet.is_empty() {
            arguments.extend(["--name-only", "--diff-merges=first-parent"]);
        }
        arguments.extend(which);
        arguments.push("--");
        let said = self.read(&arguments, tell)?;
        text::commits(&said, quiet).ok_or_else(|| self.wrong("it told of no commit".to_string()))
    }

    /// A file of a commit; none if it has no such file.
    pub(super) fn file(
        &self,
        commit: &Commit,
        path: &str,
        tell: &mut Tell,
    ) -> Result<Option<String>, SourceError> {
        let name = format!("{}:{path}", commit.tree);
        let said = self.ask(&["cat-file", "blob", &name], tell)?;
        Ok(said.status.success().then_some(said.stdout))
    }

    /// Writes the files of a commit into tar archives: its own, and those of its submodules with
    /// their folders.
    pub(super) fn archive(
        &self,
        commit: &Commit,
        into: &Path,
        tell: &mut Tell,
    ) -> Result<Vec<Archived>, SourceError> {
        let mut all = Vec::new();
        self.archive_below(&commit.tree, Path::new(""), into, &mut all, tell)?;
        Ok(all)
    }

    fn archive_below(
        &self,
        tree: &str,
        below: &Path,
        into: &Path,
        all: &mut Vec<Archived>,
        tell: &mut Tell,
    ) -> Result<(), SourceError> {
        let file = into.join(format!("tree-{}.tar", all.len()));
        let file = File::options().read(true).write(true).create_new(true).open(&file);
        let file = file.map_err(at(into))?;
        let reading = Progress::Reading { checkout: self.folder.clone() };
        // A tree and not a commit, so that no text in it depends on the commit.
        let mut command = self.command(&["archive", "--format=tar", tree]);
        let said = program::run_to(&file, &mut command, PATIENCE, &mut || tell(reading.clone()));
        let said = said.map_err(|error| self.failed(error))?;
        if !said.status.success() {
            return Err(self.wrong(text::reason(&said.stderr)));
        }
        all.push(Archived { file, below: below.to_path_buf() });
        let listed = self.read(&["ls-tree", "-r", "-z", "--full-tree", tree], tell)?;
        for (path, commit) in text::submodules(&listed) {
            let folder = self.folder.join(path);
            // Never outside, whatever the tree says.
            let place = below.join(path);
            let missing = || CheckoutError::NoSubmodule {
                folder: self.folder.clone(),
                submodule: place.display().to_string(),
                commit: commit.to_string(),
            };
            let is_inside = rqps_system::below(&self.folder, Path::new(path)).is_ok();
            let has_own = folder.join(".git").symlink_metadata().is_ok();
            if !(is_inside && has_own) {
                return Err(missing().into());
            }
            let module = Checkout { folder, git: self.git.clone(), user: self.user };
            let tree = format!("{commit}^{{tree}}");
            let said = module.ask(&["rev-parse", "--verify", "--quiet", &tree], tell)?;
            if !said.status.success() {
                return Err(missing().into());
            }
            module.archive_below(said.stdout.trim(), &place, into, all, tell)?;
        }
        Ok(())
    }
}

/// The files of a tree, and the folder that they belong to.
pub(in crate::source) struct Archived {
    pub(in crate::source) file: File,
    pub(in crate::source) below: PathBuf,
}

#[cfg(test)]
mod tests;
