//! The clients that are compared, and how each is told to execute a statement so many times.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use rqps_plan::Dbms;

use crate::own;
use crate::server::{ROWS, Socket};
use crate::statement::Statement;

/// Where Debian keeps the programs that its wrappers in `/usr/bin` choose from.
const DEBIAN_POSTGRES: &str = "/usr/lib/postgresql";

/// Where pgbench's scripts are.
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/client_cost");

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
    /// Whether it can ask a DBMS at all.
    pub(crate) fn speaks(&self, dbms: Dbms) -> bool {
        self.kind != Kind::Pgbench || dbms == Dbms::Postgres
    }

    /// The command that executes a statement `queries` times on one connection.
    pub(crate) fn command(&self, statement: &Statement, socket: &Socket, queries: u64) -> Command {
        let Socket { dbms, path, user, database } = socket;
        let mut command = Command::new(&self.program);
        // The caller's own PGHOST, MYSQL_HOST, … are about other servers.
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("PG") || text.starts_with("MYSQL") {
                command.env_remove(name);
            }
        }
        let count = queries.to_string();
        let option = |name: &str, value: &OsStr| {
            let mut option = OsString::from(format!("--{name}="));
            option.push(value);
            option
        };
        let (directory, port) = socket.directory_and_port().unwrap_or((Path::new(""), ""));
        match self.kind {
            Kind::Rqps => {
                command.args([own::ARGUMENT, dbms.name()]).arg(path);
                command.args([user, database, statement.name, &count]);
            }
            Kind::Sysbench => {
                command.args(statement.sysbench);
                let driver = if *dbms == Dbms::Postgres { "pgsql" } else { "mysql" };
                command.arg(format!("--db-driver={driver}"));
                if *dbms == Dbms::Postgres {
                    command.arg(option("pgsql-host", directory.as_os_str()));
                    command.arg(format!("--pgsql-port={port}"));
                } else {
                    command.arg(option("mysql-socket", path.as_os_str()));
                }
                command.arg(format!("--{driver}-user={user}"));
                command.arg(format!("--{driver}-db={database}"));
                command.args(["--tables=1", &format!("--table-size={ROWS}")]);
                command.args(["--rand-type=uniform", "--db-ps-mode=auto", "--threads=1"]);
                command.args(["--time=0", &format!("--events={queries}"), "run"]);
            }
            Kind::Pgbench => {
                command.args(["-n", "-c", "1", "-j", "1", "-M", "prepared", "-t", &count]);
                command.arg("-h").arg(directory).args(["-p", port, "-U", user]);
                command.args(["-D", &format!("rows={ROWS}"), "-f"]);
                command.arg(Path::new(SCRIPTS).join(statement.pgbench)).arg(database);
            }
        }
        command
    }
}
