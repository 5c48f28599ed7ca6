//! rqps as a client among the others: this program, started again, executes a statement the way
//! rqps measures, with a crew, a recorder and histograms.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use rqps_load::{Crew, Failure, Order, Schedule, Until};
use rqps_wire::{Address, Login};

use crate::clients::Client;
use crate::process;
use crate::server::Socket;
use crate::statement::{self, Statement};
use crate::subject;

/// Tells this program to be the client. DBMS, socket, user, database, statement and the number of
/// queries follow.
pub(crate) const ARGUMENT: &str = "--be-the-client";

/// What the line that tells this process's memory begins with.
const MEMORY: &str = "Anonymous:";

/// Does the queries, checks that each had its rows, and prints how much memory this process has
/// come to.
pub(crate) fn run(arguments: &[OsString]) -> anyhow::Result<()> {
    let [dbms, path, user, database, statement, queries] = arguments else {
        bail!("{ARGUMENT} wants a DBMS, a socket, a user, a database, a statement and a number");
    };
    let text = |argument: &OsString| argument.to_string_lossy().into_owned();
    let subject = subject::named(&text(dbms)).context("a DBMS")?;
    let statement = statement::named(&text(statement)).context("a statement")?;
    let (user, database) = (text(user), text(database));
    let address = Address::Unix { path: PathBuf::from(path) };
    let login = Login { address, user, password: None, database, parameters: Vec::new() };
    let queries: u64 = text(queries).parse()?;

    let connection = (subject.target)(login).connect()?;
    let mut crew = Crew::start(vec![(statement.work)(connection, subject.dialect, queries)?])?;
    let order = Order { schedule: Schedule::Closed, until: Until::Operations(queries) };
    crew.run(&[order], &mut |_| {}, &|| false).map_err(failed)?;
    // Everything recorded is still held.
    let memory = memory()?;
    let rows: u64 = crew.finish().iter().map(|tally| tally.rows).sum();
    ensure!(rows == queries * statement.rows, "{queries} queries had {rows} rows");
    println!("{MEMORY} {memory}");
    Ok(())
}

/// KiB of memory that this process has written to. Counted page by page, since the kernel's peak of
/// all resident memory is kept in batches and moves with what files happen to be cached.
fn memory() -> anyhow::Result<u64> {
    let sizes = fs::read_to_string("/proc/self/smaps_rollup").context("cannot read /proc")?;
    let line = sizes.lines().find_map(|line| line.strip_prefix(MEMORY)?.strip_suffix("kB"));
    Ok(line.context("the kernel does not tell the size of memory")?.trim().parse()?)
}

/// KiB of memory that the client came to in so many queries.
pub(crate) fn memory_after(
    own: &Client,
    statement: &Statement,
    socket: &Socket,
    queries: u64,
) -> anyhow::Result<f64> {
    let output = process::run(own.command(statement, socket, queries))?.output;
    let memory = output.lines().find_map(|line| line.strip_prefix(MEMORY));
    Ok(memory.context("the client did not tell its memory")?.trim().parse()?)
}

/// Why a crew's run ended early.
pub(crate) fn failed(failure: Failure) -> anyhow::Error {
    match failure {
        Failure::Worker { error, .. } => error.into(),
        Failure::Cancelled => anyhow::anyhow!("cancelled"),
    }
}
