//! What a comparison keeps: a pass is one test in one round, with every contender in it.

use std::collections::BTreeMap;

use rqps_observe::{EngineReading, EngineValue, Kind, Metric, Reading};
use rqps_plan::Class;
use rusqlite::{Connection, Row, Transaction, params};

use crate::error::StoreError;
use crate::read::{
    client, count, engine_values, json, known, metric, nanos, place, samples, seconds, some_count,
    some_text, statements, target_rate, text, workers,
};
use crate::schema::Owner;
use crate::write::{insert_samples, insert_worker};
use crate::{PackedHistogram, RunDirectory, Series, StatementRecord, WorkerRecord};

/// One test in one round. All its contenders were started for this round.
#[derive(Clone, Debug, PartialEq)]
pub struct PassRecord {
    /// Counted from 1.
    pub round: u32,
    pub test: String,
    /// Its place among the tests of the plan.
    pub place: u32,
    /// Which of the groups of contenders it is of, counted from 1, where not all fit into the
    /// memory at once; otherwise 1.
    pub part: u32,
    pub class: Class,
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
    /// By client: the CPU that it and who answers it were bound to; empty if they were free.
    pub cpus: Vec<u32>,
    /// Nanoseconds of the fixed loop that is run before and after.
    pub canary: Vec<u64>,
    /// By contender: what its server cost over the pass, and the host under an empty name.
    pub cost: BTreeMap<String, Reading>,
    /// By contender: what is known of its part beside its slices.
    pub sides: BTreeMap<String, SideRecord>,
    /// In the order in which they were driven; of several clients, one after the other.
    pub slices: Vec<SliceRecord>,
}

impl PassRecord {
    /// Nothing is measured in it yet.
    pub fn new(class: Class) -> Self {
        PassRecord {
            round: 0,
            test: String::new(),
            place: 0,
            part: 0,
            class,
            group: String::new(),
            load: 0,
            attempt: 0,
            invalid: None,
            started: String::new(),
            seconds: 0.0,
            cpus: Vec::new(),
            canary: Vec::new(),
            cost: BTreeMap::new(),
            sides: BTreeMap::new(),
            slices: Vec::new(),
        }
    }
}

/// A contender's part in a pass, beside its slices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SideRecord {
    /// Its place among the servers of the round, in the order in which they were started, from 0.
    pub slot: u32,
    /// Operations while the DBMS's counters were watched: those of the warm-up and of unmeasured
    /// heads are among them.
    pub watched: u64,
    /// What the DBMS counted itself meanwhile, under its own names. What did not move is left out.
    pub engine: EngineReading,
    /// What it cost in the measured parts of its slices alone, where that was read at their edges.
    pub cost: Reading,
    /// Bytes of the database's files before; the cost has those after.
    pub bytes_before: Option<u64>,
    /// What its clients send, and how the DBMS carries it out.
    pub statements: Vec<StatementRecord>,
    /// What a reader must know, such as maintenance before it that was given up.
    pub note: Option<String>,
    /// Why it did not go on: what was met, and how its server ended.
    pub failed: Option<String>,
    /// Of a whole run: rows per second over all clients that it promises to insert; none if
    /// unlimited.
    pub target_rate: Option<f64>,
    /// Of a whole run: what all clients did together, an entry for each kind of operation.
    pub work: Vec<WorkerRecord<PackedHistogram>>,
    /// Of a whole run: what it cost, about once a second; not every metric of a step.
    pub samples: Series<Metric>,
    /// Of a whole run: a few counters of the DBMS, about once a second.
    pub engine_samples: Series<String>,
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
    /// Nanoseconds of CPU of the client that reading the counters took, beside the measured part.
    pub reading_cpu: u64,
}

