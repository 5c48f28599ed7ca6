//! `rqps ibench`: the Insert Benchmark on one contender or several.

use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, bail};
use clap::Args;
use rqps_dbms::Home;
use rqps_lab::{Lab, Outcome};
use rqps_plan::{
    Cache, Contender, Count, InsertBenchmark, Pacing, Plan, Profile, Span, default_pause,
};
use rqps_store::{Manifest, RunDirectory};

use super::cancel::Cancel;
use super::exit::Exit;
use super::output;
use super::progress::Progress;
use super::report;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Whom to measure; the others are relative to the first.
    #[arg(value_name = "CONTENDER", required_unless_present = "resume")]
    contenders: Vec<Contender>,
    /// Rows that each client loads.
    #[arg(long, default_value = "100K")]
    rows: Count,
    /// Rows that each client inserts in l.i1 and l.i2 [default: 40 % and 10 % of --rows].
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
    /// Give each DBMS a cache that holds all data with room, whatever its config says.
    #[arg(long, conflicts_with = "io_bound")]
    cached: bool,
    /// Give each DBMS a cache that holds a tenth of the data, whatever its config says. The rest is
    /// read from the disk only where memory is short: otherwise the page cache has it.
    #[arg(long)]
    io_bound: bool,
    /// Only these steps, such as l.i0,l.x; a step needs those it builds on.
    #[arg(long, value_name = "STEP,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Decides all random draws: data, order and arrival times.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The run directory [default: out/ibench-<time>].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the run in --out where it was interrupted.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Exit with 4 if a step did not sustain its write rate.
    #[arg(long)]
    strict: bool,
    /// Leave the data directories on disk.
    #[arg(long)]
    keep_data: bool,
    /// Print result.json instead of the tables.
    #[arg(long)]
    json: bool,
}

impl Arguments {
    fn plan(&self) -> anyhow::Result<Plan> {
        let mut benchmark = InsertBenchmark::new(self.profile, self.rows);
        if let Some(writes) = &self.writes {
            let most = if self.profile.is_legacy() { 1 } else { 2 };
            if writes.len() > most {
                let steps = if most == 1 { "only l.i1 writes" } else { "l.i1 and l.i2 write" };
                bail!("--writes has {} values: with {} {steps}", writes.len(), self.profile);
            }
            for (target, given) in benchmark.writes.iter_mut().zip(writes) {
                *target = *given;
            }
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
        benchmark.cache = match (self.cached, self.io_bound) {
            (true, _) => Some(Cache::Cached),
            (false, true) => Some(Cache::IoBound),
            (false, false) => None,
        };
        benchmark.only.clone_from(&self.only);
        let contenders = self.contenders.clone();
        let plan = Plan { contenders, seed: self.seed, insert_benchmark: benchmark };
        plan.validate()?;
        Ok(plan)
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let cancel = Cancel::listen().context("signals cannot be caught")?;
    let home = Home::from_env().map_err(rqps_dbms::DbmsError::from)?;
    let mut progress = Progress::new();
    let cancelled = || cancel.is_wanted();

    // Everything that can be wrong with the request is found before the run directory is made.
    let (resumed, plan) = match arguments.resume {
        true => resume(arguments).map(|(directory, plan)| (Some(directory), plan))?,
        false => (None, arguments.plan()?),
    };
    let mut tell = |event| progress.fetch(event, &cancel);
    let ready = rqps_lab::prepare(&home, &plan, &mut tell)?;
    let mut directory = match resumed {
        Some(directory) => directory,
        None => create(arguments, plan, &home)?,
    };
    let path = directory.path().to_path_buf();
    progress.line(&format!("results go to {}", path.display()));

    let mut watch = |event| progress.event(event);
    let mut lab = Lab {
        home: &home,
        watch: &mut watch,
        cancelled: &cancelled,
        keep_data: arguments.keep_data,
    };
    let outcome = rqps_lab::run(&mut lab, &mut directory, &ready)?;
    progress.finish();
    let run = directory.run()?;
    if !run.steps.is_empty() {
        let files = report::write(&directory, &run)?;
        output::print(&report::result(&run, arguments.json))?;
        files.iter().for_each(|file| output::note(&format!("wrote {}", file.display())));
    }
    Ok(match outcome {
        Outcome::Complete if arguments.strict && rqps_report::sla_missed(&run) => Exit::SlaMissed,
        Outcome::Complete => Exit::Done,
        Outcome::Failed | Outcome::Interrupted => {
            if !run.steps.is_empty() {
                let out = path.display();
                output::note(&format!("to go on with the rest: rqps ibench --resume --out {out}"));
            }
            if outcome == Outcome::Failed { Exit::Failed } else { Exit::Interrupted }
        }
    })
}

/// Opens the run to go on with. Contenders may be left out; if they are given, so must be all else,
/// and it must be the same plan. Given contenders count, for they may have passwords.
fn resume(arguments: &Arguments) -> anyhow::Result<(RunDirectory, Plan)> {
    let path = arguments.out.as_deref().unwrap_or(Path::new("."));
    let directory = RunDirectory::resume(path)?;
    if arguments.contenders.is_empty() {
        let plan = directory.plan.clone();
        return Ok((directory, plan));
    }
    let plan = arguments.plan()?;
    if plan.to_toml() != directory.plan.to_toml() {
        bail!(
            "the run in '{}' was begun with another plan (see its plan.toml): to go on with it, \
             leave everything but --resume and --out away",
            path.display()
        );
    }
    Ok((directory, plan))
}

fn create(arguments: &Arguments, plan: Plan, home: &Home) -> anyhow::Result<RunDirectory> {
    let now = jiff::Timestamp::now();
    let compact = now.strftime("%Y%m%dT%H%M%S");
    let path = match &arguments.out {
        Some(path) => path.clone(),
        None => PathBuf::from("out").join(format!("ibench-{compact}")),
    };
    let data = home.data().map_err(rqps_dbms::DbmsError::from)?;
    let manifest = Manifest {
        id: format!("{compact}-{}", process::id()),
        rqps_version: env!("CARGO_PKG_VERSION").to_string(),
        created: now.to_string(),
        command: std::env::args().map(without_secrets).collect(),
        cpus: rqps_observe::cpus(),
        machine: rqps_observe::machine_facts(&data),
        order: Vec::new(),
    };
    Ok(RunDirectory::create(&path, plan, manifest)?)
}

/// A contender prints itself without its password; anything else is kept as it was typed.
fn without_secrets(argument: String) -> String {
    argument.parse::<Contender>().map_or(argument, |contender| contender.to_string())
}
