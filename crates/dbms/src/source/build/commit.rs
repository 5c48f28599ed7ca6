//! Builds of the commits of a checkout. A build is stored under the hash of the commit's files, not
//! of the commit, together with everything else that determines it: two commits with the same files
//! have one build.

use std::collections::BTreeMap;
use std::time::Duration;

use rqps_plan::{Build, Dbms, Source};

use super::compiler::Compiler;
use super::error::{BuildError, Failure};
use super::recipe::Recipe;
use super::variant::Options;
use super::workshop::Workshop;
use super::{Maker, Means, Noted, estimate, failures};
use crate::home::Home;
use crate::source::checkout::{Checkout, Commit};
use crate::source::error::SourceError;
use crate::source::executed;
use crate::source::installed::{Archive, Installed};
use crate::source::machine::Machine;
use crate::source::progress::Tell;
use crate::source::store;

/// The first part of the folder names of such builds.
const KIND: &str = "git";

/// A build of a commit.
#[derive(Clone, Debug)]
pub struct CommitBuild {
    pub installed: Installed,
    /// The hash of what its server executes and reads: equal for builds that do the same.
    pub code: String,
}

impl CommitBuild {
    /// How a contender names it.
    pub fn build(&self) -> Build {
        let variant = self.installed.built.as_ref().and_then(|built| built.variant.clone());
        let version = match variant {
            Some(variant) => format!("{}+{variant}", self.installed.version),
            None => self.installed.version.clone(),
        };
        Build::Version { source: Some(Source::Src), version }
    }
}

/// Flags with which the same code lies differently: functions begin elsewhere.
const PLACED: [&str; 3] =
    ["-falign-functions=64", "-falign-functions=128", "-falign-functions=32 -falign-loops=32"];
/// The number of layouts beside that of the recipe.
pub const LAYOUTS: usize = PLACED.len();

/// The flags of a layout, from 1 on; none if there is no recipe or no such layout.
pub fn flags_of_layout(dbms: Dbms, options: &Options, layout: u32) -> Option<String> {
    let recipe = options.recipe(dbms);
    let placed = PLACED.get(layout as usize - 1)?;
    Some(format!("{} {placed}", options.flags(&recipe.ok()?)))
}

/// What a commit came to.
#[derive(Debug)]
pub enum CommitOutcome {
    Built(Box<CommitBuild>),
    /// It cannot be used, and why.
    Failed {
        why: String,
        log: String,
    },
}

/// What is known of the builds of a DBMS's commits before the first one.
#[derive(Clone, Debug, PartialEq)]
pub struct OfCommits {
    /// Patterns of files that cannot change the server.
    pub quiet: Vec<String>,
    /// The time and disk space of a build.
    pub time: Duration,
    pub megabytes: u64,
}

/// Reads the recipe, and finds everything wrong with it and with the tools of a build.
pub fn of_commits(home: &Home, dbms: Dbms, options: &Options) -> Result<OfCommits, SourceError> {
    let machine = Machine::this();
    let maker = Maker::new(&machine, home, dbms, options.clone())?;
    let Recipe { quiet, megabytes, .. } = &maker.recipe;
    options.check()?;
    Compiler::find(&what(dbms), &maker.recipe, None, options, &machine)?;
    let time = estimate(home, &maker.recipe)?;
    Ok(OfCommits { quiet: quiet.clone(), time, megabytes: *megabytes })
}

