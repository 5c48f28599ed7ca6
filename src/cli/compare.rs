//! `rqps compare`: compares builds, configs or remote servers with a baseline.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use clap::{Arg, Args};
use rqps_analysis::comparison::FailOn;
use rqps_dbms::Home;
use rqps_lab::Restarts;
use rqps_plan::{
    Cache, Comparison, Contender, Count, Instructions, Method, Plan, PlanError, QueryMode, Scope,
    ServiceLevel, Span, StockKey, Workload,
};
use rqps_store::{refuse_unwritable, refuse_unwritable_file};
use rqps_workload::{Asked, Wanted};

use super::contenders::Contenders;
use super::exit::Exit;
use super::files::write_file;
use super::headings::{MACHINE, MEASURE, OUTPUT, PRECISION, REMOTE};
use super::load_errors::OnLoadError;
use super::method;
use super::production::RemoteLimits;
use super::session::{self, Session};
use super::values::{Percent, ToCount, ToFail, ToProfile, restart_command};

pub(crate) const VERB: &str = "compare";
/// The flag for `git bisect run`.
pub(crate) const GIT_EXIT: &str = "--git-exit";

/// The budget if no workload is named.
const DEFAULT_BUDGET: Duration = Duration::from_secs(600);
/// Shorter than this, a median over slices is no better than one of them.
const SHORTEST_SECS: Duration = Duration::from_millis(200);
/// Tails have what happens now and then.
const SECS_AT_A_RATE: Span = Span(Duration::from_secs(30));
/// A round tries several rates.
const SECS_OF_A_TRY: Span = Span(Duration::from_secs(20));
/// Of a test that is held back: as many operations as a verdict on p95 needs, up to this time.
const HELD_OPERATIONS: f64 = 2_000.0;
const MOST_SECS_HELD: f64 = 20.0;
/// The number of rounds that a budget is divided by.
const ROUNDS_IN_BUDGET: f64 = 12.0;
/// … and what fresh rounds of some tests add to it.
const ROUNDS_TO_CONFIRM: f64 = 4.0;
/// The measured share of a budget: the rest is for loading, starting and warming up.
const MEASURED_SHARE: f64 = 0.6;

/// The options that `-h` lists, so that it fits a screen. `--help` has all.
pub(crate) const SHORT_HELP: [&str; 18] = [
    "workload",
    "rows",
    "rate",
    "clients",
    "profile",
    "secs",
    "rounds",
    "confirm",
    "budget",
    "precision",
    "margin",
    "method",
    "cached",
    "io-bound",
    "fail-on",
    "junit",
    "out",
    "resume",
];

