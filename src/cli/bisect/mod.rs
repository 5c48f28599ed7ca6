//! `rqps bisect`: finds the release, then the commit, that changed the speed.

mod commits;
mod files;
mod forecast;
mod prior;
mod releases;
mod side;
mod written;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::{Args, ValueEnum};
use rqps_analysis::comparison::interim;
use rqps_dbms::source;
use rqps_lab::{Lab, Outcome};
use rqps_plan::{Comparison, Contender, Count, Plan, Span};
use rqps_report::{JointReport, Report};
use rqps_store::{Run, RunDirectory};
use rqps_study::SearchDirection;
use rqps_workload::{Asked, Wanted};

use super::exit::Exit;
use super::headings::{MACHINE, MEASURE, OUTPUT, PRECISION};
use super::output::{self, note};
use super::progress::Progress;
use super::session::Setup;
use super::{method, run_reports};
use side::SideName;

pub(crate) use written::{JSON, is_search, report_files, with_report, write};

pub(crate) const VERB: &str = "bisect";

/// Interval of the comparison of the ends: the change is searched for if it is much larger.
const PRECISION_OF_ENDS: f64 = 0.004;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The build before the change: postgres@17.6, or with --repo a commit: postgres@git:REL_17_6.
    #[arg(value_name = "GOOD", required_unless_present = "resume", requires = "bad")]
    good: Option<SideName>,
    /// The build after the change.
    #[arg(value_name = "BAD")]
    bad: Option<SideName>,
    #[arg(
        long,
        value_name = "WORKLOAD",
        help_heading = MEASURE,
        required_unless_present = "resume",
        help = "Workload with the tests that may have changed, as micro:point-query",
        long_help = format!(
            "Workload with the tests that may have changed, as micro:point-query\n\n{}.",
            Wanted::about()
        )
    )]
    workload: Option<Wanted>,
    /// Checkout of git with the commits; it is only read
    ///
    /// Commits are built in a folder of rqps's own. After a scan of releases, the commits of the
    /// largest step are searched.
    #[arg(long, value_name = "DIR", help_heading = MEASURE)]
    repo: Option<PathBuf>,
    /// How to build a commit, in place of rqps's own recipe.
    #[arg(long, value_name = "FILE", help_heading = MEASURE)]
    recipe: Option<PathBuf>,
    /// Which change to search for.
    #[arg(long, help_heading = MEASURE, default_value = "slower")]
    direction: Towards,
    /// Only this test decides
    ///
    /// [default: the one with the largest change for its noise]
    #[arg(long, value_name = "TEST", help_heading = MEASURE)]
    test: Option<String>,
    /// Weights of commits that you suspect or not: lines of a commit and a number.
    #[arg(long, value_name = "FILE", help_heading = MEASURE)]
    prior: Option<PathBuf>,
    /// Rows per table [default: 100K].
    #[arg(long, help_heading = MEASURE)]
    rows: Option<Count>,
    /// Number of clients, each connected to every contender.
    #[arg(long, value_name = "N", help_heading = MEASURE, default_value_t = 1)]
    clients: u32,
    /// Seed of all random draws: data, order and arrival times.
    #[arg(long, help_heading = MEASURE, default_value_t = 1)]
    seed: u64,
    /// Measured time of each test, per contender and round [default: 1].
    #[arg(long, value_name = "SECONDS", help_heading = PRECISION)]
    secs: Option<Span>,
    /// Maximum number of rounds of the comparison of GOOD and BAD
    ///
    /// Those of all others follow from the size of the change and the noise in it.
    #[arg(long, value_name = "N", help_heading = PRECISION, default_value_t = 12)]
    rounds: u32,
    /// A commit is found once it has this probability.
    #[arg(long, value_name = "P", help_heading = PRECISION, default_value_t = 0.95)]
    posterior: f64,
    /// Maximum number of comparisons.
    #[arg(long, value_name = "N", help_heading = PRECISION, default_value_t = 60)]
    comparisons: usize,
    /// Build the commit that is found and the one before in N other layouts, and compare these
    ///
    /// A change that is not there in another layout of the same code is one of layout.
    #[arg(long, value_name = "N", help_heading = PRECISION, default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(0..=source::LAYOUTS as i64))]
    layouts: u32,
    /// Start no comparison after this time.
    #[arg(long, value_name = "TIME", help_heading = PRECISION)]
    budget: Option<Span>,
    /// Choose commits by time, also where valgrind can count instructions
    ///
    /// Otherwise the instructions of the test choose the commits to measure, if they change with
    /// its time, and only the ends and the commit that is found are timed.
    #[arg(long, help_heading = PRECISION)]
    no_instructions: bool,
    /// Keep measurements taken on a busy machine.
    #[arg(long, help_heading = MACHINE)]
    no_guards: bool,
    /// Stop a build that takes longer than this.
    #[arg(long, value_name = "TIME", help_heading = MACHINE,
        default_value_t = Span(source::BUILD_LIMIT))]
    build_limit: Span,
    /// Repeat builds that failed before.
    #[arg(long, help_heading = MACHINE)]
    retry_builds: bool,
    /// Print what would be done: commits, comparisons, time and disk.
    #[arg(long, help_heading = OUTPUT)]
    dry_run: bool,
    /// Directory for the results [default: out/bisect-<time>].
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Resume the interrupted search in --out, as it was planned.
    #[arg(long, help_heading = OUTPUT, requires = "out")]
    resume: bool,
    /// Exit with 5 if neither one commit nor nothing is found.
    #[arg(long, help_heading = OUTPUT)]
    strict: bool,
    /// Print the result as JSON instead of text.
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Towards {
    Slower,
    Faster,
    Either,
}

