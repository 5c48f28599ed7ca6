//! The flags of the Insert Benchmark, on the command line and in plan files.

use std::time::Duration;

use clap::Args;
use rqps_plan::{Count, InsertBenchmark, Pacing, Profile, Span, Workload, default_pause};

use crate::asked::{Asked, FlagError, Reads};

/// The shortest read-write step of a comparison.
const SHORTEST_STEP: Duration = Duration::from_secs(1);
/// The length of a read-write step of a comparison without --secs.
const USUAL_STEP: Span = Span(Duration::from_secs(2));

#[derive(Args)]
#[command(next_help_heading = "What to measure")]
pub(crate) struct InsertFlags {
    /// Rows that each client loads.
    #[arg(long, default_value = "100K")]
    rows: Count,
    /// Rows that each client inserts in l.i1 and l.i2
    ///
    /// [default: 40 % and 10 % of --rows; p2020 and p2023: as many as --rows]
    #[arg(long, value_name = "L1,L2", value_delimiter = ',')]
    writes: Option<Vec<Count>>,
    /// Length of each read-write step, if its write rate is sustained.
    #[arg(long, value_name = "SECONDS", default_value = "5")]
    query_secs: Span,
    /// Rows inserted per second and client in the read-write steps
    ///
    /// [default: those of the profile]
    #[arg(long, value_name = "RATE,…", value_delimiter = ',')]
    rates: Option<Vec<Count>>,
    /// Number of clients, each with a table and up to three connections.
    #[arg(long, value_name = "N", default_value_t = 1)]
    clients: u32,
    /// Let all clients share one table (profiles p2020 and p2023).
    #[arg(long)]
    one_table: bool,
    /// Published version of the benchmark: p2020, p2023, p2024 or p2025.
    #[arg(long, default_value_t = Profile::P2025)]
    profile: Profile,
    /// Arrival of rate-limited writes: uniform, poisson or burst (the original).
    #[arg(long, default_value_t = Pacing::Uniform)]
    pacing: Pacing,
    /// Minimum pause between the write steps and the first read-write step
    ///
    /// [default: as published from 10M rows on, in proportion below]
    #[arg(long, value_name = "SECONDS")]
    pause: Option<Span>,
    /// Do not check the data after each step
    ///
    /// The check reads whole tables, which the original does not do between steps.
    #[arg(long)]
    no_check: bool,
    /// Split each table into this many ranges of the primary key
    ///
    /// The last range has no upper end.
    #[arg(long, value_name = "N", default_value_t = 0)]
    partitions: u32,
    /// Give each secondary index a column family of its own (MyRocks).
    #[arg(long, conflicts_with = "partitions")]
    column_families: bool,
    /// Run only these steps, such as l.i0,l.x
    ///
    /// A step needs the steps that it builds on.
    #[arg(long, value_name = "STEP,…", value_delimiter = ',')]
    only: Vec<String>,
}

impl Reads for InsertFlags {
    fn workload(self) -> Result<Workload, FlagError> {
        let mut benchmark = InsertBenchmark::new(self.profile, self.rows);
        if let Some(writes) = &self.writes {
            set_writes(&mut benchmark, writes)?;
        }
        if let Some(rates) = &self.rates {
            let rate = |rate: &Count| u32::try_from(rate.0).unwrap_or(u32::MAX);
            benchmark.rates = rates.iter().map(rate).collect();
        }
        benchmark.query_time = self.query_secs;
        benchmark.clients = self.clients;
        benchmark.one_table = self.one_table;
        benchmark.pacing = self.pacing;
        let total_rows = self.rows.0.saturating_mul(u64::from(self.clients));
        benchmark.pause = self.pause.unwrap_or_else(|| default_pause(total_rows));
        benchmark.check = !self.no_check;
        benchmark.partitions = self.partitions;
        benchmark.column_families = self.column_families;
        benchmark.only = self.only;
        Ok(benchmark.into())
    }
}

/// Sets the values of `--writes`, for as many steps as the profile has.
fn set_writes(benchmark: &mut InsertBenchmark, writes: &[Count]) -> Result<(), FlagError> {
    let (steps, most) = match benchmark.profile.is_legacy() {
        true => ("only l.i1 writes", 1),
        false => ("only l.i1 and l.i2 write", 2),
    };
    if writes.len() > most {
        return Err(FlagError(format!(
            "--writes has {} values, but with {} {steps}",
            writes.len(),
            benchmark.profile
        )));
    }
    benchmark.writes.iter_mut().zip(writes).for_each(|(target, given)| *target = *given);
    Ok(())
}

/// The workload of a comparison, with read-write steps of --secs.
pub(crate) fn asked(asked: &Asked<'_>) -> Result<Workload, FlagError> {
    if asked.tables.is_some() || asked.loads.is_some() {
        return Err(FlagError(
            "--tables and --loads cannot be used with the Insert Benchmark: each of its runs loads \
             its own tables. Drop them"
                .to_string(),
        ));
    }
    let profile =
        asked.workload.version().map_or(Ok(Profile::P2025), str::parse).map_err(FlagError)?;
    let mut benchmark = InsertBenchmark::new(profile, asked.rows());
    if let Some(writes) = asked.writes {
        set_writes(&mut benchmark, writes)?;
    }
    benchmark.only = asked.workload.names.clone();
    benchmark.clients = asked.clients;
    benchmark.query_time = asked.secs.unwrap_or(USUAL_STEP);
    if benchmark.query_time.0 < SHORTEST_STEP {
        return Err(FlagError(
            "--secs must be at least 1 with --workload ibench, since it is the length of a \
             read-write step"
                .to_string(),
        ));
    }
    let total_rows = asked.rows().0.saturating_mul(u64::from(asked.clients));
    benchmark.pause = default_pause(total_rows);
    benchmark.check = asked.check;
    Ok(benchmark.into())
}
