//! `rqps fleet status`: what has become of each cell, by the folder alone.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::Args;
use rqps_fleet::{CellState, FleetFolder, Submission};
use serde::Serialize;

use super::open;
use crate::cli::exit::Exit;
use crate::cli::output;
use crate::cli::table::table;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Folder of the fleet.
    #[arg(value_name = "DIR")]
    fleet: PathBuf,
    /// Show it again every ten seconds, until no cell is left.
    #[arg(long)]
    watch: bool,
    /// Print the states as JSON.
    #[arg(long, conflicts_with = "watch")]
    json: bool,
}

const AGAIN: Duration = Duration::from_secs(10);

#[derive(Serialize)]
struct StateOfCell {
    cell: String,
    title: Option<String>,
    #[serde(flatten)]
    state: CellState,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    loop {
        let fleet = open(&arguments.fleet)?;
        let states = states(&fleet);
        if arguments.json {
            output::print_json(&(serde_json::to_string_pretty(&states)? + "\n"))?;
            return Ok(Exit::Done);
        }
        output::print(&described(&fleet, &states))?;
        let is_open = |of: &StateOfCell| {
            matches!(of.state, CellState::Waiting { .. } | CellState::Running { .. })
        };
        if !arguments.watch || !states.iter().any(is_open) {
            return Ok(Exit::Done);
        }
        thread::sleep(AGAIN);
        output::print("\n")?;
    }
}

fn states(fleet: &FleetFolder) -> Vec<StateOfCell> {
    let state = |(id, cell): (&str, Result<rqps_fleet::CellFolder, rqps_fleet::FleetError>)| {
        let (title, state) = match cell {
            Ok(cell) => (Some(cell.spec.title()), cell.state()),
            Err(error) => (None, CellState::Broken { why: error.to_string() }),
        };
        StateOfCell { cell: id.to_string(), title, state }
    };
    fleet.cells().into_iter().map(state).collect()
}

fn described(fleet: &FleetFolder, states: &[StateOfCell]) -> String {
    let mut listed = table(&["CELL", "STATE", "WHAT", ""]);
    for of in states {
        let title = of.title.clone().unwrap_or_default();
        listed.add_row([of.cell.clone(), of.state.name().to_string(), title, of.state.told()]);
    }
    let names = ["done", "running", "waiting", "failed", "damaged"];
    let counts = names.map(|name| {
        let count = states.iter().filter(|of| of.state.name() == name).count();
        (name, count)
    });
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts.map(|(name, count)| format!("{count} {name}")).collect();
    let mut text = format!("{}\n\n{}\n", listed.trim_fmt(), counts.join(", "));
    match fleet.earlier() {
        0 => {}
        count => text += &format!("{count} more of an earlier plan\n"),
    }
    let jobs: Vec<String> =
        Submission::all(fleet.path()).into_iter().filter_map(|one| one.job).collect();
    if !jobs.is_empty() {
        text += &format!("handed over as job {}\n", jobs.join(", "));
    }
    if states.iter().any(|of| of.state.name() == "failed") {
        text +=
            &format!("to try failed cells again: rqps fleet retry {}\n", fleet.path().display());
    }
    text
}
