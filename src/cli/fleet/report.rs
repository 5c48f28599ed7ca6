//! `rqps fleet report`: what all machines have found, also of a fleet that is not finished.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use rqps_fleet::{CellFolder, CellState, FleetFolder};
use rqps_report::FleetReport;
use rqps_store::{Run, by_machine};

use super::open;
use crate::cli::exit::Exit;
use crate::cli::{output, report};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Folder of the fleet.
    #[arg(value_name = "DIR")]
    fleet: PathBuf,
    /// Exit with 5 if a cell is missing or a verdict is undecided.
    #[arg(long)]
    strict: bool,
    /// Report machines together that are not comparable, with a warning.
    #[arg(long)]
    force: bool,
}

/// What the cells of a workload have measured, and what is missing.
#[derive(Default)]
struct CellResults {
    runs: Vec<(String, Run)>,
    missing: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let fleet = open(&arguments.fleet)?;
    let (workloads, has_failed) = workloads(&fleet);
    let is_only = workloads.len() == 1;
    if workloads.values().all(|workload| workload.runs.is_empty()) {
        bail!("no cell is done yet: see rqps fleet status {}", fleet.path().display());
    }
    let (mut has_regression, mut is_open) = (false, false);
    for (title, CellResults { runs, missing }) in workloads {
        if runs.is_empty() {
            missing.iter().for_each(|one| output::note(one));
            is_open = true;
            continue;
        }
        let machines = by_machine(runs, arguments.force)?;
        let report = FleetReport::new(&machines, missing);
        has_regression |= report.has_regression();
        is_open |= report.is_open();
        output::print_styled(&report.formats().text(output::terminal()))?;
        let prefix = if is_only { String::new() } else { format!("{title}-") };
        report::write_fleet(fleet.path(), &prefix, &report.formats())?;
    }
    Ok(match (has_failed, is_open && arguments.strict, has_regression) {
        (true, ..) => Exit::Failed,
        (_, true, _) => Exit::Unfit,
        (.., true) => Exit::Regression,
        _ => Exit::Done,
    })
}

/// By title, in the order of the titles, and whether any cell has failed.
fn workloads(fleet: &FleetFolder) -> (BTreeMap<String, CellResults>, bool) {
    let mut workloads: BTreeMap<String, CellResults> = BTreeMap::new();
    let mut has_failed = false;
    for (id, cell) in fleet.cells() {
        let cell = match cell {
            Ok(cell) => cell,
            Err(error) => {
                has_failed = true;
                output::note(&error.to_string());
                continue;
            }
        };
        let workload = workloads.entry(cell.spec.workload.clone()).or_default();
        match results(&cell) {
            Ok(run) => workload.runs.push((name(&cell), run)),
            Err(why) => {
                has_failed |= matches!(
                    cell.state(),
                    CellState::Failed { .. } | CellState::Broken { .. } | CellState::Done
                );
                workload.missing.push(format!("cell {id}, {}: {why}", cell.spec.title()));
            }
        }
    }
    (workloads, has_failed)
}

/// The results of a cell, or why there are none.
fn results(cell: &CellFolder) -> Result<Run, String> {
    match cell.state() {
        CellState::Done => cell.results().map_err(|error| error.to_string()),
        other => match other.told() {
            told if told.is_empty() => Err(other.name().to_string()),
            told => Err(format!("{}: {told}", other.name())),
        },
    }
}

/// `epyc`, or `epyc (2)` of its second run.
fn name(cell: &CellFolder) -> String {
    let spec = &cell.spec;
    match spec.repeat {
        1 => spec.machine.clone(),
        repeat => format!("{} ({repeat})", spec.machine),
    }
}
