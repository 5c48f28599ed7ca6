//! `rqps plan`: what a plan file expands to, and the time and disk that it needs.

use std::path::{Path, PathBuf};

use clap::Args;
use rqps_dbms::{DbmsError, Descriptor, Home};
use rqps_lab::{PlanEstimate, Time, pace};
use rqps_plan::{Contender, Count, Dbms, Plan};
use serde::Serialize;

use super::exit::Exit;
use super::forecast::Forecast;
use super::matrix::{self, Item};
use super::output;
use super::progress::clock;
use super::table::table;
use super::units::Bytes;

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

    #[test]
    fn steps_are_wrapped_between_names() {
        let names: Vec<String> = (0..30).map(|number| format!("step-{number}")).collect();
        let lines = wrapped(names.iter().map(String::as_str));
        assert!(lines.len() > 1 && lines.iter().all(|line| line.len() <= 84));
        assert_eq!(lines.join(" "), names.join(" "));
    }
}
