//! Statements of a running system as a folder of queries: from what a server has counted, or from a
//! log; and the rows of its tables. No captured statement is ever executed here.

mod compared;
mod data;
mod digest;
mod executions;
mod exported;
mod fill;
mod formats;
mod items;
mod known_value;
mod left_out;
mod log_lines;
mod made;
mod mysql_logs;
mod postgres_log;
mod pt_digest;
mod report;
mod shape;
mod told;
mod written;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use rqps_dbms::{CatalogColumn, StatisticsError};
use rqps_wire::{Connection, Error, Target};

use crate::Dialect;
use crate::sql::{SqlTextError, open, within};
pub use data::{DataOptions, SourceData, TableSample, WrittenData, WrittenTable};
use executions::{CapturedExecutions, CapturedStatement, Collector};
use fill::{FilledStatement, ValueFilling};
use log_lines::LogLines;
pub use written::CaptureSummary;

/// Bytes by which a file is recognised.
const HEAD: u64 = 1 << 16;
/// How long a server may take to tell what it has counted.
const LONGEST: Duration = Duration::from_secs(60);
/// Statements of a folder at most.
const MOST_STATEMENTS: usize = 4096;

/// Why nothing was captured.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("{0}")]
    Refused(String),
    #[error("line {0}: {1}")]
    Line(u32, &'static str),
    #[error("line {0}")]
    Text(SqlTextError),
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    #[error("cannot write '{path}': {source}")]
    Written { path: String, source: io::Error },
    #[error(transparent)]
    Wire(#[from] Error),
}

impl CaptureError {
    /// The user can correct it.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, CaptureError::Written { .. } | CaptureError::Wire(_))
    }
}

impl From<SqlTextError> for CaptureError {
    fn from(error: SqlTextError) -> Self {
        CaptureError::Text(error)
    }
}

impl From<StatisticsError> for CaptureError {
    fn from(error: StatisticsError) -> Self {
        match error {
            StatisticsError::Wire(error) => error.into(),
            StatisticsError::Missing(what) => CaptureError::Refused(what),
        }
    }
}

/// What is wanted of a source.
#[derive(Clone, Copy, Debug)]
pub struct CaptureOptions<'a> {
    /// The format of a file, if it is not to be recognised.
    pub format: Option<&'a str>,
    /// The statements of one database, where a file has several.
    pub database: Option<&'a str>,
    /// The share of the time that is enough, up to 1.
    pub share: f64,
}

/// Statements with their shares, ready to be written.
pub struct Capture {
    dialect: Dialect,
    /// What the statistics or the file are.
    kind: String,
    since: Option<String>,
    /// How many days the calls are of.
    days: Option<f64>,
    remarks: Vec<String>,
    /// Shares are those of the calls, since nothing has a time.
    is_by_calls: bool,
    statements: Vec<SharedStatement>,
}

/// A statement with its share, and what becomes of it.
struct SharedStatement {
    captured: CapturedStatement,
    /// In hundredths of a percent; those of all statements add up to 10,000.
    share: u32,
    outcome: Result<FilledStatement, String>,
}

/// Captures what a server has counted. All that is read there are its catalogs, in a transaction
/// that cannot write.
pub fn capture_server(
    target: &Target,
    dialect: Dialect,
    options: CaptureOptions<'_>,
) -> Result<Capture, CaptureError> {
    let Some(read) = dialect.statement_statistics else {
        let what = format!("{} does not count statements", dialect.name);
        return Err(CaptureError::Refused(what));
    };
    if options.format.is_some() || options.database.is_some() {
        let what = "--format and --database are for files: the URL names the database";
        return Err(CaptureError::Refused(what.to_string()));
    }
    let mut connection = target.connect()?;
    let interrupter = connection.interrupter()?;
    let ([begin, end], _) = dialect.read_only;
    let (found, is_late) = within(LONGEST, &interrupter, || -> Result<_, CaptureError> {
        let connection: &mut dyn Connection = &mut *connection;
        connection.run(begin)?;
        let statistics = read(connection)?;
        let catalog = dialect.catalog_columns(connection)?;
        connection.run(end)?;
        Ok((statistics, catalog))
    });
    if is_late {
        let what = format!("the server has not told its statements in {} s", LONGEST.as_secs());
        return Err(CaptureError::Refused(what));
    }
    let (statistics, catalog) = found?;
    let mut collector = Collector::new(dialect);
    for one in statistics.statements {
        let executions = CapturedExecutions {
            calls: one.calls,
            seconds: one.seconds,
            rows: Some(one.rows),
            ..CapturedExecutions::one(String::new())
        };
        collector.add(&digest::counted(dialect, executions, one.text, one.example));
    }
    let source = CaptureSource {
        kind: statistics.source.to_string(),
        since: statistics.since,
        days: statistics.days,
        remarks: statistics.remarks,
        values: formats::EXAMPLE,
    };
    source.capture(collector, &catalog, options)
}

impl Capture {
    /// In whose SQL the statements are.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }
}

