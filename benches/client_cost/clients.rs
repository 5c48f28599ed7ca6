//! The clients that are compared, and how each executes a statement a number of times.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use rqps_plan::Dbms;

use crate::sbtest::ROWS;
use crate::server::Socket;
use crate::statement::Statement;

/// Where Debian keeps the programs that its wrappers in `/usr/bin` choose from.
const DEBIAN_POSTGRES: &str = "/usr/lib/postgresql";

/// The folder of the clients' scripts, in which they start.
pub(crate) const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/client_cost");

/// Makes this program the client. DBMS, socket, user, database, statement and the number of
/// operations follow.
pub(crate) const BE_RQPS: &str = "--be-the-client";

/// Makes this program the bare socket. DBMS, socket, user, database, the number of operations and
/// whether to poll follow.
pub(crate) const BE_A_SOCKET: &str = "--be-a-socket";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Rqps,
    Sysbench,
    Pgbench,
    /// A bare socket.
    Raw,
    /// The same, with a `poll` before each `recv`.
    RawPoll,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::Rqps => "rqps",
            Kind::Sysbench => "sysbench",
            Kind::Pgbench => "pgbench",
            Kind::Raw => "raw",
            Kind::RawPoll => "raw+poll",
        })
    }
}

pub(crate) struct Client {
    pub(crate) kind: Kind,
    program: PathBuf,
}

/// The available clients, and a line for each part that is omitted.
pub(crate) fn find() -> anyhow::Result<(Vec<Client>, Vec<String>)> {
    let own = env::current_exe().context("this program's own path is not known")?;
    let mut clients: Vec<Client> = [Kind::Rqps, Kind::Raw, Kind::RawPoll]
        .map(|kind| Client { kind, program: own.clone() })
        .into();
    let mut missing = Vec::new();
    let mut skip = |what: &str, package: &str| {
        missing.push(format!("Omitted, not found: {what} (apt install {package})."));
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

/// The newest pgbench itself: the one on the path is a script that starts it.
fn debian_pgbench() -> Option<PathBuf> {
    let versions = fs::read_dir(DEBIAN_POSTGRES).ok()?.flatten();
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest =
        versions.map(|entry| entry.path()).filter(|path| path.join("bin/pgbench").exists());
    Some(newest.max_by_key(|path| version(path))?.join("bin/pgbench"))
}

impl Client {
    /// Whether it can send a statement to a DBMS.
    pub(crate) fn speaks(&self, dbms: Dbms, statement: &Statement) -> bool {
        match self.kind {
            Kind::Rqps => true,
            Kind::Sysbench => !statement.sysbench.is_empty(),
            Kind::Pgbench => dbms == Dbms::Postgres && statement.pgbench.is_some(),
            Kind::Raw | Kind::RawPoll => statement.raw,
        }
    }

    /// The command that executes a statement `count` times on one connection.
    pub(crate) fn command(
        &self,
        statement: &Statement,
        socket: &Socket,
        operations: u64,
    ) -> Command {
        let Socket { dbms, path, user, database } = socket;
        let count = operations.to_string();
        let mut command = self.bare();
        let (directory, port) = socket.directory_and_port().unwrap_or((Path::new(""), ""));
        match self.kind {
            Kind::Rqps => {
                command.args([BE_RQPS, dbms.name()]).arg(path);
                command.args([user, database, statement.name, &count]);
            }
            Kind::Sysbench => {
                command.args(statement.sysbench);
                sysbench_options(&mut command, socket, ROWS);
                command.args(["--rand-type=uniform", "--db-ps-mode=auto", "--threads=1"]);
                command.args(["--time=0", &format!("--events={count}"), "run"]);
            }
            Kind::Pgbench => {
                command.args(["-n", "-c", "1", "-j", "1", "-M", "prepared", "-t", &count]);
                command.arg("-h").arg(directory).args(["-p", port, "-U", user]);
                command.args(["-D", &format!("rows={ROWS}"), "-f"]);
                command.args(statement.pgbench).arg(database);
            }
            Kind::Raw | Kind::RawPoll => {
                let polls = (self.kind == Kind::RawPoll).to_string();
                command.args([BE_A_SOCKET, dbms.name()]).arg(path);
                command.args([user, database, &count, &polls]);
            }
        }
        command
    }

    /// sysbench's command that creates `sbtest1` with `rows` rows, without its index.
    pub(crate) fn prepare(&self, socket: &Socket, rows: u64) -> Command {
        let mut command = self.bare();
        command.arg("oltp_common");
        sysbench_options(&mut command, socket, rows);
        command.args(["--create-secondary=off", "--threads=1", "prepare"]);
        command
    }

    /// The program without its arguments.
    fn bare(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(SCRIPTS);
        // The caller's own PGHOST, MYSQL_HOST, … are about other servers.
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("PG") || text.starts_with("MYSQL") {
                command.env_remove(name);
            }
        }
        command
    }
}

/// Adds sysbench's options for the server and for `sbtest1`.
fn sysbench_options(command: &mut Command, socket: &Socket, rows: u64) {
    let Socket { dbms, path, user, database } = socket;
    let option = |name: &str, value: &OsStr| {
        let mut option = OsString::from(format!("--{name}="));
        option.push(value);
        option
    };
    let driver = if *dbms == Dbms::Postgres { "pgsql" } else { "mysql" };
    command.arg(format!("--db-driver={driver}"));
    match socket.directory_and_port() {
        Some((directory, port)) if *dbms == Dbms::Postgres => {
            command.arg(option("pgsql-host", directory.as_os_str()));
            command.arg(format!("--pgsql-port={port}"));
        }
        _ => drop(command.arg(option("mysql-socket", path.as_os_str()))),
    }
    command.arg(format!("--{driver}-user={user}"));
    command.arg(format!("--{driver}-db={database}"));
    command.args(["--tables=1", &format!("--table-size={rows}")]);
}
