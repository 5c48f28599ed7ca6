//! The time to create sysbench's table: rqps beside `sysbench prepare`.

use std::collections::BTreeMap;
use std::time::Instant;

use rqps_workload::microbenchmark::Benchmark;

use crate::clients::{Client, Kind};
use crate::process;
use crate::run::run;
use crate::sbtest::{SEED, plan};
use crate::server::Running;
use crate::size::Size;
use crate::table::{Goal, Table};

/// The limit of rqps's load, as a part of sysbench's time: twice as many rows per second.
const GOAL: f64 = 0.5;

/// Seconds for a table, without its index and with it.
struct Took {
    rows: f64,
    whole: f64,
}

/// Both in turn, in alternating order.
pub(crate) fn compare(running: &Running, clients: &[Client], size: &Size) -> anyhow::Result<Table> {
    let (rows, rounds) = (size.inserted, size.rounds);
    let loads = |client: &&Client| matches!(client.kind, Kind::Rqps | Kind::Sysbench);
    let loaders: Vec<&Client> = clients.iter().filter(loads).collect();
    let mut measured: BTreeMap<Kind, Vec<Took>> = BTreeMap::new();
    for round in 0..rounds {
        for turn in 0..loaders.len() {
            let client = loaders[(round + turn) % loaders.len()];
            let took = load(running, client, rows)?;
            println!(
                "load: round {} of {rounds}: {:<8} {:.1} s, {:.1} s with the index",
                round + 1,
                client.kind.to_string(),
                took.rows,
                took.whole
            );
            measured.entry(client.kind).or_default().push(took);
        }
    }
    let mut table = Table::new();
    let mut add = |measure: &str, pick: fn(&Took) -> f64| {
        let each = |took: &Took| pick(took) * 1e6 / rows as f64;
        let of = |(kind, all): (&Kind, &Vec<Took>)| (*kind, all.iter().map(each).collect());
        table.compare(
            measure,
            &measured.iter().map(of).collect(),
            2,
            Some(Goal::Ratio(GOAL, Kind::Sysbench)),
        );
    };
    add("µs per row", |took| took.rows);
    add("µs per row with the index", |took| took.whole);
    Ok(table)
}

/// Creates the table, and drops it afterwards.
fn load(running: &Running, client: &Client, rows: u64) -> anyhow::Result<Took> {
    let plan = plan(rows);
    let benchmark = Benchmark::new(running.target(), running.subject().dialect, &plan, SEED);
    let start = Instant::now();
    match client.kind {
        Kind::Rqps => run(benchmark.loaders(true)?)?,
        _ => drop(process::run(client.prepare(running.socket(), rows))?),
    }
    let loaded = start.elapsed().as_secs_f64();
    run(benchmark.indexers()?)?;
    let whole = start.elapsed().as_secs_f64();
    running.settle()?;
    running.target().connect()?.run("drop table sbtest1")?;
    Ok(Took { rows: loaded, whole })
}
