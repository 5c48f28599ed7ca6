//! The client's part in the Insert Benchmark's load step.

use anyhow::Context;
use rqps_load::ClientThreads;
use rqps_plan::{Count, InsertBenchmark, Profile};
use rqps_wire::Cancel;
use rqps_workload::insert_benchmark::Benchmark;

use crate::run::failed;
use crate::server::Running;

/// Loads a new table like l.i0 and returns the CPU of the inserting thread in microseconds per row:
/// generating rows, sending them, reading results, recording.
pub(crate) fn cpu_per_row(running: &Running, rows: u64) -> anyhow::Result<f64> {
    let (target, subject) = (running.target(), running.subject());
    let plan = InsertBenchmark::new(Profile::P2025, Count(rows));
    let benchmark = Benchmark::new(target, subject.dialect, &plan, 1);
    let steps = plan.steps();
    let load = steps.first().context("the Insert Benchmark begins with l.i0")?;
    benchmark.create_tables()?;
    let connected = benchmark.connect(load, 0)?;
    let (work, orders): (Vec<_>, Vec<_>) =
        connected.parts.into_iter().map(|part| (part.work, part.order)).unzip();
    let mut client_threads = ClientThreads::start(work)?;
    client_threads.run(&orders, &mut |_, _| {}, &Cancel::default()).map_err(failed)?;
    let cpu: u64 = client_threads
        .live()
        .iter()
        .map(|live| live.cost().cpu_user + live.cost().cpu_system)
        .sum();
    benchmark.check(load, &connected.books)?;
    let inserted: u64 = client_threads.finish().iter().map(|tally| tally.rows).sum();
    let mut connection = target.connect()?;
    for table in benchmark.tables() {
        connection.run(&format!("drop table {table}"))?;
    }
    running.settle()?;
    Ok(cpu as f64 / inserted as f64)
}
