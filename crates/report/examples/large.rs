//! How long the reports of a large run take: 7 contenders, 38 tests, 600 seconds each, with as many
//! counters as Postgres has.
//!
//! ```sh
//! cargo build --release -p rqps-report --example large
//! target/release/examples/large make DIR                          # the run directory, 250 MB
//! /usr/bin/time -v target/release/examples/large html DIR         # or json, csv, seconds-csv
//! ```

// The tests need more of it.
#[allow(dead_code)]
#[path = "../tests/report/sample.rs"]
mod sample;

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use rqps_observe::{EngineReading, Kind};
use rqps_store::{EngineSample, Run, RunDirectory, StepRecord};

const CONTENDERS: [&str; 7] = [
    "postgres@12.22",
    "postgres@13.22",
    "postgres@14.19",
    "postgres@15.14",
    "postgres@16.10",
    "postgres@17.6",
    "postgres@18.0",
];
const TESTS: u32 = 38;
const SECONDS: u64 = 600;
/// Counters over a step, and those that are read each second.
const COUNTERS: (u64, u64) = (120, 12);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [what, directory] = arguments.as_slice() else {
        return Err("usage: large make|html|json|csv|seconds-csv DIR".into());
    };
    let directory = Path::new(directory);
    if what == "make" {
        return make(directory);
    }
    let run = match what.as_str() {
        "json" | "seconds-csv" => Run::open(directory)?,
        _ => Run::open_without_samples(directory)?,
    };
    let text = match what.as_str() {
        "html" => rqps_report::html(&run),
        "json" => rqps_report::result_json(&run),
        "csv" => rqps_report::csv(&run),
        "seconds-csv" => rqps_report::seconds_csv(&run),
        other => return Err(format!("unknown format {other}").into()),
    };
    println!("{what}: {} bytes", text.len());
    Ok(fs::write(directory.join(format!("large.{what}")), text)?)
}

fn make(directory: &Path) -> Result<(), Box<dyn Error>> {
    let run = sample::run(&CONTENDERS, SECONDS);
    let mut kept = RunDirectory::create(directory, run.plan, run.manifest)?;
    for contender in &run.contenders {
        kept.save_contender(contender)?;
        let steps = run.steps.iter().filter(|step| step.contender == contender.name);
        // Without l.x, which has no seconds.
        let steps = steps.filter(|step| step.step != "l.x").cycle();
        for (order, step) in (0..TESTS).zip(steps) {
            let mut step = renamed(step, order);
            kept.begin_step(&mut step)?;
            step.status = rqps_store::Status::Done;
            kept.finish_step(&step)?;
        }
    }
    Ok(())
}

fn renamed(step: &StepRecord, order: u32) -> StepRecord {
    let engine = |count: u64, each: u64| {
        let mut reading = EngineReading::default();
        for index in 0..count {
            let value = each * (index + 7) * u64::from(order + 3) % 1_000_003;
            reading.set(format!("pg_stat_something.counter_{index}"), Kind::Counter, value);
        }
        reading
    };
    let sample =
        |second| EngineSample { at: second as f64, values: engine(COUNTERS.1, second * 31) };
    // A microbenchmark has one kind of connection.
    let workers = step.workers.last().cloned().into_iter().collect();
    StepRecord {
        workers,
        step: format!("{}-{order}", step.step),
        order,
        engine: engine(COUNTERS.0, 7919),
        engine_samples: (1..=SECONDS).map(sample).collect(),
        ..step.clone()
    }
}
