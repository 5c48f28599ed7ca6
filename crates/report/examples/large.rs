//! How long the reports of a large run take: 7 contenders, 38 tests, 600 seconds each, with as many
//! counters as Postgres has.
//!
//! ```sh
//! cargo build --release --workspace --bins --examples
//! target/release/examples/large DIR                    # makes the run directory
//! /usr/bin/time -v target/release/rqps report DIR
//! ```

// The tests need more of it.
#[allow(dead_code)]
#[path = "../tests/report/sample.rs"]
mod sample;

use std::env;
use std::error::Error;
use std::path::Path;

use rqps_observe::{EngineReading, Kind};
use rqps_store::{EngineSample, RoundRecord, RunDirectory, Status};

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
    let [directory] = arguments.as_slice() else { return Err("usage: large DIR".into()) };
    make(Path::new(directory))
}

/// Makes the run directory.
pub(crate) fn make(directory: &Path) -> Result<(), Box<dyn Error>> {
    let run = sample::run(&CONTENDERS, SECONDS);
    let mut kept = RunDirectory::create(directory, run.plan, run.manifest)?;
    for contender in &run.contenders {
        kept.save_contender(contender)?;
        let rounds = run.rounds.iter().filter(|round| sample::is_of(round, &contender.name));
        // Without l.x, which has no seconds.
        let rounds = rounds.filter(|round| round.test != "l.x").cycle();
        for (place, round) in (0..TESTS).zip(rounds) {
            kept.save(&renamed(round, place))?;
        }
    }
    Ok(())
}

fn renamed(round: &RoundRecord, place: u32) -> RoundRecord {
    let engine = |count: u64, each: u64| {
        let mut reading = EngineReading::default();
        for index in 0..count {
            let value = each * (index + 7) * u64::from(place + 3) % 1_000_003;
            reading.set(format!("pg_stat_something.counter_{index}"), Kind::Counter, value);
        }
        reading
    };
    let sample =
        |second| EngineSample { at: second as f64, values: engine(COUNTERS.1, second * 31) };
    // A microbenchmark has one kind of connection.
    let mut round = RoundRecord { test: format!("{}-{place}", round.test), place, ..round.clone() };
    for arm in round.arms.values_mut() {
        arm.status = Status::Done;
        arm.work = arm.work.last().cloned().into_iter().collect();
        arm.engine = engine(COUNTERS.0, 7919);
        arm.engine_samples = (1..=SECONDS).map(sample).collect();
    }
    round
}
