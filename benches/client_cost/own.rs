//! rqps as one of the clients: this program, started again, executes a statement the way that rqps
//! measures, with a thread for each client, a recorder and histograms.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use rqps_load::{ClientThreads, Order, Schedule, Until, Work};
use rqps_plan::QueryMode;
use rqps_wire::{Cancel, Target};
use rqps_workload::Dialect;
use rqps_workload::lua::{
    HostSettings, LuaClient, LuaScript, Output, Reach, StateSettings, UniqueNumbers, client_seeds,
    driver_name,
};
use rqps_workload::microbenchmark::{Benchmark, Sequence, select};
use rqps_workload::pgbench::{Defines, Script, ScriptSettings};

use crate::allocations;
use crate::clients::{BE_RQPS, Client, SCRIPTS};
use crate::process;
use crate::run::failed;
use crate::sbtest::{ROWS, SEED, plan};
use crate::server::Socket;
use crate::statement::{self, Statement, Way};
use crate::subject;

/// The beginning of the line with this process's memory.
const MEMORY: &str = "Anonymous:";
/// The beginning of the line with its allocations.
const ALLOCATIONS: &str = "Allocations:";

/// rqps's figures in a run.
pub(crate) struct Footprint {
    /// KiB of memory.
    pub(crate) memory: f64,
    pub(crate) allocations: f64,
}

/// Runs the operations, checks their rows, and prints the memory of this process and the number of
/// its allocations meanwhile.
pub(crate) fn run(arguments: &[OsString]) -> anyhow::Result<()> {
    let [dbms, path, user, database, statement, operations] = arguments else {
        bail!("{BE_RQPS} needs a DBMS, a socket, a user, a database, a statement and a number");
    };
    let text = |argument: &OsString| argument.to_string_lossy().into_owned();
    let subject = subject::named(&text(dbms)).context("a DBMS")?;
    let statement = statement::named(&text(statement)).context("a statement")?;
    let operations: u64 = text(operations).parse()?;

    let target = subject.target_at(path, user, database);
    let work = match (statement.way, statement.pgbench) {
        (Way::Pgbench, Some(script)) => of_script(&target, subject.dialect, script)?,
        (Way::Lua, _) => of_lua(target, subject.dialect, statement.sysbench)?,
        _ => {
            let plan = plan(ROWS);
            let benchmark = Benchmark::new(&target, subject.dialect, &plan, SEED);
            let [test] = select(&[statement.name.to_string()], Sequence::Given)?[..] else {
                bail!("{} is more than one test", statement.name);
            };
            benchmark.connect(test, 1, 0)?.work
        }
    };
    let mut client_threads = ClientThreads::start(work)?;
    let order = Order { schedule: Schedule::Closed, until: Until::Operations(operations) };
    let before = allocations::so_far();
    client_threads.run(&[order], &mut |_, _| {}, &Cancel::default()).map_err(failed)?;
    let allocations = allocations::so_far() - before;
    // All records are still in memory.
    let memory = memory()?;
    let rows: u64 = client_threads.finish().iter().map(|tally| tally.rows).sum();
    let (fewest, most) = (statement.rows.start() * operations, statement.rows.end() * operations);
    ensure!((fewest..=most).contains(&rows), "{operations} operations had {rows} rows");
    println!("{MEMORY} {memory}\n{ALLOCATIONS} {allocations}");
    Ok(())
}

/// A client of pgbench's script, which is prepared.
fn of_script(
    target: &Target,
    dialect: Dialect,
    script: &str,
) -> anyhow::Result<Vec<Box<dyn Work>>> {
    let text = fs::read_to_string(Path::new(SCRIPTS).join(script))?;
    let settings = ScriptSettings {
        scripts: vec![(Script::parse(script, &text)?, 1)],
        mode: QueryMode::Prepared,
        defines: Defines::from([("rows".to_string(), ROWS.to_string())]),
        is_lenient: false,
        scale: 1,
        seed: SEED,
    };
    Ok(settings
        .clients(target, dialect, 1)?
        .into_iter()
        .map(rqps_workload::pgbench::Client::work)
        .collect())
}

/// A client of sysbench's script, with its options.
fn of_lua(target: Target, dialect: Dialect, words: &[&str]) -> anyhow::Result<Vec<Box<dyn Work>>> {
    let (given, own) = words.split_first().context("a script")?;
    let script = LuaScript::read(given, "run")?;
    let mut options = script.options()?;
    let usual = ["rand-type=uniform".to_string(), format!("table-size={ROWS}")];
    let own = own.iter().map(|option| option.trim_start_matches("--").to_string());
    for option in usual.into_iter().chain(own) {
        options.set(&option).map_err(anyhow::Error::msg)?;
    }
    let settings = StateSettings {
        files: script.files.clone(),
        command: "run".to_string(),
        driver: driver_name(dialect),
        host: HostSettings {
            reach: Reach::Server(Box::new(target)),
            dialect,
            is_emulating: false,
            ignored: Vec::new(),
            refuses_sleep: false,
            wrote: None,
            unique: UniqueNumbers::fresh(),
            output: Output::none(),
        },
    };
    let seed = client_seeds(SEED as u32).next().context("a seed")?;
    Ok(vec![LuaClient::start(&settings, &options, 0, seed)?.work()])
}

/// KiB of memory that this process has written to. Counted page by page, since the kernel's peak of
/// all resident memory is kept in batches and moves with what files happen to be cached.
fn memory() -> anyhow::Result<u64> {
    let sizes = fs::read_to_string("/proc/self/smaps_rollup").context("cannot read /proc")?;
    let line = sizes.lines().find_map(|line| line.strip_prefix(MEMORY)?.strip_suffix("kB"));
    Ok(line.context("the kernel does not report the size of memory")?.trim().parse()?)
}

/// The client's figures for a number of operations.
pub(crate) fn footprint(
    own: &Client,
    statement: &Statement,
    socket: &Socket,
    operations: u64,
) -> anyhow::Result<Footprint> {
    let output = process::run(own.command(statement, socket, operations))?.output;
    let told = |name: &str| -> anyhow::Result<f64> {
        let text = output.lines().find_map(|line| line.strip_prefix(name));
        Ok(text.with_context(|| format!("the client did not print '{name}'"))?.trim().parse()?)
    };
    Ok(Footprint { memory: told(MEMORY)?, allocations: told(ALLOCATIONS)? })
}
