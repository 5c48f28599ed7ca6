//! Builds from source: a release's tarball, one recipe for all releases of a DBMS, and one
//! compiler, so that two releases differ by their sources only.
//!
//! A build is stored under a key of everything that determines it ([`variant::Key`]), and found by
//! a contender's name for it, `18.6` or `18.6+clang-O3`, without starting anything.

mod commit;
mod compiler;
mod debian_source;
pub(super) mod error;
mod failures;
mod recipe;
mod releases;
mod steps;
mod supplied;
mod supply;
#[cfg(test)]
mod tests;
mod variant;
mod workshop;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rqps_observe::{LockError, SessionLock};
use rqps_plan::{Dbms, Source};
use rqps_system::{User, act_as};

pub use commit::{
    CommitBuild, CommitOutcome, CommitSteps, LAYOUTS, OfCommits, commit_build, commit_steps,
    flags_of_layout, of_commits, tags,
};
pub use error::{BuildError, Failure};
pub use variant::{LIMIT, Options};

use super::built::Built;
use super::error::{SourceError, at};
use super::installed::{Archive, Fetched, Installed};
use super::machine::Machine;
use super::owner::owner;
use super::progress::{Progress, Tell};
use super::{digest, paths, pins, probe, store, version};
use crate::home::Home;
use compiler::{Compiler, Identity};
use recipe::{Recipe, Way};
pub(super) use releases::releases;
use steps::{Outcome, Steps};
use supplied::Supplied;
use supply::Places;
use variant::Key;
use workshop::{Workshop, pack};

/// The log file in a build's folder.
const LOG: &str = "build.log";

// Seconds are not computed here.
impl Eq for Built {}

impl Installed {
    /// The contender name of a build from source: `postgres@src-18.6+clang`.
    pub fn contender(&self) -> Option<String> {
        let variant = self.built.as_ref()?.variant.as_deref();
        Some(contender(self.dbms, &self.version, variant))
    }
}

fn contender(dbms: Dbms, version: &str, variant: Option<&str>) -> String {
    let variant = variant.map_or(String::new(), |variant| format!("+{variant}"));
    format!("{dbms}@{}-{version}{variant}", Source::Src)
}

/// Removes the records of all failed builds, and the tarballs for further builds. Returns the
/// number of failures.
pub(super) fn forget(home: &Home) -> Result<usize, SourceError> {
    supply::forget(home)?;
    failures::forget(home)
}

/// The build in the store with a contender's name for it, `18.6` or `18.6+clang`; of several with
/// one name, as after an update of the compiler, the latest build. The start of a version stands
/// for the newest such version.
pub(super) fn find(
    home: &Home,
    dbms: Dbms,
    wanted: &str,
) -> Result<Option<Installed>, SourceError> {
    let (wanted, variant) = parts(wanted);
    let named = named(home, dbms, |built| built.variant.as_deref() == variant)?;
    let named = named.filter(|build| version::is(&build.version, wanted));
    Ok(named.max_by(|a, b| {
        let made = |build: &Installed| build.built.as_ref().map(|built| built.made);
        version::compare(&a.version, &b.version).then_with(|| made(a).cmp(&made(b)))
    }))
}

fn named(
    home: &Home,
    dbms: Dbms,
    is_named: impl Fn(&Built) -> bool,
) -> Result<impl Iterator<Item = Installed>, SourceError> {
    let builds = store::builds(home)?.into_iter().filter(move |build| build.dbms == dbms);
    Ok(builds.filter(move |build| build.built.as_ref().is_some_and(&is_named)))
}

fn parts(wanted: &str) -> (&str, Option<&str>) {
    wanted.split_once('+').map_or((wanted, None), |(version, variant)| (version, Some(variant)))
}

/// Makes the build that a contender names, if it is missing.
pub(super) fn obtain(
    machine: &Machine,
    home: &Home,
    dbms: Dbms,
    wanted: &str,
    tell: &mut Tell,
) -> Result<Installed, SourceError> {
    let (version, variant) = parts(wanted);
    if let Some(variant) = variant {
        let there = named(home, dbms, |_| true)?.filter_map(|build| build.contender());
        let (version, variant) = (version.to_string(), variant.to_string());
        let there = there.collect();
        return Err(BuildError::NoVariant { dbms, version, variant, there }.into());
    }
    Maker::new(machine, home, dbms, Options::default())?.make(version, tell)
}

