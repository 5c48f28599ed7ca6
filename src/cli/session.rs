//! What every verb that measures has in common: where results go, going on with a run, and what is
//! printed in the end.

use std::collections::BTreeMap;
use std::iter;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, Id};
use rqps_dbms::{Dbms, Home};
use rqps_lab::{Lab, Outcome};
use rqps_observe::KernelCost;
use rqps_plan::{Cache, Contender, Memory, Plan};
use rqps_report::Gate;
use rqps_store::{KernelRecord, Manifest, Run, RunDirectory, StoreError};
use rqps_system::Cancel;

use super::exit::Exit;
use super::output;
use super::plan::Forecast;
use super::progress::{Fetching, Progress, standing};
use super::report;

/// What the identity of a selftest's run begins with, and so the name of its data directories.
pub(super) const SELFTEST: &str = "selftest-";

#[derive(Args)]
pub(crate) struct Session {
    /// Decides all random draws: data, order and arrival times.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Give each DBMS a cache that holds all data with room, whatever its config says: what rqps
    /// compare does without --io-bound.
    #[arg(long, conflicts_with = "io_bound")]
    cached: bool,
    /// Give each DBMS a cache that holds a tenth of the data, whatever its config says. The rest is
    /// read from the disk only where memory is short (--memory): otherwise the page cache has it.
    #[arg(long)]
    io_bound: bool,
    /// The most memory that each server may use, the page cache of its files included, such as
    /// 512M: a control group, so that data beyond it are read from the disk.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Memory>,
    #[command(flatten)]
    sitting: Sitting,
}

/// What does not change what is measured.
#[derive(Args)]
pub(crate) struct Sitting {
    /// The directory for the results [default: out/<verb>-<time>].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Go on in --out where it was interrupted, as it was planned.
    #[arg(long, requires = "out")]
    pub(crate) resume: bool,
    /// Exit with 4 if a step did not sustain its write rate, and with 5 if the verdict on any test
    /// of a comparison is inconclusive or invalid, as it is of a write rate that was not sustained.
    #[arg(long)]
    strict: bool,
    /// Leave the data directories on disk; of what was begun with it, also after a --resume
    /// without.
    #[arg(long)]
    keep_data: bool,
    /// Print the result as JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The flags of a verb that say what is measured.
pub(super) fn of_the_plan(verb: &Command) -> impl Iterator<Item = &Arg> {
    let sitting = Sitting::augment_args(Command::new(""));
    let of_sitting: Vec<Id> = sitting.get_arguments().map(|arg| arg.get_id().clone()).collect();
    verb.get_arguments()
        .filter(move |arg| !of_sitting.contains(arg.get_id()) && arg.get_id() != "junit")
        .filter(|arg| !arg.is_global_set())
}

/// Flags beside `--resume` that would be ignored, since the plan is there already.
pub(super) fn ignored(verb: &Command, matches: &ArgMatches) -> Vec<String> {
    let is_resumed = matches!(matches.try_get_one::<bool>("resume"), Ok(Some(true)));
    // Who names contenders repeats the whole plan.
    let is_repeated = matches.try_contains_id("contenders").unwrap_or(true);
    let is_given =
        |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let flags = of_the_plan(verb).filter(|_| is_resumed && !is_repeated).filter(is_given);
    flags.filter_map(Arg::get_long).map(|flag| format!("--{flag}")).collect()
}

impl Session {
    /// Whether a folder is not there yet and comes with the run directory that a verb makes: that
    /// one, or one that it lies in.
    pub(crate) fn makes(&self, verb: &str, folder: &Path) -> bool {
        let whole = |path: &Path| std::path::absolute(path).ok();
        let run = whole(&self.sitting.directory(verb));
        let made = |(run, folder): (PathBuf, PathBuf)| !folder.exists() && run.starts_with(folder);
        run.zip(whole(folder)).is_some_and(made)
    }

