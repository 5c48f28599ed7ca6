//! `rqps compare`: who is slower than the base, by how much, and why.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use rqps_dbms::Home;
use rqps_plan::{
    Cache, Comparison, Count, Design, Method, Plan, PlanError, Profiled, Span, Workload,
};
use rqps_store::{refuse_unwritable, refuse_unwritable_file};
use rqps_workload::{Asked, Wanted};

use super::contenders::Contenders;
use super::exit::Exit;
use super::method;
use super::report;
use super::session::{self, Session};

pub(crate) const VERB: &str = "compare";

/// What somebody who names no tests is willing to wait.
const DEFAULT_BUDGET: Duration = Duration::from_secs(600);
/// Shorter than this, a median over slices is no better than one of them.
const SHORTEST_SECS: Duration = Duration::from_millis(200);
/// A budget is cut into so many rounds.
const ROUNDS_IN_BUDGET: f64 = 8.0;
/// … and into so many more where some tests are measured again.
const ROUNDS_TO_CONFIRM: f64 = 4.0;
/// What of a budget is measured: the rest is for loading, starting and warming up.
const MEASURED_SHARE: f64 = 0.6;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    contenders: Contenders,
    #[arg(
        long,
        value_name = "WORKLOAD",
        help = format!("What is run: {} [default: ten tests that read]", Wanted::about())
    )]
    workload: Option<Wanted>,
    /// Tables of the microbenchmarks [default: 1].
    #[arg(long)]
    tables: Option<u32>,
    /// Rows of each table; of the Insert Benchmark, those that each client loads.
    #[arg(long, default_value = "100K")]
    rows: Count,
    /// Rows that each client of the Insert Benchmark inserts in l.i1 and l.i2
    /// [default: 40 % and 10 % of --rows].
    #[arg(long, value_name = "L1,L2", value_delimiter = ',')]
    writes: Option<Vec<Count>>,
    /// Clients, each with a connection to every contender.
    #[arg(long, default_value_t = 1)]
    clients: u32,
    /// How long each contender is measured for each test in each round; of the Insert Benchmark,
    /// each read-write step [default: 2, or what fits into --budget].
    #[arg(long, value_name = "SECONDS")]
    secs: Option<Span>,
    /// Rounds at most: in each all servers are started anew.
    #[arg(long, default_value_t = 12)]
    rounds: u32,
    /// After those rounds, measure what looks different in fresh ones, which alone decide: no
    /// verdict rests on rounds that it was chosen by [default: 10, with this flag].
    #[arg(
        long,
        value_name = "ROUNDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10"
    )]
    confirm: Option<u32>,
    /// No round begins that would not end within this time, data loading included
    /// [default: 10m for the ten tests, else none].
    #[arg(long, value_name = "TIME")]
    budget: Option<Span>,
    /// A test needs no more rounds when its 95 % interval reaches no further than this to either
    /// side of the estimate.
    #[arg(long, value_name = "PERCENT", default_value = "0.5%")]
    precision: Percent,
    /// What is not worth talking about [default: 2% for reads, 3% for writes, 5% with --io-bound].
    #[arg(long, value_name = "PERCENT")]
    margin: Option<Percent>,
    /// The base takes part only once. Then nothing shows how much a build differs from itself.
    #[arg(long)]
    no_twin: bool,
    /// How contenders take turns: slices of some milliseconds, or whole runs [default: slices for
    /// the microbenchmarks unless rqps selftest found them unfit here; runs with --io-bound and for
    /// the Insert Benchmark].
    #[arg(long)]
    method: Option<Method>,
    /// The measured part of a slice [default: 10ms].
    #[arg(long, value_name = "TIME")]
    slice: Option<Span>,
    /// How often each contender loads the tables of the microbenchmarks; rounds take turns with the
    /// loads, and intervals are about these [default: anew for each round; 2 with --io-bound].
    #[arg(long)]
    loads: Option<u32>,
    /// Count what was measured while the machine was busy with something else.
    #[arg(long)]
    no_guards: bool,
    /// Do not check the data: the check reads whole tables, which takes long of data larger than
    /// memory.
    #[arg(long)]
    no_check: bool,
    /// Do not measure the base, but take its whole runs from an earlier comparison in this
    /// directory: with --method runs, on this machine, of the same plan, build and settings. They
    /// were not interleaved with the contenders', so intervals are wider by what the machine may
    /// have drifted.
    #[arg(long, value_name = "RUN")]
    base_from: Option<PathBuf>,
    /// Profile the servers with perf once there are verdicts: the tests that have changed, all, or
    /// some by name. Each takes eight runs of --secs more, and is not part of --budget.
    #[arg(long, value_name = "changed|all|TEST,…", num_args = 0..=1, require_equals = true,
        default_missing_value = "changed")]
    profile: Option<ToProfile>,
    /// Write the verdicts as JUnit XML, too.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    session: Session,
}

/// `changed`, `all` or names of tests.
#[derive(Clone, Debug)]
enum ToProfile {
    Changed,
    All,
    Tests(Vec<String>),
}

impl FromStr for ToProfile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "changed" => ToProfile::Changed,
            "all" => ToProfile::All,
            names => ToProfile::Tests(names.split(',').map(str::to_string).collect()),
        })
    }
}

impl ToProfile {
    fn profiled(&self, wanted: &Wanted) -> anyhow::Result<Profiled> {
        Ok(match self {
            ToProfile::Changed => Profiled::Changed,
            ToProfile::All => Profiled::All,
            ToProfile::Tests(names) => Profiled::Tests(wanted.select(names)?),
        })
    }
}

