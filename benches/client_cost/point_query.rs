//! rqps as a client among the others: this program, started again, does point queries the way rqps
//! measures, with a crew, a recorder and histograms.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rqps_load::{Crew, Effect, Failure, Halt, Order, Schedule, Until, Work};
use rqps_wire::{Address, Connection, Error, Interrupter, Login, Statement, Target, Type, Value};

use crate::clients::Client;
use crate::process;
use crate::target::{ROWS, Socket};

/// Tells this program to be the client. Socket directory, port, user, database and the number of
/// queries follow.
pub(crate) const ARGUMENT: &str = "--be-the-client";

struct PointQuery {
    connection: Box<dyn Connection>,
    statement: Statement,
    random: Xoshiro256PlusPlus,
    id: i64,
}

impl Work for PointQuery {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        self.id = self.random.random_range(1..=ROWS as i64);
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        Ok(Effect::read(self.connection.execute(self.statement, &[Value::Int(self.id)])?))
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.interrupter()
    }
}

/// What the line that tells this process's memory begins with.
const MEMORY: &str = "Anonymous:";

/// Does the queries, checks that each found its row, and prints how much memory this process has
/// come to.
pub(crate) fn run(arguments: &[OsString]) -> anyhow::Result<()> {
    let [directory, port, user, database, queries] = arguments else {
        bail!("{ARGUMENT} wants a directory, a port, a user, a database and a number");
    };
    let text = |argument: &OsString| argument.to_string_lossy().into_owned();
    let path = PathBuf::from(directory).join(format!(".s.PGSQL.{}", text(port)));
    let (address, user, database) = (Address::Unix { path }, text(user), text(database));
    let login = Login { address, user, password: None, database, parameters: Vec::new() };
    let queries: u64 = text(queries).parse()?;

    let mut connection = Target::Postgres(login).connect()?;
    let statement = connection.prepare("SELECT c FROM sbtest1 WHERE id=$1", &[Type::Int4])?;
    let random = Xoshiro256PlusPlus::seed_from_u64(queries);
    let mut crew =
        Crew::start(vec![Box::new(PointQuery { connection, statement, random, id: 0 })])?;
    let order = Order { schedule: Schedule::Closed, until: Until::Operations(queries) };
    crew.run(&[order], &mut |_| {}, &|| false).map_err(failed)?;
    // Everything recorded is still held.
    let memory = memory()?;
    let rows: u64 = crew.finish().iter().map(|tally| tally.rows).sum();
    ensure!(rows == queries, "{queries} queries found {rows} rows");
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
pub(crate) fn memory_after(own: &Client, socket: &Socket, queries: u64) -> anyhow::Result<f64> {
    let output = process::run(own.command(socket, queries))?.output;
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
