//! The statements that clients are compared on: tests of the microbenchmarks, one row each.

use std::ops::RangeInclusive;

use rqps_plan::Dbms;

/// What rqps runs for a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Its own test.
    Test,
    /// pgbench's script, prepared.
    Pgbench,
    /// sysbench's script.
    Lua,
}

/// A test, the same for all clients.
pub(crate) struct Statement {
    /// rqps's name of the test.
    pub(crate) name: &'static str,
    /// Rows that one operation returns or changes.
    pub(crate) rows: RangeInclusive<u64>,
    /// sysbench's script for it, if there is one, and the options that are the script's own. One
    /// that ends in `.lua` is a file beside this one.
    pub(crate) sysbench: &'static [&'static str],
    /// pgbench's script for it, a file beside this one.
    pub(crate) pgbench: Option<&'static str>,
    /// What rqps runs.
    pub(crate) way: Way,
    /// Whether subjects have its bytes for a bare socket.
    pub(crate) raw: bool,
    /// Operations of each client in a round.
    pub(crate) operations: u64,
    /// The limit of rqps's CPU, as a part of sysbench's; of pgbench's where rqps runs its script.
    pub(crate) cpu: f64,
    /// The limit of user-space instructions per operation; those of sysbench if none is given.
    pub(crate) instructions: &'static [(Dbms, f64)],
}

pub(crate) static STATEMENTS: [Statement; 8] = [
    Statement {
        name: "point-query",
        rows: 1..=1,
        sysbench: &["oltp_point_select"],
        pgbench: Some("point_query.sql"),
        way: Way::Test,
        raw: true,
        operations: 200_000,
        cpu: 0.85,
        instructions: &[(Dbms::Postgres, 800.0), (Dbms::Mysql, 900.0)],
    },
    Statement {
        name: "pgbench-script",
        rows: 1..=1,
        sysbench: &[],
        pgbench: Some("point_query.sql"),
        way: Way::Pgbench,
        raw: false,
        operations: 200_000,
        cpu: 0.85,
        instructions: &[],
    },
    Statement {
        name: "lua",
        rows: 1..=1,
        sysbench: &["oltp_point_select"],
        pgbench: None,
        way: Way::Lua,
        raw: false,
        operations: 200_000,
        cpu: 1.0,
        instructions: &[],
    },
    Statement {
        name: "lua-random-points",
        // A list may name a key twice.
        rows: 900..=1000,
        sysbench: &["random_points.lua", "--points=1000"],
        pgbench: None,
        way: Way::Lua,
        raw: false,
        operations: 2_000,
        cpu: 1.0,
        instructions: &[],
    },
    Statement {
        name: "random-points_range=1000",
        // A list may name a key twice.
        rows: 900..=1000,
        sysbench: &["random_points.lua", "--points=1000"],
        pgbench: None,
        way: Way::Test,
        raw: false,
        operations: 2_000,
        cpu: 1.0,
        instructions: &[],
    },
    Statement {
        name: "read-only_range=10000",
        // A range is shorter where the table ends.
        rows: 14..=30_011,
        sysbench: &["oltp_read_only", "--range-size=10000"],
        pgbench: None,
        way: Way::Test,
        raw: false,
        operations: 60,
        cpu: 1.0,
        instructions: &[],
    },
    Statement {
        name: "update-index",
        rows: 1..=1,
        sysbench: &["oltp_update_index"],
        pgbench: None,
        way: Way::Test,
        raw: false,
        operations: 20_000,
        cpu: 1.0,
        instructions: &[],
    },
    Statement {
        name: "insert",
        rows: 1..=1,
        sysbench: &["oltp_insert"],
        pgbench: None,
        way: Way::Test,
        raw: false,
        operations: 20_000,
        cpu: 1.0,
        instructions: &[],
    },
];

/// A statement by its name.
pub(crate) fn named(name: &str) -> Option<&'static Statement> {
    STATEMENTS.iter().find(|statement| statement.name == name)
}
