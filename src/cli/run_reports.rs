//! The reports of a run, which all measuring verbs write.

use std::io::{self, Write};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use rqps_report::Report;
use rqps_store::{RunDirectory, StoreError};

use super::output;

/// Writes a file as it is made.
pub(super) type Make<'a> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'a>;

/// The reports of a run directory, each of which is made when it is written: they can be large.
pub(super) fn files<'r>(report: &'r Report<'_>) -> Vec<(&'static str, Make<'r>)> {
    type Text = fn(&Report<'_>) -> String;
    // A comparison has rounds and no steps.
    let is_comparison = report.is_comparison();
    let mut texts: Vec<(&str, Text)> =
        vec![("summary.md", rqps_report::summary_markdown), ("report.html", rqps_report::html)];
    if is_comparison {
        texts.push(("verdicts.csv", rqps_report::verdicts_csv));
        texts.push(("rounds.csv", rqps_report::csv));
    }
    if rqps_report::has_times(report) {
        texts.push(("latency.csv", rqps_report::latency_csv));
    }
    if rqps_report::has_metrics(report) {
        texts.push(("metrics.csv", rqps_report::metrics_csv));
    }
    let mut files: Vec<(&'static str, Make<'_>)> =
        vec![("result.json", Box::new(|out| rqps_report::write_result_json(report, out)))];
    if !is_comparison {
        let seconds: Make<'_> = Box::new(|out| rqps_report::write_seconds_csv(report, out));
        files.push(("seconds.csv", seconds));
    }
    for (name, make) in texts {
        let text: Make<'_> = Box::new(move |out| out.write_all(make(report).as_bytes()));
        files.push((name, text));
    }
    for (name, made) in rqps_report::suite_files(report) {
        let text: Make<'_> = Box::new(move |out| out.write_all(made.as_bytes()));
        files.push((name, text));
    }
    files
}

/// Writes all reports of a run into its directory.
pub(super) fn write(directory: &RunDirectory, report: &Report<'_>) -> anyhow::Result<Vec<PathBuf>> {
    write_all(directory.path(), report)
}

/// Writes all reports of a run in parallel: while one is written to disk, others are made.
fn write_all(out: &Path, report: &Report<'_>) -> anyhow::Result<Vec<PathBuf>> {
    let written = thread::scope(|scope| {
        let mut threads = Vec::new();
        for (name, make) in files(report) {
            let path = out.join(name);
            threads.push(scope.spawn(move || {
                rqps_store::write_whole(&path, make)?;
                Ok(path)
            }));
        }
        let ended = threads.into_iter().map(|thread| thread.join());
        let ended = ended.map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic)));
        ended.collect::<Result<Vec<PathBuf>, StoreError>>()
    });
    Ok(written?)
}

/// Writes all reports of a run, and makes the text for stdout in parallel.
pub(super) fn write_and_tell(
    out: &Path,
    report: &Report<'_>,
) -> anyhow::Result<(Vec<PathBuf>, String)> {
    thread::scope(|scope| {
        let text = scope.spawn(|| rqps_report::text(report, output::terminal()));
        let files = write_all(out, report)?;
        Ok((files, text.join().unwrap_or_else(|panic| resume_unwind(panic))))
    })
}

/// Writes a run's result to stdout.
pub(super) fn print_result(report: &Report<'_>, json: bool) -> anyhow::Result<()> {
    match json {
        true => output::print_json(&rqps_report::result_json(report)),
        false => output::print_styled(&rqps_report::text(report, output::terminal())),
    }
}
