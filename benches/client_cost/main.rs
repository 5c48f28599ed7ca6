//! The cost of rqps's client, beside Debian's sysbench and pgbench and a bare socket, and the cost
//! of sampling a server: `cargo bench --bench client_cost`, for one DBMS or part with `--
//! postgres`, `-- mysql`, `-- load`, `-- l.i0`, `-- sampling`, `-- lua` or `-- point-query`.
//!
//! A benchmark, not a test: it prints figures next to the goals of docs/performance.md and exits
//! with 0 for any figures, except that it fails if instructions differ from `instructions.tsv`.
//! Everything but the load runs on one CPU: with separate CPUs for client and server, the time to
//! wake each other dominates the figures, and that changes from run to run.
//!
//! Without `--bench`, which `cargo bench` passes, or with `--test` or `--quick` it only shows that
//! it works.

mod allocations;
mod callgrind;
mod clients;
mod exchange;
mod insert;
mod load;
mod own;
mod process;
mod raw;
mod recorded;
mod run;
mod sampling;
mod sbtest;
mod server;
mod size;
mod spread;
mod statement;
mod subject;
mod table;

use std::borrow::Cow;
use std::collections::BTreeMap;

use anyhow::{Context, bail};
use rqps_dbms::Home;
use rqps_plan::Dbms;

use clients::{Client, Kind};
use process::Cost;
use server::{Running, Socket};
use size::{FULL, SMOKE, Size};
use statement::{STATEMENTS, Statement, Way};
use subject::SUBJECTS;
use table::{Goal, Table};

/// How many times fewer operations the subtracted run has; the subtraction removes starting and
/// connecting.
const BASELINE: u64 = 2_000;
/// The same for the run under callgrind.
const COUNTED: u64 = 10;
/// The same for the first of the two runs whose memory and allocations are compared.
const GROWTH: u64 = 10;

/// KiB by which memory may grow: histograms reserve their counters at the start and use them when a
/// time first occurs.
const MEMORY_SLACK: f64 = 256.0;
/// Allocations per operation that count as none: structures that grow with time grow rarely.
const ALLOCATION_SLACK: f64 = 0.1;

/// The parts that are not statements.
const LOAD: &str = "load";
const INSERTS: &str = "l.i0";
const SAMPLING: &str = "sampling";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.split_first() {
        Some((first, rest)) if first == clients::BE_RQPS => return own::run(rest),
        Some((first, rest)) if first == clients::BE_A_SOCKET => return raw::run(rest),
        _ => {}
    }
    let (flags, names): (Vec<_>, Vec<_>) = arguments
        .iter()
        .map(|argument| argument.to_string_lossy())
        .partition(|argument| argument.starts_with("--"));
    let given = |flag: &str| flags.iter().any(|argument| argument == flag);
    let full = given("--bench") && !given("--test") && !given("--quick");
    let size = if full { FULL } else { SMOKE };
    let subjects = chosen(SUBJECTS.iter().map(|subject| subject.dbms.name()), &names);
    let known = STATEMENTS.iter().map(|statement| statement.name).chain([LOAD, INSERTS, SAMPLING]);
    let parts = chosen(known.clone(), &names);
    let is_known = |name: &&Cow<str>| {
        subject::named(name).is_some() || known.clone().any(|part| part == *name)
    };
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        bail!("'{unknown}' is neither a DBMS nor a part of this benchmark");
    }

    let (clients, missing) = clients::find()?;
    let home = Home::from_env()?;
    let mut changed = Vec::new();
    let of_each =
        |measure: &mut dyn FnMut(&Running) -> anyhow::Result<Tables>| -> anyhow::Result<()> {
            for subject in SUBJECTS.iter().filter(|subject| subjects.contains(&subject.dbms.name()))
            {
                let mut running = Running::start(&home, subject)?;
                let measured = measure(&running);
                running.discard()?;
                for (title, table) in measured? {
                    println!("\n{}, {title}\n{table}", subject.contender);
                }
            }
            Ok(())
        };
    if parts.contains(&LOAD) {
        let load = |running: &Running| load::compare(running, &clients, &size);
        of_each(&mut |running| Ok(vec![("loading sysbench's table", load(running)?)]))?;
    }
    if parts != [LOAD] {
        server::pin_to_one_cpu()?;
        of_each(&mut |running| measure(running, &clients, &parts, &size, &mut changed))?;
    }
    println!(
        "\nMedians of {} rounds, lowest and highest in brackets; ratios are rqps to the client of \
         the row, paired by round.",
        size.rounds
    );
    missing.iter().for_each(|line| println!("{line}"));
    if !full {
        println!("A smoke run: too short for its figures to mean anything.");
    }
    if !changed.is_empty() {
        bail!("the client's instructions differ from the recorded ones:\n{}", changed.join("\n"));
    }
    Ok(())
}

/// Tables and their titles.
type Tables = Vec<(&'static str, Table)>;

/// The given names, or all of them if none is given.
fn chosen<'a>(all: impl Iterator<Item = &'a str> + Clone, given: &[Cow<str>]) -> Vec<&'a str> {
    let chosen: Vec<&str> =
        all.clone().filter(|name| given.iter().any(|given| given == name)).collect();
    if chosen.is_empty() { all.collect() } else { chosen }
}

