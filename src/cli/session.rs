//! What all measuring verbs share: where results go, how a run is resumed, and what is printed at
//! the end.

use std::collections::BTreeMap;
use std::iter;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, Id};
use rqps_analysis::comparison::{FailOn, Gate, interim};
use rqps_dbms::{Dbms, Home};
use rqps_lab::{Lab, Outcome, Restarts};
use rqps_observe::{KernelCost, MachineIdentity};
use rqps_plan::{Cache, Contender, Memory, Plan};
use rqps_report::Report;
use rqps_store::{KernelRecord, Manifest, RunDirectory, StoreError};
use rqps_system::Cancel;

use super::exit::Exit;
use super::forecast::Forecast;
use super::headings::{MACHINE, MEASURE, OUTPUT};
use super::output;
use super::progress::{Fetching, Progress};
use super::run_reports::{print_result, write};

/// The identity of a selftest's run begins with this, and so do the names of its data directories.
pub(super) const SELFTEST: &str = "selftest-";

#[derive(Args)]
pub(crate) struct Session {
    /// Seed of all random draws: data, order and arrival times.
    #[arg(long, help_heading = MEASURE, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Give each DBMS a cache larger than the data
    ///
    /// This overrides its config, and is the default of rqps compare without --io-bound.
    #[arg(long, help_heading = MACHINE, conflicts_with = "io_bound")]
    cached: bool,
    /// Give each DBMS a cache for a tenth of the data
    ///
    /// This overrides its config. The rest is read from disk only if memory is short (--memory);
    /// otherwise the page cache holds it.
    #[arg(long, help_heading = MACHINE)]
    io_bound: bool,
    /// Limit the memory of each server, such as 512M
    ///
    /// The page cache of its files counts, so that data beyond the limit are read from disk. rqps
    /// uses a control group for this.
    #[arg(long, value_name = "SIZE", help_heading = MACHINE)]
    pub(crate) memory: Option<Memory>,
    #[command(flatten)]
    session: SessionOptions,
}

/// Options of one session. They are not part of the plan, so each session of a run has its own.
#[derive(Args, Default)]
pub(crate) struct SessionOptions {
    /// Directory for the results [default: out/<verb>-<time>].
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) out: Option<PathBuf>,
    /// Resume the interrupted run in --out, as it was planned.
    #[arg(long, help_heading = OUTPUT, requires = "out")]
    pub(crate) resume: bool,
    /// Fail if a write rate was missed or a verdict is undecided
    ///
    /// Exit code 4: a step did not sustain its write rate. Exit code 5: a verdict of a comparison
    /// is inconclusive or invalid, which includes a write rate that was not sustained.
    #[arg(long, help_heading = OUTPUT)]
    strict: bool,
    /// Keep data directories, also after the run is resumed.
    #[arg(long, help_heading = OUTPUT)]
    keep_data: bool,
    /// Print the result as JSON instead of tables.
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

/// The flags of a verb that say what is measured.
pub(super) fn of_the_plan(verb: &Command) -> impl Iterator<Item = &Arg> {
    let session = SessionOptions::augment_args(Command::new(""));
    let of_session: Vec<Id> = session.get_arguments().map(|arg| arg.get_id().clone()).collect();
    verb.get_arguments()
        .filter(move |arg| {
            !of_session.contains(arg.get_id())
                && !["junit", "fail_on", "git_exit", "restart_cmd", "restart_timeout"]
                    .contains(&arg.get_id().as_str())
        })
        .filter(|arg| !arg.is_global_set())
}

/// Flags beside `--resume` that would be ignored, since the plan is there already.
pub(super) fn ignored(verb: &Command, matches: &ArgMatches) -> Vec<String> {
    let is_resumed = matches!(matches.try_get_one::<bool>("resume"), Ok(Some(true)));
    // A command that names contenders repeats the whole plan.
    let is_repeated = matches.try_contains_id("contenders").unwrap_or(true);
    let is_given =
        |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let flags = of_the_plan(verb).filter(|_| is_resumed && !is_repeated).filter(is_given);
    flags.filter_map(Arg::get_long).map(|flag| format!("--{flag}")).collect()
}

