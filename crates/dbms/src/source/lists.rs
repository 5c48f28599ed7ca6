//! Cached lists of versions: the newest `17` is looked up once a day and not for every run.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::catalog::Package;
use super::error::SourceError;
use super::packaged::Packaged;
use super::store;
use crate::home::Home;

/// How long a list is valid.
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);

/// The cached list of a package's versions.
pub(super) struct List<'a> {
    package: &'a Package,
    file: PathBuf,
}

impl<'a> List<'a> {
    pub(super) fn of(home: &Home, package: &'a Package) -> Result<Self, SourceError> {
        let (dbms, source) = (package.dbms, package.registry.source());
        let suite = package.registry.suite().map(|suite| format!("-{suite}")).unwrap_or_default();
        let file = home.builds()?.join(format!(".versions-{dbms}-{source}{suite}.json"));
        Ok(List { package, file })
    }

    /// The list, if it is less than a day old and readable.
    pub(super) fn fresh(&self) -> Option<Vec<Packaged>> {
        let age = self.file.metadata().ok()?.modified().ok()?.elapsed().ok()?;
        let names: Vec<String> = match age < FRESH {
            true => serde_json::from_str(&fs::read_to_string(&self.file).ok()?).ok()?,
            false => return None,
        };
        let (dbms, source) = (self.package.dbms, self.package.registry.source());
        Some(names.iter().filter_map(|name| Packaged::parse(dbms, &source, name)).collect())
    }

    /// Stores a new list.
    pub(super) fn note(&self, packaged: &[Packaged]) -> Result<(), SourceError> {
        let names: Vec<&str> = packaged.iter().map(|packaged| packaged.name.as_str()).collect();
        store::replace(&self.file, |file| Ok(serde_json::to_writer(file, &names)?))
    }
}