pub(crate) const TABLES: &str = "
-- One row per test and round of a comparison.
create table pass (
    id integer primary key,
    round integer not null,         -- from 1
    test text not null,
    place integer not null,         -- among the tests of the plan, from 0
    part integer not null,          -- which group of contenders, from 1, where not all fit at once
    class text not null,            -- what the statements do: point, range, update, …
    grouped text not null,          -- the tests that are shown together with it
    load integer not null,          -- which of the independent loads of the data, from 1
    attempt integer not null,       -- from 1
    invalid text,                   -- why it does not count
    started text not null,          -- RFC 3339
    seconds real not null,
    cpus text not null,             -- by client: that it and who answers it were bound to, as JSON
    canary text not null,           -- nanoseconds of the fixed loop before and after, as JSON
    unique (round, test, part, attempt)
);
-- A contender's part in a pass, beside its slices.
create table pass_side (
    id integer primary key,
    pass integer not null references pass (id) on delete cascade,
    contender text not null,
    slot integer not null,          -- in the order in which servers were started, from 0
    watched integer not null,       -- operations in the window of pass_engine
    bytes_before integer,           -- of the database's files; pass_cost has those after
    statements text not null,       -- that were sent, as JSON: text, times in an operation, plan
    target_rate real,               -- of a whole run: rows per second over all clients
    note text,                      -- what a reader must know, such as maintenance that was given up
    failed text,                    -- why it did not go on
    unique (pass, contender)
);
-- Cost of the measured parts of a contender's slices, where it was read at their edges.
create table pass_slice_cost (
    pass integer not null references pass (id) on delete cascade,
    contender text not null,
    metric text not null,
    value integer not null,
    primary key (pass, contender, metric)
) without rowid;
-- What a DBMS counted itself from before the warm-up of a pass to its end, under its own names;
-- counters that did not move are left out.
create table pass_engine (
    pass integer not null references pass (id) on delete cascade,
    contender text not null,
    name text not null,
    kind text not null,             -- counter, gauge
    value integer not null,         -- in the unit of the DBMS
    primary key (pass, contender, name)
) without rowid;
-- Cost of a contender's server over a pass; of the host where the contender is empty.
create table pass_cost (
    pass integer not null references pass (id) on delete cascade,
    contender text not null,
    metric text not null,
    value integer not null,
    primary key (pass, contender, metric)
) without rowid;
-- What a client did in a slice. Times and CPU in nanoseconds.
create table slice (
    pass integer not null references pass (id) on delete cascade,
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
    reading_cpu integer not null,   -- of the client, for reading counters beside the measured part
    primary key (pass, place, client)
) without rowid;
";

impl RunDirectory {
    /// Keeps a pass: all of it or nothing.
    pub fn save_pass(&mut self, pass: &PassRecord) -> Result<(), StoreError> {
        self.transact(|transaction| insert(transaction, pass))
    }

    /// Keeps passes in the place of all that was kept of their tests in their rounds: a round of
    /// whole runs as far as it has come. All of them or nothing.
    pub fn replace_passes(&mut self, passes: &[&PassRecord]) -> Result<(), StoreError> {
        self.transact(|transaction| {
            for pass in passes {
                transaction.execute(
                    "delete from pass where round = ?1 and test = ?2 and part = ?3",
                    params![pass.round, pass.test, pass.part],
                )?;
            }
            passes.iter().try_for_each(|pass| insert(transaction, pass))
        })
    }

    /// The passes that are kept, in the order in which they were made.
    pub fn passes(&self) -> Result<Vec<PassRecord>, StoreError> {
        passes(&self.connection).map_err(|error| self.unreadable(error))
    }
}

fn insert(transaction: &Transaction<'_>, pass: &PassRecord) -> Result<(), StoreError> {
    let id = insert_pass(transaction, pass)?;
    let mut cost = transaction.prepare(
        "insert into pass_cost (pass, contender, metric, value) values (?1, ?2, ?3, ?4)",
    )?;
    for (contender, reading) in &pass.cost {
        for (metric, value) in reading.iter() {
            cost.execute(params![id, contender, metric.name(), value as i64])?;
        }
    }
    for (contender, side) in &pass.sides {
        insert_side(transaction, id, contender, side)?;
    }
    insert_slices(transaction, id, &pass.slices)
}