impl Session {
    /// Whether a folder does not exist yet and is created with the run directory of a verb: it is
    /// that directory, or contains it.
    pub(crate) fn makes(&self, verb: &str, folder: &Path) -> bool {
        let whole = |path: &Path| std::path::absolute(path).ok();
        let run = whole(&self.session.directory(verb));
        let made = |(run, folder): (PathBuf, PathBuf)| !folder.exists() && run.starts_with(folder);
        run.zip(whole(folder)).is_some_and(made)
    }

    /// A missed write rate and an undecided verdict are failures.
    pub(crate) fn be_strict(&mut self) {
        self.session.strict = true;
    }

    /// How much of the data each DBMS caches, if a flag says so.
    pub(crate) fn cache(&self) -> Option<Cache> {
        match (self.cached, self.io_bound) {
            (true, _) => Some(Cache::Cached),
            (false, true) => Some(Cache::IoBound),
            (false, false) => None,
        }
    }
}

impl SessionOptions {
    /// A new run in a folder, of which nothing is printed.
    pub(crate) fn for_folder(out: PathBuf) -> Self {
        let (resume, strict, keep_data, json) = (false, false, false, false);
        SessionOptions { out: Some(out), resume, strict, keep_data, json }
    }

    /// Where the results go.
    pub(crate) fn directory(&self, verb: &str) -> PathBuf {
        let compact = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
        self.out.clone().unwrap_or_else(|| PathBuf::from("out").join(format!("{verb}-{compact}")))
    }
}

/// What measuring needs of the process: one for each process.
pub(crate) struct Setup {
    pub(crate) home: Home,
    pub(crate) cancel: Cancel,
    /// The commands that restart remote servers.
    pub(crate) restarts: Restarts,
}

impl Setup {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let cancel = super::cancel::listen().context("cannot catch signals")?;
        let home = Home::from_env().map_err(rqps_dbms::DbmsError::from)?;
        Ok(Setup { home, cancel, restarts: Restarts::default() })
    }

    /// Finds everything that can be wrong with a plan, and fetches the builds. Builds unlike those
    /// of distributions are reported before they are measured.
    pub(crate) fn prepare(&self, plan: &Plan) -> anyhow::Result<Vec<Box<dyn Dbms>>> {
        let mut fetching = Fetching::new();
        let mut tell = |event| fetching.tell(event, &self.cancel);
        let ready = rqps_lab::prepare(&self.home, plan, &mut tell, &self.cancel)?;
        for (contender, dbms) in plan.contenders.iter().zip(&ready) {
            if let Some(unusual) = dbms.flags().unusual() {
                output::note(&format!(
                    "{}: {unusual}, unlike the builds that distributions ship",
                    contender.name()
                ));
            }
        }
        Ok(ready)
    }

    /// Inspects the remote servers of a plan, and locks out other runs.
    pub(crate) fn arrive(&self, plan: &Plan, ready: &[Box<dyn Dbms>]) -> anyhow::Result<()> {
        for contender in rqps_lab::arrive(plan, ready)? {
            let base = plan.contenders[0].name();
            let is_visit = plan.comparison().is_some_and(|comparison| comparison.read_only);
            let tables = if is_visit { "" } else { ": each has tables of its own there" };
            output::note(&format!("{base} and {contender} are one server{tables}"));
        }
        Ok(())
    }

    /// Creates the directory of a new run.
    pub(crate) fn create(&self, path: &Path, plan: Plan) -> anyhow::Result<RunDirectory> {
        self.create_as("", path, plan)
    }

    /// Creates the directory of a selftest's run, which cannot be resumed.
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
            // By name only: results are shared, and the program's path is of this machine alone.
            command: iter::once("rqps".to_string())
                .chain(
                    std::env::args_os()
                        .skip(1)
                        .map(|word| without_secrets(word.to_string_lossy().into())),
                )
                .collect(),
            cpus: rqps_observe::cpus(),
            machine: rqps_observe::machine_facts(&data),
            identity: Some(MachineIdentity::current()),
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
            // The other errors name the directory themselves.
            StoreError::Sql(_) => {
                anyhow::Error::from(error).context(format!("the run in '{}'", path.display()))
            }
            error => error.into(),
        })
    }

    /// Measures what the run lacks, and writes its reports. The exit code is 1 for changes of the
    /// given kind. If anything was measured, `then` is called with the report, and with the files
    /// that were written.
    pub(crate) fn measure(
        &self,
        directory: &mut RunDirectory,
        ready: &[Box<dyn Dbms>],
        (session, fail_on): (&SessionOptions, FailOn),
        (progress, workload): (&mut Progress, usize),
        then: impl FnOnce(&Report<'_>, &[PathBuf]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Exit> {
        output::note(&format!("results go to {}", directory.path().display()));
        progress.begin(workload);
        let mut watch = |event| progress.event(&event);
        let Setup { home, cancel, restarts } = self;
        let (watch, keep_data, judge) = (&mut watch, session.keep_data, &interim);
        let mut lab = Lab { home, watch, cancel, keep_data, restarts, judge };
        let outcome = rqps_lab::run(&mut lab, directory, ready);
        progress.end();
        let outcome =
            outcome.with_context(|| format!("the run in '{}'", directory.path().display()))?;
        let run = directory.run()?;
        let report = Report::new(&run);
        let exit = match outcome {
            Outcome::Complete if session.strict && report.is_sla_missed() => Exit::SlaMissed,
            Outcome::Complete => match report.gate(fail_on) {
                Some(Gate::Regression) => Exit::Regression,
                Some(Gate::Undecided) if session.strict => Exit::Unfit,
                _ => Exit::Done,
            },
            Outcome::Failed => Exit::Failed,
            Outcome::Interrupted => Exit::Interrupted,
        };
        if !(run.rounds.is_empty() && run.counts.is_empty() && run.answers.is_empty()) {
            let files = write(directory, &report)?;
            then(&report, &files)?;
        }
        Ok(exit)
    }
}

