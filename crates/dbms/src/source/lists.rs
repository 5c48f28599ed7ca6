//! What the sources had when they were last asked: the newest `17` is looked up once a day and not
//! for every run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rqps_plan::{Dbms, Source};

use super::error::SourceError;
use super::store;
use super::version::Packaged;
use crate::home::Home;

/// How long a list is good for.
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);

/// The list of a DBMS's versions, of one source or of all.
pub(super) struct List {
    file: PathBuf,
    dbms: Dbms,
}

impl List {
    pub(super) fn of(
        home: &Home,
        dbms: Dbms,
        source: Option<&Source>,
    ) -> Result<Self, SourceError> {
        let of_source = source.map(|source| format!("-{source}")).unwrap_or_default();
        let file = home.builds()?.join(format!(".versions-{dbms}{of_source}.json"));
        Ok(List { file, dbms })
    }

    /// What was noted less than a day ago; nothing if that is longer ago, or cannot be read.
    pub(super) fn fresh(&self) -> Vec<Packaged> {
        let is_fresh = |file: &Path| file.metadata()?.modified().map(|time| time.elapsed());
        if !matches!(is_fresh(&self.file), Ok(Ok(age)) if age < FRESH) {
            return Vec::new();
        }
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        let names: Vec<(Source, String)> = serde_json::from_str(&text).unwrap_or_default();
        let parse = |(source, name): &(Source, String)| Packaged::parse(self.dbms, source, name);
        names.iter().filter_map(parse).collect()
    }

    /// Notes what the sources have now.
    pub(super) fn note(&self, packaged: &[Packaged]) -> Result<(), SourceError> {
        let names: Vec<(&Source, &str)> =
            packaged.iter().map(|packaged| (&packaged.source, packaged.name.as_str())).collect();
        store::replace(&self.file, |file| Ok(serde_json::to_writer(file, &names)?))
    }
}