    /// How much of the data each DBMS is to cache, if that was said.
    pub(crate) fn cache(&self) -> Option<Cache> {
        match (self.cached, self.io_bound) {
            (true, _) => Some(Cache::Cached),
            (false, true) => Some(Cache::IoBound),
            (false, false) => None,
        }
    }
}

impl Sitting {
    /// Where the results go.
    pub(crate) fn directory(&self, verb: &str) -> PathBuf {
        let compact = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
        self.out.clone().unwrap_or_else(|| PathBuf::from("out").join(format!("{verb}-{compact}")))
    }
}

/// What measuring needs of the process; there can be one.
pub(crate) struct Setup {
    pub(crate) home: Home,
    pub(crate) cancel: Cancel,
}

/// What has come of a run.
pub(crate) struct Measured {
    pub(crate) exit: Exit,
    /// What is stored, if anything was measured, and the reports that were written of it.
    pub(crate) reported: Option<(Run, Vec<PathBuf>)>,
}

impl Setup {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let cancel = super::cancel::listen().context("signals cannot be caught")?;
        Ok(Setup { home: Home::from_env().map_err(rqps_dbms::DbmsError::from)?, cancel })
    }

    /// Finds everything that can be wrong with a plan, and fetches the builds. Those that nobody
    /// runs are told before they are measured.
    pub(crate) fn prepare(&self, plan: &Plan) -> anyhow::Result<Vec<Box<dyn Dbms>>> {
        let mut fetching = Fetching::new();
        let mut tell = |event| fetching.tell(event, &self.cancel);
        let ready = rqps_lab::prepare(&self.home, plan, &mut tell, &self.cancel)?;
        for (contender, dbms) in plan.contenders.iter().zip(&ready) {
            if let Some(unusual) = dbms.flags().unusual() {
                output::note(&format!(
                    "{}: {unusual}: not what distributions ship",
                    contender.name()
                ));
            }
        }
        Ok(ready)
    }

    /// Looks at the servers of a plan that are running already, and keeps other runs out of them.
    pub(crate) fn arrive(&self, plan: &Plan, ready: &[Box<dyn Dbms>]) -> anyhow::Result<()> {
        Ok(rqps_lab::arrive(plan, ready)?)
    }

    /// Makes the directory of a new run.
    pub(crate) fn create(&self, path: &Path, plan: Plan) -> anyhow::Result<RunDirectory> {
        self.create_as("", path, plan)
    }

    /// Makes the directory of a run of a selftest: nobody goes on with it.
    pub(crate) fn create_for_selftest(
        &self,
        path: &Path,
        plan: Plan,
    ) -> anyhow::Result<RunDirectory> {
        self.create_as(SELFTEST, path, plan)
    }

    fn create_as(&self, kind: &str, path: &Path, plan: Plan) -> anyhow::Result<RunDirectory> {
        let now = jiff::Timestamp::now();
        let data = self.home.data().map_err(rqps_dbms::DbmsError::from)?;
        let manifest = Manifest {
            id: format!("{kind}{}-{}-{}", now.strftime("%Y%m%dT%H%M%S"), process::id(), number()),
            rqps_version: env!("CARGO_PKG_VERSION").to_string(),
            created: now.to_string(),
            // By its name: results are passed on, and where the program lies is of this machine.
            command: iter::once("rqps".to_string())
                .chain(
                    std::env::args_os()
                        .skip(1)
                        .map(|word| without_secrets(word.to_string_lossy().into())),
                )
                .collect(),
            cpus: rqps_observe::cpus(),
            machine: rqps_observe::machine_facts(&data),
            order: Vec::new(),
            memory: Some(rqps_lab::memory_hold(&plan)?),
            direct_reads: BTreeMap::new(),
            reference_loop_rounds: None,
            groups: None,
            kernel: KernelCost::measure().map(|cost| KernelRecord {
                system_call_ns: cost.system_call.as_nanos() as u64,
                message_ns: cost.message.as_nanos() as u64,
            }),
        };
        RunDirectory::create(path, plan, manifest).map_err(|error| match error {
            // The others name the place themselves.
            StoreError::Sql(_) => {
                anyhow::Error::from(error).context(format!("the run in '{}'", path.display()))
            }
            error => error.into(),
        })
    }