/// The number of runs that this process has created before.
fn number() -> usize {
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    BEGUN.fetch_add(1, Ordering::Relaxed)
}

/// Runs a verb. `plan` makes the plan from the flags; contenders may be omitted if a run is
/// resumed. `and` is called with the report.
pub(crate) fn run(
    verb: &str,
    (session, fail_on, restarts): (&Session, FailOn, Restarts),
    contenders: &[Contender],
    plan: impl FnOnce() -> anyhow::Result<Plan>,
    and: impl FnOnce(&Report<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<Exit> {
    let setup = Setup { restarts, ..Setup::new()? };
    let session = &session.session;
    let path = session.directory(verb);
    // Everything that can be wrong with the request is found before the run directory is created.
    let (resumed, plan) = match session.resume {
        true => resume(session, contenders, plan).map(|(run, plan)| (Some(run), plan))?,
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
    let mut is_reported = false;
    let told = |report: &Report<'_>, files: &[PathBuf]| {
        is_reported = true;
        print_result(report, session.json)?;
        files.iter().for_each(|file| output::note(&format!("wrote {}", file.display())));
        and(report)
    };
    let exit =
        setup.measure(&mut directory, &ready, (session, fail_on), (&mut progress, 0), told)?;
    if is_reported && matches!(exit, Exit::Failed | Exit::Interrupted) {
        let out = directory.path().display();
        output::note(&format!("to resume: rqps {verb} --resume --out {out}"));
    }
    Ok(exit)
}

/// Opens the run to resume. Contenders may be omitted; if they are given, the whole plan must be
/// given, and be the same. Given contenders replace the stored ones, for they may have passwords.
fn resume(
    session: &SessionOptions,
    contenders: &[Contender],
    plan: impl FnOnce() -> anyhow::Result<Plan>,
) -> anyhow::Result<(RunDirectory, Plan)> {
    let path = session.out.as_deref().unwrap_or(Path::new("."));
    let directory = RunDirectory::resume(path)?;
    if directory.manifest.id.starts_with(SELFTEST) {
        bail!(
            "cannot resume '{}': it is part of a selftest. Start another selftest",
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
            "cannot resume '{}' with another plan (see its plan.toml). Drop everything but --resume \
             and --out",
            path.display()
        );
    }
    Ok((directory, plan))
}

/// A contender is printed without its password; anything else is kept as typed.
fn without_secrets(argument: String) -> String {
    argument.parse::<Contender>().map_or(argument, |contender| contender.to_string())
}
