-- Turns results.sqlite of schema 6 into schema 7, once, for the runs in this folder: `convert` runs it.
-- What 6 did not store is what its rqps would have stored in 7: the class of a step, and what a test
-- of a comparison counts.
pragma foreign_keys = off;
pragma legacy_alter_table = on;
alter table contender rename to old_contender;
alter table setting rename to old_setting;
alter table step rename to old_step;
alter table worker rename to old_worker;
alter table second rename to old_second;
alter table cost rename to old_cost;
alter table engine_counter rename to old_engine;
alter table series rename to old_series;
alter table pass rename to old_pass;
alter table pass_side rename to old_side;
alter table pass_slice_cost rename to old_slice_cost;
alter table pass_engine rename to old_pass_engine;
alter table pass_cost rename to old_pass_cost;
alter table slice rename to old_slice;

create table contender (
    name text primary key,
    spec text not null,
    dbms text not null,
    version text not null,
    source text not null,
    archive_sha256 text,
    server_sha256 text,
    compiler text,
    flags text,
    libc text,
    transport text not null,
    start_seconds real not null
);
create table setting (
    contender text not null references contender (name),
    name text not null,
    value text not null,
    is_default integer not null,
    primary key (contender, name)
) without rowid;
create table counter_meaning (
    contender text not null references contender (name),
    place integer not null,
    ends text not null,
    meaning text not null,
    primary key (contender, place)
) without rowid;
create table round (
    id integer primary key,
    round integer not null,
    test text not null,
    title text not null,
    grouped text,
    class text not null,
    counts text not null,
    place integer not null,
    part integer not null,
    load integer not null,
    attempt integer not null,
    discarded text,
    started text not null,
    seconds real not null,
    cpus text not null,
    reference_loop text not null,
    unique (round, test, part, attempt)
);
create table machine_cost (
    round integer not null references round (id) on delete cascade,
    metric text not null,
    value integer not null,
    primary key (round, metric)
) without rowid;
create table measurement (
    id integer primary key,
    round integer not null references round (id) on delete cascade,
    arm text not null,
    slot integer not null,
    status text not null,
    error text,
    clients integer not null,
    seconds real not null,
    pause_seconds real not null,
    check_seconds real not null,
    index_seconds real,
    target_rate real,
    counted_rows integer,
    watched integer not null,
    bytes_before integer,
    note text,
    statements text not null,
    unique (round, arm)
);
create table work (
    id integer primary key,
    measurement integer not null references measurement (id) on delete cascade,
    client integer not null,
    operation text not null,
    operations integer not null,
    rows integer not null,
    reads integer not null,
    writes integer not null,
    others integer not null,
    retries integer not null,
    max_lag integer not null,
    service blob not null,
    response blob
);
create index work_of_measurement on work (measurement);
create table second (
    work integer not null references work (id) on delete cascade,
    second integer not null,
    operations integer not null,
    rows integer not null,
    max_service integer not null,
    primary key (work, second)
) without rowid;
create table cost (
    measurement integer not null references measurement (id) on delete cascade,
    metric text not null,
    value integer not null,
    primary key (measurement, metric)
) without rowid;
create table slice_cost (
    measurement integer not null references measurement (id) on delete cascade,
    metric text not null,
    value integer not null,
    primary key (measurement, metric)
) without rowid;
create table engine (
    measurement integer not null references measurement (id) on delete cascade,
    name text not null,
    kind text not null,
    value integer not null,
    primary key (measurement, name)
) without rowid;
create table series (
    measurement integer not null references measurement (id) on delete cascade,
    source text not null,
    name text not null,
    kind text not null,
    samples text not null,
    primary key (measurement, source, name)
) without rowid;
create table slice (
    round integer not null references round (id) on delete cascade,
    place integer not null,
    client integer not null,
    arm text not null,
    began integer not null,
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
    reading_cpu integer not null,
    primary key (round, place, client)
) without rowid;
insert into contender select name, spec, dbms, version, source, archive_sha256, server_sha256, compiler, flags, libc,
    transport, start_seconds from old_contender;
