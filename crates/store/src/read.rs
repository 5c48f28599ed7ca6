//! Reading a run back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::Path;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use rqps_observe::{EngineReading, Kind, Metric, Reading};
use rqps_plan::{Counts, Flags, Operation};
use rqps_system::printable;
use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Connection, Row, Rows, params};
use serde::de::DeserializeOwned;

use crate::directory::read_plan_and_manifest;
use crate::error::StoreError;
use crate::packed::Stored;
use crate::record::{ContenderRecord, Second, StatementRecord, Status, StepRecord, WorkerRecord};
use crate::results::{self, RESULTS};
use crate::schema::Owner;
use crate::series::Series;
use crate::{Run, RunDirectory, pass, profile, schema};

impl Run {
    /// Reads a run directory, whether or not its run has ended.
    pub fn open(path: &Path) -> Result<Run, StoreError> {
        Run::read(path, Samples::Read)
    }

    /// The same without the samples of each second of steps, which are most of a large run and of
    /// which only few formats have anything.
    pub fn open_without_samples(path: &Path) -> Result<Run, StoreError> {
        Run::read(path, Samples::LeftOut)
    }

    fn read(path: &Path, samples: Samples) -> Result<Run, StoreError> {
        let connection = results::open(path, true)?;
        let (plan, manifest) = read_plan_and_manifest(path)?;
        let damaged = |error: rusqlite::Error| StoreError::damaged(path.join(RESULTS), error);
        let mut contenders = contenders(&connection).map_err(damaged)?;
        let place = |name: &str| plan.contenders.iter().position(|known| known.name() == name);
        contenders.sort_by_key(|contender| place(&contender.name));
        let mut steps = steps(&connection, samples).map_err(damaged)?;
        steps.sort_by_key(|step| (place(&step.contender), step.order));
        let passes = pass::passes(&connection).map_err(damaged)?;
        let profiles = profile::profiles(&connection, path)?;
        let (parts, differences) = (Vec::new(), Vec::new());
        Ok(Run { plan, manifest, contenders, steps, passes, profiles, parts, differences })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Samples {
    Read,
    LeftOut,
}

impl RunDirectory {
    /// The run as it stands now.
    pub fn run(&self) -> Result<Run, StoreError> {
        Run::open(self.path())
    }
}

fn contenders(connection: &Connection) -> Result<Vec<ContenderRecord>, rusqlite::Error> {
    let mut select = connection.prepare("select * from contender")?;
    let records = select.query_map([], |row| {
        Ok(ContenderRecord {
            name: text(row, "name")?,
            spec: text(row, "spec")?,
            dbms: text(row, "dbms")?,
            version: text(row, "version")?,
            source: text(row, "source")?,
            archive_sha256: some_text(row, "archive_sha256")?,
            server_sha256: some_text(row, "server_sha256")?,
            compiler: some_text(row, "compiler")?,
            flags: flags(row)?,
            libc: some_text(row, "libc")?,
            transport: text(row, "transport")?,
            settings: BTreeMap::new(),
            defaults: BTreeSet::new(),
            start_seconds: seconds(row, "start_seconds")?,
        })
    })?;
    let mut records: Vec<ContenderRecord> = records.collect::<Result<_, _>>()?;
    let mut select =
        connection.prepare("select name, value, is_default from setting where contender = ?1")?;
    for record in &mut records {
        let mut rows = select.query([&record.name])?;
        while let Some(row) = rows.next()? {
            let name = text(row, "name")?;
            if row.get("is_default")? {
                record.defaults.insert(name.clone());
            }
            record.settings.insert(name, text(row, "value")?);
        }
    }
    Ok(records)
}

fn steps(connection: &Connection, with: Samples) -> Result<Vec<StepRecord>, rusqlite::Error> {
    let mut select = connection.prepare(
        "select * from step s where attempt = (select max(attempt) from step \
         where contender = s.contender and place = s.place)",
    )?;
    let rows = select.query_map([], |row| Ok((row.get::<_, i64>("id")?, step(row)?)))?;
    let mut steps = Vec::new();
    for row in rows {
        let (id, mut step) = row?;
        let owner = Owner::Step(id);
        step.workers = workers(connection, owner)?;
        step.cost = reading(connection, id)?;
        step.engine = engine(connection, id)?;
        if with == Samples::Read {
            (step.samples, step.engine_samples) = samples(connection, owner)?;
        }
        steps.push(step);
    }
    Ok(steps)
}

/// A value that rqps does not write.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Garbled(String);

/// As an error of the library, which says what this one says.
fn garbled(what: impl Into<String>) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(Garbled(what.into())))
}

