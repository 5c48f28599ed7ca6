//! `rqps plan`: what a plan file expands to, and the time and disk that it needs.

use std::path::{Path, PathBuf};

use clap::Args;
use rqps_dbms::source::{self, Progress, SourceError};
use rqps_dbms::{DbmsError, Descriptor, Home};
use rqps_lab::{PlanEstimate, Time, pace};
use rqps_plan::{Build, Contender, Count, Dbms, Plan, Source};
use rqps_system::Cancelled;
use serde::Serialize;

use super::dbms::table;
use super::exit::Exit;
use super::matrix::{self, Item};
use super::output;
use super::progress::clock;
use super::units::{Bytes, Roughly};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Plan file, or the plan.toml of a run.
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// Show only these workloads, by name or as <verb>-<name>.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Print the plan as JSON.
    #[arg(long)]
    json: bool,
}

/// The time and disk of workloads that run one after another.
pub(crate) struct Forecast {
    pub(crate) each: Vec<PlanEstimate>,
    time: Time,
    /// Warnings of budgets that may be too small.
    short: Vec<String>,
    /// Peak bytes of data and logs: those of a workload are removed when it is done.
    data: u64,
    /// Builds that are not installed, and their bytes.
    fetched: Vec<String>,
    builds: u64,
    free: Option<u64>,
    folder: PathBuf,
}

impl Forecast {
    pub(crate) fn of<'a>(
        plans: impl Iterator<Item = &'a Plan> + Clone,
        home: &Home,
    ) -> anyhow::Result<Self> {
        let (cpus, memory) = (rqps_observe::cpus(), rqps_dbms::memory());
        let estimates = plans.clone().map(|plan| rqps_lab::estimate(plan, cpus, memory));
        let each: Vec<PlanEstimate> = estimates.collect::<Result<_, _>>()?;
        let short = plans.clone().zip(&each).filter_map(|(plan, estimate)| short(plan, estimate));
        let short = short.collect();
        let folder = home.data().map_err(DbmsError::from)?;
        let mut absent: Vec<Contender> = Vec::new();
        for plan in plans {
            for contender in as_taken(home, plan)? {
                let is_same = |one: &Contender| one.to_string() == contender.to_string();
                if !absent.iter().any(is_same) && !is_present(home, &contender)? {
                    refuse_unknown(home, &contender)?;
                    absent.push(contender);
                }
            }
        }
        Ok(Forecast {
            time: each.iter().map(|estimate| estimate.time).fold(Time::default(), |a, b| a + b),
            data: each.iter().map(|estimate| estimate.disk).max().unwrap_or(0),
            each,
            short,
            fetched: absent.iter().map(Contender::to_string).collect(),
            builds: absent.iter().map(|one| rqps_lab::build_bytes(one.dbms)).sum(),
            free: rqps_observe::free_bytes(&folder),
            folder,
        })
    }

    /// Prints it before anything starts.
    pub(crate) fn tell(&self) {
        output::note(&self.line());
        self.short.iter().chain(&self.warning()).for_each(|warning| output::note(warning));
    }

    fn line(&self) -> String {
        let fetched = match self.fetched.is_empty() {
            true => String::new(),
            false => format!(", after fetching {}", self.fetched.join(", ")),
        };
        let longest = self.each.iter().filter_map(|estimate| estimate.longest_operation).min();
        let longer = longest.map_or(String::new(), |longest| {
            format!(" (longer if a query takes over {} ms)", longest.as_millis())
        });
        format!(
            "estimate: about {}{longer} and at most {} of disk{fetched}",
            Roughly(self.time.total()),
            Bytes(self.data + self.builds)
        )
    }

    /// A warning if there is not enough disk space.
    fn warning(&self) -> Option<String> {
        let needed = self.data + self.builds;
        let free = self.free.filter(|free| *free < needed)?;
        Some(format!(
            "not enough disk space: '{}' has {} free, and {} may be needed. Free some, set RQPS_HOME \
             to another place, or plan fewer rows",
            self.folder.display(),
            Bytes(free),
            Bytes(needed)
        ))
    }
}

