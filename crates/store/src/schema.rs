//! The tables of `results.sqlite`.

/// Raised with every change that an older rqps could not read.
pub(crate) const VERSION: u32 = 6;

/// Columns that an rqps of the same version may not have made, with their tables: one that reads
/// takes what is not there for null, one that writes adds them.
pub(crate) const ADDED: [(&str, &str); 1] = [("contender", "flags")];

/// Sources of series, and the name of the times of their samples.
pub(crate) const HOST: &str = "host";
pub(crate) const DBMS: &str = "dbms";
pub(crate) const AT: &str = "at";

/// What workers and series are of.
#[derive(Clone, Copy)]
pub(crate) enum Owner {
    Step(i64),
    /// A contender's whole run in a pass.
    Side(i64),
}

impl Owner {
    /// The column that says so, and what it says.
    pub(crate) fn key(self) -> (&'static str, i64) {
        match self {
            Owner::Step(id) => ("step", id),
            Owner::Side(id) => ("side", id),
        }
    }
}

/// Measured values only; whatever can be derived is derived. Times are in nanoseconds unless a
/// column says seconds, metrics in the units of rqps's list of metrics.
pub(crate) const TABLES: &str = "
-- One row per contender that was started.
create table contender (
    name text primary key,          -- the label, or the contender as written
    spec text not null,             -- as written, without the label
    dbms text not null,
    version text not null,          -- as the server tells it
    source text not null,           -- npm, maven, system, a path, 'in rqps', 'running server'
    archive_sha256 text,
    server_sha256 text,
    compiler text,
    flags text,                     -- how it was compiled, as JSON
    libc text,
    transport text not null,        -- 'unix socket', 'tcp', 'in process'
    start_seconds real not null     -- from nothing to a server that answers
);
-- The settings in force, as the server tells them.
create table setting (
    contender text not null references contender (name),
    name text not null,
    value text not null,
    is_default integer not null,    -- 1: told to be as the server has it by itself
    primary key (contender, name)
) without rowid;
-- One row per attempt at a step; the one with the highest attempt counts.
create table step (
    id integer primary key,
    contender text not null,
    step text not null,             -- as in the posts: l.i0, qr100, point-query
    title text not null,            -- what it does
    grouped text,                   -- the steps that are shown together with it
    counts text not null,           -- what throughput counts: rows_inserted, queries, …
    place integer not null,         -- in the contender's run, from 0
    attempt integer not null,       -- from 1
    status text not null,           -- running, done, failed, interrupted
    error text,
    started text not null,          -- RFC 3339
    seconds real not null,          -- of the measured window
    pause_seconds real not null,    -- maintenance and pause before the window
    check_seconds real not null,    -- the check after the window
    clients integer not null,
    target_rate real,               -- rows per second over all clients
    counted_rows integer,           -- rows indexed or scanned
    index_seconds real,
    note text,                      -- what a reader must know, such as a wait that was given up
    statements text not null,       -- that were sent, as JSON: text, times in an operation, plan
    unique (contender, place, attempt)
);
-- One row per connection that worked in a step; of a whole run of a comparison one per kind of
-- operation, for all connections together.
create table worker (
    id integer primary key,
    step integer references step (id),
    side integer references pass_side (id) on delete cascade,
    client integer not null,        -- from 1; 0 for all together
    operation text not null,        -- insert, delete, query, transaction
    operations integer not null,
    rows integer not null,          -- inserted, deleted or returned, as the DBMS counts them
    reads integer not null,         -- statements that returned a result set
    writes integer not null,        -- statements that changed rows
    others integer not null,        -- statements that did neither
    retries integer not null,
    max_lag integer not null,       -- latest start after an intended start
    service blob not null,          -- HdrHistogram V2 of start to end
    response blob                   -- HdrHistogram V2 of intended start to end
);
create index worker_of_step on worker (step);
create index worker_of_side on worker (side);
-- What a worker did in each second of the window, by the time its operations ended.
create table second (
    worker integer not null references worker (id) on delete cascade,
    second integer not null,        -- from 0
    operations integer not null,
    rows integer not null,
    max_service integer not null,
    primary key (worker, second)
) without rowid;
-- Cost of the window.
create table cost (
    step integer not null references step (id),
    metric text not null,
    value integer not null,
    primary key (step, metric)
) without rowid;
-- What the DBMS counted itself over the window, under its own names: differences of counters, and
-- gauges as they were at its end.
create table engine_counter (
    step integer not null references step (id),
    name text not null,
    kind text not null,             -- counter, gauge
    value integer not null,         -- in the unit of the DBMS
    primary key (step, name)
) without rowid;
-- What was read about once a second of a step or of a whole run, a row for each name; counters are over
-- the time since the sample before. `select key, value from series, json_each(samples)` has a row for each.
create table series (
    step integer references step (id),
    side integer references pass_side (id) on delete cascade,
    source text not null,           -- host: rqps's metrics; dbms: a few of its own counters
    name text not null,             -- 'at': seconds from the start of the window to the end of a sample
    kind text not null,             -- counter, gauge
    samples text not null,          -- a JSON array with an entry for each sample; null: not read
    unique (step, source, name),
    unique (side, source, name)
);
";
