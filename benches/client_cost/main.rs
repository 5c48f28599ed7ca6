//! What rqps's client costs, beside Debian's sysbench and pgbench: `cargo bench --bench client_cost`,
//! of one DBMS or statement with `-- postgres`, `-- mysql` or `-- point-query`.
//!
//! A benchmark, not a test: it prints figures next to the goals of docs/performance.md and exits
//! with 0 whatever they are. Everything runs on one CPU: with a CPU each for client and server, how
//! fast they wake each other decides the figures, and that changes from run to run.
//!
//! Without `--bench`, which `cargo bench` passes, or with `--test` or `--quick` it only shows that
//! it works.

mod callgrind;
mod clients;
mod insert;
mod own;
mod process;
mod server;
mod spread;
mod statement;
mod subject;
mod table;

use std::borrow::Cow;
use std::collections::BTreeMap;

use anyhow::{Context, bail};
use rqps_dbms::Home;

use clients::{Client, Kind};
use process::Cost;
use server::{Running, Socket};
use statement::{STATEMENTS, Statement};
use subject::SUBJECTS;
use table::{Goal, Table};

/// How much is run.
struct Size {
    rounds: usize,
    /// Queries of each client in a round; the growth run does ten times as many.
    queries: u64,
    /// Queries under callgrind.
    counted: u64,
    /// Rows of l.i0.
    inserted: u64,
}

const FULL: Size = Size { rounds: 5, queries: 200_000, counted: 10_000, inserted: 1_000_000 };
const SMOKE: Size = Size { rounds: 1, queries: 2_000, counted: 500, inserted: 10_000 };

/// Queries of the run that is subtracted, so that starting and connecting do not count.
const BASELINE: u64 = 100;

/// KiB that memory may grow by: histograms reserve their counters at the start and use them as
/// times first occur.
const MEMORY_SLACK: f64 = 256.0;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == own::ARGUMENT) {
        return own::run(&arguments[1..]);
    }
    let (flags, names): (Vec<_>, Vec<_>) = arguments
        .iter()
        .map(|argument| argument.to_string_lossy())
        .partition(|argument| argument.starts_with("--"));
    let given = |flag: &str| flags.iter().any(|argument| argument == flag);
    let full = given("--bench") && !given("--test") && !given("--quick");
    let size = if full { FULL } else { SMOKE };
    let subjects = chosen(&SUBJECTS, |subject| subject.dbms.name(), &names);
    let statements = chosen(&STATEMENTS, |statement| statement.name, &names);
    let is_known =
        |name: &&Cow<str>| subject::named(name).is_some() || statement::named(name).is_some();
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        bail!("'{unknown}' is neither a DBMS nor a statement of this benchmark");
    }

    let (clients, missing) = clients::find()?;
    let home = Home::from_env()?;
    for subject in subjects {
        let clients: Vec<&Client> =
            clients.iter().filter(|client| client.speaks(subject.dbms)).collect();
        let mut running = Running::start(&home, subject)?;
        let measured = measure(&running, &clients, &statements, &size);
        running.discard()?;
        for (title, table) in measured? {
            println!("\n{}, {title}\n{table}", subject.contender);
        }
    }
    println!(
        "\nMedians of {} rounds of {} queries each, lowest and highest in brackets; ratios are \
         rqps to sysbench, paired by round.",
        size.rounds, size.queries
    );
    missing.iter().for_each(|line| println!("{line}"));
    if !full {
        println!("A smoke run: too short for its figures to mean anything.");
    }
    Ok(())
}