/// The largest number of anything, nanoseconds of nine years included: many can be added.
const MOST: i64 = 1 << 58;
/// Per second.
const MOST_REAL: f64 = 1e15;
/// Of a step or a pass, in 30 days. Reports have an entry for each.
const MOST_SECONDS: u32 = 30 * 24 * 3600;
/// Slices of 10 ms in half a day, which reports count up to, and clients.
const MOST_SLICES: u32 = 1 << 22;
const MOST_CLIENTS: u32 = 1 << 16;

/// A column with text, which is shown by all that reads it.
pub(crate) fn text(row: &Row<'_>, column: &str) -> Result<String, rusqlite::Error> {
    Ok(printable(row.get_ref(column)?.as_str()?).into_owned())
}

pub(crate) fn some_text(row: &Row<'_>, column: &str) -> Result<Option<String>, rusqlite::Error> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => text(row, column).map(Some),
    }
}

/// A column of numbers in a range.
fn number<T: FromSql + PartialOrd + Display>(
    row: &Row<'_>,
    column: &str,
    allowed: RangeInclusive<T>,
) -> Result<T, rusqlite::Error> {
    let value: T = row.get(column)?;
    match allowed.contains(&value) {
        true => Ok(value),
        false => Err(garbled(format!("{column} {value} is out of range"))),
    }
}

/// A column that counts something.
pub(crate) fn count(row: &Row<'_>, column: &str) -> Result<u64, rusqlite::Error> {
    number(row, column, 0..=MOST).map(|value: i64| value as u64)
}

/// The measured nanoseconds of a slice.
pub(crate) fn nanos(row: &Row<'_>) -> Result<u64, rusqlite::Error> {
    let most = i64::from(MOST_SECONDS) * 1_000_000_000;
    number(row, "nanos", 0..=most).map(|value: i64| value as u64)
}

/// The place of a slice in its pass.
pub(crate) fn place(row: &Row<'_>) -> Result<u32, rusqlite::Error> {
    number(row, "place", 0..=MOST_SLICES)
}

/// One of the clients, counted from 1.
pub(crate) fn client(row: &Row<'_>) -> Result<u32, rusqlite::Error> {
    number(row, "client", 1..=MOST_CLIENTS)
}

pub(crate) fn some_count(row: &Row<'_>, column: &str) -> Result<Option<u64>, rusqlite::Error> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => count(row, column).map(Some),
    }
}

pub(crate) fn seconds(row: &Row<'_>, column: &str) -> Result<f64, rusqlite::Error> {
    number(row, column, 0.0..=f64::from(MOST_SECONDS))
}

pub(crate) fn some_seconds(row: &Row<'_>, column: &str) -> Result<Option<f64>, rusqlite::Error> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => seconds(row, column).map(Some),
    }
}

/// What clients promise to insert in a second.
pub(crate) fn target_rate(row: &Row<'_>) -> Result<Option<f64>, rusqlite::Error> {
    match row.get_ref("target_rate")? {
        ValueRef::Null => Ok(None),
        _ => number(row, "target_rate", 0.0..=MOST_REAL).map(Some),
    }
}