/// `0.5%` or `0.5`, as a share.
#[derive(Clone, Copy, Debug)]
struct Percent(f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim_end_matches('%').trim().parse::<f64>();
        number
            .map(|percent| Percent(percent / 100.0))
            .map_err(|_| format!("'{text}' is not a percentage: write 0.5% or 2%"))
    }
}

impl Arguments {
    pub(crate) fn plan(&self) -> anyhow::Result<Plan> {
        let wanted = self.workload.clone().unwrap_or_else(Wanted::usual);
        let mut comparison = Comparison::new(self.workload(&wanted)?);
        let cache = self.session.cache().or(Some(Cache::Cached));
        match self.method {
            Some(method) => comparison.method = method,
            None if comparison.of.is_chain() => {}
            None => {
                let tasks = rqps_workload::tasks(&comparison.of)?;
                let tests: Vec<_> = tasks.iter().filter(|task| !task.fills).collect();
                comparison.choices =
                    method::choose(&self.contenders.all(), &tests, self.clients, cache);
                if let [only] = &comparison.choices[..] {
                    comparison.method = only.method;
                }
            }
        }
        if self.slice.is_some() && !comparison.uses(Method::Slices) {
            bail!("--slice is for --method slices: whole runs have none");
        }
        comparison.slice = self.slice.unwrap_or(comparison.slice);
        comparison.rounds = self.rounds;
        comparison.fewest_rounds = comparison.fewest_rounds.min(self.rounds);
        comparison.confirm = self.confirm;
        let loads = match (self.loads, comparison.loads, cache) {
            // A load of more data than memory is no small thing.
            (None, None, Some(Cache::IoBound)) => Some(2),
            (wanted, default, _) => wanted.or(default),
        };
        comparison.loads = loads.map(|loads| loads.min(self.rounds));
        comparison.budget = self.budget();
        comparison.precision = self.precision.0;
        comparison.margin = self.margin.map(|margin| margin.0);
        comparison.twin = !self.no_twin;
        comparison.guards = !self.no_guards;
        let profiled = |profile: &ToProfile| profile.profiled(&wanted);
        comparison.profile = self.profile.as_ref().map(profiled).transpose()?;
        let mut plan = Plan {
            contenders: self.contenders.all(),
            seed: self.session.seed,
            cache,
            memory: self.session.memory,
            design: Design::Comparison(comparison),
        };
        plan.validate()?;
        if let Some(path) = &self.base_from {
            stored_base(path, &mut plan)?;
        }
        Ok(plan)
    }

    fn budget(&self) -> Option<Span> {
        let default = self.workload.is_none().then_some(Span(DEFAULT_BUDGET));
        self.budget.or(default)
    }

    /// The time per test and contender with which eight rounds fit into the budget.
    fn fitting_secs(&self, tests: usize) -> Span {
        let Some(budget) = self.budget() else { return Asked::SECS };
        let contestants = self.contenders.all().len() + usize::from(!self.no_twin);
        // Fresh rounds are of few tests, if of any.
        let confirmed = if self.confirm.is_some() { ROUNDS_TO_CONFIRM } else { 0.0 };
        let shares = (ROUNDS_IN_BUDGET + confirmed) * tests as f64 * contestants as f64;
        let fitting = budget.0.mul_f64(MEASURED_SHARE / shares).clamp(SHORTEST_SECS, Asked::SECS.0);
        // Commands that repeat it have no more digits than a reader wants to see.
        let hundredths = (fitting.as_millis() / 10) as u64;
        Span(Duration::from_millis(10 * hundredths))
    }

    fn workload(&self, wanted: &Wanted) -> anyhow::Result<Workload> {
        Ok(wanted.workload(&Asked {
            names: &wanted.names,
            version: wanted.version(),
            rows: self.rows,
            tables: self.tables,
            writes: self.writes.as_deref(),
            loads: self.loads,
            clients: self.clients,
            secs: self.secs,
            fitting: &|tests| self.fitting_secs(tests),
            check: !self.no_check,
        })?)
    }
}

/// Lets a base that was measured earlier stand for the plan's, for as many rounds as it has.
fn stored_base(path: &Path, plan: &mut Plan) -> anyhow::Result<()> {
    let home = Home::from_env().map_err(rqps_dbms::DbmsError::from)?;
    if let Some(comparison) = plan.comparison() {
        comparison.validate_stored_base().map_err(PlanError::from)?;
    }
    let (stored, rounds) = rqps_lab::stored_base(&home, path, plan)?;
    if let Some(comparison) = plan.comparison_mut() {
        comparison.base_from = Some(Box::new(stored));
        comparison.rounds = comparison.rounds.min(rounds);
    }
    Ok(plan.validate()?)
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let Arguments { contenders, session, junit, .. } = arguments;
    if let Some(path) = junit {
        match path.parent().filter(|folder| session.makes(VERB, folder)) {
            // It is made with the run directory.
            Some(folder) => refuse_unwritable(folder)?,
            None => refuse_unwritable_file(path)?,
        }
    }
    session::run(
        VERB,
        session,
        &contenders.all(),
        || arguments.plan(),
        |run| {
            let Some((path, text)) = junit.as_ref().zip(rqps_report::junit(run)) else {
                return Ok(());
            };
            report::write_file(path, text.as_bytes())
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
    fn what_fits_into_a_budget_is_short_to_type() {
        let line = Line::parse_from(["compare", "a=sqlite", "b=sqlite", "--budget", "15m"]);
        assert_eq!(line.arguments.fitting_secs(22).to_string(), "1s 20ms");
    }
}