/// A table for each statement, one for the Insert Benchmark, and one for sampling.
fn measure(
    running: &Running,
    clients: &[Client],
    parts: &[&str],
    size: &Size,
    changed: &mut Vec<String>,
) -> anyhow::Result<Tables> {
    running.fill()?;
    let mut tables = Vec::new();
    let is_here = |statement: &&Statement| {
        parts.contains(&statement.name)
            && (statement.way != Way::Pgbench || running.socket().dbms == Dbms::Postgres)
    };
    for statement in STATEMENTS.iter().filter(is_here) {
        tables.push((statement.name, compare(running, clients, statement, size, changed)?));
    }
    if parts.contains(&INSERTS) {
        let mut table = Table::new();
        let loads: anyhow::Result<Vec<f64>> = (1..=size.rounds)
            .map(|round| {
                println!("l.i0: round {round} of {}", size.rounds);
                insert::cpu_per_row(running, size.inserted)
            })
            .collect();
        table.own("l.i0 CPU per row, µs", loads?, 2, Goal::Own(1.0));
        tables.push(("the Insert Benchmark", table));
    }
    if parts.contains(&SAMPLING) {
        tables.push(("sampling once a second", sampling::measure(running, size)?));
    }
    Ok(tables)
}

/// The cost of a statement for each client.
fn compare(
    running: &Running,
    clients: &[Client],
    statement: &Statement,
    size: &Size,
    changed: &mut Vec<String>,
) -> anyhow::Result<Table> {
    let socket = running.socket();
    let clients: Vec<&Client> =
        clients.iter().filter(|client| client.speaks(socket.dbms, statement)).collect();
    // At least one of every run.
    let part = |times: u64| (statement.operations / size.part / times).max(1);
    let mut table = Table::new();
    let measured = rounds(&clients, statement, socket, size.rounds, &part)?;
    let mut compare = |measure: &str, pick: fn(&Cost) -> f64, decimals, goal| {
        let of = |(kind, costs): (&Kind, &Vec<Cost>)| (*kind, costs.iter().map(pick).collect());
        table.compare(measure, &measured.iter().map(of).collect(), decimals, goal);
    };
    let other = if statement.way == Way::Pgbench { Kind::Pgbench } else { Kind::Sysbench };
    let cpu = Some(Goal::Ratio(statement.cpu, other));
    compare("CPU per operation, µs", |cost| cost.user + cost.system, 2, cpu);
    compare("  user, µs", |cost| cost.user, 2, None);
    compare("  system, µs", |cost| cost.system, 2, None);
    // The client should wake once for a result that arrives in one piece.
    let woken = (statement.rows == (1..=1)).then_some(Goal::Own(1.05));
    compare("voluntary switches per operation", |cost| cost.voluntary, 3, woken);
    compare("involuntary switches per operation", |cost| cost.involuntary, 3, None);

    if let Some(valgrind) = clients::on_path("valgrind") {
        let mut counts = BTreeMap::new();
        for client in &clients {
            println!("callgrind: {}", client.kind);
            let command = |operations| client.command(statement, socket, operations);
            let count =
                callgrind::per_operation(&valgrind, command, part(BASELINE), part(COUNTED))?;
            if size.is_held && client.kind == Kind::Rqps {
                let differs = recorded::differs(socket.dbms.name(), statement.name, count)?;
                changed.extend(differs);
            }
            counts.insert(client.kind, vec![count]);
        }
        let most = statement.instructions.iter().find(|most| most.0 == socket.dbms);
        let goal = most.map_or(Goal::Ratio(1.0, other), |most| Goal::Own(most.1));
        table.compare("user instructions per operation", &counts, 0, Some(goal));
    }

    let own = clients.iter().find(|client| client.kind == Kind::Rqps);
    let own = own.context("rqps is always among the clients")?;
    let few = own::footprint(own, statement, socket, part(GROWTH))?;
    let many = own::footprint(own, statement, socket, part(1))?;
    let memory = many.memory - few.memory;
    table.own("more KiB for 10 × the operations", vec![memory], 0, Goal::Own(MEMORY_SLACK));
    let allocated = (many.allocations - few.allocations) / (part(1) - part(GROWTH)).max(1) as f64;
    table.own("allocations per operation", vec![allocated], 3, Goal::Own(ALLOCATION_SLACK));
    Ok(table)
}

/// All clients in turn in each round, each time with another one first.
fn rounds(
    clients: &[&Client],
    statement: &Statement,
    socket: &Socket,
    rounds: usize,
    part: &dyn Fn(u64) -> u64,
) -> anyhow::Result<BTreeMap<Kind, Vec<Cost>>> {
    let mut measured: BTreeMap<Kind, Vec<Cost>> = BTreeMap::new();
    let (few, many) = (part(BASELINE), part(1));
    for round in 0..rounds {
        for turn in 0..clients.len() {
            let client = clients[(round + turn) % clients.len()];
            let start = process::run(client.command(statement, socket, few))?.cost;
            let whole = process::run(client.command(statement, socket, few + many))?.cost;
            let cost = whole.per_operation(&start, many);
            println!(
                "{}: round {} of {rounds}: {:<8} {:.2} µs CPU per operation",
                statement.name,
                round + 1,
                client.kind.to_string(),
                cost.user + cost.system
            );
            measured.entry(client.kind).or_default().push(cost);
        }
    }
    Ok(measured)
}