/// An option, as `-h` shows it.
pub(crate) fn in_short_help(arg: Arg) -> Arg {
    let is_listed = arg.get_long().is_none_or(|name| SHORT_HELP.contains(&name));
    arg.hide_short_help(!is_listed)
}

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    contenders: Contenders,
    #[arg(
        long,
        value_name = "WORKLOAD",
        help_heading = MEASURE,
        help = format!("Workload: {} [default: ten read tests]", Wanted::names()),
        long_help = format!(
            "Workload: {} [default: ten read tests]\n\n{}.",
            Wanted::names(),
            Wanted::about()
        )
    )]
    workload: Option<Wanted>,
    /// Number of tables (microbenchmarks) [default: 1].
    #[arg(long, value_name = "N", help_heading = MEASURE)]
    tables: Option<u32>,
    /// Rows per table; in the Insert Benchmark, per client [default: 100K].
    #[arg(long, help_heading = MEASURE)]
    rows: Option<Count>,
    /// Rows that each client inserts in l.i1 and l.i2 (Insert Benchmark)
    ///
    /// [default: 40 % and 10 % of --rows]
    #[arg(long, value_name = "L1,L2", help_heading = MEASURE, value_delimiter = ',')]
    writes: Option<Vec<Count>>,
    /// Size of pgbench's tables: 100,000 accounts for each 1 [default: 1].
    #[arg(long, value_name = "N", help_heading = MEASURE)]
    scale: Option<u32>,
    /// How pgbench's scripts are sent: simple, extended or prepared [default: simple].
    #[arg(long, value_name = "MODE", help_heading = MEASURE)]
    query_mode: Option<QueryMode>,
    /// Set a variable of pgbench's scripts, or an option of sysbench's [may be repeated].
    #[arg(long, value_name = "NAME=VALUE", help_heading = MEASURE)]
    define: Vec<String>,
    /// Order of the columns in the primary key of the stock: wi or iw (tpcc) [default: wi].
    #[arg(long, value_name = "wi|iw", help_heading = MEASURE)]
    stock_key: Option<StockKey>,
    /// Create the foreign keys of the standard (tpcc).
    #[arg(long, help_heading = MEASURE)]
    foreign_keys: bool,
    /// Keying and think times before each transaction, 21 s on average (tpcc).
    #[arg(long, help_heading = MEASURE, conflicts_with_all = ["rate", "slo"])]
    think: bool,
    /// Start operations when they are due, N per second, not one after the other
    ///
    /// An operation is timed from when it was due, so that one that waits for a slow one before it
    /// counts as slow. Operations of all clients together, at random instants, the same for every
    /// contender. Percentiles of these times have verdicts: see docs/latency.md.
    #[arg(long, value_name = "N", help_heading = MEASURE)]
    rate: Option<f64>,
    /// Find the largest rate at which p percent of the operations end in TIME, as in p99=5ms
    ///
    /// Each round tries rates that are 3 % apart, each for --secs and up to three times as long
    /// while it is undecided, as with --rate. The verdict is on the largest rates. 'p99<5ms' is the
    /// same.
    #[arg(long, value_name = "pN=TIME", help_heading = MEASURE, conflicts_with = "rate")]
    slo: Option<ServiceLevel>,
    /// Number of clients, each connected to every contender.
    #[arg(long, value_name = "N", help_heading = MEASURE, default_value_t = 1)]
    clients: u32,
    /// Measured time of each test, per contender and round
    ///
    /// In the Insert Benchmark it is the length of each read-write step.
    ///
    /// [default: 1, or what fits into --budget; 2 with --method runs, 30 with --rate, 20 with
    /// --slo, the time of 2,000 operations up to 20 with --max-rate]
    #[arg(long, value_name = "SECONDS", help_heading = PRECISION)]
    secs: Option<Span>,
    /// Maximum number of rounds; each restarts all servers, but for remote ones.
    #[arg(long, value_name = "N", help_heading = PRECISION, default_value_t = 12)]
    rounds: u32,
    /// Re-measure apparent changes in fresh rounds; only these decide
    ///
    /// No verdict then depends on the rounds that selected its test. --confirm alone allows 10
    /// fresh rounds.
    #[arg(
        long,
        value_name = "N",
        help_heading = PRECISION,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10"
    )]
    confirm: Option<u32>,
    /// Start no round that would exceed this time, loading included
    ///
    /// [default: 10m if no --workload is given, else none]
    #[arg(long, value_name = "TIME", help_heading = PRECISION)]
    budget: Option<Span>,
    /// Stop a test once its 95 % interval is within ± this.
    #[arg(long, value_name = "PERCENT", help_heading = PRECISION, default_value = "0.5%")]
    precision: Percent,
    /// Smallest change that matters
    ///
    /// A significant change below it is a "small regression" or a "small improvement".
    ///
    /// [default: 2% for reads, 3% for writes, 5% with --io-bound]
    #[arg(long, value_name = "PERCENT", help_heading = PRECISION)]
    margin: Option<Percent>,
    /// Do not measure the baseline twice
    ///
    /// The second measurement is the A/A control. Without it, nothing shows how much a build
    /// differs from itself on this machine, and no test is marked invalid because of that.
    #[arg(long, help_heading = PRECISION)]
    no_control: bool,
    /// Measure by slices (turns of some milliseconds) or by whole runs
    ///
    /// [default: slices for the microbenchmarks, unless rqps selftest found them unfit on this
    /// machine; runs with --io-bound and for the Insert Benchmark]
    #[arg(long, value_name = "slices|runs", help_heading = PRECISION)]
    method: Option<Method>,
    /// Measured part of a slice [default: 10ms].
    #[arg(long, value_name = "TIME", help_heading = PRECISION)]
    slice: Option<Span>,
    /// Number of times that each contender loads its tables
    ///
    /// Rounds take turns with these loads, and intervals hold for these loads only. This is for the
    /// microbenchmarks only.
    ///
    /// [default: once for each round; 2 with --io-bound]
    #[arg(long, value_name = "N", help_heading = PRECISION)]
    loads: Option<u32>,
    /// Restart a remote server before each round with this command [may be repeated]
    ///
    /// Intervals then include what differs from one start to the next, as they do for servers of
    /// its own. A shell runs the command, and the server must show that it was restarted. The
    /// command is not part of the plan, so give it again with --resume.
    #[arg(long, value_name = "LABEL=COMMAND", help_heading = REMOTE,
        value_parser = restart_command)]
    restart_cmd: Vec<(String, String)>,
    /// Time limit of such a command [default: 5m].
    #[arg(long, value_name = "TIME", help_heading = REMOTE)]
    restart_timeout: Option<Span>,
    #[command(flatten)]
    limits: RemoteLimits,
    /// Keep measurements taken on a busy machine, or beside others on a remote server
    ///
    /// Otherwise guards discard them, and they are repeated. A whole run does not wait either until
    /// the machine is as fast as usual.
    #[arg(long, help_heading = MACHINE)]
    no_guards: bool,
    /// Do not check the data
    ///
    /// The check reads whole tables, which takes long if they are larger than memory.
    #[arg(long, help_heading = MEASURE)]
    no_check: bool,
    /// Stop at a statement that a contender refuses to load, or skip it (sql)
    ///
    /// The report has the number of skipped statements, and names the first of them.
    #[arg(long, value_name = "stop|skip", help_heading = MEASURE, default_value = "stop")]
    load_errors: OnLoadError,
    /// Take the baseline from an earlier comparison; do not measure it
    ///
    /// That run must have been made by --method runs, on this machine, with the same plan, build
    /// and settings. Its baseline was not interleaved with these contenders, so intervals are wider
    /// by the possible drift of the machine.
    #[arg(long, value_name = "RUN", help_heading = MEASURE)]
    baseline_from: Option<PathBuf>,
    /// Profile the servers with perf after the verdicts
    ///
    /// Profiles the changed tests (--profile), all (--profile=all), or some (--profile=TEST,…).
    /// Each test takes eight more runs of --secs, which are not part of --budget.
    #[arg(long, value_name = "TEST,…", help_heading = MEASURE, num_args = 0..=1,
        require_equals = true, default_missing_value = "changed")]
    profile: Option<ToProfile>,
    /// Count instructions per operation with valgrind after the verdicts
    ///
    /// Counts those of the changed tests (changed), all (all), some (TEST,…) or none. A contender
    /// takes up to a minute for a test, which is not part of --budget.
    ///
    /// [default: changed]
    #[arg(long, value_name = "TEST,…", help_heading = MEASURE, num_args = 0..=1,
        require_equals = true, default_missing_value = "changed")]
    instructions: Option<ToCount>,
    /// Count instructions, and time nothing
    ///
    /// A test has changed if its instructions per operation change by more than
    /// --instructions-threshold. Counts do not depend on what else the machine does.
    #[arg(long, help_heading = MEASURE, conflicts_with_all = ["baseline_from", "profile"])]
    instructions_only: bool,
    /// Smallest change of the instructions that matters.
    #[arg(long, value_name = "PERCENT", help_heading = PRECISION, requires = "instructions_only",
        default_value = "0.3%")]
    instructions_threshold: Percent,
    /// Exit with 1 on a regression, code-path, plan, latency or rows
    ///
    /// With code-path, a regression whose instructions are the same does not fail; with plan, only
    /// changed query plans do, with latency only longer percentiles of times, and with rows only
    /// wrong answers, which always fail.
    #[arg(long, value_name = "CHANGE", help_heading = OUTPUT,
        default_value = "regression")]
    fail_on: ToFail,
    /// Exit as git bisect run wants it: 0 good, 1 bad, 125 skip, 128 stop
    ///
    /// A commit without a verdict, or whose build or server fails, is skipped. A wrong command, a
    /// running comparison and Ctrl-C stop git.
    #[arg(long, help_heading = OUTPUT)]
    git_exit: bool,
    /// Also write the verdicts as JUnit XML.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    junit: Option<PathBuf>,
    #[command(flatten)]
    session: Session,
}

