//! Builds of one source for all contenders of a comparison: builds of different packagers differ by
//! more than their release.

use rqps_plan::{Build, Dbms, Source};

use super::error::SourceError;
use super::installed::Installed;
use super::machine::Machine;
use super::packaged::Packaged;
use super::progress::Tell;
use super::{packaged, store, system, version};
use crate::home::Home;

/// The builds of a DBMS in a source.
struct Offer {
    source: Source,
    /// In the store, or installed.
    there: Vec<String>,
    /// Available to fetch.
    listed: Vec<Packaged>,
}

impl Offer {
    fn has(&self, wanted: &str) -> bool {
        self.there.iter().any(|version| version == wanted)
    }

    /// The version, or the newest one that starts with it.
    fn choose(&self, wanted: &str) -> Option<String> {
        if let Some(chosen) = packaged::choose(&self.listed, wanted) {
            return Some(chosen.version.clone());
        }
        let fitting = self.there.iter().filter(|version| version::is(version, wanted));
        fitting.max_by(|a, b| version::compare(a, b)).cloned()
    }

    /// The nearest version for each wanted one; none if it has nothing of the series of one of
    /// them.
    fn nearest(&self, wanted: &[&str]) -> Option<Vec<String>> {
        let mut known = packaged::newest_first(&self.listed);
        known.extend(self.there.iter().cloned());
        known.sort_by(|a, b| version::compare(b, a));
        known.dedup();
        let nearest = |wanted: &&str| {
            let same = known.iter().find(|version| version == wanted);
            same.or_else(|| known.iter().find(|it| version::are_of_one_series(it, wanted))).cloned()
        };
        wanted.iter().map(nearest).collect()
    }
}

impl Machine {
    /// The builds of contenders. Those of one DBMS that name only versions come from one source:
    /// the first that has them all. Existing builds are used without asking any source; lists of
    /// versions are fetched once a day.
    pub(super) fn alike(
        &self,
        home: &Home,
        wanted: &[(Dbms, Build)],
        tell: &mut Tell,
    ) -> Result<Vec<Build>, SourceError> {
        let mut builds: Vec<Build> = wanted.iter().map(|(_, build)| build.clone()).collect();
        for dbms in Dbms::ALL {
            let mut versions: Vec<&str> = Vec::new();
            for (_, build) in wanted.iter().filter(|(of, _)| *of == dbms) {
                if let Build::Version { source: None, version } = build
                    && !versions.contains(&version.as_str())
                {
                    versions.push(version);
                }
            }
            if versions.len() < 2 {
                continue;
            }
            let Some((common, chosen)) = self.common(home, dbms, &versions, tell)? else {
                continue;
            };
            for (build, (of, _)) in builds.iter_mut().zip(wanted) {
                if let Build::Version { source: source @ None, version } = build
                    && *of == dbms
                    && let Some(index) = versions.iter().position(|wanted| wanted == version)
                {
                    *source = Some(common.clone());
                    version.clone_from(&chosen[index]);
                }
            }
        }
        Ok(builds)
    }

    /// The first source that has all versions, with its versions. None if no source has one of
    /// them.
    fn common(
        &self,
        home: &Home,
        dbms: Dbms,
        versions: &[&str],
        tell: &mut Tell,
    ) -> Result<Option<(Source, Vec<String>)>, SourceError> {
        let mut offers = self.there(home, dbms, tell)?;
        if let Some(offer) = offers.iter().find(|offer| versions.iter().all(|it| offer.has(it))) {
            let exactly = versions.iter().map(|version| version.to_string()).collect();
            return Ok(Some((offer.source.clone(), exactly)));
        }
        for offer in &mut offers {
            offer.listed = self.listed(home, dbms, &offer.source, versions, tell)?;
            let chosen = versions.iter().map(|wanted| offer.choose(wanted));
            if let Some(chosen) = chosen.collect() {
                return Ok(Some((offer.source.clone(), chosen)));
            }
        }
        let is_somewhere = |wanted: &&str| offers.iter().any(|it| it.choose(wanted).is_some());
        if !versions.iter().all(is_somewhere) {
            return Ok(None);
        }
        let nearest = offers.iter().filter_map(|offer| {
            Some(format!("{} has {}", offer.source, offer.nearest(versions)?.join(" and ")))
        });
        let first = versions[0];
        let of_one = offers.iter().find(|offer| offer.choose(first).is_some());
        let source = of_one.map(|offer| offer.source.to_string()).unwrap_or_default();
        Err(SourceError::NotAlike {
            dbms,
            versions: versions.join(" and "),
            nearest: nearest.collect(),
            alone: format!("{dbms}@{source}-{first}"),
        })
    }

    /// The sources of a DBMS in order of preference, with their existing builds.
    fn there(&self, home: &Home, dbms: Dbms, tell: &mut Tell) -> Result<Vec<Offer>, SourceError> {
        let stored = store::builds(home)?;
        let mut offers: Vec<Offer> = Vec::new();
        let packages = self.packages(home, dbms, None)?;
        let sources = packages.iter().map(|package| package.registry.source());
        for source in [Source::Src, Source::System].into_iter().chain(sources) {
            if offers.iter().any(|offer| offer.source == source) {
                continue;
            }
            // A build with other flags is requested by its name.
            let is_plain =
                |it: &&Installed| it.built.as_ref().is_none_or(|built| built.variant.is_none());
            let of_source =
                |it: &&Installed| it.dbms == dbms && it.source.as_ref() == Some(&source);
            let of_store = stored.iter().filter(of_source).filter(is_plain);
            let mut there: Vec<String> = of_store.map(|it| it.version.clone()).collect();
            if source == Source::System {
                let found = system::builds(dbms, self, tell)?;
                there.extend(found.into_iter().map(|found| found.version));
            }
            offers.push(Offer { source, there, listed: Vec::new() });
        }
        Ok(offers)
    }

    /// The versions that a source lists, if it can have the wanted ones; empty where it cannot be
    /// asked.
    fn listed(
        &self,
        home: &Home,
        dbms: Dbms,
        source: &Source,
        wanted: &[&str],
        tell: &mut Tell,
    ) -> Result<Vec<Packaged>, SourceError> {
        if matches!(source, Source::Src | Source::System) {
            return Ok(Vec::new());
        }
        let mut listed = Vec::new();
        for package in self.packages(home, dbms, Some(source))? {
            if !wanted.iter().any(|wanted| package.may_have(wanted)) {
                continue;
            }
            match self.noted_versions(home, &package, tell) {
                Ok(noted) => listed.extend(noted),
                Err(error) if error.is_of_one_source() => return Ok(Vec::new()),
                Err(error) => return Err(error),
            }
        }
        Ok(listed)
    }
}
