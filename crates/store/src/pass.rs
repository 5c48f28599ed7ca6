//! What a comparison keeps: a pass is one test in one round, with every contender in it.

use std::collections::BTreeMap;

use rqps_observe::{Metric, Reading};
use rusqlite::{Connection, Row, Transaction, params};

use crate::RunDirectory;
use crate::error::StoreError;

/// One test in one round. All its contenders were started for this round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassRecord {
    /// Counted from 1.
    pub round: u32,
    pub test: String,
    /// Its place among the tests of the plan.
    pub place: u32,
    /// What its statements do, such as `point`, `range` or `update`: tests of a class have much in
    /// common.
    pub class: String,
    /// The tests that are shown together with it.
    pub group: String,
    /// Which of the independent loads the data came from, counted from 1.
    pub load: u32,
    /// 1, or more when a guard made it be repeated.
    pub attempt: u32,
    /// Why it does not count; none if it does. Guards do not look at the result.
    pub invalid: Option<String>,
    /// RFC 3339.
    pub started: String,
    pub seconds: f64,
    /// CPUs that clients and servers were bound to; empty if they were free.
    pub cpus: Vec<u32>,
    /// Nanoseconds of the fixed loop that is run before and after.
    pub canary: Vec<u64>,
    /// By contender: what its server cost over the pass, and the host under an empty name.
    pub cost: BTreeMap<String, Reading>,
    /// In the order in which they were driven; of several clients, one after the other.
    pub slices: Vec<SliceRecord>,
}

/// What one client did with one contender in one slice; a whole run is a single slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceRecord {
    /// Its place in the pass, the same for all clients.
    pub place: u32,
    /// Counted from 1.
    pub client: u32,
    pub contender: String,
    /// Nanoseconds of the monotonic clock.
    pub began: u64,
    /// Nanoseconds of the measured part.
    pub nanos: u64,
    pub operations: u64,
    /// Before the measured part.
    pub head_operations: u64,
    pub rows: u64,
    pub reads: u64,
    pub writes: u64,
    pub others: u64,
    pub retries: u64,
    /// Nanoseconds of CPU.
    pub client_cpu: u64,
    /// Nanoseconds of CPU of the server.
    pub server_cpu: u64,
    /// Nanoseconds that the server's threads waited for a CPU.
    pub server_run_queue_wait: u64,
    /// How often a thread of the server was put on a CPU.
    pub server_switches: u64,
}

pub(crate) const TABLES: &str = "
-- One row per test and round of a comparison.
create table pass (
    id integer primary key,
    round integer not null,         -- from 1
    test text not null,
    place integer not null,         -- among the tests of the plan, from 0
    class text not null,            -- what the statements do: point, range, update, …
    grouped text not null,          -- the tests that are shown together with it
    load integer not null,          -- which of the independent loads of the data, from 1
    attempt integer not null,       -- from 1
    invalid text,                   -- why it does not count
    started text not null,          -- RFC 3339
    seconds real not null,
    cpus text not null,             -- that everything was bound to, as JSON
    canary text not null,           -- nanoseconds of the fixed loop before and after, as JSON
    unique (round, test, attempt)
);
-- Cost of a contender's server over a pass; of the host where the contender is empty.
create table pass_cost (
    pass integer not null references pass (id),
    contender text not null,
    metric text not null,
    value integer not null,
    primary key (pass, contender, metric)
) without rowid;
-- What a client did in a slice. Times and CPU in nanoseconds.
create table slice (
    pass integer not null references pass (id),
    place integer not null,         -- in the pass, from 0
    client integer not null,        -- from 1
    contender text not null,
    began integer not null,         -- monotonic clock
    nanos integer not null,
    operations integer not null,
    head_operations integer not null,
    rows integer not null,
    reads integer not null,
    writes integer not null,
    others integer not null,
    retries integer not null,
    client_cpu integer not null,
    server_cpu integer not null,
    server_run_queue_wait integer not null,
    server_switches integer not null,
    primary key (pass, place, client)
) without rowid;
";

impl RunDirectory {
    /// Keeps a pass: all of it or nothing.
    pub fn save_pass(&mut self, pass: &PassRecord) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        let id = insert_pass(&transaction, pass)?;
        let mut cost = transaction.prepare(
            "insert into pass_cost (pass, contender, metric, value) values (?1, ?2, ?3, ?4)",
        )?;
        for (contender, reading) in &pass.cost {
            for (metric, value) in reading.iter() {
                cost.execute(params![id, contender, metric.name(), value as i64])?;
            }
        }
        drop(cost);
        insert_slices(&transaction, id, &pass.slices)?;
        Ok(transaction.commit()?)
    }

    /// The passes that are kept, in the order in which they were made.
    pub fn passes(&self) -> Result<Vec<PassRecord>, StoreError> {
        Ok(passes(&self.connection)?)
    }
}

