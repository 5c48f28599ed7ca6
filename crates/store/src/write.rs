//! Writes measurements, one test in one round at a time.

use rqps_observe::{EngineReading, EngineValue, Kind, Reading};
use rusqlite::{Transaction, params};

use crate::directory::RunDirectory;
use crate::error::StoreError;
use crate::manifest::ContenderRecord;
use crate::round::{Measurement, RoundRecord, SliceRecord};
use crate::schema;
use crate::series::Series;
use crate::work::WorkRecord;

impl RunDirectory {
    /// Stores the record of a contender; an earlier one is replaced.
    pub fn save_contender(&mut self, record: &ContenderRecord) -> Result<(), StoreError> {
        let flags = record
            .flags
            .as_ref()
            .map(|flags| serde_json::to_string(flags).expect("flags are plain data"));
        self.transact(|transaction| {
            for table in ["setting", "counter_meaning"] {
                let sql = format!("delete from {table} where contender = ?1");
                transaction.execute(&sql, [&record.name])?;
            }
            transaction.execute(
            "insert or replace into contender (name, spec, dbms, version, source, archive_sha256, \
             server_sha256, compiler, flags, libc, transport, start_seconds) \
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            params![
                record.name,
                record.spec,
                record.dbms,
                record.version,
                record.source,
                record.archive_sha256,
                record.server_sha256,
                record.compiler,
                flags,
                record.libc,
                record.transport,
                record.start_seconds,
            ],
        )?;
            for (name, value) in &record.settings {
                transaction.execute(
                "insert into setting (contender, name, value, is_default) values (?1, ?2, ?3, ?4)",
                params![record.name, name, value, record.defaults.contains(name)],
            )?;
            }
            for (place, known) in record.counters.iter().enumerate() {
                transaction.execute(
                    "insert into counter_meaning values (?1, ?2, ?3, ?4)",
                    params![record.name, place as i64, known.ends, known.meaning.name()],
                )?;
            }
            Ok(())
        })
    }

    /// Stores a test of a round at its start, so that a kill of rqps leaves a trace of it. Its
    /// attempt becomes one more than the last.
    pub fn begin(&mut self, round: &mut RoundRecord) -> Result<(), StoreError> {
        let attempts: u32 = self.connection.query_row(
            "select coalesce(max(attempt), 0) from round where round = ?1 and test = ?2 and part = ?3",
            params![round.round, round.test, round.part],
            |row| row.get(0),
        )?;
        round.attempt = attempts + 1;
        self.save(round)
    }

    /// Stores a test of a round in place of an earlier record of the same attempt, in one
    /// transaction.
    pub fn save(&mut self, round: &RoundRecord) -> Result<(), StoreError> {
        self.transact(|transaction| {
            transaction.execute(
                "delete from round where round = ?1 and test = ?2 and part = ?3 and attempt = ?4",
                params![round.round, round.test, round.part, round.attempt],
            )?;
            insert(transaction, round)
        })
    }

    /// Stores attempts in place of all earlier records of their tests in their rounds, in one
    /// transaction: a round of whole runs up to now.
    pub fn replace(&mut self, rounds: &[&RoundRecord]) -> Result<(), StoreError> {
        self.transact(|transaction| {
            for round in rounds {
                transaction.execute(
                    "delete from round where round = ?1 and test = ?2 and part = ?3",
                    params![round.round, round.test, round.part],
                )?;
            }
            rounds.iter().try_for_each(|round| insert(transaction, round))
        })
    }
}

fn insert(transaction: &Transaction<'_>, round: &RoundRecord) -> Result<(), StoreError> {
    let json = |list: &[u64]| serde_json::to_string(list).expect("numbers are JSON");
    let cpus: Vec<u64> = round.cpus.iter().map(|cpu| u64::from(*cpu)).collect();
    transaction.execute(
        "insert into round (round, test, title, grouped, class, counts, place, part, load, attempt, \
         discarded, started, seconds, cpus, reference_loop) \
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        params![
            round.round,
            round.test,
            round.title,
            round.group,
            round.class.name(),
            round.counts.name(),
            round.place,
            round.part,
            round.load,
            round.attempt,
            round.discarded,
            round.started,
            round.seconds,
            json(&cpus),
            json(&round.reference_loop),
        ],
    )?;
    let id = transaction.last_insert_rowid();
    insert_cost(transaction, "machine_cost", id, &round.machine)?;
    for (arm, measurement) in &round.arms {
        insert_measurement(transaction, id, arm, measurement)?;
    }
    insert_slices(transaction, id, &round.slices)
}

fn insert_cost(
    transaction: &Transaction<'_>,
    table: &str,
    of: i64,
    cost: &Reading,
) -> Result<(), StoreError> {
    let mut insert =
        transaction.prepare_cached(&format!("insert into {table} values (?1, ?2, ?3)"))?;
    for (metric, value) in cost.iter() {
        insert.execute(params![of, metric.name(), value as i64])?;
    }
    Ok(())
}

