//! What rqps's client costs, beside Debian's sysbench and pgbench: `cargo bench --bench client_cost`.
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
mod point_query;
mod process;
mod spread;
mod table;
mod target;

use std::collections::BTreeMap;

use anyhow::Context;
use rqps_dbms::Home;

use clients::{Client, Kind};
use process::Cost;
use table::{Goal, Table};
use target::{Running, Socket};

/// How much is run.
struct Size {
    rounds: usize,
    /// Point queries of each client in a round; the growth run does ten times as many.
    queries: u64,
    /// Point queries under callgrind.
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
    if arguments.first().is_some_and(|first| first == point_query::ARGUMENT) {
        return point_query::run(&arguments[1..]);
    }
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let full = given("--bench") && !given("--test") && !given("--quick");
    let size = if full { FULL } else { SMOKE };

    let (clients, missing) = clients::find()?;
    let home = Home::from_env()?;
    let mut running = Running::start(&home)?;
    let result = measure(&running, &clients, &size);
    running.discard()?;
    println!("\n{}\n", result?);
    println!(
        "Medians of {} rounds of {} queries each, lowest and highest in brackets; ratios are rqps \
         to sysbench, paired by round.",
        size.rounds, size.queries
    );
    missing.iter().for_each(|line| println!("{line}"));
    if !full {
        println!("A smoke run: too short for its figures to mean anything.");
    }
    Ok(())
}

fn measure(running: &Running, clients: &[Client], size: &Size) -> anyhow::Result<Table> {
    let socket = running.socket();
    running.fill()?;
    let mut table = Table::new();

    let measured = rounds(clients, socket, size)?;
    let mut compare = |measure: &str, pick: fn(&Cost) -> f64, decimals, goal| {
        let of = |(kind, costs): (&Kind, &Vec<Cost>)| (*kind, costs.iter().map(pick).collect());
        table.compare(measure, &measured.iter().map(of).collect(), decimals, goal);
    };
    compare("CPU per query, µs", |cost| cost.user + cost.system, 2, Some(Goal::Ratio(0.85)));
    compare("  user, µs", |cost| cost.user, 2, None);
    compare("  system, µs", |cost| cost.system, 2, None);
    compare("voluntary switches per query", |cost| cost.voluntary, 3, Some(Goal::Own(1.05)));
    compare("involuntary switches per query", |cost| cost.involuntary, 3, None);

    if let Some(valgrind) = clients::on_path("valgrind") {
        let mut counts = BTreeMap::new();
        for client in clients {
            println!("callgrind: {}", client.kind);
            let count = callgrind::per_query(&valgrind, client, socket, BASELINE, size.counted)?;
            counts.insert(client.kind, vec![count]);
        }
        table.compare("user instructions per query", &counts, 0, Some(Goal::Own(800.0)));
    }

    let loads: anyhow::Result<Vec<f64>> = (1..=size.rounds)
        .map(|round| {
            println!("l.i0: round {round} of {}", size.rounds);
            insert::cpu_per_row(running.target(), size.inserted)
        })
        .collect();
    table.own("l.i0 CPU per row, µs", loads?, 2, Goal::Own(1.0));

    let own = clients.iter().find(|client| client.kind == Kind::Rqps);
    let own = own.context("rqps is always among the clients")?;
    let few = point_query::memory_after(own, socket, size.queries)?;
    let many = point_query::memory_after(own, socket, size.queries * 10)?;
    println!("memory: {few} KiB for {} queries, {many} KiB for ten times as many", size.queries);
    table.own("more KiB for 10 × the queries", vec![many - few], 0, Goal::Own(MEMORY_SLACK));
    Ok(table)
}

/// All clients in turn, as often as there are rounds; another one begins each time.
fn rounds(
    clients: &[Client],
    socket: &Socket,
    size: &Size,
) -> anyhow::Result<BTreeMap<Kind, Vec<Cost>>> {
    let mut measured: BTreeMap<Kind, Vec<Cost>> = BTreeMap::new();
    for round in 0..size.rounds {
        for turn in 0..clients.len() {
            let client = &clients[(round + turn) % clients.len()];
            let start = process::run(client.command(socket, BASELINE))?.cost;
            let whole = process::run(client.command(socket, BASELINE + size.queries))?.cost;
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