/// Makes a build, or finds it in the store if it was made before.
pub(super) fn make(
    machine: &Machine,
    home: &Home,
    dbms: Dbms,
    wanted: &str,
    options: Options,
    tell: &mut Tell,
) -> Result<Installed, SourceError> {
    Maker::new(machine, home, dbms, options)?.make(wanted, tell)
}

/// The approximate time of a build of a DBMS here: that of the last one, or that of its recipe.
pub(super) fn estimate(home: &Home, recipe: &Recipe) -> Result<Duration, SourceError> {
    let builds = named(home, recipe.dbms, |_| true)?.filter_map(|build| build.built);
    let last = builds.max_by_key(|built| built.made);
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
    // Not all of it can run in parallel.
    let seconds = recipe.seconds as f64 * (0.15 + 0.85 / cpus as f64);
    Ok(Duration::from_secs_f64(last.map_or(seconds, |built| built.seconds)))
}

/// The sources of a build, before they are unpacked.
enum Sources {
    Tarball(Supplied),
    /// A folder that the user named, with its hash.
    Tree {
        folder: PathBuf,
        packed: fs::File,
        sha256: String,
    },
}

impl Sources {
    fn sha256(&self) -> &str {
        match self {
            Sources::Tarball(supplied) => &supplied.sha256,
            Sources::Tree { sha256, .. } => sha256,
        }
    }

    fn name(&self) -> String {
        match self {
            Sources::Tarball(supplied) => supplied.name.clone(),
            Sources::Tree { folder, .. } => paths::file_name(folder),
        }
    }
}

/// The inputs of one build.
struct Maker<'a> {
    machine: &'a Machine,
    home: &'a Home,
    recipe: Recipe,
    options: Options,
    /// A folder or URL with tarballs.
    sources: Option<OsString>,
    /// The lock of measurements: nothing is built while one is held.
    alone: Option<PathBuf>,
}

/// Facts that are known before the sources.
struct Means {
    compiler: Compiler,
    identity: Identity,
    key: Key,
}

