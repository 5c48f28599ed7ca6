//! Reads a run back from its directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rqps_observe::{CounterMeaning, EngineReading, Kind, Meaning, Metric, Reading};
use rqps_plan::{Class, Counts, Flags, Operation, Plan};
use rqps_system::printable;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::column::{
    MOST_SECONDS, client, count, garbled, json, known, nanos, place, seconds, some_count,
    some_seconds, some_text, target_rate, text,
};
use crate::directory::read_plan_and_manifest;
use crate::error::StoreError;
use crate::manifest::ContenderRecord;
use crate::results::{self, RESULTS};
use crate::round::{Measurement, RoundRecord, SliceRecord, Status};
use crate::run::Run;
use crate::series::Series;
use crate::statements::statements;
use crate::work::{Second, WorkRecord};
use crate::{PackedHistogram, RunDirectory, answers, counts, profile, schema};

impl Run {
    /// Reads a run directory, whether or not its run has ended.
    pub fn open(path: &Path) -> Result<Run, StoreError> {
        Run::read(path, Samples::Read)
    }

    /// The same without the samples of each second of a single run. They are most of a large run,
    /// and few formats use them.
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
        let rounds = rounds(&connection, (&plan, &contenders), samples).map_err(damaged)?;
        let profiles = profile::profiles(&connection, path)?;
        let counts = counts::counts(&connection).map_err(damaged)?;
        let answers = answers::answers(&connection).map_err(damaged)?;
        let (parts, differences) = (Vec::new(), Vec::new());
        Ok(Run {
            plan,
            manifest,
            contenders,
            rounds,
            profiles,
            counts,
            answers,
            parts,
            differences,
        })
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

    /// The stored rounds, as in [`Run::rounds`].
    pub fn rounds(&self) -> Result<Vec<RoundRecord>, StoreError> {
        let rounds = || {
            let contenders = contenders(&self.connection)?;
            rounds(&self.connection, (&self.plan, &contenders), Samples::Read)
        };
        rounds().map_err(|error| self.unreadable(error))
    }

    /// The places of the tests of a single run that a contender, by its part, has done.
    pub fn done(&self, part: u32) -> Result<Vec<u32>, StoreError> {
        let places = || {
            let mut select = self.connection.prepare(
                "select distinct place from round join measurement on measurement.round = round.id \
                 where part = ?1 and status = 'done' order by place",
            )?;
            select.query_map([part], |row| row.get(0))?.collect::<Result<_, rusqlite::Error>>()
        };
        places().map_err(|error| self.unreadable(error))
    }
}