impl From<Towards> for SearchDirection {
    fn from(towards: Towards) -> SearchDirection {
        match towards {
            Towards::Slower => SearchDirection::Slower,
            Towards::Faster => SearchDirection::Faster,
            Towards::Either => SearchDirection::Either,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    arguments.check()?;
    let setup = Setup::new()?;
    let compact = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| PathBuf::from("out").join(format!("{VERB}-{compact}")));
    let work = BisectWork { arguments, setup: &setup, began: Instant::now() };
    if arguments.resume {
        return commits::resume(&work, &out);
    }
    let (Some(good), Some(bad)) = (&arguments.good, &arguments.bad) else {
        bail!("name GOOD and BAD, or --resume and --out");
    };
    side::check(good, bad)?;
    match (good, bad) {
        (SideName::Commit { .. }, SideName::Commit { .. }) => {
            commits::begin(&work, (good, bad), &out)
        }
        (SideName::Release(good), SideName::Release(bad)) => {
            releases::scan(&work, (good, bad), &out)
        }
        _ => bail!(
            "cannot compare a release with a commit. Name two releases, or two commits, as in \
             postgres@git:REL_17_6"
        ),
    }
}

/// Writes the report of a search into its directory, and prints it.
fn tell(out: &Path, found: &JointReport, json: bool) -> anyhow::Result<()> {
    let paths = write(out, found)?;
    match json {
        true => output::print_json(found.json())?,
        false => output::print_styled(&found.text(output::terminal()))?,
    }
    paths.iter().for_each(|path| note(&format!("wrote {}", path.display())));
    Ok(())
}

/// What all parts of a search share.
struct BisectWork<'a> {
    arguments: &'a Arguments,
    setup: &'a Setup,
    began: Instant,
}

impl Arguments {
    fn check(&self) -> anyhow::Result<()> {
        if !(0.5..1.0).contains(&self.posterior) {
            bail!("--posterior must be from 0.5 to below 1, as in 0.95");
        }
        if self.comparisons < 2 {
            bail!("--comparisons must be at least 2");
        }
        Ok(())
    }

    /// The comparison of these contenders, with which a search begins.
    fn plan(&self, contenders: Vec<Contender>) -> anyhow::Result<Plan> {
        let Some(wanted) = &self.workload else { bail!("name a --workload") };
        let secs = self.secs.unwrap_or(Asked::SECS);
        let asked = Asked {
            workload: wanted,
            contenders: &contenders,
            rows: self.rows,
            tables: None,
            writes: None,
            loads: None,
            clients: self.clients,
            scale: None,
            query_mode: None,
            defines: &[],
            secs: Some(secs),
            fitting: &|_| secs,
            check: true,
            skips_load_errors: false,
            stock_key: None,
            foreign_keys: false,
            think: false,
            read_only: false,
        };
        let mut comparison = Comparison::new(asked.plan()?);
        let cache = Some(rqps_plan::Cache::Cached);
        if !comparison.of.is_chain() {
            let tasks = rqps_workload::tasks(&comparison.of)?;
            let tests: Vec<_> = tasks.iter().filter(|task| !task.fills).collect();
            comparison.choices = method::choose(&contenders, &tests, self.clients, cache);
            if let [only] = &comparison.choices[..] {
                comparison.method = only.method;
            }
        }
        comparison.rounds = self.rounds;
        comparison.fewest_rounds = comparison.fewest_rounds.min(self.rounds);
        comparison.precision = PRECISION_OF_ENDS;
        comparison.guards = !self.no_guards;
        if let Some(test) = &self.test
            && !comparison.tests().contains(test)
        {
            let tests = comparison.tests();
            let known = rqps_plan::suggestion(test, tests.iter().map(String::as_str));
            bail!("--test '{test}' is not measured here: {known}");
        }
        let design = comparison.into();
        let plan = Plan { contenders, seed: self.seed, cache, memory: None, design };
        plan.validate()?;
        rqps_lab::validate(&plan)?;
        Ok(plan)
    }