fn insert_pass(transaction: &Transaction<'_>, pass: &PassRecord) -> Result<i64, StoreError> {
    let json = |list: &[u64]| serde_json::to_string(list).expect("numbers are JSON");
    let cpus: Vec<u64> = pass.cpus.iter().map(|cpu| u64::from(*cpu)).collect();
    transaction.execute(
        "insert into pass (round, test, place, class, grouped, load, attempt, invalid, started, \
         seconds, cpus, canary) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        params![
            pass.round,
            pass.test,
            pass.place,
            pass.class,
            pass.group,
            pass.load,
            pass.attempt,
            pass.invalid,
            pass.started,
            pass.seconds,
            json(&cpus),
            json(&pass.canary),
        ],
    )?;
    Ok(transaction.last_insert_rowid())
}

fn insert_slices(
    transaction: &Transaction<'_>,
    pass: i64,
    slices: &[SliceRecord],
) -> Result<(), StoreError> {
    let mut insert = transaction.prepare(
        "insert into slice values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
         ?15, ?16, ?17)",
    )?;
    for slice in slices {
        insert.execute(params![
            pass,
            slice.place,
            slice.client,
            slice.contender,
            slice.began as i64,
            slice.nanos as i64,
            slice.operations as i64,
            slice.head_operations as i64,
            slice.rows as i64,
            slice.reads as i64,
            slice.writes as i64,
            slice.others as i64,
            slice.retries as i64,
            slice.client_cpu as i64,
            slice.server_cpu as i64,
            slice.server_run_queue_wait as i64,
            slice.server_switches as i64,
        ])?;
    }
    Ok(())
}

pub(crate) fn passes(connection: &Connection) -> Result<Vec<PassRecord>, rusqlite::Error> {
    let mut select = connection.prepare("select * from pass order by id")?;
    let rows = select.query_map([], |row| Ok((row.get::<_, i64>("id")?, pass(row)?)))?;
    let mut passes = Vec::new();
    for row in rows {
        let (id, mut pass) = row?;
        pass.cost = costs(connection, id)?;
        pass.slices = slices(connection, id)?;
        passes.push(pass);
    }
    Ok(passes)
}

fn pass(row: &Row<'_>) -> Result<PassRecord, rusqlite::Error> {
    let json = |column: &str| row.get::<_, String>(column);
    let broken = |_| rusqlite::Error::InvalidQuery;
    Ok(PassRecord {
        round: row.get("round")?,
        test: row.get("test")?,
        place: row.get("place")?,
        class: row.get("class")?,
        group: row.get("grouped")?,
        load: row.get("load")?,
        attempt: row.get("attempt")?,
        invalid: row.get("invalid")?,
        started: row.get("started")?,
        seconds: row.get("seconds")?,
        cpus: serde_json::from_str(&json("cpus")?).map_err(broken)?,
        canary: serde_json::from_str(&json("canary")?).map_err(broken)?,
        cost: BTreeMap::new(),
        slices: Vec::new(),
    })
}

fn costs(connection: &Connection, pass: i64) -> Result<BTreeMap<String, Reading>, rusqlite::Error> {
    let mut select =
        connection.prepare("select contender, metric, value from pass_cost where pass = ?1")?;
    let mut rows = select.query([pass])?;
    let mut costs: BTreeMap<String, Reading> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let metric = Metric::from_name(&row.get::<_, String>(1)?);
        let metric = metric.ok_or(rusqlite::Error::InvalidQuery)?;
        costs.entry(row.get(0)?).or_default().set(metric, row.get::<_, i64>(2)? as u64);
    }
    Ok(costs)
}

fn slices(connection: &Connection, pass: i64) -> Result<Vec<SliceRecord>, rusqlite::Error> {
    let mut select =
        connection.prepare("select * from slice where pass = ?1 order by place, client")?;
    let rows = select.query_map([pass], |row| {
        let count = |index: usize| row.get::<_, i64>(index).map(|count| count as u64);
        Ok(SliceRecord {
            place: row.get(1)?,
            client: row.get(2)?,
            contender: row.get(3)?,
            began: count(4)?,
            nanos: count(5)?,
            operations: count(6)?,
            head_operations: count(7)?,
            rows: count(8)?,
            reads: count(9)?,
            writes: count(10)?,
            others: count(11)?,
            retries: count(12)?,
            client_cpu: count(13)?,
            server_cpu: count(14)?,
            server_run_queue_wait: count(15)?,
            server_switches: count(16)?,
        })
    })?;
    rows.collect()
}
