//! What every verb that measures has in common: where results go, going on with a run, and what is
//! printed in the end.

use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, bail};
use clap::Args;
use rqps_dbms::Home;
use rqps_lab::{Lab, Outcome};
use rqps_plan::{Cache, Contender, Plan};
use rqps_store::{Manifest, RunDirectory};

use super::cancel::Cancel;
use super::exit::Exit;
use super::output;
use super::progress::Progress;
use super::report;

#[derive(Args)]
pub(crate) struct Session {
    /// Decides all random draws: data, order and arrival times.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The run directory [default: out/<verb>-<time>].
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
    /// Give each DBMS a cache that holds all data with room, whatever its config says.
    #[arg(long, conflicts_with = "io_bound")]
    cached: bool,
    /// Give each DBMS a cache that holds a tenth of the data, whatever its config says. The rest is
    /// read from the disk only where memory is short: otherwise the page cache has it.
    #[arg(long)]
    io_bound: bool,
}

impl Session {
    /// How much of the data each DBMS is to cache, if that was said.
    pub(crate) fn cache(&self) -> Option<Cache> {
        match (self.cached, self.io_bound) {
            (true, _) => Some(Cache::Cached),
            (false, true) => Some(Cache::IoBound),
            (false, false) => None,
        }
    }
}

/// Runs what a verb asks for. `plan` makes its plan from the flags; contenders may be left out when
/// a run is resumed.
pub(crate) fn run(
    verb: &str,
    session: &Session,
    contenders: &[Contender],
    plan: impl FnOnce() -> anyhow::Result<Plan>,
) -> anyhow::Result<Exit> {
    let cancel = Cancel::listen().context("signals cannot be caught")?;
    let home = Home::from_env().map_err(rqps_dbms::DbmsError::from)?;
    let mut progress = Progress::new();
    let cancelled = || cancel.is_wanted();

    // Everything that can be wrong with the request is found before the run directory is made.
    let (resumed, plan) = match session.resume {
        true => resume(session, contenders, plan).map(|(run, plan)| (Some(run), plan))?,
        false => (None, plan()?),
    };
    let mut tell = |event| progress.fetch(event, &cancel);
    let ready = rqps_lab::prepare(&home, &plan, &mut tell)?;
    let mut directory = match resumed {
        Some(directory) => directory,
        None => create(verb, session, plan, &home)?,
    };
    let path = directory.path().to_path_buf();
    progress.line(&format!("results go to {}", path.display()));

    let mut watch = |event| progress.event(event);
    let keep_data = session.keep_data;
    let settled = rqps_report::settled_tests;
    let mut lab =
        Lab { home: &home, watch: &mut watch, cancelled: &cancelled, keep_data, settled: &settled };
    let outcome = rqps_lab::run(&mut lab, &mut directory, &ready)
        .with_context(|| format!("the run in '{}'", path.display()))?;
    progress.finish();
    let run = directory.run()?;
    let is_begun = !run.steps.is_empty() || !run.passes.is_empty();
    if is_begun {
        let files = report::write(&directory, &run)?;
        output::print(&report::result(&run, session.json))?;
        files.iter().for_each(|file| output::note(&format!("wrote {}", file.display())));
    }
    Ok(match outcome {
        Outcome::Complete if session.strict && rqps_report::sla_missed(&run) => Exit::SlaMissed,
        Outcome::Complete => Exit::Done,
        Outcome::Failed | Outcome::Interrupted => {
            if is_begun {
                let out = path.display();
                output::note(&format!("to go on with the rest: rqps {verb} --resume --out {out}"));
            }
            if outcome == Outcome::Failed { Exit::Failed } else { Exit::Interrupted }
        }
    })
}

/// Opens the run to go on with. Contenders may be left out; if they are given, so must be all else,
/// and it must be the same plan. Given contenders count, for they may have passwords.
fn resume(
    session: &Session,
    contenders: &[Contender],
    plan: impl FnOnce() -> anyhow::Result<Plan>,
) -> anyhow::Result<(RunDirectory, Plan)> {
    let path = session.out.as_deref().unwrap_or(Path::new("."));
    let directory = RunDirectory::resume(path)?;
    if contenders.is_empty() {
        let plan = directory.plan.clone();
        return Ok((directory, plan));
    }
    let plan = plan()?;
    if plan.to_toml() != directory.plan.to_toml() {
        bail!(
            "the run in '{}' was begun with another plan (see its plan.toml): to go on with it, \
             leave everything but --resume and --out away",
            path.display()
        );
    }
    Ok((directory, plan))
}

fn create(verb: &str, session: &Session, plan: Plan, home: &Home) -> anyhow::Result<RunDirectory> {
    let now = jiff::Timestamp::now();
    let compact = now.strftime("%Y%m%dT%H%M%S");
    let path = match &session.out {
        Some(path) => path.clone(),
        None => PathBuf::from("out").join(format!("{verb}-{compact}")),
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
