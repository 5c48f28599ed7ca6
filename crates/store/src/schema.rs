//! The tables of `results.sqlite`.

/// Incremented with every change that an older rqps could not read.
pub(crate) const VERSION: u32 = 7;

/// Sources of series, and the name of the row with the times of their samples.
pub(crate) const HOST: &str = "host";
pub(crate) const DBMS: &str = "dbms";
pub(crate) const AT: &str = "at";

/// Measured values only; derived values are computed on reading. Times are in nanoseconds unless a
/// column says seconds, metrics in the units of rqps's list of metrics.
pub(crate) const TABLES: &str = "
-- One row per contender that was started.
create table contender (
    name text primary key,          -- the label, or the contender as written
    spec text not null,             -- as written, without the label
    dbms text not null,
    version text not null,          -- as the server reports it
    source text not null,           -- npm, maven, system, a path, 'in rqps', 'running server'
    archive_sha256 text,
    server_sha256 text,
    compiler text,
    flags text,                     -- how it was compiled, as JSON
    libc text,
    transport text not null,        -- 'unix socket', 'tcp', 'in process'
    start_seconds real not null     -- until the server answers, data directory included
);
-- The settings in force, as the server reports them.
create table setting (
    contender text not null references contender (name),
    name text not null,
    value text not null,
    is_default integer not null,    -- 1: the server reports it as its default
    primary key (contender, name)
) without rowid;
-- The meanings of counters of the DBMS.
create table counter_meaning (
    contender text not null references contender (name),
    place integer not null,         -- from 0; the most specific first
    ends text not null,             -- the end of their names, in any case
    meaning text not null,          -- log_bytes, checkpoint_pages, …
    primary key (contender, place)
) without rowid;
-- One row per attempt at a test in a round. A single run has one round, with one contender in each
-- row, and the last attempt at a test counts. In a comparison, attempts count unless discarded.
create table round (
    id integer primary key,
    round integer not null,         -- from 1
    test text not null,             -- as in the posts: l.i0, qr100, point-query
    title text not null,            -- what it does
    grouped text,                   -- the group that it is shown in
    class text not null,            -- what the statements do: point, range, update, …
    counts text not null,           -- what throughput counts: rows_inserted, queries, …
    place integer not null,         -- among the tests of the plan, from 0
    part integer not null,          -- from 1: which arms, where not all fit in memory at once; in a
                                    -- single run, which contender
    load integer not null,          -- which of the independent loads of the data, from 1
    attempt integer not null,       -- from 1
    discarded text,                 -- why it was discarded; null if it counts
    started text not null,          -- RFC 3339
    seconds real not null,
    cpus text not null,             -- by client: the CPU of it and of the server's side, as JSON
    reference_loop text not null,   -- nanoseconds around whole runs, as JSON
    unique (round, test, part, attempt)
);
-- Cost of the whole machine, where several arms share it.
create table machine_cost (
    round integer not null references round (id) on delete cascade,
    metric text not null,
    value integer not null,
    primary key (round, metric)
) without rowid;
-- What one arm did in a round: a contender, or the A/A control.
create table measurement (
    id integer primary key,
    round integer not null references round (id) on delete cascade,
    arm text not null,
    slot integer not null,          -- in the order in which servers were started, from 0
    status text not null,           -- running, done, failed, overdue, interrupted
    error text,                     -- why it failed
    clients integer not null,
    seconds real not null,          -- of the measured windows; 0 where arms took turns in slices
    pause_seconds real not null,    -- maintenance and pause before the window
    check_seconds real not null,    -- the check after the window
    index_seconds real,
    target_rate real,               -- target rows per second over all clients
    counted_rows integer,           -- rows indexed or scanned
    watched integer not null,       -- operations while the counters of the DBMS were read
    bytes_before integer,           -- of the database's files; cost has those after
    note text,                      -- a note for the reader, such as a wait that was given up
    statements text not null,       -- as JSON: text, number in an operation, query plan as text
                                    -- and as a tree
    unique (round, arm)
);
-- One row per connection; in a comparison one per kind of operation, summed over all connections.
create table work (
    id integer primary key,
    measurement integer not null references measurement (id) on delete cascade,
    client integer not null,        -- from 1; 0 for the sum over all
    operation text not null,        -- insert, delete, query, transaction
    operations integer not null,
    rows integer not null,          -- inserted, deleted or returned, as the DBMS counts them
    reads integer not null,         -- statements that returned a result set
    writes integer not null,        -- statements that changed rows
    others integer not null,        -- statements that did neither
    retries integer not null,
    max_lag integer not null,       -- longest delay after an intended start
    service blob not null,          -- HdrHistogram V2 of start to end
    response blob                   -- HdrHistogram V2 of intended start to end
);
create index work_of_measurement on work (measurement);
-- Work in each second of the window, by the time operations ended.
create table second (
    work integer not null references work (id) on delete cascade,
    second integer not null,        -- from 0
    operations integer not null,
    rows integer not null,
    max_service integer not null,
    primary key (work, second)
) without rowid;
-- Cost of the window, or over all slices of all arms.
create table cost (
    measurement integer not null references measurement (id) on delete cascade,
    metric text not null,
    value integer not null,
    primary key (measurement, metric)
) without rowid;
-- Cost of the measured parts of an arm's slices, where it was read at their edges.
create table slice_cost (
    measurement integer not null references measurement (id) on delete cascade,
    metric text not null,
    value integer not null,
    primary key (measurement, metric)
) without rowid;
-- Counters of the DBMS, under its own names: differences of counters, and gauges at the end.
-- Counters that did not move are omitted.
create table engine (
    measurement integer not null references measurement (id) on delete cascade,
    name text not null,
    kind text not null,             -- counter, gauge
    value integer not null,         -- in the unit of the DBMS
    primary key (measurement, name)
) without rowid;
-- Samples taken about once a second, a row for each name; counters are over the time since the
-- previous sample. `select key, value from series, json_each(samples)` has a row for each.
create table series (
    measurement integer not null references measurement (id) on delete cascade,
    source text not null,           -- host: rqps's metrics; dbms: a few of its own counters
    name text not null,             -- 'at': seconds from the window's start to a sample's end
    kind text not null,             -- counter, gauge
    samples text not null,          -- a JSON array with an entry for each sample; null: not read
    primary key (measurement, source, name)
) without rowid;
-- What a client did in a slice. Times and CPU in nanoseconds.
create table slice (
    round integer not null references round (id) on delete cascade,
    place integer not null,         -- in the round of the test, from 0
    client integer not null,        -- from 1
    arm text not null,
    began integer not null,         -- monotonic clock
    nanos integer not null,
    operations integer not null,
    warm_up_operations integer not null,
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
    primary key (round, place, client)
) without rowid;
-- A run under the sampling of perf, after the verdicts; the stacks are in a file in profiles/.
create table profile (
    test text not null,
    contender text not null,
    round integer not null,         -- from 1
    turn integer not null,          -- of the contender in the round, from 0
    started text not null,          -- RFC 3339
    seconds real not null,
    statements integer not null,
    server_cpu integer not null,    -- nanoseconds, as the kernel counted it
    samples integer not null,
    has_kernel integer not null,    -- whether the kernel was sampled too
    file text not null,             -- in the run directory: gzip, a line for each stack
    primary key (test, contender, round)
) without rowid;
";
