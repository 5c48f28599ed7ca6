//! The benchmarks: their data, their statements in each dialect, and the checks of the data. This
//! crate knows nothing about timing or the cost of an operation.
//!
//! A new benchmark is a folder here and in `plan`, with a row in each table below.

mod answers;
mod asked;
mod capture;
mod check;
mod dbbench;
mod explain;
mod expression;
mod index_only;
pub mod insert_benchmark;
pub mod lua;
pub mod microbenchmark;
pub mod pgbench;
mod random;
mod script;
mod script_text;
mod sql;
mod task;
mod tpcc;

use std::str::FromStr;

use rqps_plan::{Contender, Workload, suggestion};

pub use answers::{
    AnswerExaminer, AnsweringArm, ArmAnswers, ArmRole, TestAnswers, examiner, has_answers,
};
pub use asked::{Asked, FlagError, StatementTexts, Verb, Wanted};
pub use capture::{
    Capture, CaptureError, CaptureOptions, CaptureSummary, DataOptions, SourceData, TableSample,
    WrittenData, WrittenTable, capture_file, capture_server,
};
pub use check::CheckError;
pub use explain::Explained;
pub use random::{Random, stream};
pub use rqps_dbms::Dialect;
pub use sql::{
    CheckedFolder, FolderFaults, PlaceFile, RefusedStatement, check_files, check_folder, place_file,
};
pub use task::{
    Assigned, Counted, Driver, End, Part, Rest, Site, Takes, Task, TaskClients, TimeLimit,
    WorkloadError,
};

use asked::Comparable;

/// What a workload consists of.
pub fn tasks(workload: &Workload) -> Result<Vec<Task>, WorkloadError> {
    match workload {
        Workload::InsertBenchmark(plan) => Ok(insert_benchmark::tasks(plan)),
        Workload::LuaWorkload(plan) => Ok(lua::tasks(plan)),
        Workload::Microbenchmark(plan) => microbenchmark::tasks(plan),
        Workload::Pgbench(plan) => Ok(pgbench::tasks(plan)),
        Workload::SqlWorkload(plan) => sql::tasks(plan),
        Workload::Tpcc(plan) => Ok(tpcc::tasks(plan)),
        Workload::Dbbench(plan) => dbbench::tasks(plan),
    }
}

/// Runs a workload on a server.
pub fn driver<'a>(
    workload: &'a Workload,
    site: Site<'a>,
) -> Result<Box<dyn Driver + 'a>, WorkloadError> {
    match workload {
        Workload::InsertBenchmark(plan) => Ok(insert_benchmark::driver(plan, site)),
        Workload::LuaWorkload(plan) => lua::driver(plan, site),
        Workload::Microbenchmark(plan) => microbenchmark::driver(plan, site),
        Workload::Pgbench(plan) => Ok(pgbench::driver(plan, site)),
        Workload::SqlWorkload(plan) => sql::driver(plan, site),
        Workload::Tpcc(plan) => tpcc::driver(plan, site),
        Workload::Dbbench(plan) => dbbench::driver(plan, site),
    }
}

/// Whether a workload creates a table of this name, in any of its forms. In its own schema, rqps
/// drops no other tables.
pub fn is_table(name: &str) -> bool {
    [microbenchmark::is_table, insert_benchmark::is_table, pgbench::is_table, tpcc::is_table]
        .iter()
        .any(|is_table| is_table(name))
}

/// The tables that statements of a user create on a remote server, by the workload or the file of
/// the contender's place. An error for what they may not do there. A server of rqps's own has no
/// tables of others.
pub fn made_tables(
    workload: &Workload,
    contender: &Contender,
) -> Result<Vec<String>, WorkloadError> {
    if !contender.is_remote() {
        return Ok(Vec::new());
    }
    let dialect = Dialect::from(contender);
    let mut tables = match workload {
        Workload::SqlWorkload(plan) => sql::made_tables(plan, (contender.dbms, dialect))?,
        _ => Vec::new(),
    };
    if let Some(path) = &contender.place {
        tables.extend(place_file(path, dialect)?.tables);
    }
    Ok(tables)
}

/// The functions that a user's statements may call, each with the test of one that does.
pub fn calls(
    workload: &Workload,
    contender: &Contender,
) -> Result<Vec<(String, String)>, WorkloadError> {
    match workload {
        Workload::SqlWorkload(plan) => sql::calls(plan, (contender.dbms, contender.into())),
        _ => Ok(Vec::new()),
    }
}

/// The verbs of the command line that have each contender run a workload once.
pub static VERBS: &[Verb] = &[
    Verb::of::<insert_benchmark::InsertFlags>("ibench", "Run the Insert Benchmark"),
    Verb::of::<microbenchmark::MicroFlags>("micro", "Run the sysbench microbenchmarks"),
    Verb::of::<microbenchmark::ScaleupFlags>(
        "scaleup",
        "Run the microbenchmarks with increasing numbers of clients",
    ),
    Verb::of::<tpcc::TpccFlags>("tpcc", "Run a workload derived from TPC-C").shows(tpcc::texts),
    Verb::of::<dbbench::DbbenchFlags>("dbbench", "Run db_bench's workloads on RocksDB"),
];

/// A workload of which tests are named.
const NAMED: Comparable = Comparable {
    name: "",
    about: "",
    syntax: "",
    has_versions: false,
    needs_names: true,
    has_scripts: false,
    has_options: false,
    loads_given_sql: false,
    has_terminals: false,
    ask: microbenchmark::asked,
    select: |names| Ok(names.to_vec()),
};

