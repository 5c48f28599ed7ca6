//! `rqps report`: a run's reports from its stored data, and what every verb that measures writes.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rqps_report::Colour;
use rqps_store::{Run, RunDirectory};

use super::exit::Exit;
use super::output;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The run directory.
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Print this instead of writing the files.
    #[arg(long)]
    format: Option<Format>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Markdown,
    Json,
    /// The metrics of every step.
    Csv,
    /// Every second of every connection.
    SecondsCsv,
    Html,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let Some(format) = arguments.format else {
        let directory = RunDirectory::resume(&arguments.run)?;
        let run = directory.run()?;
        let files = write(&directory, &run)?;
        output::print(&result(&run, false))?;
        files.iter().for_each(|file| output::note(&format!("wrote {}", file.display())));
        return Ok(Exit::Done);
    };
    let run = Run::open(&arguments.run)?;
    output::print(&match format {
        Format::Text => rqps_report::text(&run, colour()),
        Format::Markdown => rqps_report::summary_markdown(&run),
        Format::Json => rqps_report::result_json(&run),
        Format::Csv => rqps_report::csv(&run),
        Format::SecondsCsv => rqps_report::seconds_csv(&run),
        Format::Html => rqps_report::html(&run),
    })?;
    Ok(Exit::Done)
}

/// Writes all reports of a run into its directory.
pub(super) fn write(directory: &RunDirectory, run: &Run) -> anyhow::Result<Vec<PathBuf>> {
    let files = [
        ("result.json", rqps_report::result_json(run)),
        ("summary.md", rqps_report::summary_markdown(run)),
        ("metrics.csv", rqps_report::csv(run)),
        ("seconds.csv", rqps_report::seconds_csv(run)),
        ("report.html", rqps_report::html(run)),
    ];
    let files = files.into_iter().chain(rqps_report::suite_files(run));
    let write = |(name, text): (&str, String)| Ok(directory.write(name, text.as_bytes())?);
    files.map(write).collect()
}

/// What goes to stdout.
pub(super) fn result(run: &Run, json: bool) -> String {
    if json { rqps_report::result_json(run) } else { rqps_report::text(run, colour()) }
}

/// Colour is for a person at a terminal who has not declined it (no-color.org).
fn colour() -> Colour {
    let declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stdout().is_terminal() && !declined { Colour::Always } else { Colour::Never }
}
