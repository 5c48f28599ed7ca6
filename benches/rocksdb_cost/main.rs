//! What rqps itself costs in an operation of RocksDB: `cargo bench --bench rocksdb_cost`.
//!
//! - `-- own`: operations on a library whose functions do nothing, so that only rqps's part is
//!   left: drawing and making a key, the call, reading the clock, the histogram of times.
//! - `-- db_bench`: `readrandom` of rqps and of db_bench on one database, by one and the same
//!   library (Debian: rocksdb-tools), in turn; and the instructions of both (valgrind).
//!
//! A benchmark, not a test: it prints figures beside the goals of docs/performance.md and exits
//! with 0 for any figures. Without `--bench`, which `cargo bench` passes, or with `--quick` it only
//! shows that it works.

mod db_bench;
mod host;
mod own;
#[path = "../client_cost/spread.rs"]
mod spread;

use std::ffi::OsString;

use anyhow::bail;

/// The parts, in their order.
const PARTS: [&str; 2] = ["own", "db_bench"];

/// How much is done.
pub(crate) struct Size {
    pub(crate) rounds: u64,
    /// Operations of a round.
    pub(crate) operations: u64,
    /// Operations by which two runs under callgrind differ.
    pub(crate) counted: u64,
}

const FULL: Size = Size { rounds: 15, operations: 300_000, counted: 100_000 };
const SMOKE: Size = Size { rounds: 2, operations: 5_000, counted: 1_000 };

fn main() -> anyhow::Result<()> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some((first, rest)) = arguments.split_first()
        && first == host::BE_THE_HOST
    {
        return host::run(rest);
    }
    let arguments: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let is_full = given("--bench") && !given("--quick");
    let size = if is_full { FULL } else { SMOKE };
    let names: Vec<_> = arguments.iter().filter(|one| !one.starts_with("--")).collect();
    if let Some(unknown) = names.iter().find(|name| !PARTS.contains(&&****name)) {
        bail!("'{unknown}' is no part of this benchmark: {}", PARTS.join(", "));
    }
    let is_wanted = |part: &str| names.is_empty() || names.iter().any(|name| **name == part);
    if is_wanted("own") {
        own::measure(&size)?;
    }
    if is_wanted("db_bench") {
        db_bench::compare(&size)?;
    }
    println!("\nMedians of {} rounds, lowest and highest in brackets.", size.rounds);
    if !is_full {
        println!("A smoke run: too short for its figures to mean anything.");
    }
    Ok(())
}