/// Captures a file.
pub fn capture_file(path: &Path, options: CaptureOptions<'_>) -> Result<Capture, CaptureError> {
    let format = match options.format {
        Some(name) => formats::named(name),
        None => {
            let mut head = Vec::new();
            open(path)?.take(HEAD).read_to_end(&mut head)?;
            formats::recognised(&String::from_utf8_lossy(&head))
        }
    };
    let format = format.map_err(CaptureError::Refused)?;
    let mut collector = Collector::new(format.dialect);
    let mut from = open(path)?;
    let mut lines = LogLines::new(&mut *from);
    let mut remarks = (format.read)(&mut lines, &mut collector)?;
    if lines.too_long > 0 {
        remarks.push(format!("{} records of more than 4 MiB were not read", lines.too_long));
    }
    let source = CaptureSource {
        kind: format.name.to_string(),
        since: None,
        days: collector.days(),
        remarks,
        values: format.values,
    };
    source.capture(collector, &[], options)
}

/// Where statements come from.
struct CaptureSource {
    kind: String,
    since: Option<String>,
    days: Option<f64>,
    remarks: Vec<String>,
    /// What its values are called.
    values: &'static str,
}

impl CaptureSource {
    fn capture(
        self,
        collector: Collector,
        catalog: &[CatalogColumn],
        options: CaptureOptions<'_>,
    ) -> Result<Capture, CaptureError> {
        let CaptureSource { kind, since, days, remarks, values } = self;
        let dialect = collector.dialect;
        let mut statements = of_one_database(collector.into_statements(), options.database)?;
        let is_by_calls = statements.iter().all(|it| it.seconds == 0.0);
        let size = |it: &CapturedStatement| if is_by_calls { it.calls as f64 } else { it.seconds };
        statements.sort_by(|one, other| {
            size(other).total_cmp(&size(one)).then_with(|| one.key.cmp(&other.key))
        });
        let sizes: Vec<f64> = statements.iter().map(size).collect();
        let all: f64 = sizes.iter().sum();
        if statements.is_empty() || all == 0.0 {
            return Err(CaptureError::Refused("it has no statements".to_string()));
        }
        let filling = ValueFilling { lexis: dialect.lexis, catalog, values };
        let (mut before, mut count) = (0.0, 0);
        let shares = shares(&sizes);
        let statements = statements.into_iter().zip(shares).zip(sizes);
        let statements = statements.map(|((captured, share), size)| {
            let is_enough = options.share < 1.0 && before / all >= options.share;
            before += size;
            let outcome = match captured.reason.clone() {
                Some(reason) => Err(reason),
                None if is_enough => {
                    Err(format!("it is beyond {} %", (options.share * 1e4).round() / 1e2))
                }
                None if count == MOST_STATEMENTS => {
                    Err(format!("it is beyond the {MOST_STATEMENTS} largest"))
                }
                None => filling.fill(&captured).and_then(|filled| {
                    written::check(&captured, &filled, dialect.lexis).map(|()| filled)
                }),
            };
            count += usize::from(outcome.is_ok());
            SharedStatement { captured, share, outcome }
        });
        let statements = statements.collect();
        Ok(Capture { dialect, kind, since, days, remarks, is_by_calls, statements })
    }
}

/// Those of the database that is wanted, or of the only one.
fn of_one_database(
    mut statements: Vec<CapturedStatement>,
    wanted: Option<&str>,
) -> Result<Vec<CapturedStatement>, CaptureError> {
    let mut times: BTreeMap<&str, (f64, u64)> = BTreeMap::new();
    for statement in &statements {
        // What controls a session belongs to no database.
        if let (Some(database), None) = (&statement.database, &statement.reason) {
            let of = times.entry(database).or_default();
            of.0 += statement.seconds;
            of.1 += statement.calls;
        }
    }
    let mut names: Vec<(&str, (f64, u64))> = times.into_iter().collect();
    names.sort_by(|(_, one), (_, other)| other.0.total_cmp(&one.0).then(other.1.cmp(&one.1)));
    let names: Vec<String> = names.into_iter().map(|(name, _)| name.to_string()).collect();
    let listed = || names.iter().take(12).cloned().collect::<Vec<_>>().join(", ");
    let wanted = match (wanted, &names[..]) {
        (Some(wanted), _) if names.iter().any(|name| name == wanted) => wanted.to_string(),
        (Some(wanted), _) => {
            let what =
                format!("it has no statements of the database '{wanted}'. It has: {}", listed());
            return Err(CaptureError::Refused(what));
        }
        (None, [] | [_]) => return Ok(statements),
        (None, _) => {
            let what = format!(
                "it has statements of several databases, the largest first: {}. Choose one with \
                 --database",
                listed()
            );
            return Err(CaptureError::Refused(what));
        }
    };
    statements.retain(|it| it.database.as_deref().is_none_or(|database| database == wanted));
    Ok(statements)
}

/// The shares of sizes in hundredths of a percent. They add up to 10,000: the largest remainders
/// are rounded up (Hamilton's method of apportionment).
fn shares(sizes: &[f64]) -> Vec<u32> {
    const ALL: f64 = 10_000.0;
    let sum: f64 = sizes.iter().sum();
    let exact: Vec<f64> = sizes.iter().map(|size| size / sum * ALL).collect();
    let mut shares: Vec<u32> = exact.iter().map(|share| share.floor() as u32).collect();
    let missing = (ALL as u32).saturating_sub(shares.iter().sum()) as usize;
    let mut places: Vec<usize> = (0..sizes.len()).collect();
    places.sort_by(|one, other| exact[*other].fract().total_cmp(&exact[*one].fract()));
    places.into_iter().take(missing).for_each(|place| shares[place] += 1);
    shares
}

#[cfg(test)]
mod tests;
