//! The clients that are compared, and how each is told to do so many point queries.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::point_query;
use crate::target::{ROWS, Socket};

/// Where Debian keeps the programs that its wrappers in `/usr/bin` choose from.
const DEBIAN_POSTGRES: &str = "/usr/lib/postgresql";

/// The point query for pgbench.
const PGBENCH_SCRIPT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/benches/client_cost/point_query.sql");

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Rqps,
    Sysbench,
    Pgbench,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::Rqps => "rqps",
            Kind::Sysbench => "sysbench",
            Kind::Pgbench => "pgbench",
        })
    }
}

pub(crate) struct Client {
    pub(crate) kind: Kind,
    program: PathBuf,
}

/// The clients there are, and a line for each part that has to be left out.
pub(crate) fn find() -> anyhow::Result<(Vec<Client>, Vec<String>)> {
    let own = env::current_exe().context("this program's own path is not known")?;
    let mut clients = vec![Client { kind: Kind::Rqps, program: own }];
    let mut missing = Vec::new();
    let mut skip = |what: &str, package: &str| {
        missing.push(format!("Left out, not found: {what} (apt install {package})."));
    };
    match on_path("sysbench") {
        Some(program) => clients.push(Client { kind: Kind::Sysbench, program }),
        None => skip("sysbench", "sysbench"),
    }
    match debian_pgbench().or_else(|| on_path("pgbench")) {
        Some(program) => clients.push(Client { kind: Kind::Pgbench, program }),
        None => skip("pgbench", "postgresql-contrib"),
    }
    if on_path("valgrind").is_none() {
        skip("valgrind, which counts instructions", "valgrind");
    }
    Ok((clients, missing))
}

pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// The newest pgbench itself: what is on the path is a script that starts it.
fn debian_pgbench() -> Option<PathBuf> {
    let versions = fs::read_dir(DEBIAN_POSTGRES).ok()?.flatten();
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest =
        versions.map(|entry| entry.path()).filter(|path| path.join("bin/pgbench").exists());
    Some(newest.max_by_key(|path| version(path))?.join("bin/pgbench"))
}

impl Client {
    /// The command that does `queries` point queries on one connection.
    pub(crate) fn command(&self, socket: &Socket, queries: u64) -> Command {
        let Socket { directory, port, user, database } = socket;
        let mut command = Command::new(&self.program);
        // The caller's own PGHOST, PGOPTIONS, … are about other servers.
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        let (port, count) = (port.to_string(), queries.to_string());
        match self.kind {
            Kind::Rqps => {
                command.arg(point_query::ARGUMENT).arg(directory);
                command.args([&port, user, database, &count]);
            }
            Kind::Sysbench => {
                command.args(["oltp_point_select", "--db-driver=pgsql"]);
                let mut host = OsString::from("--pgsql-host=");
                host.push(directory);
                command.arg(host).arg(format!("--pgsql-port={port}"));
                command.arg(format!("--pgsql-user={user}"));
                command.arg(format!("--pgsql-db={database}"));
                command.args(["--tables=1", &format!("--table-size={ROWS}")]);
                command.args(["--rand-type=uniform", "--db-ps-mode=auto", "--threads=1"]);
                command.args(["--time=0", &format!("--events={queries}"), "run"]);
            }
            Kind::Pgbench => {
                command.args(["-n", "-c", "1", "-j", "1", "-M", "prepared", "-t", &count]);
                command.arg("-h").arg(directory).args(["-p", &port, "-U", user]);
                command.args(["-D", &format!("rows={ROWS}"), "-f", PGBENCH_SCRIPT, database]);
            }
        }
        command
    }
}