impl RunDirectory {
    /// A setting of a contender as it was stored last.
    pub fn setting(&self, contender: &str, name: &str) -> Result<Option<String>, StoreError> {
        let sql = "select value from setting where contender = ?1 and name = ?2";
        let found = self.connection.query_row(sql, [contender, name], |row| row.get(0));
        found.optional().map_err(|error| self.unreadable(error))
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
            counters: Vec::new(),
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
    let mut select = connection
        .prepare("select ends, meaning from counter_meaning where contender = ?1 order by place")?;
    for record in &mut records {
        let known = select.query_map([&record.name], |row| {
            let meaning = known(row, "meaning", Meaning::from_name)?;
            Ok(CounterMeaning { ends: text(row, "ends")?, meaning })
        })?;
        record.counters = known.collect::<Result<_, _>>()?;
    }
    Ok(records)
}

fn flags(row: &Row<'_>) -> Result<Option<Flags>, rusqlite::Error> {
    match row.get_ref("flags")? {
        ValueRef::Null => Ok(None),
        _ => json(row, "flags").map(|flags: Flags| Some(flags.printable())),
    }
}

/// In time order; of a single run, by contender and test. Of several attempts, those that were
/// discarded and the last.
fn rounds(
    connection: &Connection,
    (plan, contenders): (&Plan, &[ContenderRecord]),
    samples: Samples,
) -> Result<Vec<RoundRecord>, rusqlite::Error> {
    let order = if plan.comparison().is_some() { "id" } else { "part, place, attempt" };
    let mut select = connection.prepare(&format!(
        "select * from round r where discarded is not null or attempt = (select max(attempt) \
         from round where round = r.round and test = r.test and part = r.part) order by {order}"
    ))?;
    let with = if plan.comparison().is_some() { Samples::Read } else { samples };
    let rows = select.query_map([], |row| Ok((row.get::<_, i64>("id")?, round(row)?)))?;
    let mut rounds = Vec::new();
    for row in rows {
        let (id, mut round) = row?;
        round.machine = cost(connection, ("machine_cost", "round"), id)?;
        round.arms = measurements(connection, id, with)?;
        round.slices = slices(connection, id)?;
        check_arms(&round)?;
        for (arm, measured) in &mut round.arms {
            // The A/A control is the baseline and has no record of its own.
            let baseline = plan.contenders.first().map(|baseline| baseline.name());
            let record = |name: &str| contenders.iter().find(|record| record.name == name);
            let record = record(arm).or_else(|| record(&baseline?));
            let meaning = |counter: &str| record?.meaning(counter);
            measured.engine.mean(meaning);
            measured.engine_samples.mean(meaning);
        }
        rounds.push(round);
    }
    Ok(rounds)
}

fn round(row: &Row<'_>) -> Result<RoundRecord, rusqlite::Error> {
    Ok(RoundRecord {
        round: row.get("round")?,
        test: text(row, "test")?,
        title: text(row, "title")?,
        group: some_text(row, "grouped")?,
        class: known(row, "class", Class::from_name)?,
        counts: known(row, "counts", Counts::from_name)?,
        place: row.get("place")?,
        part: row.get("part")?,
        load: row.get("load")?,
        attempt: row.get("attempt")?,
        discarded: some_text(row, "discarded")?,
        started: text(row, "started")?,
        seconds: seconds(row, "seconds")?,
        cpus: json(row, "cpus")?,
        reference_loop: json(row, "reference_loop")?,
        machine: Reading::default(),
        arms: BTreeMap::new(),
        slices: Vec::new(),
    })
}

/// An arm that has slices has a measurement, too. Without one, a row of it was deleted.
fn check_arms(round: &RoundRecord) -> Result<(), rusqlite::Error> {
    match round.slices.iter().find(|slice| !round.arms.contains_key(&slice.arm)) {
        Some(SliceRecord { arm, .. }) => Err(garbled(format!(
            "round {} of {} has slices of '{arm}' and no measurement of it",
            round.round, round.test
        ))),
        None => Ok(()),
    }
}

fn measurements(
    connection: &Connection,
    round: i64,
    with: Samples,
) -> Result<BTreeMap<String, Measurement>, rusqlite::Error> {
    let mut select = connection.prepare_cached("select * from measurement where round = ?1")?;
    let rows = select.query_map([round], |row| {
        Ok((row.get::<_, i64>("id")?, text(row, "arm")?, measurement(row)?))
    })?;
    let mut arms = BTreeMap::new();
    for row in rows {
        let (id, arm, mut measured) = row?;
        measured.work = work(connection, id)?;
        measured.cost = cost(connection, ("cost", "measurement"), id)?;
        measured.slice_cost = cost(connection, ("slice_cost", "measurement"), id)?;
        measured.engine = engine(connection, id)?;
        if with == Samples::Read {
            let metric = |name: String| Metric::from_name(&name);
            measured.samples = series(connection, (id, schema::HOST), metric)?;
            measured.engine_samples = series(connection, (id, schema::DBMS), Some)?;
        }
        arms.insert(arm, measured);
    }
    Ok(arms)
}

fn measurement(row: &Row<'_>) -> Result<Measurement, rusqlite::Error> {
    let status = |name: &str| Status::ALL.into_iter().find(|known| known.name() == name);
    Ok(Measurement {
        slot: row.get("slot")?,
        status: known(row, "status", status)?,
        error: some_text(row, "error")?,
        clients: row.get("clients")?,
        seconds: seconds(row, "seconds")?,
        pause_seconds: seconds(row, "pause_seconds")?,
        check_seconds: seconds(row, "check_seconds")?,
        index_seconds: some_seconds(row, "index_seconds")?,
        target_rate: target_rate(row)?,
        counted_rows: some_count(row, "counted_rows")?,
        watched: count(row, "watched")?,
        bytes_before: some_count(row, "bytes_before")?,
        note: some_text(row, "note")?,
        statements: statements(row)?,
        ..Measurement::default()
    })
}

fn work(connection: &Connection, measurement: i64) -> Result<Vec<WorkRecord>, rusqlite::Error> {
    let mut select =
        connection.prepare_cached("select * from work where measurement = ?1 order by id")?;
    let mut of_seconds = connection.prepare_cached(
        "select operations, rows, max_service from second where work = ?1 order by second",
    )?;
    let mut all = Vec::new();
    let mut rows = select.query([measurement])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get("id")?;
        let operation = |name: &str| Operation::ALL.into_iter().find(|known| known.name() == name);
        let seconds = of_seconds.query_map([id], |row| {
            Ok(Second {
                operations: count(row, "operations")?,
                rows: count(row, "rows")?,
                max_service: count(row, "max_service")?,
            })
        })?;
        let response: Option<Vec<u8>> = row.get("response")?;
        all.push(WorkRecord {
            client: row.get("client")?,
            operation: known(row, "operation", operation)?,
            operations: count(row, "operations")?,
            rows: count(row, "rows")?,
            reads: count(row, "reads")?,
            writes: count(row, "writes")?,
            others: count(row, "others")?,
            retries: count(row, "retries")?,
            service: PackedHistogram::from_bytes(row.get("service")?)?,
            response: response.map(PackedHistogram::from_bytes).transpose()?,
            max_lag: count(row, "max_lag")?,
            seconds: seconds.collect::<Result<_, _>>()?,
        });
    }
    Ok(all)
}

