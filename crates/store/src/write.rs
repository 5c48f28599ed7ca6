//! Writing what was measured, a step at a time.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use rqps_observe::{EngineValue, Kind, Metric};
use rusqlite::{Transaction, params};

use crate::directory::RunDirectory;
use crate::error::StoreError;
use crate::packed::Stored;
use crate::record::{ContenderRecord, Status, StepRecord, WorkerRecord};
use crate::schema::{self, Owner};
use crate::series::Series;

impl RunDirectory {
    /// Keeps what a contender turned out to be; what was kept before is replaced.
    pub fn save_contender(&mut self, record: &ContenderRecord) -> Result<(), StoreError> {
        let flags = record
            .flags
            .as_ref()
            .map(|flags| serde_json::to_string(flags).expect("flags are plain data"));
        self.transact(|transaction| {
            transaction.execute("delete from setting where contender = ?1", [&record.name])?;
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
            Ok(())
        })
    }

    /// Notes that a step is begun. The record's attempt becomes one more than the last.
    pub fn begin_step(&mut self, record: &mut StepRecord) -> Result<(), StoreError> {
        let attempts: u32 = self.connection.query_row(
            "select coalesce(max(attempt), 0) from step where contender = ?1 and place = ?2",
            params![record.contender, record.order],
            |row| row.get(0),
        )?;
        record.attempt = attempts + 1;
        record.status = Status::Running;
        self.transact(|transaction| insert_step(transaction, record).map(drop))
    }

    /// Keeps a step that has ended, in place of the note that it was begun: all of it or nothing.
    pub fn finish_step(&mut self, record: &StepRecord) -> Result<(), StoreError> {
        self.transact(|transaction| {
            transaction.execute(
                "delete from step where contender = ?1 and place = ?2 and attempt = ?3",
                params![record.contender, record.order, record.attempt],
            )?;
            let step = insert_step(transaction, record)?;
            let owner = Owner::Step(step);
            for worker in &record.workers {
                insert_worker(transaction, owner, worker)?;
            }
            let mut cost = transaction
                .prepare("insert into cost (step, metric, value) values (?1, ?2, ?3)")?;
            for (metric, value) in record.cost.iter() {
                cost.execute(params![step, metric.name(), value as i64])?;
            }
            drop(cost);
            insert_engine(transaction, step, record)?;
            insert_samples(transaction, owner, &record.samples, &record.engine_samples)
        })
    }

    /// The places of the steps of a contender that are done.
    pub fn done_steps(&self, contender: &str) -> Result<Vec<u32>, StoreError> {
        let places = || {
            let mut select = self.connection.prepare(
                "select distinct place from step where contender = ?1 and status = 'done' order by place",
            )?;
            select.query_map([contender], |row| row.get(0))?.collect::<Result<_, rusqlite::Error>>()
        };
        places().map_err(|error| self.unreadable(error))
    }
}

fn insert_step(transaction: &Transaction<'_>, record: &StepRecord) -> Result<i64, StoreError> {
    transaction.execute(
        "insert into step (contender, step, title, grouped, counts, place, attempt, status, error, \
         started, seconds, pause_seconds, check_seconds, clients, target_rate, counted_rows, \
         index_seconds, note, statements) \
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
        params![
            record.contender,
            record.step,
            record.title,
            record.group,
            record.counts.name(),
            record.order,
            record.attempt,
            record.status.name(),
            record.error,
            record.started,
            record.seconds,
            record.pause_seconds,
            record.check_seconds,
            record.clients,
            record.target_rate,
            record.counted_rows.map(|rows| rows as i64),
            record.index_seconds,
            record.note,
            serde_json::to_string(&record.statements).expect("text and numbers are JSON"),
        ],
    )?;
    Ok(transaction.last_insert_rowid())
}

pub(crate) fn insert_worker<H: Stored>(
    transaction: &Transaction<'_>,
    owner: Owner,
    worker: &WorkerRecord<H>,
) -> Result<(), StoreError> {
    let (column, owner) = owner.key();
    let sql = format!(
        "insert into worker ({column}, client, operation, operations, rows, reads, writes, others, \
         retries, max_lag, service, response) \
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
    );
    transaction.execute(
        &sql,
        params![
            owner,
            worker.client,
            worker.operation.name(),
            worker.operations as i64,
            worker.rows as i64,
            worker.reads as i64,
            worker.writes as i64,
            worker.others as i64,
            worker.retries as i64,
            worker.max_lag as i64,
            worker.service.to_bytes(),
            worker.response.as_ref().map(H::to_bytes),
        ],
    )?;
    let id = transaction.last_insert_rowid();
    let mut insert = transaction.prepare(
        "insert into second (worker, second, operations, rows, max_service) \
         values (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (index, second) in worker.seconds.iter().enumerate() {
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

/// What was read about once a second: of the machine, and by the DBMS.
pub(crate) fn insert_samples(
    transaction: &Transaction<'_>,
    owner: Owner,
    samples: &Series<Metric>,
    of_engine: &Series<String>,
) -> Result<(), StoreError> {
    insert_series(transaction, (owner, schema::HOST), samples, |metric| metric.name())?;
    insert_series(transaction, (owner, schema::DBMS), of_engine, |name| name)
}

fn insert_series<N: Ord>(
    transaction: &Transaction<'_>,
    (owner, source): (Owner, &str),
    series: &Series<N>,
    name_of: impl Fn(&N) -> &str,
) -> Result<(), StoreError> {
    if series.is_empty() {
        return Ok(());
    }
    let (column, owner) = owner.key();
    let mut insert = transaction.prepare(&format!(
        "insert into series ({column}, source, name, kind, samples) values (?1, ?2, ?3, ?4, ?5)"
    ))?;
    let at = serde_json::to_string(series.at()).expect("numbers are JSON");
    insert.execute(params![owner, source, schema::AT, Kind::Gauge.name(), at])?;
    for (name, column) in series.columns() {
        let values: Vec<Option<u64>> = column.values().collect();
        let values = serde_json::to_string(&values).expect("numbers are JSON");
        insert.execute(params![owner, source, name_of(name), column.kind.name(), values])?;
    }
    Ok(())
}

fn insert_engine(
    transaction: &Transaction<'_>,
    step: i64,
    record: &StepRecord,
) -> Result<(), StoreError> {
    let mut insert = transaction
        .prepare("insert into engine_counter (step, name, kind, value) values (?1, ?2, ?3, ?4)")?;
    for (name, EngineValue { kind, value }) in record.engine.iter() {
        insert.execute(params![step, name, kind.name(), value as i64])?;
    }
    Ok(())
}

pub(crate) fn encode(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut bytes)
        .expect("writing to memory and counts below 2^63 cannot fail");
    bytes
}