    fn options(&self) -> source::BuildOptions {
        source::BuildOptions {
            recipe: self.recipe.clone(),
            limit: self.build_limit.0,
            retry: self.retry_builds,
            ..source::BuildOptions::default()
        }
    }
}

/// The same comparison of other contenders, with these rounds if their number is known.
fn instead(plan: &Plan, contenders: Vec<Contender>, number: usize, rounds: Option<u32>) -> Plan {
    // Fresh draws in each comparison, and the same ones when it is resumed.
    let seed = plan.seed.wrapping_add(1_000_003 * number as u64);
    let mut plan = Plan { contenders, seed, ..plan.clone() };
    if let (Some(comparison), Some(rounds)) = (plan.comparison_mut(), rounds) {
        comparison.rounds = rounds;
        comparison.fewest_rounds = rounds;
        // Chains and tests with a limit of loads have at most that number.
        comparison.loads = comparison.loads.map(|loads| loads.min(rounds));
    }
    plan
}

/// How a comparison ended.
enum StepOutcome {
    Done(Box<Run>),
    /// A server or a check failed.
    Failed,
    Interrupted,
}

impl BisectWork<'_> {
    /// Whether the budget is spent.
    fn is_late(&self) -> bool {
        let budget = self.arguments.budget.as_ref();
        budget.is_some_and(|budget| self.began.elapsed() >= budget.0)
    }

    /// The time and disk of a comparison.
    fn estimate(&self, plan: &Plan) -> anyhow::Result<(Duration, u64)> {
        let (cpus, memory) = (rqps_observe::cpus(), rqps_dbms::memory());
        let estimate = rqps_lab::estimate(plan, cpus, memory)?;
        Ok((estimate.time.total(), estimate.disk))
    }

    /// Makes a comparison, or what is left of it.
    fn measure(&self, path: &Path, plan: &Plan) -> anyhow::Result<StepOutcome> {
        let mut directory = match path.join("results.sqlite").exists() {
            true => RunDirectory::resume(path)?,
            false => {
                // The beginnings of a directory that was killed while it was created.
                files::remove_begun(path)?;
                self.setup.create(path, plan.clone())?
            }
        };
        if directory.plan.to_toml() != plan.to_toml() {
            bail!(
                "'{}' is another comparison than this one. Repeat the command as it was, or use another \
                 --out",
                path.display()
            );
        }
        let ready = self.setup.prepare(&directory.plan)?;
        let mut progress = Progress::new([(String::new(), &directory.plan)])?;
        progress.begin(0);
        let mut watch = |event| progress.event(&event);
        let Setup { home, cancel, restarts } = self.setup;
        let judge = &interim;
        let mut lab = Lab { home, watch: &mut watch, cancel, keep_data: false, judge, restarts };
        let outcome = rqps_lab::run(&mut lab, &mut directory, &ready);
        progress.end();
        match outcome? {
            Outcome::Interrupted => return Ok(StepOutcome::Interrupted),
            Outcome::Failed => return Ok(StepOutcome::Failed),
            Outcome::Complete => {}
        }
        let run = directory.run()?;
        run_reports::write(&directory, &Report::new(&run))?;
        Ok(StepOutcome::Done(Box::new(run)))
    }

    /// Says how an interrupted search goes on.
    fn interrupted(&self, out: &Path) -> Exit {
        note(&format!("interrupted. To resume: rqps {VERB} --resume --out {}", out.display()));
        Exit::Interrupted
    }
}