fn insert_pass(transaction: &Transaction<'_>, pass: &PassRecord) -> Result<i64, StoreError> {
    let json = |list: &[u64]| serde_json::to_string(list).expect("numbers are JSON");
    let cpus: Vec<u64> = pass.cpus.iter().map(|cpu| u64::from(*cpu)).collect();
    transaction.execute(
        "insert into pass (round, test, place, part, class, grouped, load, attempt, invalid, \
         started, seconds, cpus, canary) \
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            pass.round,
            pass.test,
            pass.place,
            pass.part,
            pass.class.name(),
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

fn insert_side(
    transaction: &Transaction<'_>,
    pass: i64,
    contender: &str,
    side: &SideRecord,
) -> Result<(), StoreError> {
    transaction.execute(
        "insert into pass_side (pass, contender, slot, watched, bytes_before, statements, \
         target_rate, note, failed) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            pass,
            contender,
            side.slot,
            side.watched as i64,
            side.bytes_before.map(|bytes| bytes as i64),
            serde_json::to_string(&side.statements).expect("text and numbers are JSON"),
            side.target_rate,
            side.note,
            side.failed,
        ],
    )?;
    let owner = Owner::Side(transaction.last_insert_rowid());
    for work in &side.work {
        insert_worker(transaction, owner, work)?;
    }
    insert_samples(transaction, owner, &side.samples, &side.engine_samples)?;
    let mut insert = transaction.prepare("insert into pass_slice_cost values (?1, ?2, ?3, ?4)")?;
    for (metric, value) in side.cost.iter() {
        insert.execute(params![pass, contender, metric.name(), value as i64])?;
    }
    let mut insert = transaction.prepare("insert into pass_engine values (?1, ?2, ?3, ?4, ?5)")?;
    let moved = |value: &EngineValue| value.kind == Kind::Gauge || value.value > 0;
    for (name, value) in side.engine.iter().filter(|(_, value)| moved(value)) {
        let EngineValue { kind, value } = value;
        insert.execute(params![pass, contender, name, kind.name(), value as i64])?;
    }
    Ok(())
}

fn insert_slices(
    transaction: &Transaction<'_>,
    pass: i64,
    slices: &[SliceRecord],
) -> Result<(), StoreError> {
    let mut insert = transaction.prepare(
        "insert into slice values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
         ?15, ?16, ?17, ?18)",
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
            slice.reading_cpu as i64,
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
        pass.cost = costs(connection, "pass_cost", id)?;
        pass.sides = sides(connection, id)?;
        pass.slices = slices(connection, id)?;
        passes.push(pass);
    }
    Ok(passes)
}

fn pass(row: &Row<'_>) -> Result<PassRecord, rusqlite::Error> {
    Ok(PassRecord {
        round: row.get("round")?,
        test: text(row, "test")?,
        place: row.get("place")?,
        part: row.get("part")?,
        class: known(row, "class", Class::from_name)?,
        group: text(row, "grouped")?,
        load: row.get("load")?,
        attempt: row.get("attempt")?,
        invalid: some_text(row, "invalid")?,
        started: text(row, "started")?,
        seconds: seconds(row, "seconds")?,
        cpus: json(row, "cpus")?,
        canary: json(row, "canary")?,
        cost: BTreeMap::new(),
        sides: BTreeMap::new(),
        slices: Vec::new(),
    })
}

/// By contender, from one of the tables of costs.
fn costs(
    connection: &Connection,
    table: &str,
    pass: i64,
) -> Result<BTreeMap<String, Reading>, rusqlite::Error> {
    let sql = format!("select contender, metric, value from {table} where pass = ?1");
    let mut select = connection.prepare(&sql)?;
    let mut rows = select.query([pass])?;
    let mut costs: BTreeMap<String, Reading> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        costs.entry(text(row, "contender")?).or_default().set(metric(row)?, count(row, "value")?);
    }
    Ok(costs)
}

fn sides(
    connection: &Connection,
    pass: i64,
) -> Result<BTreeMap<String, SideRecord>, rusqlite::Error> {
    let mut select = connection.prepare("select * from pass_side where pass = ?1")?;
    let rows = select.query_map([pass], |row| {
        let side = SideRecord {
            slot: row.get("slot")?,
            watched: count(row, "watched")?,
            bytes_before: some_count(row, "bytes_before")?,
            statements: statements(row)?,
            note: some_text(row, "note")?,
            failed: some_text(row, "failed")?,
            target_rate: target_rate(row)?,
            ..SideRecord::default()
        };
        Ok((row.get::<_, i64>("id")?, text(row, "contender")?, side))
    })?;
    let mut sides = BTreeMap::new();
    let mut in_slices = costs(connection, "pass_slice_cost", pass)?;
    for row in rows {
        let (id, contender, mut side) = row?;
        side.cost = in_slices.remove(&contender).unwrap_or_default();
        let mut select = connection.prepare(
            "select name, kind, value from pass_engine where pass = ?1 and contender = ?2",
        )?;
        side.engine = engine_values(&mut select.query(params![pass, contender])?)?;
        let owner = Owner::Side(id);
        side.work = workers(connection, owner)?;
        (side.samples, side.engine_samples) = samples(connection, owner)?;
        sides.insert(contender, side);
    }
    Ok(sides)
}

fn slices(connection: &Connection, pass: i64) -> Result<Vec<SliceRecord>, rusqlite::Error> {
    let mut select =
        connection.prepare("select * from slice where pass = ?1 order by place, client")?;
    let rows = select.query_map([pass], |row| {
        Ok(SliceRecord {
            place: place(row)?,
            client: client(row)?,
            contender: text(row, "contender")?,
            began: count(row, "began")?,
            nanos: nanos(row)?,
            operations: count(row, "operations")?,
            head_operations: count(row, "head_operations")?,
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