fn insert_measurement(
    transaction: &Transaction<'_>,
    round: i64,
    arm: &str,
    measured: &Measurement,
) -> Result<(), StoreError> {
    transaction.execute(
        "insert into measurement (round, arm, slot, status, error, clients, seconds, pause_seconds, \
         check_seconds, index_seconds, target_rate, counted_rows, watched, bytes_before, note, \
         statements) \
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        params![
            round,
            arm,
            measured.slot,
            measured.status.name(),
            measured.error,
            measured.clients,
            measured.seconds,
            measured.pause_seconds,
            measured.check_seconds,
            measured.index_seconds,
            measured.target_rate,
            measured.counted_rows.map(|rows| rows as i64),
            measured.watched as i64,
            measured.bytes_before.map(|bytes| bytes as i64),
            measured.note,
            serde_json::to_string(&measured.statements).expect("text and numbers are JSON"),
        ],
    )?;
    let id = transaction.last_insert_rowid();
    measured.work.iter().try_for_each(|work| insert_work(transaction, id, work))?;
    insert_cost(transaction, "cost", id, &measured.cost)?;
    insert_cost(transaction, "slice_cost", id, &measured.slice_cost)?;
    insert_engine(transaction, id, &measured.engine)?;
    insert_series(transaction, (id, schema::HOST), &measured.samples, |metric| metric.name())?;
    insert_series(transaction, (id, schema::DBMS), &measured.engine_samples, |name| name)
}

fn insert_work(
    transaction: &Transaction<'_>,
    measurement: i64,
    work: &WorkRecord,
) -> Result<(), StoreError> {
    transaction.execute(
        "insert into work (measurement, client, operation, operations, rows, reads, writes, others, \
         retries, max_lag, service, response) \
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            measurement,
            work.client,
            work.operation.name(),
            work.operations as i64,
            work.rows as i64,
            work.reads as i64,
            work.writes as i64,
            work.others as i64,
            work.retries as i64,
            work.max_lag as i64,
            work.service.bytes(),
            work.response.as_ref().map(|times| times.bytes()),
        ],
    )?;
    let id = transaction.last_insert_rowid();
    let mut insert = transaction.prepare_cached(
        "insert into second (work, second, operations, rows, max_service) \
         values (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (index, second) in work.seconds.iter().enumerate() {
        insert.execute(params![
            id,
            index as i64,
            second.operations as i64,
            second.rows as i64,
            second.max_service as i64
        ])?;
    }
    Ok(())
}

fn insert_engine(
    transaction: &Transaction<'_>,
    measurement: i64,
    engine: &EngineReading,
) -> Result<(), StoreError> {
    let mut insert = transaction.prepare_cached("insert into engine values (?1, ?2, ?3, ?4)")?;
    let has_moved = |value: &EngineValue| value.kind == Kind::Gauge || value.value > 0;
    for (name, value) in engine.iter().filter(|(_, value)| has_moved(value)) {
        insert.execute(params![measurement, name, value.kind.name(), value.value as i64])?;
    }
    Ok(())
}

fn insert_series<N: Ord>(
    transaction: &Transaction<'_>,
    (measurement, source): (i64, &str),
    series: &Series<N>,
    name_of: impl Fn(&N) -> &str,
) -> Result<(), StoreError> {
    if series.is_empty() {
        return Ok(());
    }
    let mut insert =
        transaction.prepare_cached("insert into series values (?1, ?2, ?3, ?4, ?5)")?;
    let at = serde_json::to_string(series.at()).expect("numbers are JSON");
    insert.execute(params![measurement, source, schema::AT, Kind::Gauge.name(), at])?;
    for (name, column) in series.columns() {
        let values: Vec<Option<u64>> = column.values().collect();
        let values = serde_json::to_string(&values).expect("numbers are JSON");
        insert.execute(params![measurement, source, name_of(name), column.kind.name(), values])?;
    }
    Ok(())
}

fn insert_slices(
    transaction: &Transaction<'_>,
    round: i64,
    slices: &[SliceRecord],
) -> Result<(), StoreError> {
    let mut insert = transaction.prepare_cached(
        "insert into slice values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
         ?15, ?16, ?17, ?18)",
    )?;
    for slice in slices {
        insert.execute(params![
            round,
            slice.place,
            slice.client,
            slice.arm,
            slice.began as i64,
            slice.nanos as i64,
            slice.operations as i64,
            slice.warm_up_operations as i64,
            slice.rows as i64,
            slice.reads as i64,
            slice.writes as i64,
            slice.others as i64,
            slice.retries as i64,
            slice.client_cpu as i64,
            slice.server_cpu as i64,
            slice.server_run_queue_wait as i64,
            slice.server_switches as i64,
            slice.reading_cpu as i64,
        ])?;
    }
    Ok(())
}