impl<'a> Maker<'a> {
    fn new(
        machine: &'a Machine,
        home: &'a Home,
        dbms: Dbms,
        options: Options,
    ) -> Result<Maker<'a>, SourceError> {
        let recipe = options.recipe(dbms)?;
        let (sources, alone) = (Places::sources_from_env(), Some(SessionLock::host_path()));
        Ok(Maker { machine, home, recipe, options, sources, alone })
    }

    fn make(&self, wanted: &str, tell: &mut Tell) -> Result<Installed, SourceError> {
        self.options.check()?;
        let what = format!("{} {wanted}", self.recipe.dbms);
        let tree = self.tree();
        let version = if tree.is_some() { None } else { Some(wanted) };
        let compiler = Compiler::find(&what, &self.recipe, version, &self.options, self.machine)?;
        let identity = compiler.identity(&what, tell)?;
        let means = self.means(compiler, identity, tell)?;
        if let Some(sha256) = self.known(wanted)?
            && let Some(done) = self.done(&means, &sha256, wanted)?
        {
            return Ok(done);
        }
        let workshop = Workshop::begin(self.home, self.recipe.dbms, tell)?;
        let sources = self.supply(wanted, tree, &workshop, tell)?;
        // The rqps that was building until now may have built the same.
        if let Some(done) = self.done(&means, sources.sha256(), wanted)? {
            return Ok(done);
        }
        workshop.check_room(self.recipe.megabytes)?;
        let (version, sources) = self.unpack(wanted, sources, &workshop, tell)?;
        let folder = means.key.folder(&sources.archive.sha256);
        self.build(&means, &version, (sources, &folder), &workshop, tell)
    }

    fn means(
        &self,
        compiler: Compiler,
        identity: Identity,
        tell: &mut Tell,
    ) -> Result<Means, SourceError> {
        let key = Key {
            recipe: self.recipe.sha256(),
            flags: self.options.flags(&self.recipe),
            lto: self.options.lto,
            cc: compiler.cc.clone(),
            compiler: identity.said.clone(),
            compiler_sha256: identity.sha256.clone(),
            libc: compiler::libc(self.machine, tell)?,
            arch: self.machine.arch.to_string(),
        };
        Ok(Means { compiler, identity, key })
    }

    /// The user's folder of sources: one that contains the recipe's start file.
    fn tree(&self) -> Option<PathBuf> {
        let folder = self.options.source.as_ref().filter(|source| source.is_dir())?;
        self.recipe.is_tree(folder).then(|| folder.clone())
    }

    /// The hash of the sources, where it is known without fetching them.
    fn known(&self, wanted: &str) -> Result<Option<String>, SourceError> {
        match &self.options.source {
            None => self.seen(wanted),
            Some(file) if file.is_file() => digest::sha256(file).map(Some),
            Some(_) => Ok(None),
        }
    }

    /// The hash of a version's tarball when it was first fetched.
    fn seen(&self, version: &str) -> Result<Option<String>, SourceError> {
        let hash = pins::seen(&self.home.builds()?, &self.pin(version))?;
        Ok(hash.and_then(|hash| hash.strip_prefix(digest::SHA256).map(str::to_string)))
    }

    fn pin(&self, version: &str) -> String {
        format!("{} {} {version} ", Source::Src, self.recipe.dbms)
    }

    /// The existing build of these sources, or the error of an earlier attempt.
    fn done(
        &self,
        means: &Means,
        sha256: &str,
        wanted: &str,
    ) -> Result<Option<Installed>, SourceError> {
        let folder = means.key.folder(sha256);
        if let Some(found) = store::find_folder(self.home, &folder)? {
            if !version::is(&found.version, wanted) {
                let name = found.archives.first().map(|a| a.name.clone()).unwrap_or_default();
                return Err(self.other_version(name, &found.version, wanted));
            }
            return Ok(Some(found));
        }
        if !self.options.retry
            && let Some(failure) = failures::recall(self.home, &folder)?
        {
            return Err(BuildError::Failed(Box::new(failure)).into());
        }
        Ok(None)
    }

    fn other_version(&self, name: String, found: &str, wanted: &str) -> SourceError {
        let (found, wanted, dbms) = (found.to_string(), wanted.to_string(), self.recipe.dbms);
        BuildError::OtherVersion { name, dbms, found, wanted }.into()
    }

    /// Fetches the sources into the workshop.
    fn supply(
        &self,
        wanted: &str,
        tree: Option<PathBuf>,
        workshop: &Workshop,
        tell: &mut Tell,
    ) -> Result<Sources, SourceError> {
        let downloads = workshop.downloads();
        if let Some(folder) = tree {
            let path = downloads.join("tree.tar");
            let packed = fs::File::create_new(&path).map_err(at(&path))?;
            let user = owner(&folder).map_err(at(&folder))?;
            let done = act_as(user, || pack(&folder, &packed)).and_then(|packed| packed);
            done.map_err(at(&folder))?;
            let sha256 = digest::sha256(&path)?;
            // Written and read through one handle, which is at its end now.
            let packed = fs::File::open(&path).map_err(at(&path))?;
            return Ok(Sources::Tree { folder, packed, sha256 });
        }
        let source = self.options.source.as_deref();
        if let Some(file) = source.filter(|source| !source.is_dir()) {
            return supply::copied(file, &downloads, None).map(Sources::Tarball);
        }
        if source.is_none()
            && !self.machine.accepts_new_hash
            && let Some(seen) = self.seen(wanted)?
            && let Some(kept) = supply::recall(self.home, &seen, wanted, &downloads)?
        {
            return Ok(Sources::Tarball(kept));
        }
        let (recipe, machine) = (&self.recipe, self.machine);
        let places = Places { recipe, machine, folder: source, sources: self.sources.clone() };
        places.fetch(wanted, &downloads, tell).map(Sources::Tarball)
    }

    /// Unpacks the sources and compares them with their known facts. Returns their version, and
    /// notes on them.
    fn unpack(
        &self,
        wanted: &str,
        sources: Sources,
        workshop: &Workshop,
        tell: &mut Tell,
    ) -> Result<(String, Noted), SourceError> {
        let (name, sha256) = (sources.name(), sources.sha256().to_string());
        let told = match &sources {
            Sources::Tarball(supplied) => supplied.version.clone(),
            Sources::Tree { .. } => None,
        };
        // Before anything of it is read.
        if let Some(version) = &told {
            self.compare(version, &sha256, &name)?;
        }
        match sources {
            Sources::Tarball(ref supplied) => {
                let called = self.options.source.as_deref().unwrap_or(Path::new(&name));
                workshop.unpack(&supplied.file, &name, called, tell)?;
            }
            Sources::Tree { ref packed, .. } => workshop.unpack_tree(packed, &name, tell)?,
        }
        let missing = |missing: &str| {
            let (name, missing) = (name.clone(), missing.to_string());
            let (dbms, version) = (self.recipe.dbms, wanted.to_string());
            SourceError::Build(BuildError::NotSources { name, dbms, version, missing })
        };
        let version = self.recipe.version_in(&workshop.sources());
        let version = version.map_err(|lacking| missing(&lacking))?;
        if !version::is(&version, wanted) {
            return Err(self.other_version(name, &version, wanted));
        }
        if self.recipe.way(&version, &workshop.sources()).is_none() {
            return Err(missing("file that the recipe needs"));
        }
        let is_release = match (&sources, self.seen(&version)?) {
            (Sources::Tree { .. }, _) => false,
            (_, Some(seen)) => seen == sha256 || self.machine.accepts_new_hash,
            (_, None) => true,
        };
        let foreign = match sources {
            Sources::Tree { .. } => Some(format!("tree-{}", &sha256[..8])),
            Sources::Tarball(_) if !is_release => Some(format!("file-{}", &sha256[..8])),
            Sources::Tarball(ref supplied) => {
                if !supplied.is_verified && self.seen(&version)?.is_none() {
                    let hash = format!("{}{sha256}", digest::SHA256);
                    tell(Progress::Unpinned { what: name.clone(), hash })?;
                }
                if self.options.source.is_none() {
                    supply::keep(self.home, supplied)?;
                }
                None
            }
        };
        Ok((version, Noted { archive: Archive { name, sha256 }, is_release, foreign }))
    }

    /// Rejects a tarball that differs from the one that was fetched before.
    fn compare(&self, version: &str, sha256: &str, name: &str) -> Result<(), SourceError> {
        match self.seen(version)? {
            Some(seen) if seen != sha256 && !self.machine.accepts_new_hash => {
                Err(SourceError::NewHash {
                    what: name.to_string(),
                    whose: "when it was fetched here before",
                    expected: seen,
                    found: sha256.to_string(),
                    build: contender(self.recipe.dbms, version, None),
                })
            }
            _ => Ok(()),
        }
    }

    fn build(
        &self,
        means: &Means,
        version: &str,
        (noted, folder): (Noted, &str),
        workshop: &Workshop,
        tell: &mut Tell,
    ) -> Result<Installed, SourceError> {
        let Noted { archive, is_release, foreign } = noted;
        let dbms = self.recipe.dbms;
        let variant = self.options.variant(&self.recipe, foreign);
        self.refuse_taken(means, version, variant.as_deref())?;
        let way = self.recipe.way(version, &workshop.sources());
        let way: Way = way.cloned().ok_or(BuildError::NoRecipe(dbms))?;
        let user = User::of_servers()?;
        let _alone = self.wait_for_measurements(tell)?;
        workshop.open_for(user)?;
        let log = workshop.folder().join(LOG);
        let what = contender(dbms, version, variant.as_deref());
        let steps = Steps {
            machine: self.machine,
            recipe: &self.recipe,
            workshop,
            compiler: &means.compiler,
            flags: &means.key.flags,
            user,
            limit: self.options.limit,
            what: what.clone(),
            estimate: estimate(self.home, &self.recipe)?,
        };
        let seconds = match steps.run(&way, &log, tell)? {
            Outcome::Done { seconds } => seconds,
            Outcome::Failed { .. } if steps::is_disk_full(&log) => {
                return Err(SourceError::DiskFull(workshop.folder().to_path_buf()));
            }
            Outcome::Failed { step, reason } => {
                let contender = format!("{}{}", self.as_typed(), contender(dbms, version, None));
                let step = format!("{step} with {}", means.identity.name);
                let what = format!("{dbms} {version}");
                let failure = Failure {
                    what,
                    contender,
                    step,
                    reason,
                    tail: steps::tail(&log),
                    log,
                    is_remembered: false,
                };
                let failure = failures::keep(self.home, folder, failure)?;
                return Err(BuildError::Failed(Box::new(failure)).into());
            }
        };
        let changing = store::Changing::begin(self.home, tell)?;
        let made = changing.build()?;
        workshop.take(user, &self.recipe.prefix, made.path(), tell)?;
        if !made.path().join(&self.recipe.product).is_file() {
            let product = self.recipe.product.clone();
            return Err(BuildError::NoProduct { what, product }.into());
        }
        let kept = made.path().join(LOG);
        fs::rename(&log, &kept).map_err(at(&kept))?;
        let fetched = Fetched { archives: vec![archive.clone()], loader: None };
        let installed = probe::describe(dbms, Some(Source::Src), made.path(), fetched, tell)?;
        if installed.version != version {
            let reason = format!("its server reports version {}", installed.version);
            return Err(SourceError::Archive { archive: archive.name, reason });
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let built = Built {
            variant,
            recipe: means.key.recipe.clone(),
            cc: means.compiler.cc.clone(),
            compiler: means.identity.name.clone(),
            flags: means.key.flags.clone(),
            lto: means.key.lto,
            seconds,
            made: now.as_secs(),
        };
        if is_release {
            let hash = format!("{}{}", digest::SHA256, archive.sha256);
            pins::note_seen(changing.builds(), &self.pin(version), &hash)?;
        }
        failures::drop(self.home, folder)?;
        changing.finish_as(made, Installed { built: Some(built), ..installed }, folder)
    }

    /// The options of this build, to be typed again before the contender.
    fn as_typed(&self) -> String {
        let Options { flags, compiler, lto, source, name, .. } = &self.options;
        let mut text = String::new();
        for (option, value) in [("flags", flags), ("cc", compiler), ("name", name)] {
            if let Some(value) = value {
                text += &format!("--{option} {} ", quoted(value));
            }
        }
        if *lto {
            text += "--lto ";
        }
        if let Some(source) = source {
            text += &format!("--source {} ", quoted(&source.to_string_lossy()));
        }
        text
    }

    /// One name stands for one way to build.
    fn refuse_taken(
        &self,
        means: &Means,
        version: &str,
        variant: Option<&str>,
    ) -> Result<(), SourceError> {
        let Key { flags, lto, cc, .. } = &means.key;
        let mut same = named(self.home, self.recipe.dbms, |built| {
            let is_other = (&built.flags, &built.lto, &built.cc) != (flags, lto, cc);
            built.variant.as_deref() == variant && is_other
        })?;
        match same.find(|build| build.version == version) {
            Some(Installed { built: Some(Built { flags, cc, lto, .. }), .. }) => {
                let lto = if lto { " --lto" } else { "" };
                let other = format!("--cc {cc} --flags '{flags}'{lto}");
                let contender = contender(self.recipe.dbms, version, variant);
                Err(BuildError::NameTaken { contender, other }.into())
            }
            _ => Ok(()),
        }
    }

    /// Nothing is built during a measurement, and nothing is measured during a build.
    fn wait_for_measurements(&self, tell: &mut Tell) -> Result<Option<SessionLock>, SourceError> {
        let Some(path) = &self.alone else { return Ok(None) };
        loop {
            match SessionLock::take(path) {
                Ok(lock) => return Ok(Some(lock)),
                Err(LockError::Held { holder }) => {
                    let whom = format!("the measuring session ({holder})");
                    tell(Progress::WaitingToBuild { whom })?;
                    std::thread::sleep(Duration::from_millis(100));
                }
                Err(LockError::File { path, source }) => return Err(at(&path)(source)),
            }
        }
    }
}

/// Quoted as one word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Notes on sources that are built.
struct Noted {
    archive: Archive,
    /// Whether they are the release, as far as known.
    is_release: bool,
    /// Distinguishes them from the release.
    foreign: Option<String>,
}