/// The rows of a table that are named, or all of them if none is.
fn chosen<T>(rows: &'static [T], name: fn(&T) -> &str, names: &[Cow<str>]) -> Vec<&'static T> {
    let is_named = |row: &&T| names.iter().any(|given| given == name(row));
    match rows.iter().any(|row| is_named(&row)) {
        true => rows.iter().filter(is_named).collect(),
        false => rows.iter().collect(),
    }
}

/// A table for each statement, and one for what does not depend on it.
fn measure(
    running: &Running,
    clients: &[&Client],
    statements: &[&Statement],
    size: &Size,
) -> anyhow::Result<Vec<(&'static str, Table)>> {
    running.fill()?;
    let mut tables = Vec::new();
    for statement in statements {
        tables.push((statement.name, compare(running, clients, statement, size)?));
    }
    let mut table = Table::new();
    let loads: anyhow::Result<Vec<f64>> = (1..=size.rounds)
        .map(|round| {
            println!("l.i0: round {round} of {}", size.rounds);
            insert::cpu_per_row(running, size.inserted)
        })
        .collect();
    table.own("l.i0 CPU per row, µs", loads?, 2, Goal::Own(1.0));
    tables.push(("the Insert Benchmark", table));
    Ok(tables)
}

/// What a statement costs each client.
fn compare(
    running: &Running,
    clients: &[&Client],
    statement: &Statement,
    size: &Size,
) -> anyhow::Result<Table> {
    let socket = running.socket();
    let mut table = Table::new();
    let measured = rounds(clients, statement, socket, size)?;
    let mut compare = |measure: &str, pick: fn(&Cost) -> f64, decimals, goal| {
        let of = |(kind, costs): (&Kind, &Vec<Cost>)| (*kind, costs.iter().map(pick).collect());
        table.compare(measure, &measured.iter().map(of).collect(), decimals, goal);
    };
    let cpu = Some(Goal::Ratio(statement.cpu));
    compare("CPU per query, µs", |cost| cost.user + cost.system, 2, cpu);
    compare("  user, µs", |cost| cost.user, 2, None);
    compare("  system, µs", |cost| cost.system, 2, None);
    compare("voluntary switches per query", |cost| cost.voluntary, 3, Some(Goal::Own(1.05)));
    compare("involuntary switches per query", |cost| cost.involuntary, 3, None);

    if let Some(valgrind) = clients::on_path("valgrind") {
        let mut counts = BTreeMap::new();
        for client in clients {
            println!("callgrind: {}", client.kind);
            let command = |queries| client.command(statement, socket, queries);
            let count = callgrind::per_query(&valgrind, command, BASELINE, size.counted)?;
            counts.insert(client.kind, vec![count]);
        }
        let most = statement.instructions.iter().find(|most| most.0 == socket.dbms);
        let goal = most.map(|most| Goal::Own(most.1));
        table.compare("user instructions per query", &counts, 0, goal);
    }

    let own = clients.iter().find(|client| client.kind == Kind::Rqps);
    let own = own.context("rqps is always among the clients")?;
    let few = own::memory_after(own, statement, socket, size.queries)?;
    let many = own::memory_after(own, statement, socket, size.queries * 10)?;
    println!("memory: {few} KiB for {} queries, {many} KiB for ten times as many", size.queries);
    table.own("more KiB for 10 × the queries", vec![many - few], 0, Goal::Own(MEMORY_SLACK));
    Ok(table)
}

/// All clients in turn, as often as there are rounds; another one begins each time.
fn rounds(
    clients: &[&Client],
    statement: &Statement,
    socket: &Socket,
    size: &Size,
) -> anyhow::Result<BTreeMap<Kind, Vec<Cost>>> {
    let mut measured: BTreeMap<Kind, Vec<Cost>> = BTreeMap::new();
    for round in 0..size.rounds {
        for turn in 0..clients.len() {
            let client = clients[(round + turn) % clients.len()];
            let start = process::run(client.command(statement, socket, BASELINE))?.cost;
            let whole =
                process::run(client.command(statement, socket, BASELINE + size.queries))?.cost;
            let cost = whole.per_query(&start, size.queries);
            println!(
                "round {} of {}: {:<8} {:.2} µs CPU per query",
                round + 1,
                size.rounds,
                client.kind.to_string(),
                cost.user + cost.system
            );
            measured.entry(client.kind).or_default().push(cost);
        }
    }
    Ok(measured)
}
