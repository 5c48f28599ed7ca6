//! The benchmarks: their data, their statements in each dialect, and the checks that the data are
//! right. Knows nothing of how time is kept or what an operation cost.
//!
//! One is added as a folder here and in `plan`, with a row in each table below.

mod asked;
mod check;
mod explain;
mod index_only;
pub mod insert_benchmark;
pub mod microbenchmark;
mod random;
mod script;
mod task;

use rqps_plan::Workload;

pub use asked::{Asked, FlagError, Verb, Wanted};
pub use check::CheckError;
pub use explain::Explained;
pub use random::{Random, stream};
pub use rqps_dbms::Dialect;
pub use task::{
    Assigned, Cast, Counted, Driver, End, Part, Rest, Site, Takes, Task, WorkloadError,
};

use asked::Compared;

/// What a workload consists of.
pub fn tasks(workload: &Workload) -> Result<Vec<Task>, WorkloadError> {
    match workload {
        Workload::InsertBenchmark(plan) => Ok(insert_benchmark::tasks(plan)),
        Workload::Microbenchmark(plan) => microbenchmark::tasks(plan),
    }
}

/// A workload on a server.
pub fn driver<'a>(
    workload: &'a Workload,
    site: Site<'a>,
) -> Result<Box<dyn Driver + 'a>, WorkloadError> {
    match workload {
        Workload::InsertBenchmark(plan) => Ok(insert_benchmark::driver(plan, site)),
        Workload::Microbenchmark(plan) => microbenchmark::driver(plan, site),
    }
}

/// Whether a table of this name is one that a workload makes, in any of its forms: in a place of
/// rqps's own no other table is its to drop.
pub fn is_table(name: &str) -> bool {
    [microbenchmark::is_table, insert_benchmark::is_table].iter().any(|is_table| is_table(name))
}

/// The verbs of the command line that have each contender run a workload once.
pub static VERBS: [Verb; 3] = [
    Verb::of::<insert_benchmark::InsertFlags>("ibench", "Run the Insert Benchmark"),
    Verb::of::<microbenchmark::MicroFlags>("micro", "Run the sysbench microbenchmarks"),
    Verb::of::<microbenchmark::ScaleupFlags>(
        "scaleup",
        "Run the microbenchmarks with more and more clients on the same tables",
    ),
];

/// What `rqps compare --workload` takes.
static COMPARED: [Compared; 2] = [
    Compared {
        name: "micro",
        about: "tests or groups of the microbenchmarks, as in micro:point-query,scan or \
                micro:range",
        syntax: "micro:TEST,… or micro:GROUP",
        has_versions: false,
        needs_names: true,
        ask: microbenchmark::asked,
        select: microbenchmark::select_names,
    },
    Compared {
        name: "ibench",
        about: "ibench for the Insert Benchmark, or some of its steps as in ibench:l.i0,l.x, or \
                an earlier form of it as in ibench@p2024",
        syntax: "ibench or ibench:STEP,… or ibench@PROFILE",
        has_versions: true,
        needs_names: false,
        ask: insert_benchmark::asked,
        select: |names| Ok(names.to_vec()),
    },
];

/// Whether a name is a prefix and a number.
fn is_numbered(name: &str, prefix: &str) -> bool {
    let digits = name.strip_prefix(prefix).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::is_table;

    #[test]
    fn tables_of_workloads_are_told_from_others() {
        for name in ["sbtest1", "sbtest12", "sbtest_made_by_rqps", "pi1", "pi2_p3"] {
            assert!(is_table(name), "{name}");
        }
        for name in ["sbtest", "sbtest1x", "sbtest_mine", "pi", "pi1_p", "pi1_copy", "pilots", "t"]
        {
            assert!(!is_table(name), "{name}");
        }
    }
}