/// A warning if the budget of a comparison is less than its estimate.
fn short(plan: &Plan, estimate: &PlanEstimate) -> Option<String> {
    let comparison = plan.comparison()?;
    let budget = comparison.budget?;
    // The estimate has as many rounds as fit, but no fewer than a verdict needs.
    let needed = estimate.budgeted();
    (needed > budget.0).then(|| {
        format!(
            "a budget of {budget} may be too small: the {} rounds that a verdict needs take about {}. \
             Use fewer tests, a shorter --secs or fewer contenders",
            comparison.fewest_rounds,
            Roughly(needed)
        )
    })
}

/// Whether there is nothing to fetch for a contender.
fn is_present(home: &Home, contender: &Contender) -> anyhow::Result<bool> {
    if contender.dbms.is_bundled() || matches!(contender.build, Build::Server { .. }) {
        return Ok(true);
    }
    let mut tell = |_| Ok(());
    let present = source::present(home, contender.dbms, &contender.build, &mut tell);
    Ok(present.map_err(DbmsError::from)?.is_some())
}

/// The builds of a plan's contenders, without engines, configs and settings. If lists of versions
/// would have to be fetched, they are as the plan has them.
fn as_taken(home: &Home, plan: &Plan) -> anyhow::Result<Vec<Contender>> {
    let wanted: Vec<_> = plan.contenders.iter().map(|it| (it.dbms, it.build.clone())).collect();
    let builds = match source::alike(home, &wanted, &mut ask_nobody) {
        Ok(builds) => builds,
        Err(SourceError::Cancelled(_)) => wanted.iter().map(|(_, build)| build.clone()).collect(),
        Err(error) => return Err(DbmsError::from(error).into()),
    };
    let only = |(build, one): (Build, &Contender)| Contender {
        label: None,
        engine: None,
        config: None,
        settings: Vec::new(),
        build,
        ..one.clone()
    };
    Ok(builds.into_iter().zip(&plan.contenders).map(only).collect())
}

/// A plan asks no registry, and fetches and builds nothing; it only looks for builds of the system,
/// and for images.
fn ask_nobody(progress: Progress) -> Result<(), Cancelled> {
    match progress {
        Progress::Looking { source: Source::System | Source::Image } | Progress::Asking { .. } => {
            Ok(())
        }
        _ => Err(Cancelled),
    }
}

/// Refuses a build that no source of rqps can have, as a run would: it proceeds like a run up to
/// the first request to a registry. Only registries know whether they have that version.
fn refuse_unknown(home: &Home, contender: &Contender) -> anyhow::Result<()> {
    match source::obtain(home, contender.dbms, &contender.build, &mut ask_nobody) {
        Ok(_) | Err(SourceError::Cancelled(_)) => Ok(()),
        Err(error) => Err(DbmsError::from(error).into()),
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let items = matrix::choose(matrix::read(Path::new(&arguments.plan))?.items, &arguments.only)?;
    let items: Vec<&Item> = items.iter().collect();
    let home = Home::from_env().map_err(DbmsError::from)?;
    let forecast = Forecast::of(items.iter().map(|item| &item.plan), &home)?;
    if arguments.json {
        let told = serde_json::to_string_pretty(&Told::of(&items, &forecast));
        output::print_json(&(told.expect("names and numbers are plain data") + "\n"))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for (item, estimate) in items.iter().zip(&forecast.each) {
        text += &describe(item, estimate);
    }
    text += &overview(&items, &forecast);
    text += &assumptions(&items, &forecast);
    output::print(&text)?;
    if let Some(warning) = forecast.warning() {
        output::note(&warning);
    }
    Ok(Exit::Done)
}

/// A plan for programs: `rqps plan --json`.
#[derive(Serialize)]
struct Told<'a> {
    workloads: Vec<ToldWorkload<'a>>,
    seconds: Seconds,
    /// Peak bytes of data and logs.
    data_bytes: u64,
    fetch: &'a [String],
    fetch_bytes: u64,
    folder: &'a Path,
    free_bytes: Option<u64>,
}

#[derive(Serialize)]
struct ToldWorkload<'a> {
    workload: &'a str,
    what: String,
    contenders: Vec<String>,
    steps: &'a [String],
    seconds: Seconds,
    data_bytes: u64,
}