/// How a commit is built.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitSteps {
    /// Of the sources.
    pub version: String,
    /// By name, with their commands.
    pub steps: [(&'static str, Vec<String>); 3],
}

/// How a commit would be built; an error if the recipe has no way for it.
pub fn commit_steps(
    dbms: Dbms,
    (checkout, commit): (&Checkout, &Commit),
    options: &Options,
    tell: &mut Tell,
) -> Result<CommitSteps, SourceError> {
    let recipe = options.recipe(dbms)?;
    let lacks = |missing: String| {
        let name = format!("commit {}", commit.short());
        SourceError::Build(BuildError::NotCommit { name, dbms, missing })
    };
    let mut files: BTreeMap<String, Option<String>> = BTreeMap::new();
    let named = recipe.version.iter().map(|told| &told.file);
    for file in named.chain(recipe.files()) {
        if !files.contains_key(file) {
            files.insert(file.clone(), checkout.file(commit, file, tell)?);
        }
    }
    let text = |file: &str| files.get(file).cloned().flatten();
    let version = recipe.version_with(&mut |file| Ok(text(file).map(Into::into)));
    let version = version.map_err(lacks)?;
    let way = recipe.way_with(&version, &mut |file| text(file).is_some());
    let way = way.ok_or_else(|| lacks("file that the recipe needs".to_string()))?;
    let steps = way.steps();
    Ok(CommitSteps { version, steps })
}

/// Builds a commit, or finds its build in the store. A commit that cannot be built is no error.
pub fn commit_build(
    home: &Home,
    dbms: Dbms,
    (checkout, commit): (&Checkout, &Commit),
    options: &Options,
    tell: &mut Tell,
) -> Result<CommitOutcome, SourceError> {
    let machine = Machine::this();
    Maker::new(&machine, home, dbms, options.clone())?.make_commit(checkout, commit, tell)
}

/// The tags that a release may have in upstream's repository.
pub fn tags(dbms: Dbms, version: &str) -> Result<Vec<String>, SourceError> {
    Ok(Recipe::of(dbms)?.tags(version))
}

fn what(dbms: Dbms) -> String {
    format!("commits of {dbms}")
}

impl Maker<'_> {
    pub(super) fn make_commit(
        &self,
        checkout: &Checkout,
        commit: &Commit,
        tell: &mut Tell,
    ) -> Result<CommitOutcome, SourceError> {
        let dbms = self.recipe.dbms;
        let compiler =
            Compiler::find(&what(dbms), &self.recipe, None, &self.options, self.machine)?;
        let identity = compiler.identity(&what(dbms), tell)?;
        let means = self.means(compiler, identity, tell)?;
        let folder = means.key.folder_of(KIND, &commit.tree);
        let made = match self.known_commit(&folder)? {
            Some(known) => known,
            None => self.build_commit(checkout, commit, (&means, &folder), tell),
        };
        match made {
            Ok(installed) => {
                let code = executed::code(&installed)?;
                Ok(CommitOutcome::Built(Box::new(CommitBuild { installed, code })))
            }
            Err(error) => unusable(error),
        }
    }

    /// The build of an earlier attempt, or its failure.
    fn known_commit(
        &self,
        folder: &str,
    ) -> Result<Option<Result<Installed, SourceError>>, SourceError> {
        if let Some(found) = store::find_folder(self.home, folder)? {
            return Ok(Some(Ok(found)));
        }
        if self.options.retry {
            return Ok(None);
        }
        let failed = failures::recall(self.home, folder)?;
        Ok(failed.map(|failure| Err(BuildError::Failed(Box::new(failure)).into())))
    }

    fn build_commit(
        &self,
        checkout: &Checkout,
        commit: &Commit,
        (means, folder): (&Means, &str),
        tell: &mut Tell,
    ) -> Result<Installed, SourceError> {
        let workshop = Workshop::begin(self.home, self.recipe.dbms, tell)?;
        // The rqps that was building until now may have built the same.
        if let Some(known) = self.known_commit(folder)? {
            return known;
        }
        workshop.check_room(self.recipe.megabytes)?;
        let name = format!("commit {}", commit.short());
        let archives = checkout.archive(commit, &workshop.downloads(), tell)?;
        workshop.unpack_commit(&archives, &name, tell)?;
        let lacks = |missing: String| {
            let (name, dbms) = (name.clone(), self.recipe.dbms);
            SourceError::Build(BuildError::NotCommit { name, dbms, missing })
        };
        let version = self.recipe.version_in(&workshop.sources()).map_err(lacks)?;
        if self.recipe.way(&version, &workshop.sources()).is_none() {
            return Err(lacks("file that the recipe needs".to_string()));
        }
        let archive = Archive { name, sha256: commit.tree.clone() };
        // The folder distinguishes builds by whatever else determines them.
        let noted = Noted { archive, is_release: false, foreign: Some(folder.to_string()) };
        self.build(means, &version, (noted, folder), &workshop, tell)
    }
}

/// Errors that are the commit's own; all others end a search.
fn unusable(error: SourceError) -> Result<CommitOutcome, SourceError> {
    let (why, log) = match error {
        SourceError::Build(BuildError::Failed(failure)) => {
            let Failure { step, reason, log, .. } = *failure;
            (format!("{step}: {reason}"), log.display().to_string())
        }
        SourceError::Build(
            error @ (BuildError::NoProduct { .. } | BuildError::NotCommit { .. }),
        ) => (error.to_string(), String::new()),
        error @ (SourceError::Archive { .. }
        | SourceError::Hostile { .. }
        | SourceError::DoesNotRun { .. }
        | SourceError::MissingLibrary { .. }
        | SourceError::NoLibrary { .. }
        | SourceError::NotABuild { .. }
        | SourceError::OtherDbms { .. }) => (error.to_string(), String::new()),
        error => return Err(error),
    };
    Ok(CommitOutcome::Failed { why, log })
}
