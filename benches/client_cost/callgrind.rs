//! User-space instructions of a client, counted by valgrind's callgrind.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::process;

/// Instructions per operation: the difference between a short run and one of `operations` more.
pub(crate) fn per_operation(
    valgrind: &Path,
    client: impl Fn(u64) -> Command,
    short: u64,
    operations: u64,
) -> anyhow::Result<f64> {
    let count = |operations| collected(valgrind, &client(operations));
    Ok((count(short + operations)? - count(short)?) / operations as f64)
}

/// All instructions that a command executes in user space.
fn collected(valgrind: &Path, command: &Command) -> anyhow::Result<f64> {
    let mut counted = Command::new(valgrind);
    counted.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    counted.arg(command.get_program()).args(command.get_args());
    counted.current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
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
