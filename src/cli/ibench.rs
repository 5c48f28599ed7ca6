//! `rqps ibench`: the Insert Benchmark on one contender or several.

use anyhow::bail;
use clap::Args;
use rqps_plan::{Count, InsertBenchmark, Pacing, Plan, Profile, Span, Workload, default_pause};

use super::contenders::Contenders;
use super::exit::Exit;
use super::session::{self, Measures, Session};

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    contenders: Contenders,
    /// Rows that each client loads.
    #[arg(long, default_value = "100K")]
    rows: Count,
    /// Rows that each client inserts in l.i1 and l.i2
    /// [default: 40 % and 10 % of --rows; p2020 and p2023: as many as --rows].
    #[arg(long, value_name = "L1,L2", value_delimiter = ',')]
    writes: Option<Vec<Count>>,
    /// How long each read-write step lasts when its write rate is sustained.
    #[arg(long, value_name = "SECONDS", default_value = "5")]
    query_secs: Span,
    /// Rows inserted per second and client in the read-write steps [default: as the profile].
    #[arg(long, value_name = "RATE,…", value_delimiter = ',')]
    rates: Option<Vec<Count>>,
    /// Clients: each has a table and up to three connections.
    #[arg(long, default_value_t = 1)]
    clients: u32,
    /// All clients share one table (profiles p2020 and p2023).
    #[arg(long)]
    one_table: bool,
    /// Which published version of the benchmark: p2020, p2023, p2024 or p2025.
    #[arg(long, default_value_t = Profile::P2025)]
    profile: Profile,
    /// When rate-limited writes start: uniform, poisson or burst (as the original).
    #[arg(long, default_value_t = Pacing::Uniform)]
    pacing: Pacing,
    /// The shortest pause between the write steps and the first read-write step
    /// [default: as published from 10M rows on, in proportion below].
    #[arg(long, value_name = "SECONDS")]
    pause: Option<Span>,
    /// Do not check the data after each step: the check reads whole tables, which the original does
    /// not do between steps.
    #[arg(long)]
    no_check: bool,
    /// Split each table into so many ranges of the primary key, the last one open ended.
    #[arg(long, value_name = "N", default_value_t = 0)]
    partitions: u32,
    /// Give each secondary index a column family of its own (MyRocks).
    #[arg(long, conflicts_with = "partitions")]
    column_families: bool,
    /// Only these steps, such as l.i0,l.x; a step needs those it builds on.
    #[arg(long, value_name = "STEP,…", value_delimiter = ',')]
    only: Vec<String>,
    #[command(flatten)]
    session: Session,
}

impl Measures for Arguments {
    const VERB: &'static str = "ibench";

    fn plan(&self) -> anyhow::Result<Plan> {
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
        benchmark.only.clone_from(&self.only);
        let contenders = self.contenders.all();
        let plan = Plan {
            contenders,
            seed: self.session.seed,
            cache: self.session.cache(),
            memory: self.session.memory,
            workload: Workload::InsertBenchmark(benchmark),
        };
        plan.validate()?;
        Ok(plan)
    }
}

/// What `--writes` says, of as many steps as the profile has.
pub(super) fn set_writes(benchmark: &mut InsertBenchmark, writes: &[Count]) -> anyhow::Result<()> {
    let (steps, most) = match benchmark.profile.is_legacy() {
        true => ("only l.i1 writes", 1),
        false => ("l.i1 and l.i2 write", 2),
    };
    if writes.len() > most {
        bail!("--writes has {} values: with {} {steps}", writes.len(), benchmark.profile);
    }
    benchmark.writes.iter_mut().zip(writes).for_each(|(target, given)| *target = *given);
    Ok(())
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let Arguments { contenders, session, .. } = arguments;
    session::run(Arguments::VERB, session, &contenders.all(), || arguments.plan(), |_| Ok(()))
}
