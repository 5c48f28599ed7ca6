//! Reading a run back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use rqps_observe::{EngineReading, Kind, Metric, Reading};
use rqps_plan::{Counts, Operation};
use rusqlite::{Connection, Row, Rows, params};
use serde::de::DeserializeOwned;

use crate::directory::{RESULTS, open_results, read_plan_and_manifest};
use crate::error::StoreError;
use crate::packed::Stored;
use crate::record::{ContenderRecord, Second, Status, StepRecord, WorkerRecord};
use crate::schema::Owner;
use crate::series::Series;
use crate::{Run, RunDirectory, pass, profile, schema};

impl Run {
    /// Reads a run directory, whether or not its run has ended.
    pub fn open(path: &Path) -> Result<Run, StoreError> {
        Run::read(path, Samples::Read)
    }

    /// The same without the samples of each second of steps, which are most of a large run and of which
    /// only few formats have anything.
    pub fn open_without_samples(path: &Path) -> Result<Run, StoreError> {
        Run::read(path, Samples::LeftOut)
    }

    fn read(path: &Path, samples: Samples) -> Result<Run, StoreError> {
        let connection = open_results(path, true)?;
        let (plan, manifest) = read_plan_and_manifest(path)?;
        let damaged = |error: rusqlite::Error| StoreError::Damaged {
            path: path.join(RESULTS),
            reason: error.to_string(),
        };
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
            name: row.get("name")?,
            spec: row.get("spec")?,
            dbms: row.get("dbms")?,
            version: row.get("version")?,
            source: row.get("source")?,
            archive_sha256: row.get("archive_sha256")?,
            server_sha256: row.get("server_sha256")?,
            compiler: row.get("compiler")?,
            libc: row.get("libc")?,
            transport: row.get("transport")?,
            settings: BTreeMap::new(),
            defaults: BTreeSet::new(),
            start_seconds: row.get("start_seconds")?,
        })
    })?;
    let mut records: Vec<ContenderRecord> = records.collect::<Result<_, _>>()?;
    let mut select =
        connection.prepare("select name, value, is_default from setting where contender = ?1")?;
    for record in &mut records {
        let mut rows = select.query([&record.name])?;
        while let Some(row) = rows.next()? {
            let name: String = row.get(0)?;
            if row.get(2)? {
                record.defaults.insert(name.clone());
            }
            record.settings.insert(name, row.get(1)?);
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

/// A column that holds JSON.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T, rusqlite::Error> {
    serde_json::from_str(&row.get::<_, String>(column)?).map_err(|_| rusqlite::Error::InvalidQuery)
}

fn step(row: &Row<'_>) -> Result<StepRecord, rusqlite::Error> {
    let status: String = row.get("status")?;
    let status = Status::ALL.into_iter().find(|known| known.name() == status);
    let counts: String = row.get("counts")?;
    Ok(StepRecord {
        contender: row.get("contender")?,
        step: row.get("step")?,
        title: row.get("title")?,
        group: row.get("grouped")?,
        counts: Counts::from_name(&counts).ok_or(rusqlite::Error::InvalidQuery)?,
        order: row.get("place")?,
        attempt: row.get("attempt")?,
        status: status.ok_or(rusqlite::Error::InvalidQuery)?,
        error: row.get("error")?,
        started: row.get("started")?,
        seconds: row.get("seconds")?,
        pause_seconds: row.get("pause_seconds")?,
        check_seconds: row.get("check_seconds")?,
        clients: row.get("clients")?,
        target_rate: row.get("target_rate")?,
        counted_rows: row.get::<_, Option<i64>>("counted_rows")?.map(|rows| rows as u64),
        index_seconds: row.get("index_seconds")?,
        workers: Vec::new(),
        cost: Reading::default(),
        samples: Series::default(),
        engine: EngineReading::default(),
        engine_samples: Series::default(),
        note: row.get("note")?,
        statements: json(row, "statements")?,
    })
}

pub(crate) fn workers<H: Stored>(
    connection: &Connection,
    owner: Owner,
) -> Result<Vec<WorkerRecord<H>>, rusqlite::Error> {
    let (column, owner) = owner.key();
    let sql = format!("select * from worker where {column} = ?1 order by id");
    let mut select = connection.prepare_cached(&sql)?;
    let mut seconds = connection.prepare_cached(
        "select operations, rows, max_service from second where worker = ?1 order by second",
    )?;
    let mut workers = Vec::new();
    let mut rows = select.query([owner])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get("id")?;
        let operation: String = row.get("operation")?;
        let operation = Operation::ALL.into_iter().find(|known| known.name() == operation);
        let count = |name: &str| row.get::<_, i64>(name).map(|count| count as u64);
        let of_worker = seconds.query_map([id], |row| {
            let count = |index: usize| row.get::<_, i64>(index).map(|count| count as u64);
            Ok(Second { operations: count(0)?, rows: count(1)?, max_service: count(2)? })
        })?;
        workers.push(WorkerRecord {
            client: row.get("client")?,
            operation: operation.ok_or(rusqlite::Error::InvalidQuery)?,
            operations: count("operations")?,
            rows: count("rows")?,
            reads: count("reads")?,
            writes: count("writes")?,
            others: count("others")?,
            retries: count("retries")?,
            service: H::from_bytes(row.get("service")?)?,
            response: row.get::<_, Option<Vec<u8>>>("response")?.map(H::from_bytes).transpose()?,
            max_lag: count("max_lag")?,
            seconds: of_worker.collect::<Result<_, _>>()?,
        });
    }
    Ok(workers)
}

fn reading(connection: &Connection, step: i64) -> Result<Reading, rusqlite::Error> {
    let mut select = connection.prepare_cached("select metric, value from cost where step = ?1")?;
    let rows =
        select.query_map([step], |row| Ok((metric(row, 0)?, row.get::<_, i64>(1)? as u64)))?;
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
        reading.set(row.get::<_, String>(0)?, kind(row, 1)?, row.get::<_, i64>(2)? as u64);
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
        Some(row) => Series::new(list(row)?),
        None => return Ok(Series::default()),
    };
    while let Some(row) = rows.next()? {
        let name = name_of(row.get(0)?).ok_or(rusqlite::Error::InvalidQuery)?;
        series.insert(name, kind(row, 1)?, list(row)?);
    }
    Ok(series)
}

fn list<T: DeserializeOwned>(row: &Row<'_>) -> Result<Vec<T>, rusqlite::Error> {
    let text = row.get_ref(2)?.as_str()?;
    serde_json::from_str(text).map_err(|_| rusqlite::Error::InvalidQuery)
}

fn kind(row: &Row<'_>, index: usize) -> Result<Kind, rusqlite::Error> {
    let name = row.get_ref(index)?.as_str()?;
    Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or(rusqlite::Error::InvalidQuery)
}

fn metric(row: &Row<'_>, index: usize) -> Result<Metric, rusqlite::Error> {
    Metric::from_name(&row.get::<_, String>(index)?).ok_or(rusqlite::Error::InvalidQuery)
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Histogram<u64>, rusqlite::Error> {
    Deserializer::new()
        .deserialize(&mut &bytes[..])
        .map_err(|_| rusqlite::Error::InvalidColumnName("a histogram that cannot be read".into()))
}