/// A column with one of some names.
pub(crate) fn known<T>(
    row: &Row<'_>,
    column: &str,
    from_name: impl Fn(&str) -> Option<T>,
) -> Result<T, rusqlite::Error> {
    let name = row.get_ref(column)?.as_str()?;
    from_name(name).ok_or_else(|| {
        let name = printable(name);
        garbled(format!("{column} '{name}' is not known to this rqps, a newer one may have it"))
    })
}

/// A column that holds JSON.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T, rusqlite::Error> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|error| garbled(format!("{column}: {error}")))
}

/// A run of an rqps that did not look for them has no such column.
fn flags(row: &Row<'_>) -> Result<Option<Flags>, rusqlite::Error> {
    match row.get_ref("flags") {
        Ok(ValueRef::Null) | Err(rusqlite::Error::InvalidColumnName(_)) => Ok(None),
        Ok(_) => json(row, "flags").map(|flags: Flags| Some(flags.printable())),
        Err(error) => Err(error),
    }
}

/// Statements of a foreign application may say anything.
pub(crate) fn statements(row: &Row<'_>) -> Result<Vec<StatementRecord>, rusqlite::Error> {
    let mut statements: Vec<StatementRecord> = json(row, "statements")?;
    for statement in &mut statements {
        statement.text = printable(&statement.text).into_owned();
        statement.plan = statement.plan.as_deref().map(|plan| printable(plan).into_owned());
    }
    Ok(statements)
}

fn step(row: &Row<'_>) -> Result<StepRecord, rusqlite::Error> {
    let status = |name: &str| Status::ALL.into_iter().find(|known| known.name() == name);
    Ok(StepRecord {
        contender: text(row, "contender")?,
        step: text(row, "step")?,
        title: text(row, "title")?,
        group: some_text(row, "grouped")?,
        counts: known(row, "counts", Counts::from_name)?,
        order: row.get("place")?,
        attempt: row.get("attempt")?,
        status: known(row, "status", status)?,
        error: some_text(row, "error")?,
        started: text(row, "started")?,
        seconds: seconds(row, "seconds")?,
        pause_seconds: seconds(row, "pause_seconds")?,
        check_seconds: seconds(row, "check_seconds")?,
        clients: row.get("clients")?,
        target_rate: target_rate(row)?,
        counted_rows: some_count(row, "counted_rows")?,
        index_seconds: some_seconds(row, "index_seconds")?,
        workers: Vec::new(),
        cost: Reading::default(),
        samples: Series::default(),
        engine: EngineReading::default(),
        engine_samples: Series::default(),
        note: some_text(row, "note")?,
        statements: statements(row)?,
    })
}

pub(crate) fn workers<H: Stored>(
    connection: &Connection,
    owner: Owner,
) -> Result<Vec<WorkerRecord<H>>, rusqlite::Error> {
    let (column, owner) = owner.key();
    let sql = format!("select * from worker where {column} = ?1 order by id");
    let mut select = connection.prepare_cached(&sql)?;
    let mut of_seconds = connection.prepare_cached(
        "select operations, rows, max_service from second where worker = ?1 order by second",
    )?;
    let mut workers = Vec::new();
    let mut rows = select.query([owner])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get("id")?;
        let operation = |name: &str| Operation::ALL.into_iter().find(|known| known.name() == name);
        let of_worker = of_seconds.query_map([id], |row| {
            Ok(Second {
                operations: count(row, "operations")?,
                rows: count(row, "rows")?,
                max_service: count(row, "max_service")?,
            })
        })?;
        workers.push(WorkerRecord {
            client: row.get("client")?,
            operation: known(row, "operation", operation)?,
            operations: count(row, "operations")?,
            rows: count(row, "rows")?,
            reads: count(row, "reads")?,
            writes: count(row, "writes")?,
            others: count(row, "others")?,
            retries: count(row, "retries")?,
            service: H::from_bytes(row.get("service")?)?,
            response: row.get::<_, Option<Vec<u8>>>("response")?.map(H::from_bytes).transpose()?,
            max_lag: count(row, "max_lag")?,
            seconds: of_worker.collect::<Result<_, _>>()?,
        });
    }
    Ok(workers)
}