/// From one of the tables of costs, by its column for the owner.
fn cost(
    connection: &Connection,
    (table, of): (&str, &str),
    id: i64,
) -> Result<Reading, rusqlite::Error> {
    let sql = format!("select metric, value from {table} where {of} = ?1");
    let mut select = connection.prepare_cached(&sql)?;
    let rows = select.query_map([id], |row| {
        Ok((known(row, "metric", Metric::from_name)?, count(row, "value")?))
    })?;
    rows.collect()
}

fn engine(connection: &Connection, measurement: i64) -> Result<EngineReading, rusqlite::Error> {
    let mut select =
        connection.prepare_cached("select name, kind, value from engine where measurement = ?1")?;
    let mut rows = select.query([measurement])?;
    let mut reading = EngineReading::default();
    while let Some(row) = rows.next()? {
        reading.set(text(row, "name")?, kind(row)?, row.get::<_, i64>("value")? as u64);
    }
    Ok(reading)
}

fn series<N: Ord>(
    connection: &Connection,
    (measurement, source): (i64, &str),
    name_of: impl Fn(String) -> Option<N>,
) -> Result<Series<N>, rusqlite::Error> {
    let mut select = connection.prepare_cached(
        "select name, kind, samples from series where measurement = ?1 and source = ?2 \
         order by name <> ?3",
    )?;
    let mut rows = select.query(params![measurement, source, schema::AT])?;
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

fn slices(connection: &Connection, round: i64) -> Result<Vec<SliceRecord>, rusqlite::Error> {
    let mut select =
        connection.prepare_cached("select * from slice where round = ?1 order by place, client")?;
    let rows = select.query_map([round], |row| {
        Ok(SliceRecord {
            place: place(row)?,
            client: client(row)?,
            arm: text(row, "arm")?,
            began: count(row, "began")?,
            nanos: nanos(row)?,
            operations: count(row, "operations")?,
            warm_up_operations: count(row, "warm_up_operations")?,
            rows: count(row, "rows")?,
            reads: count(row, "reads")?,
            writes: count(row, "writes")?,
            others: count(row, "others")?,
            retries: count(row, "retries")?,
            client_cpu: count(row, "client_cpu")?,
            server_cpu: count(row, "server_cpu")?,
            server_run_queue_wait: count(row, "server_run_queue_wait")?,
            server_switches: count(row, "server_switches")?,
            reading_cpu: count(row, "reading_cpu")?,
        })
    })?;
    rows.collect()
}