#[derive(Serialize)]
struct Seconds {
    start: f64,
    load: f64,
    measure: f64,
    pause: f64,
    check: f64,
    total: f64,
}

impl From<&Time> for Seconds {
    fn from(time: &Time) -> Self {
        Seconds {
            start: time.starts.as_secs_f64(),
            load: time.loads.as_secs_f64(),
            measure: time.measured.as_secs_f64(),
            pause: time.pauses.as_secs_f64(),
            check: time.checks.as_secs_f64(),
            total: time.total().as_secs_f64(),
        }
    }
}

impl<'a> Told<'a> {
    fn of(items: &[&'a Item], forecast: &'a Forecast) -> Self {
        let workload = |(item, estimate): (&&'a Item, &'a PlanEstimate)| ToldWorkload {
            workload: &item.title,
            what: size(&item.plan),
            contenders: item.plan.contenders.iter().map(Contender::to_string).collect(),
            steps: &estimate.steps,
            seconds: (&estimate.time).into(),
            data_bytes: estimate.disk,
        };
        Told {
            workloads: items.iter().zip(&forecast.each).map(workload).collect(),
            seconds: (&forecast.time).into(),
            data_bytes: forecast.data,
            fetch: &forecast.fetched,
            fetch_bytes: forecast.builds,
            folder: &forecast.folder,
            free_bytes: forecast.free,
        }
    }
}

fn describe(item: &Item, estimate: &PlanEstimate) -> String {
    let list = |names: &[String]| names.join("\n              ");
    let contenders: Vec<String> = item.plan.contenders.iter().map(Contender::to_string).collect();
    format!(
        "{}: {}\n  contenders  {}\n  steps       {}\n\n",
        item.title,
        size(&item.plan),
        list(&contenders),
        list(&wrapped(estimate.steps.iter().map(String::as_str))),
    )
}

/// The size of a workload, in a few words.
fn size(plan: &Plan) -> String {
    let size = plan.workload().size();
    let Some(comparison) = plan.comparison() else { return size };
    if comparison.only_instructions().is_some() {
        return format!("instructions, in two servers of each contender, of {size}");
    }
    let fresh = comparison.confirm.map(|fresh| format!(" and {fresh} fresh ones"));
    format!("at most {} rounds{} of {size}", comparison.rounds, fresh.unwrap_or_default())
}

/// Words in lines of a readable length.
fn wrapped<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    const WIDTH: usize = 84;
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

fn overview(items: &[&Item], forecast: &Forecast) -> String {
    let heads = [
        "ESTIMATE",
        "CONTENDERS",
        "STEPS",
        "START",
        "LOAD",
        "MEASURE",
        "PAUSE",
        "CHECK",
        "TIME",
        "DISK",
    ];
    let mut table = table(&heads);
    let times = |time: &Time| {
        [time.starts, time.loads, time.measured, time.pauses, time.checks, time.total()].map(clock)
    };
    for (item, estimate) in items.iter().zip(&forecast.each) {
        let (contenders, steps) = (item.plan.contenders.len(), estimate.steps.len());
        let head = [item.title.clone(), contenders.to_string(), steps.to_string()];
        let disk = Bytes(estimate.disk).to_string();
        table.add_row(head.into_iter().chain(times(&estimate.time)).chain([disk]));
    }
    let head = ["total".to_string(), String::new(), String::new()];
    let disk = Bytes(forecast.data).to_string();
    table.add_row(head.into_iter().chain(times(&forecast.time)).chain([disk]));
    let free = forecast.free.map_or("unknown".to_string(), |free| Bytes(free).to_string());
    let fetched = match forecast.fetched.is_empty() {
        true => "nothing to fetch".to_string(),
        false => {
            let (bytes, builds) = (Bytes(forecast.builds), forecast.fetched.join(", "));
            format!("{bytes} for builds to fetch: {builds} (registries were not asked for them)")
        }
    };
    let (table, folder) = (table.trim_fmt(), forecast.folder.display());
    format!("{table}\n\nfree in {folder}: {free}; {fetched}\n")
}

/// The assumptions behind the figures.
fn assumptions(items: &[&Item], forecast: &Forecast) -> String {
    let rate = |rate: f64| Count(rate as u64);
    let mut rows: Vec<String> = Vec::new();
    for contender in items.iter().flat_map(|item| &item.plan.contenders) {
        let engine = contender.engine.as_ref().map_or(String::new(), |name| format!("/{name}"));
        let text =
            format!("{} on {}{engine}", <&Descriptor>::from(contender).need.row, contender.dbms);
        if !rows.contains(&text) {
            rows.push(text);
        }
    }
    let fetch = if forecast.fetched.is_empty() { "" } else { ", without the time to fetch builds" };
    let logging = Dbms::ALL.into_iter().max_by_key(|dbms| rqps_lab::log_share(*dbms));
    let logging = logging.expect("there are DBMSs");
    let text = format!(
        "These are estimates{fetch}: a slow or busy machine takes twice as long, a fast one half. \
         Assumed rates in rows/s: {} loaded, {} indexed, {} and {} written (50 and 5 rows per \
         transaction), {} checked, or {} if memory does not hold the rows. Assumed bytes of a row of \
         the Insert Benchmark with its indexes: {}. A row of the microbenchmarks takes half as much \
         again. Added are a quarter for old versions and partly filled pages, as much again for logs \
         and sorting ({} times as much on {}, but no more than the memory), and the size of an empty \
         server. Contenders and workloads use the disk one after another, unless --keep-data is given.",
        rate(pace::LOAD),
        rate(pace::INDEX),
        rate(pace::WRITE),
        rate(pace::SMALL_WRITE),
        rate(pace::CHECK),
        rate(pace::CHECK_BEYOND_MEMORY),
        rows.join(", "),
        rqps_lab::log_share(logging),
        logging,
    );
    wrapped(text.split(' ')).join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// npm packages have no MySQL; only the registry knows all versions of Postgres.
    #[test]
    fn a_build_that_no_source_has_is_refused_without_asking_anybody() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path()).unwrap();
        let refused = |contender: &str| refuse_unknown(&home, &contender.parse().unwrap());
        let error = refused("mysql@npm-8.0.33").unwrap_err().to_string();
        assert!(error.starts_with("cannot get mysql 8.0.33: "), "{error}");
        assert!(refused("postgres@npm-1.2.3").is_ok());
        // If tools for the build are missing, it is refused for that.
        if let Err(error) = refused("postgres@src-18.6") {
            let error = error.to_string();
            assert!(error.starts_with("cannot build postgres 18.6: "), "{error}");
        }
        let tarballs = std::fs::read_dir(folder.path().join("source/tarballs"));
        assert_eq!(tarballs.into_iter().flatten().count(), 0, "nothing is fetched");
    }

    #[test]
    fn steps_are_wrapped_between_names() {
        let names: Vec<String> = (0..30).map(|number| format!("step-{number}")).collect();
        let lines = wrapped(names.iter().map(String::as_str));
        assert!(lines.len() > 1 && lines.iter().all(|line| line.len() <= 84));
        assert_eq!(lines.join(" "), names.join(" "));
    }
}