    /// Measures what the run does not have yet, and writes its reports.
    pub(crate) fn measure(
        &self,
        directory: &mut RunDirectory,
        ready: &[Box<dyn Dbms>],
        sitting: &Sitting,
        (progress, workload): (&mut Progress, usize),
    ) -> anyhow::Result<Measured> {
        output::note(&format!("results go to {}", directory.path().display()));
        progress.begin(workload);
        let mut watch = |event| progress.event(&event);
        let (home, keep_data, judge) = (&self.home, sitting.keep_data, &standing);
        let mut lab = Lab { home, watch: &mut watch, cancel: &self.cancel, keep_data, judge };
        let outcome = rqps_lab::run(&mut lab, directory, ready);
        progress.end();
        let outcome =
            outcome.with_context(|| format!("the run in '{}'", directory.path().display()))?;
        let run = directory.run()?;
        let exit = match outcome {
            Outcome::Complete if sitting.strict && rqps_report::sla_missed(&run) => Exit::SlaMissed,
            Outcome::Complete => match rqps_report::gate(&run) {
                Some(Gate::Regression) => Exit::Regression,
                Some(Gate::Undecided) if sitting.strict => Exit::Unfit,
                _ => Exit::Done,
            },
            Outcome::Failed => Exit::Failed,
            Outcome::Interrupted => Exit::Interrupted,
        };
        let reported = match run.rounds.is_empty() {
            false => {
                let files = report::write(directory, &run)?;
                Some((run, files))
            }
            true => None,
        };
        Ok(Measured { exit, reported })
    }
}

/// How many runs this process has begun before.
fn number() -> usize {
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    BEGUN.fetch_add(1, Ordering::Relaxed)
}

/// Runs what a verb asks for. `plan` makes its plan from the flags; contenders may be left out when
/// a run is resumed. `and` is done with what was measured.
pub(crate) fn run(
    verb: &str,
    session: &Session,
    contenders: &[Contender],
    plan: impl FnOnce() -> anyhow::Result<Plan>,
    and: impl FnOnce(&Run) -> anyhow::Result<()>,
) -> anyhow::Result<Exit> {
    let setup = Setup::new()?;
    let sitting = &session.sitting;
    let path = sitting.directory(verb);
    // Everything that can be wrong with the request is found before the run directory is made.
    let (resumed, plan) = match sitting.resume {
        true => resume(sitting, contenders, plan).map(|(run, plan)| (Some(run), plan))?,
        false => {
            let plan = plan()?;
            RunDirectory::refuse_unfit(&path)?;
            (None, plan)
        }
    };
    let ready = setup.prepare(&plan)?;
    setup.arrive(&plan, &ready)?;
    let mut directory = match resumed {
        Some(directory) => directory,
        None => {
            let directory = setup.create(&path, plan)?;
            Forecast::of([&directory.plan].into_iter(), &setup.home)?.tell();
            directory
        }
    };
    let mut progress = Progress::new([(String::new(), &directory.plan)])?;
    let Measured { exit, reported } =
        setup.measure(&mut directory, &ready, sitting, (&mut progress, 0))?;
    if let Some((run, files)) = &reported {
        report::print_result(run, sitting.json)?;
        files.iter().for_each(|file| output::note(&format!("wrote {}", file.display())));
        and(run)?;
        if matches!(exit, Exit::Failed | Exit::Interrupted) {
            let out = directory.path().display();
            output::note(&format!("to go on with the rest: rqps {verb} --resume --out {out}"));
        }
    }
    Ok(exit)
}

/// Opens the run to go on with. Contenders may be left out; if they are given, so must be all else,
/// and it must be the same plan. Given contenders count, for they may have passwords.
fn resume(
    sitting: &Sitting,
    contenders: &[Contender],
    plan: impl FnOnce() -> anyhow::Result<Plan>,
) -> anyhow::Result<(RunDirectory, Plan)> {
    let path = sitting.out.as_deref().unwrap_or(Path::new("."));
    let directory = RunDirectory::resume(path)?;
    if directory.manifest.id.starts_with(SELFTEST) {
        bail!(
            "the run in '{}' is part of a selftest, which cannot be gone on with: begin another",
            path.display()
        );
    }
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

/// A contender prints itself without its password; anything else is kept as it was typed.
fn without_secrets(argument: String) -> String {
    argument.parse::<Contender>().map_or(argument, |contender| contender.to_string())
}
