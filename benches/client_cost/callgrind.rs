//! User-space instructions of a client, counted by valgrind's callgrind.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::process;

/// Instructions per query: the difference between a short run and one of `queries` more.
pub(crate) fn per_query(
    valgrind: &Path,
    client: impl Fn(u64) -> Command,
    short: u64,
    queries: u64,
) -> anyhow::Result<f64> {
    let count = |queries| collected(valgrind, &client(queries));
    Ok((count(short + queries)? - count(short)?) / queries as f64)
}

/// All instructions that a command executes in user space.
fn collected(valgrind: &Path, command: &Command) -> anyhow::Result<f64> {
    let mut counted = Command::new(valgrind);
    counted.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    counted.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => counted.env(name, value),
            None => counted.env_remove(name),
        };
    }
    let output = process::run(counted)?.output;
    let total = output.lines().find_map(|line| line.split_once("Collected :"));
    let (_, total) = total.with_context(|| format!("callgrind gave no count:\n{output}"))?;
    Ok(total.trim().parse()?)
}