/// What `rqps compare --workload` takes.
static COMPARED: &[Comparable] = &[
    Comparable {
        name: "micro",
        about: "micro:TEST,… or micro:GROUP for microbenchmarks, as in micro:point-query,scan or \
                micro:range",
        syntax: "micro:TEST,… or micro:GROUP",
        ask: microbenchmark::asked,
        select: microbenchmark::select_names,
        ..NAMED
    },
    Comparable {
        name: "ibench",
        about: "ibench for the Insert Benchmark, ibench:STEP,… for some of its steps, as in \
                ibench:l.i0,l.x, ibench@PROFILE for an earlier version, as in ibench@p2024",
        syntax: "ibench or ibench:STEP,… or ibench@PROFILE",
        has_versions: true,
        needs_names: false,
        ask: insert_benchmark::asked,
        ..NAMED
    },
    Comparable {
        name: "pgbench",
        about: "pgbench:SCRIPT,… for pgbench's own scripts or files, as in pgbench:select-only or \
                pgbench:a.sql@3,b.sql",
        syntax: "pgbench:SCRIPT[@WEIGHT],…",
        has_scripts: true,
        has_options: true,
        ask: pgbench::asked,
        ..NAMED
    },
    Comparable {
        name: "lua",
        about: "lua:SCRIPT,… for Lua scripts of sysbench, as in lua:oltp_read_only or \
                lua:./mine.lua",
        syntax: "lua:SCRIPT,…",
        has_options: true,
        ask: lua::asked,
        ..NAMED
    },
    Comparable {
        name: "sql",
        about: "sql:DIR for the queries of a folder, as in sql:shop",
        syntax: "sql:DIR",
        loads_given_sql: true,
        ask: sql::asked,
        ..NAMED
    },
    Comparable {
        name: "tpcc",
        about: "tpcc:WAREHOUSES for a workload derived from TPC-C, as in tpcc:10",
        syntax: "tpcc:WAREHOUSES",
        has_terminals: true,
        ask: tpcc::asked,
        ..NAMED
    },
    Comparable {
        name: "tpch",
        about: "tpch:SCALE for a workload derived from TPC-H, as in tpch:0.1, tpch:SCALE,QUERY,… for \
                some of its queries, as in tpch:0.1,q01,q06",
        syntax: "tpch:SCALE or tpch:SCALE,QUERY,…",
        ask: sql::tpch_asked,
        ..NAMED
    },
    Comparable {
        name: "rocksdb",
        about: "rocksdb:TEST,… for db_bench's workloads on RocksDB, as in \
                rocksdb:readrandom,fwdrange",
        syntax: "rocksdb:TEST,…",
        ask: dbbench::asked,
        select: dbbench::select,
        ..NAMED
    },
];

impl Wanted {
    /// The default workload.
    pub fn usual() -> Wanted {
        Wanted { of: &COMPARED[0], version: None, names: microbenchmark::usual() }
    }

    /// All names, for help.
    pub fn names() -> String {
        COMPARED.iter().map(|one| one.name).collect::<Vec<_>>().join(", ")
    }

    /// All forms, for help.
    pub fn about() -> String {
        COMPARED.iter().map(|one| one.about).collect::<Vec<_>>().join("; ")
    }
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (what, names) = match text.split_once(':') {
            Some((what, names)) => (what, names.split(',').map(str::to_string).collect()),
            None => (text, Vec::new()),
        };
        let (name, version) = match what.split_once('@') {
            Some((name, version)) => (name, Some(version.to_string())),
            None => (what, None),
        };
        let of = COMPARED.iter().find(|one| one.name == name).ok_or_else(|| {
            let hint = suggestion(name, COMPARED.iter().map(|one| one.name));
            format!("unknown workload '{text}': {hint}")
        })?;
        let is_complete = !(of.needs_names && names.is_empty()) && names != [""];
        match is_complete && (of.has_versions || version.is_none()) {
            true => Ok(Wanted { of, version, names }),
            false => Err(format!("'{text}' is not a whole workload. Write {}", of.syntax)),
        }
    }
}

/// Whether a name is a prefix and a number.
fn is_numbered(name: &str, prefix: &str) -> bool {
    let digits = name.strip_prefix(prefix).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_workloads_are_told_from_others() {
        for name in ["sbtest1", "sbtest12", "sbtest_made_by_rqps", "pi1", "pi2_p3", "stock"] {
            assert!(is_table(name), "{name}");
        }
        for name in ["sbtest", "sbtest1x", "sbtest_mine", "pi", "pi1_p", "pi1_copy", "pilots", "t"]
        {
            assert!(!is_table(name), "{name}");
        }
    }

    #[test]
    fn a_workload_that_is_written_wrongly_is_answered_with_how_it_is_written() {
        let error = |text: &str| text.parse::<Wanted>().map(|_| ()).unwrap_err();
        assert_eq!(
            error("micor:scan"),
            "unknown workload 'micor:scan': did you mean 'micro'? (there are: micro, ibench, pgbench, lua, sql, tpcc, tpch, rocksdb)"
        );
        let syntax = "is not a whole workload. Write micro:TEST,… or micro:GROUP";
        for text in ["micro", "micro:", "micro@2:scan"] {
            assert_eq!(error(text), format!("'{text}' {syntax}"));
        }
        assert!("ibench@p2024:l.i0,l.x".parse::<Wanted>().is_ok());
    }
}