impl Arguments {
    /// The same for these contenders, which have not lost their passwords.
    pub(crate) fn with(self, contenders: Vec<Contender>) -> Arguments {
        Arguments { contenders: contenders.into(), ..self }
    }

    /// Whether git bisect run asks. A test without a verdict then matters, too.
    pub(crate) fn is_for_git(&mut self) -> bool {
        if self.git_exit {
            self.session.be_strict();
        }
        self.git_exit
    }

    pub(crate) fn plan(&self) -> anyhow::Result<Plan> {
        let wanted = self.workload.clone().unwrap_or_else(Wanted::usual);
        let mut comparison = Comparison::new(self.workload(&wanted)?);
        let fails_on_answers = matches!(self.fail_on.0, FailOn::Rows | FailOn::Plan);
        if fails_on_answers && !rqps_workload::has_answers(&comparison.of) {
            bail!(
                "--fail-on rows and --fail-on plan are for queries of your own (--workload sql:DIR), \
                 whose answers are compared. Use --fail-on regression or code-path"
            );
        }
        let contenders = self.contenders.all();
        // The cache of a remote server is fixed.
        let is_remote = contenders.iter().any(Contender::is_remote);
        let cache = self.session.cache().or((!is_remote).then_some(Cache::Cached));
        (comparison.rate, comparison.slo) = (self.rate, self.slo);
        comparison.max_rate = self.limits.max_rate;
        comparison.read_only = self.limits.read_only;
        match self.method {
            Some(method) => comparison.method = method,
            None if comparison.is_paced() => comparison.method = Method::Runs,
            None if comparison.of.is_chain() => {}
            // The selftest is of servers on this machine. What has to be measured alone is.
            None if is_remote => {
                let tasks = rqps_workload::tasks(&comparison.of)?;
                if tasks.iter().any(|task| task.alone.is_some()) {
                    comparison.method = Method::Runs;
                }
            }
            None => {
                let tasks = rqps_workload::tasks(&comparison.of)?;
                let tests: Vec<_> = tasks.iter().filter(|task| !task.fills).collect();
                comparison.choices = method::choose(&contenders, &tests, self.clients, cache);
                if let [only] = &comparison.choices[..] {
                    comparison.method = only.method;
                }
            }
        }
        if self.slice.is_some() && !comparison.uses(Method::Slices) {
            bail!("--slice needs --method slices: whole runs have no slices. Drop --slice");
        }
        comparison.slice = self.slice.unwrap_or(comparison.slice);
        comparison.rounds = self.rounds;
        comparison.fewest_rounds = comparison.fewest_rounds.min(self.rounds);
        comparison.confirm = self.confirm;
        let is_named = |(name, _): &(String, String)| name.clone();
        comparison.restarted = self.restart_cmd.iter().map(is_named).collect();
        let writes = rqps_workload::tasks(&comparison.of)?;
        let writes = writes.iter().any(|task| task.class.writes() && !task.fills);
        let scope = Scope::of(&comparison, &contenders, writes);
        let loads = match (self.loads, comparison.loads, cache) {
            // Loading more data than memory holds takes long.
            (None, None, Some(Cache::IoBound)) => Some(2),
            // The same tables serve all contenders, whose sessions are what differs.
            (None, None, _) if matches!(scope, Scope::Session | Scope::Tables) => Some(1),
            (wanted, default, _) => wanted.or(default),
        };
        comparison.loads = loads.map(|loads| loads.min(self.rounds));
        comparison.budget = self.budget();
        comparison.precision = self.precision.0;
        comparison.margin = self.margin.map(|margin| margin.0);
        // An A/A control is for times.
        comparison.control = !self.no_control && !self.instructions_only;
        comparison.guards = !self.no_guards;
        let profiled = |profile: &ToProfile| profile.profiled(&wanted);
        comparison.profile = self.profile.as_ref().map(profiled).transpose()?;
        comparison.instructions = self.counted(&wanted)?;
        let mut plan = Plan {
            contenders,
            seed: self.session.seed,
            cache,
            memory: self.session.memory,
            design: comparison.into(),
        };
        plan.validate()?;
        self.limits.check(&plan)?;
        if let Some(path) = &self.baseline_from {
            stored_baseline(path, &mut plan)?;
        }
        Ok(plan)
    }

