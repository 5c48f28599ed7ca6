//! The DBMSs that clients are compared on, a row each.

use rqps_plan::Dbms;
use rqps_wire::{Login, Target};
use rqps_workload::Dialect;

pub(crate) struct Subject {
    pub(crate) dbms: Dbms,
    /// The build, as rqps is told it.
    pub(crate) contender: &'static str,
    pub(crate) dialect: Dialect,
    /// Where a login of this DBMS leads.
    pub(crate) target: fn(Login) -> Target,
    /// What makes sysbench's table `sbtest1` of [`ROWS`](crate::server::ROWS) rows, without need
    /// of a sysbench.
    pub(crate) fill: &'static [&'static str],
    /// Has the server write what it has in memory, so that it does not do so later.
    pub(crate) settle: &'static str,
}

pub(crate) static SUBJECTS: [Subject; 2] = [
    Subject {
        dbms: Dbms::Postgres,
        contender: "postgres@17.6",
        dialect: Dialect::Postgres,
        target: Target::Postgres,
        fill: &[
            "create table sbtest1 (id serial primary key, k integer not null default 0, \
             c char(120) not null default '', pad char(60) not null default '')",
            "insert into sbtest1 (k, c, pad) select 1 + floor(random() * 100000)::integer, \
             substr(repeat(md5(id::text), 4), 1, 119), substr(repeat(md5(id::text), 2), 1, 59) \
             from generate_series(1, 100000) id",
            "create index k_1 on sbtest1 (k)",
            "vacuum analyze sbtest1",
        ],
        settle: "checkpoint",
    },
    Subject {
        dbms: Dbms::Mysql,
        contender: "mysql@8.0.33",
        dialect: Dialect::Innodb,
        target: Target::Mysql,
        fill: &[
            "create table sbtest1 (id integer not null auto_increment primary key, \
             k integer not null default 0, c char(120) not null default '', \
             pad char(60) not null default '') engine = innodb",
            "set session cte_max_recursion_depth = 100000",
            "insert into sbtest1 (k, c, pad) with recursive ids (id) as \
             (select 1 union all select id + 1 from ids where id < 100000) \
             select 1 + floor(rand() * 100000), substr(repeat(md5(id), 4), 1, 119), \
             substr(repeat(md5(id), 2), 1, 59) from ids",
            "create index k_1 on sbtest1 (k)",
            "analyze table sbtest1",
        ],
        settle: "flush engine logs",
    },
];

/// A subject by the name of its DBMS.
pub(crate) fn named(name: &str) -> Option<&'static Subject> {
    SUBJECTS.iter().find(|subject| subject.dbms.name() == name)
}