fn reading(connection: &Connection, step: i64) -> Result<Reading, rusqlite::Error> {
    let mut select = connection.prepare_cached("select metric, value from cost where step = ?1")?;
    let rows = select.query_map([step], |row| Ok((metric(row)?, count(row, "value")?)))?;
    rows.collect()
}

fn engine(connection: &Connection, step: i64) -> Result<EngineReading, rusqlite::Error> {
    let mut select = connection
        .prepare_cached("select name, kind, value from engine_counter where step = ?1")?;
    engine_values(&mut select.query([step])?)
}

/// Rows of name, kind and value.
pub(crate) fn engine_values(rows: &mut Rows<'_>) -> Result<EngineReading, rusqlite::Error> {
    let mut reading = EngineReading::default();
    while let Some(row) = rows.next()? {
        reading.set(text(row, "name")?, kind(row)?, row.get::<_, i64>("value")? as u64);
    }
    Ok(reading)
}

/// What was read about once a second: of the machine, and by the DBMS.
pub(crate) fn samples(
    connection: &Connection,
    owner: Owner,
) -> Result<(Series<Metric>, Series<String>), rusqlite::Error> {
    let of_host = series(connection, (owner, schema::HOST), |name| Metric::from_name(&name))?;
    Ok((of_host, series(connection, (owner, schema::DBMS), Some)?))
}

fn series<N: Ord>(
    connection: &Connection,
    (owner, source): (Owner, &str),
    name_of: impl Fn(String) -> Option<N>,
) -> Result<Series<N>, rusqlite::Error> {
    let (column, owner) = owner.key();
    let sql = format!(
        "select name, kind, samples from series where {column} = ?1 and source = ?2 \
         order by name <> ?3"
    );
    let mut select = connection.prepare_cached(&sql)?;
    let mut rows = select.query(params![owner, source, schema::AT])?;
    // The times come first.
    let mut series = match rows.next()? {
        Some(row) => {
            let at: Vec<f64> = json(row, "samples")?;
            let allowed = 0.0..=f64::from(MOST_SECONDS);
            if !at.iter().all(|at| allowed.contains(at)) {
                return Err(garbled("the times of samples are out of range"));
            }
            Series::new(at)
        }
        None => return Ok(Series::default()),
    };
    while let Some(row) = rows.next()? {
        let name = known(row, "name", |name| name_of(printable(name).into_owned()))?;
        series.insert(name, kind(row)?, json(row, "samples")?);
    }
    Ok(series)
}

fn kind(row: &Row<'_>) -> Result<Kind, rusqlite::Error> {
    known(row, "kind", |name| Kind::ALL.into_iter().find(|kind| kind.name() == name))
}

pub(crate) fn metric(row: &Row<'_>) -> Result<Metric, rusqlite::Error> {
    known(row, "metric", Metric::from_name)
}

/// Significant digits of a histogram, which decide how much memory it takes.
const DIGITS: u32 = 3;

/// The head says how long it is and how much memory it takes (HdrHistogram, V2 encoding): that must
/// be what rqps writes.
pub(crate) fn decode(bytes: &[u8]) -> Result<Histogram<u64>, rusqlite::Error> {
    const HEAD: usize = 40;
    let unreadable = || garbled("a histogram cannot be read");
    let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let is_whole = word(4).is_some_and(|length| length as usize + HEAD == bytes.len());
    if !is_whole || word(12).is_none_or(|digits| digits > DIGITS) {
        return Err(unreadable());
    }
    Deserializer::new().deserialize(&mut &bytes[..]).map_err(|_| unreadable())
}
