//! SQL as a comparison asks for it: the queries that are for all contenders.

use std::path::PathBuf;

use rqps_plan::{
    Build, Dbms, ScaleFactor, SqlSource, SqlTest, SqlWorkload, Workload, is_printable, suggestion,
};

use super::faults::FolderFaults;
use super::files::digests;
use super::folder::{FolderScope, SqlFolder, read, read_made};
use super::guest;
use super::loaded::LoadedFile;
use super::query::SqlQuery;
use super::tpch;
use crate::Dialect;
use crate::asked::{Asked, FlagError};

/// `sql:DIR`: a user's folder.
pub(crate) fn asked(asked: &Asked<'_>) -> Result<Workload, FlagError> {
    refuse_sizes(asked, "a folder of SQL")?;
    let given = asked.workload.names.join(",");
    let path = PathBuf::from(&given).canonicalize();
    let path = path.map_err(|error| FlagError(format!("cannot read '{given}': {error}")))?;
    let wrong = |error: FolderFaults| FlagError(format!("{given}: {error}"));
    let read = |of: (Dbms, Dialect)| read(&path, of, FolderScope::Everything);
    let measured = MeasuredQueries::of(asked, read).map_err(wrong)?;
    let (files, packed) = digests(&path).map_err(|error| wrong(error.into()))?;
    let shown = path.display().to_string();
    for text in files.keys().chain([&measured.name, &shown]) {
        if !text.chars().all(is_printable) {
            let reason = format!("'{text}' has characters that cannot be shown. Rename it");
            return Err(FlagError(reason));
        }
    }
    // Of a compressed file, or of a dump for pg_restore, what is in it counts.
    let bytes = measured.bytes.max(packed);
    Ok(measured.plan(asked, SqlSource::Folder { path, files }, bytes))
}

/// `tpch:SCALE` or `tpch:SCALE,QUERY,…`
pub(crate) fn tpch_asked(asked: &Asked<'_>) -> Result<Workload, FlagError> {
    refuse_sizes(asked, "tpch")?;
    let (scale, wanted) = match &asked.workload.names[..] {
        [scale, wanted @ ..] => (scale.parse::<ScaleFactor>().map_err(FlagError)?, wanted),
        [] => return Err(FlagError("write the scale factor, as in tpch:0.1".to_string())),
    };
    let made = |of: (Dbms, Dialect)| read_made(tpch::made(scale), of);
    let wrong = |error: FolderFaults| FlagError(format!("tpch:{scale}: {error}"));
    let mut measured = MeasuredQueries::of(asked, made).map_err(wrong)?;
    let known = || measured.tests.iter().map(|test| test.id.as_str());
    if let Some(unknown) = wanted.iter().find(|id| !known().any(|known| known == *id)) {
        let hint = suggestion(unknown, known());
        return Err(FlagError(format!("unknown query '{unknown}' of tpch: {hint}")));
    }
    measured.tests.retain(|test| wanted.is_empty() || wanted.contains(&test.id));
    Ok(measured.plan(asked, SqlSource::Tpch { scale }, scale.bytes()))
}

fn refuse_sizes(asked: &Asked<'_>, what: &str) -> Result<(), FlagError> {
    match asked.rows.is_some() || asked.writes.is_some() || asked.tables.is_some() {
        true => Err(FlagError(format!(
            "{what} has its own tables and rows. Drop --rows, --tables and --writes"
        ))),
        false => Ok(()),
    }
}

/// The queries that are for all contenders, and the ids of the others.
struct MeasuredQueries {
    name: String,
    tests: Vec<SqlTest>,
    left_out: Vec<String>,
    /// Of the data, for the DBMS with most of them.
    bytes: u64,
    /// Weights are the executions of so many days.
    days: Option<f64>,
}

impl MeasuredQueries {
    fn of(
        asked: &Asked<'_>,
        read: impl Fn((Dbms, Dialect)) -> Result<SqlFolder, FolderFaults>,
    ) -> Result<MeasuredQueries, FolderFaults> {
        let mut name = String::new();
        let mut tests: Option<Vec<SqlTest>> = None;
        let mut left_out: Vec<String> = Vec::new();
        let mut faults = FolderFaults::none();
        let (mut bytes, mut days) = (0, None);
        for contender in asked.contenders {
            let dbms = contender.dbms;
            let one = match read((dbms, Dialect::from(contender))) {
                Ok(one) => one,
                Err(found) => {
                    faults.add(found);
                    continue;
                }
            };
            let lexis = Dialect::from(contender).lexis;
            let checked = match contender.is_remote() {
                true if asked.read_only => guest::check_reading(&one, lexis),
                true => guest::tables(&one, lexis).map(drop),
                false => Ok(()),
            };
            if let Err(found) = checked {
                faults.add(found);
            }
            bytes = bytes.max(one.loads.iter().map(LoadedFile::bytes).sum());
            let version = match &contender.build {
                Build::Version { version, .. } => numbers(version),
                _ => None,
            };
            let is_measured = |query: &&SqlQuery| {
                query.options.weight > 0.0 && query.options.is_for(dbms, version.as_deref())
            };
            let these = one
                .queries
                .iter()
                .filter(is_measured)
                .map(|query| SqlTest::new(&query.id, query.class, query.options.weight));
            let these: Vec<SqlTest> = these.collect();
            let is_here = |test: &SqlTest| these.iter().any(|it| it.id == test.id);
            left_out.extend(one.left_out);
            left_out.extend(
                one.queries
                    .into_iter()
                    .map(|it| it.id)
                    .filter(|id| !these.iter().any(|test| test.id == *id)),
            );
            (name, days) = (one.name, one.days);
            tests = Some(match tests {
                None => these,
                Some(mut tests) => {
                    tests.retain(is_here);
                    tests
                }
            });
        }
        faults.none_or_all()?;
        left_out.sort_unstable();
        left_out.dedup();
        let tests = tests.unwrap_or_default();
        Ok(MeasuredQueries { name, tests, left_out, bytes, days })
    }

    fn plan(self, asked: &Asked<'_>, source: SqlSource, bytes: u64) -> Workload {
        let MeasuredQueries { name, tests, left_out, days, .. } = self;
        let time = asked.secs.unwrap_or_else(|| (asked.fitting)(tests.len()));
        let clients = asked.clients;
        let skips_load_errors = asked.skips_load_errors;
        SqlWorkload { name, source, tests, left_out, days, clients, time, bytes, skips_load_errors }
            .into()
    }
}

/// `16.10` as numbers.
fn numbers(version: &str) -> Option<Vec<u32>> {
    version.split('.').map(|number| number.parse().ok()).collect()
}