    /// What is counted by default is what has changed or, if nothing is timed, every test. Where no
    /// contender has a server of its own, nothing is.
    fn counted(&self, wanted: &Wanted) -> anyhow::Result<Option<Instructions>> {
        let default = match self.instructions_only {
            true => ToProfile::All,
            false => ToProfile::Changed,
        };
        let of = match &self.instructions {
            Some(ToCount(of)) => of.as_ref(),
            None if self.contenders.all().iter().all(|it| it.dbms.is_embedded()) => None,
            // Those of builds could not be compared with anything.
            None if self.contenders.all().iter().any(Contender::is_remote) => None,
            None => Some(&default),
        };
        let only = self.instructions_only.then_some(self.instructions_threshold.0);
        if only.is_some() && !matches!(of, Some(ToProfile::All | ToProfile::Tests(_))) {
            bail!("--instructions-only has no verdicts to choose tests by. Use --instructions=all");
        }
        let Some(of) = of else { return Ok(None) };
        Ok(Some(Instructions { of: of.profiled(wanted)?, only }))
    }

    fn budget(&self) -> Option<Span> {
        let default = self.workload.is_none().then_some(Span(DEFAULT_BUDGET));
        self.limits.budget(self.budget.or(default))
    }

    /// The time per test and contender with which twelve rounds fit into the budget.
    fn fitting_secs(&self, tests: usize) -> Span {
        let is_by_runs = self.method == Some(Method::Runs)
            || self.method.is_none() && self.session.cache() == Some(Cache::IoBound);
        let most = match is_by_runs {
            _ if self.rate.is_some() => SECS_AT_A_RATE,
            _ if self.slo.is_some() => SECS_OF_A_TRY,
            true => Asked::SECS_OF_RUN,
            false => Asked::SECS,
        };
        let most = match self.limits.max_rate {
            // Not a number is refused later.
            Some(rate) if rate > 0.0 => {
                let secs = HELD_OPERATIONS / rate;
                Span(Duration::from_secs_f64(secs.clamp(most.0.as_secs_f64(), MOST_SECS_HELD)))
            }
            _ => most,
        };
        let Some(budget) = self.budget() else { return most };
        let arms = self.contenders.all().len() + usize::from(!self.no_control);
        // Fresh rounds have few tests, if any.
        let confirmed = if self.confirm.is_some() { ROUNDS_TO_CONFIRM } else { 0.0 };
        let shares = (ROUNDS_IN_BUDGET + confirmed) * tests as f64 * arms as f64;
        let fitting = budget.0.mul_f64(MEASURED_SHARE / shares).clamp(SHORTEST_SECS, most.0);
        // Commands that repeat it stay short.
        let hundredths = (fitting.as_millis() / 10) as u64;
        Span(Duration::from_millis(10 * hundredths))
    }

