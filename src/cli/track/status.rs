//! `rqps track status`, `list` and `check`.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use rqps_analysis::track::TrackHistory;
use rqps_store::track::{Track, check_track};

use super::super::exit::Exit;
use super::super::headings::OUTPUT;
use super::super::output;
use super::Folder;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Folder of nights.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print the result as JSON instead of tables.
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct NightList {
    /// Folder of nights.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let all = Track::open(&arguments.folder)?.contents()?;
    let history = TrackHistory::new(&all);
    match arguments.json {
        true => output::print_json(&rqps_report::track_status_json(&history))?,
        false => output::print_styled(&rqps_report::track_status(&history, output::terminal()))?,
    }
    Ok(Exit::Done)
}

pub(super) fn list(arguments: &NightList) -> anyhow::Result<Exit> {
    let all = Track::open(&arguments.folder)?.contents()?;
    output::print_styled(&rqps_report::track_nights(&all, output::terminal()))?;
    Ok(Exit::Done)
}

pub(super) fn check(arguments: &Folder) -> anyhow::Result<Exit> {
    let track = Track::open(&arguments.folder)?;
    let found = check_track(&track, Timestamp::now())?;
    if found.is_empty() {
        output::print("nothing is wrong\n")?;
        return Ok(Exit::Done);
    }
    found.iter().try_for_each(|line| output::print(&format!("{line}\n")))?;
    Ok(Exit::Failed)
}
