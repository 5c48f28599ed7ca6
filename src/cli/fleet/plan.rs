//! `rqps fleet plan`: the cells of a fleet file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::Args;
use rqps_fleet::{CellSpec, FleetFile, FleetFolder, Scheduler};
use rqps_plan::{Plan, Span};

use crate::cli::exit::Exit;
use crate::cli::matrix::{self, Item};
use crate::cli::output;
use crate::cli::table::table;
use crate::cli::units::Roughly;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Fleet file: a plan file, machines, and who starts the cells.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write the cells into this folder
    ///
    /// A folder of an earlier plan keeps its cells, and gets those that are new.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Plan more than 1000 cells.
    #[arg(long)]
    yes: bool,
    /// Print the cells as JSON.
    #[arg(long)]
    json: bool,
}

/// More cells are a mistake, or meant.
const MOST: usize = 1_000;

/// The limit of a cell is twice its estimate, and time for fetching builds.
const FACTOR: u32 = 2;
const FETCHING: Duration = Duration::from_secs(600);

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let shown = arguments.file.display();
    let text = fs::read_to_string(&arguments.file)
        .map_err(|error| anyhow!("cannot read fleet file '{shown}': {error}"))?;
    let file = FleetFile::parse(&text).map_err(|error| anyhow!("{shown}: {error}"))?;
    let near = arguments.file.parent().unwrap_or(Path::new("."));
    let expanded = matrix::read(&near.join(&file.plan))?;
    let workloads: Vec<(String, Plan, Span)> =
        expanded.items.into_iter().map(workload).collect::<Result<_, _>>()?;
    let cells = rqps_fleet::cells(&file, &workloads, &binary(&file)?);
    if cells.len() > MOST && !arguments.yes {
        bail!("this makes {} cells. To plan more than {MOST}, add --yes", cells.len());
    }
    match arguments.json {
        true => output::print_json(&(serde_json::to_string_pretty(&cells)? + "\n"))?,
        false => output::print(&described(&file, &cells))?,
    }
    let Some(out) = &arguments.out else { return Ok(Exit::Done) };
    let fleet = FleetFolder::create(out, &text, &expanded.text, &cells)?;
    output::note(&format!("wrote {} cells into {}", cells.len(), fleet.path().display()));
    output::note(&format!("to begin: rqps fleet submit {}", out.display()));
    Ok(Exit::Done)
}

/// A comparison with the limit of its cells. Anything else has numbers that mean nothing beside
/// those of another machine.
fn workload(item: Item) -> anyhow::Result<(String, Plan, Span)> {
    let Item { title, plan, .. } = item;
    let Some(comparison) = plan.comparison() else {
        bail!(
            "workload '{title}' has rates of one machine, which are not comparable with those of \
             another. Use [compare.NAME]"
        );
    };
    if comparison.baseline_from.is_some() {
        bail!(
            "workload '{title}' takes its baseline from a run, which is of one machine. Measure it"
        );
    }
    for contender in &plan.contenders {
        let spec = contender.spec();
        let is_relative = |start: &str| {
            spec.contains(&format!("{start}./")) || spec.contains(&format!("{start}../"))
        };
        if is_relative(":") || is_relative("@") {
            bail!(
                "contender '{spec}' of workload '{title}' has a relative path, which means nothing \
                 on another machine. Use an absolute path that all machines have"
            );
        }
    }
    let estimate = rqps_lab::estimate(&plan, rqps_observe::cpus(), rqps_dbms::memory())?;
    let seconds = (FACTOR * estimate.time.total() + FETCHING).as_secs();
    Ok((title, plan, Span(Duration::from_secs(seconds))))
}

/// SHA-256 of the binary that will measure: the one that the file names if it is here, or this one.
fn binary(file: &FleetFile) -> anyhow::Result<String> {
    let named = match &file.on {
        Scheduler::Slurm(options) => Path::new(&options.rqps),
        _ => Path::new(""),
    };
    let path = if named.is_file() { named } else { Path::new("/proc/self/exe") };
    Ok(rqps_fleet::hash_file(path)?)
}

fn described(file: &FleetFile, cells: &[CellSpec]) -> String {
    let mut listed = table(&["CELL", "WORKLOAD", "MACHINE", "REPEAT", "LIMIT"]);
    for cell in cells {
        let repeat = cell.repeat.to_string();
        let limit = Roughly(cell.limit.0).to_string();
        listed.add_row([&cell.id, &cell.workload, &cell.machine, &repeat, &limit]);
    }
    let mut totals = table(&["MACHINE", "CELLS", "AT ONCE", "LIMIT IN ALL"]);
    for machine in file.machines() {
        let own = cells.iter().filter(|cell| cell.machine == machine.name);
        let (count, sum) =
            own.fold((0, Duration::ZERO), |(count, sum), cell| (count + 1, sum + cell.limit.0));
        let at_once = match &file.on {
            Scheduler::Ssh(_) => machine.hosts.len() as u32,
            Scheduler::Local(_) => 1,
            _ => machine.count,
        };
        let longest = Roughly(sum / at_once.max(1)).to_string();
        totals.add_row([machine.name.clone(), count.to_string(), at_once.to_string(), longest]);
    }
    format!(
        "{}\n\n{}\n\n{} cells, started by {}\n",
        listed.trim_fmt(),
        totals.trim_fmt(),
        cells.len(),
        file.on.name()
    )
}
