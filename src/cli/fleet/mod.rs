//! `rqps fleet`: cells of a plan file on many machines, by a scheduler that is there already.

mod cancel;
mod cell;
mod collect;
mod plan;
mod report;
mod retry;
mod status;
mod submit;

use std::path::Path;

use clap::Subcommand;
use rqps_fleet::{CellFolder, FleetError, FleetFolder};

use super::exit::Exit;
use super::output;

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Show the cells of a fleet file, and write them into a folder
    ///
    /// A cell is one comparison on one machine. The folder is what all other verbs work on.
    Plan(plan::Arguments),
    /// Hand the cells over that are neither done nor running
    ///
    /// Shows what is handed over before it is. For Kubernetes, writes manifests and applies none.
    Submit(submit::Arguments),
    /// Measure one cell: what a job of a scheduler runs
    ///
    /// A cell that is done ends at once; one that was begun is resumed. Exit codes: 0 measured,
    /// whatever was found; 2 it can never be run here; 3 something failed; 75 the machine is busy.
    Cell(cell::Arguments),
    /// Show what has become of each cell.
    Status(status::Arguments),
    /// Let cells be tried again that have failed.
    Retry(retry::Arguments),
    /// Ask the jobs of a fleet to end; they can be resumed.
    Cancel(cancel::Arguments),
    /// Fetch the results of hosts that do not share the folder.
    Collect(collect::Arguments),
    /// Report what all machines have found, and on which machines a change is.
    Report(report::Arguments),
}

pub(crate) fn run(verb: &Verb) -> anyhow::Result<Exit> {
    match verb {
        Verb::Plan(arguments) => plan::run(arguments),
        Verb::Submit(arguments) => submit::run(arguments),
        Verb::Cell(arguments) => cell::run(arguments),
        Verb::Status(arguments) => status::run(arguments),
        Verb::Retry(arguments) => retry::run(arguments),
        Verb::Cancel(arguments) => cancel::run(arguments),
        Verb::Collect(arguments) => collect::run(arguments),
        Verb::Report(arguments) => report::run(arguments),
    }
}

/// The folder by its whole path, which other machines get.
fn open(path: &Path) -> anyhow::Result<FleetFolder> {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    Ok(FleetFolder::open(&whole)?)
}

/// The cells that can be read; the others are named.
fn readable(fleet: &FleetFolder) -> Vec<CellFolder> {
    let named = |(_, cell): (&str, Result<CellFolder, FleetError>)| match cell {
        Ok(cell) => Some(cell),
        Err(error) => {
            output::note(&error.to_string());
            None
        }
    };
    fleet.cells().into_iter().filter_map(named).collect()
}