insert into setting select contender, name, value, is_default from old_setting;
with known (ends, meaning, place) as (values ('wal_bytes', 'log_bytes', 0), ('wal_sync', 'log_flushes', 1),
    ('buffers_checkpoint', 'checkpoint_pages', 2), ('pg_stat_checkpointer.buffers_written', 'checkpoint_pages', 3),
    ('buffers_clean', 'pages_written', 4), ('checkpoints_timed', 'checkpoints_timed', 5),
    ('num_timed', 'checkpoints_timed', 6), ('checkpoints_req', 'checkpoints_requested', 7),
    ('num_requested', 'checkpoints_requested', 8), ('blks_hit', 'cache_hits', 9),
    ('autovacuum_count', 'tables_vacuumed', 10), ('n_dead_tup', 'row_versions_left', 11),
    ('wal_buffers_full', 'writer_waits', 12))
insert into counter_meaning select name, place, ends, meaning from old_contender, known where dbms = 'postgres';

-- Contenders by their place in the plan, which convert puts into the table `planned`.
insert into round (round, test, title, grouped, class, counts, place, part, load, attempt, discarded, started, seconds,
        cpus, reference_loop)
    select 1, step, title, grouped,
        case when step in ('l.i0', 'l.i1', 'l.i2') then iif(step = 'l.i0', 'insert', 'queue')
            when step in ('l.x', 'load') then 'load' when step like 'qr%' then 'range'
            when step like 'qp%' or step like 'point-query%' then 'point' when step like 'update%' then 'update'
            when step = 'scan' then 'scan' else 'range' end,
        counts, place, (select place + 1 from planned where name = contender), 1, attempt, null, started, 0, '[]', '[]'
    from old_step order by id;
insert into measurement (id, round, arm, slot, status, error, clients, seconds, pause_seconds, check_seconds,
        index_seconds, target_rate, counted_rows, watched, bytes_before, note, statements)
    select s.id, r.id, s.contender, 0, s.status, s.error, s.clients, s.seconds, s.pause_seconds, s.check_seconds,
        s.index_seconds, s.target_rate, s.counted_rows, 0, null, s.note, s.statements
    from old_step s join round r on r.test = s.step and r.attempt = s.attempt
        and r.part = (select place + 1 from planned where name = s.contender);
insert into cost select step, metric, value from old_cost;
insert into engine select step, name, kind, value from old_engine;

insert into round (id, round, test, title, grouped, class, counts, place, part, load, attempt, discarded, started,
        seconds, cpus, reference_loop)
    select id, round, test, '', grouped, class,
        case when test in ('l.i0', 'l.i1', 'l.i2') then 'rows_inserted' when test = 'l.x' then 'rows_indexed'
            when test like 'qr%' or test like 'qp%' then 'queries' when test = 'scan' then 'rows_scanned'
            else 'statements' end,
        place, part, load, attempt, invalid, started, seconds, cpus, canary
    from old_pass;
insert into machine_cost select pass, metric, value from old_pass_cost where contender = '';
insert into measurement (id, round, arm, slot, status, error, clients, seconds, pause_seconds, check_seconds,
        index_seconds, target_rate, counted_rows, watched, bytes_before, note, statements)
    select id, pass, iif(contender = 'twin', 'A/A control', contender), slot, iif(failed is null, 'done', 'failed'), failed, 0, 0, 0, 0, null, target_rate, null,
        watched, bytes_before, note, statements from old_side;
insert into cost select s.id, c.metric, c.value from old_pass_cost c
    join old_side s on s.pass = c.pass and s.contender = c.contender;
insert into slice_cost select s.id, c.metric, c.value from old_slice_cost c
    join old_side s on s.pass = c.pass and s.contender = c.contender;
insert into engine select s.id, e.name, e.kind, e.value from old_pass_engine e
    join old_side s on s.pass = e.pass and s.contender = e.contender;
insert into slice select pass, place, client, iif(contender = 'twin', 'A/A control', contender), began, nanos, operations,
    head_operations, rows, reads, writes, others, retries, client_cpu, server_cpu, server_run_queue_wait, server_switches,
    reading_cpu from old_slice;

insert into work select id, coalesce(step, side), client, operation, operations, rows, reads, writes, others, retries,
    max_lag, service, response from old_worker;
insert into second select worker, second, operations, rows, max_service from old_second;
insert into series select coalesce(step, side), source, name, kind, samples from old_series;

drop table old_slice;
drop table old_pass_cost;
drop table old_pass_engine;
drop table old_slice_cost;
drop table old_series;
drop table old_second;
drop table old_worker;
drop table old_side;
drop table old_pass;
drop table old_engine;
drop table old_cost;
drop table old_step;
drop table old_setting;
drop table old_contender;
drop table planned;
pragma user_version = 7;
vacuum;
