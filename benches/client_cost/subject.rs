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
    /// Has the server know `sbtest1` and write what it has in memory, so that it does not do so
    /// later.
    pub(crate) settle: &'static [&'static str],
}

pub(crate) static SUBJECTS: [Subject; 2] = [
    Subject {
        dbms: Dbms::Postgres,
        contender: "postgres@17.6",
        dialect: Dialect::Postgres,
        target: Target::Postgres,
        settle: &["vacuum analyze sbtest1", "checkpoint"],
    },
    Subject {
        dbms: Dbms::Mysql,
        contender: "mysql@8.0.33",
        dialect: Dialect::Innodb,
        target: Target::Mysql,
        settle: &["analyze table sbtest1", "flush engine logs"],
    },
];

/// A subject by the name of its DBMS.
pub(crate) fn named(name: &str) -> Option<&'static Subject> {
    SUBJECTS.iter().find(|subject| subject.dbms.name() == name)
}