    fn workload(&self, wanted: &Wanted) -> anyhow::Result<Workload> {
        let asked = Asked {
            workload: wanted,
            contenders: &self.contenders.all(),
            rows: self.rows,
            tables: self.tables,
            writes: self.writes.as_deref(),
            loads: self.loads,
            clients: self.clients,
            scale: self.scale,
            query_mode: self.query_mode,
            defines: &self.define,
            secs: self.secs,
            fitting: &|tests| self.fitting_secs(tests),
            check: !self.no_check,
            skips_load_errors: self.load_errors.skips,
            stock_key: self.stock_key,
            foreign_keys: self.foreign_keys,
            think: self.think,
            read_only: self.limits.read_only,
        };
        Ok(asked.plan()?)
    }
}

/// Takes an earlier baseline in place of the plan's, for as many rounds as it has.
fn stored_baseline(path: &Path, plan: &mut Plan) -> anyhow::Result<()> {
    let home = Home::from_env().map_err(rqps_dbms::DbmsError::from)?;
    if let Some(comparison) = plan.comparison() {
        comparison.validate_stored_base().map_err(PlanError::from)?;
    }
    let (stored, rounds) = rqps_lab::stored_baseline(&home, path, plan)?;
    if let Some(comparison) = plan.comparison_mut() {
        comparison.baseline_from = Some(Box::new(stored));
        comparison.rounds = comparison.rounds.min(rounds);
    }
    Ok(plan.validate()?)
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let Arguments { contenders, session, junit, fail_on, .. } = arguments;
    let mut restarts = Restarts { commands: arguments.restart_cmd.clone(), ..Restarts::default() };
    if let Some(timeout) = arguments.restart_timeout {
        restarts.timeout = timeout.0;
    }
    if let Some(path) = junit {
        match path.parent().filter(|folder| session.makes(VERB, folder)) {
            // It is created with the run directory.
            Some(folder) => refuse_unwritable(folder)?,
            None => refuse_unwritable_file(path)?,
        }
    }
    session::run(
        VERB,
        (session, fail_on.0, restarts),
        &contenders.all(),
        || arguments.plan(),
        |report| {
            let Some((path, text)) = junit.as_ref().zip(rqps_report::junit(report)) else {
                return Ok(());
            };
            write_file(path, text.as_bytes())
        },
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn only_queries_of_ones_own_can_fail_on_rows_and_plans() {
        for kind in ["rows", "plan"] {
            let words = ["compare", "a=sqlite", "b=sqlite", "--workload", "micro:scan"];
            let line = Line::parse_from(words.into_iter().chain(["--fail-on", kind]));
            let error = line.arguments.plan().unwrap_err().to_string();
            assert!(error.contains("--workload sql:DIR"), "{error}");
        }
    }

    #[test]
    fn a_rate_is_for_whole_runs_of_half_a_minute() {
        let plan = |flags: &str| {
            let words = "compare a=sqlite b=sqlite --workload micro:point-query".split(' ');
            Line::parse_from(words.chain(flags.split(' '))).arguments.plan()
        };
        let planned = plan("--rate 500").unwrap();
        let comparison = planned.comparison().unwrap();
        assert_eq!((comparison.method, comparison.rate), (Method::Runs, Some(500.0)));
        let Workload::Microbenchmark(micro) = &comparison.of else { panic!("{comparison:?}") };
        assert_eq!(micro.read_time, SECS_AT_A_RATE);
        for (flags, words) in [
            ("--rate 500 --method slices", "cannot be used with slices"),
            ("--rate=-3", "must be between"),
            ("--rate nan", "must be between"),
        ] {
            let error = plan(flags).unwrap_err().to_string();
            assert!(error.contains(words), "{flags}: {error}");
        }
    }

    #[test]
    fn what_fits_into_a_budget_is_short_to_type() {
        let line = Line::parse_from(["compare", "a=sqlite", "b=sqlite", "--budget", "15m"]);
        assert_eq!(line.arguments.fitting_secs(30).to_string(), "500ms");
        assert_eq!(line.arguments.fitting_secs(3), Asked::SECS);
        let line = Line::parse_from(["compare", "a=sqlite", "b=sqlite", "--method", "runs"]);
        assert_eq!(line.arguments.fitting_secs(3), Asked::SECS_OF_RUN);
    }
}
