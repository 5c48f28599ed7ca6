//! `rqps report`: reports from the stored data of one run or of merged runs, the formats of other
//! programs, and the page of a folder of runs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use rqps_report::{File, FleetReport, JointReport, Report};
use rqps_store::{Run, RunDirectory, StoreError};
use rqps_system::printable;

use super::exit::Exit;
use super::files::{refuse_theirs, replace_file, told, write_file, write_files};
use super::output::terminal;
use super::run_reports::{files, print_result, write_and_tell};
use super::{bisect, index, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Run directories, of which several are merged; or the directory of a search
    ///
    /// Runs that are not comparable are not merged, except with --force. Comparisons of several
    /// machines are reported by machine, with a mean over them.
    #[arg(value_name = "RUN", required_unless_present = "index")]
    runs: Vec<PathBuf>,
    /// Write this format instead of the files of a run directory.
    #[arg(long)]
    format: Option<Format>,
    /// Output directory, or the file if the format has one file
    ///
    /// [default: the run directory, or stdout if the format has one file]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Merge runs that are not comparable, with a warning in the report.
    #[arg(long)]
    force: bool,
    /// Merge the rounds of several machines, as if they were of one
    ///
    /// Machines that differ make such an interval too narrow.
    #[arg(long)]
    pool: bool,
    /// Write a page of all runs in a folder: index.html and index.json.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["runs", "format", "out", "force", "pool"])]
    index: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a post: the tables of the terminal, then rates, sizes and response times.
    Text,
    Markdown,
    Json,
    /// The metrics of every step.
    Csv,
    /// Every second of every step.
    SecondsCsv,
    Html,
    /// HdrHistogram logs, a file for each contender and step.
    Hdr,
    /// Tables of steps, seconds and response times, for DuckDB, pandas and R.
    Parquet,
    /// A row for each contender, for Apache Otava.
    Otava,
    /// As sysbench prints its results.
    Sysbench,
    /// `report.tsv` of RocksDB's benchmark.sh, a file for each contender.
    DbBench,
    /// The verdicts of a comparison, for the test views of CI systems.
    Junit,
}

/// The verb of RocksDB's workloads.
const DBBENCH: &str = "dbbench";

/// The output of a format.
enum Made {
    Text(String),
    Files(Vec<File>),
}

impl Format {
    /// Whether it contains samples, which are most of a large run.
    fn has_samples(self) -> bool {
        matches!(self, Format::Json | Format::SecondsCsv | Format::Html | Format::Parquet)
    }

    /// Whether a run has the data that it needs: a comparison has no steps, but may have whole
    /// runs.
    fn has_source(self, run: &Run) -> bool {
        let arms = run.rounds.iter().flat_map(|round| round.arms.values());
        match self {
            Format::SecondsCsv | Format::Sysbench | Format::Hdr | Format::DbBench => {
                let mut work = arms.flat_map(|arm| &arm.work);
                // Slices have no seconds.
                !run.single().is_empty() || work.any(|work| !work.seconds.is_empty())
            }
            _ => true,
        }
    }

    /// The directory of its files in a run directory; none if it is one text.
    fn directory(self) -> Option<&'static str> {
        match self {
            Format::Hdr => Some("hdr"),
            Format::Parquet => Some("parquet"),
            Format::DbBench => Some("db_bench"),
            _ => None,
        }
    }

    fn make(self, report: &Report<'_>) -> anyhow::Result<Made> {
        Ok(Made::Text(match self {
            Format::Text => rqps_report::post(report, terminal()),
            Format::Markdown => rqps_report::summary_markdown(report),
            Format::Json => rqps_report::result_json(report),
            Format::Csv => rqps_report::csv(report),
            Format::SecondsCsv => rqps_report::seconds_csv(report),
            Format::Html => rqps_report::html(report),
            Format::Otava => rqps_report::otava(report),
            Format::Sysbench => rqps_report::sysbench(report),
            Format::Junit => rqps_report::junit(report)
                .context("this format needs verdicts, and the run is not a comparison")?,
            Format::DbBench => return Ok(Made::Files(rqps_report::db_bench(report))),
            Format::Hdr => return Ok(Made::Files(rqps_report::hdr(report))),
            Format::Parquet => return Ok(Made::Files(rqps_report::parquet(report))),
        }))
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    if let Some(folder) = &arguments.index {
        return index::run(folder);
    }
    if let [path] = arguments.runs.as_slice()
        && bisect::is_search(path)
    {
        return bisect::with_report(path, |report| report_search(arguments, path, report));
    }
    if let Some(runs) = of_machines(arguments)? {
        return report_machines(arguments, runs);
    }
    match (arguments.runs.as_slice(), arguments.format) {
        ([path], None) if arguments.out.is_none() => remake(path)?,
        (_, None) => print_and_write(arguments)?,
        (_, Some(format)) => export(arguments, format)?,
    }
    Ok(Exit::Done)
}

/// The comparisons, if they are of several machines that are not to be pooled.
fn of_machines(arguments: &Arguments) -> anyhow::Result<Option<Vec<(String, Run)>>> {
    if arguments.runs.len() < 2 || arguments.pool {
        return Ok(None);
    }
    let runs = named(arguments, Run::open_without_samples)?;
    Ok(rqps_store::are_of_machines(&runs).then_some(runs))
}

fn report_machines(arguments: &Arguments, runs: Vec<(String, Run)>) -> anyhow::Result<Exit> {
    let machines = rqps_store::by_machine(runs, arguments.force)?;
    let report = FleetReport::new(&machines, Vec::new()).formats();
    let Some(format) = arguments.format else {
        if let Some(out) = &arguments.out {
            write_fleet(out, "", &report)?;
        }
        output::print_styled(&report.text(terminal()))?;
        return Ok(Exit::Done);
    };
    if !export_joint(arguments, format, &report)? {
        bail!(
            "these runs are of several machines, which this format has no place for. Use --format \
             text, markdown, json or html, or --pool to merge their rounds"
        );
    }
    Ok(Exit::Done)
}

/// Writes the files of a search again, or one of its formats.
fn report_search(arguments: &Arguments, path: &Path, report: &JointReport) -> anyhow::Result<Exit> {
    let Some(format) = arguments.format else {
        let out = arguments.out.as_deref().unwrap_or(path);
        if out != path {
            refuse_theirs(
                out,
                bisect::JSON,
                bisect::report_files(report).iter().map(|(name, _)| *name),
            )?;
            fs::create_dir_all(out)
                .with_context(|| format!("cannot create '{}'", out.display()))?;
        }
        output::print_styled(&report.text(terminal()))?;
        bisect::write(out, report)?.iter().for_each(|file| told(file));
        return Ok(Exit::Done);
    };
    if !export_joint(arguments, format, report)? {
        bail!(
            "'{}' is a search, which this format has no place for. Use --format text, markdown, json or \
             html, or name one of its comparisons, as {}/001-…",
            path.display(),
            path.display()
        );
    }
    Ok(Exit::Done)
}

/// Writes or prints a report about several runs. False if the format is none of such reports.
fn export_joint(
    arguments: &Arguments,
    format: Format,
    report: &JointReport,
) -> anyhow::Result<bool> {
    let text = match format {
        Format::Text => report.post(terminal()),
        Format::Markdown => report.markdown(),
        Format::Json => report.json().to_string(),
        Format::Html => report.html(),
        _ => return Ok(false),
    };
    match (&arguments.out, format) {
        (Some(out), _) => write_file(out, text.as_bytes())?,
        (None, Format::Json) => output::print_json(&text)?,
        (None, Format::Text) => output::print_styled(&text)?,
        (None, _) => output::print(&text)?,
    }
    Ok(true)
}

/// Writes the report over several machines into a folder, under these names after a prefix.
pub(super) fn write_fleet(out: &Path, prefix: &str, report: &JointReport) -> anyhow::Result<()> {
    let name = |name: &str| format!("{prefix}{name}");
    let (json, names) = (name("result.json"), ["summary.md", "report.html"].map(name));
    refuse_theirs(out, &json, [&json, &names[0], &names[1]].map(String::as_str).into_iter())?;
    fs::create_dir_all(out).with_context(|| format!("cannot create '{}'", out.display()))?;
    // The file that marks the others as written by rqps comes first.
    replace_file(&out.join(&json), report.json().as_bytes())?;
    replace_file(&out.join(&names[0]), report.markdown().as_bytes())?;
    replace_file(&out.join(&names[1]), report.html().as_bytes())
}

/// Writes the files of a run directory again.
fn remake(path: &Path) -> anyhow::Result<()> {
    let directory = RunDirectory::resume(path)?;
    let run = directory.run()?;
    let (files, text) = write_and_tell(directory.path(), &Report::new(&run))?;
    output::print_styled(&text)?;
    files.iter().for_each(|file| told(file));
    Ok(())
}

/// Prints the tables of one run or merged runs, and writes all files if --out is given.
fn print_and_write(arguments: &Arguments) -> anyhow::Result<()> {
    let run = open(arguments, arguments.out.is_some())?;
    let report = Report::new(&run);
    let Some(out) = &arguments.out else { return print_result(&report, false) };
    refuse_theirs(out, "result.json", files(&report).iter().map(|(name, _)| *name))?;
    fs::create_dir_all(out).with_context(|| format!("cannot create '{}'", out.display()))?;
    let (files, text) = write_and_tell(out, &report)?;
    files.iter().for_each(|file| told(file));
    output::print_styled(&text)
}

fn export(arguments: &Arguments, format: Format) -> anyhow::Result<()> {
    let run = open(arguments, format.has_samples())?;
    if format == Format::DbBench && run.plan.workload().verb() != DBBENCH {
        bail!(
            "this format is for RocksDB's workloads (rqps dbbench), and this run has another one. \
             Use --format csv"
        );
    }
    if !format.has_source(&run) {
        bail!(
            "this format needs steps or whole runs, and this run was measured by slices, which keep \
             neither times of single operations nor seconds. Use --format json, csv or parquet"
        );
    }
    let out = match (&arguments.out, arguments.runs.as_slice(), format.directory()) {
        (Some(out), ..) => Some(out.clone()),
        (None, [run], Some(directory)) => Some(rqps_system::below(run, Path::new(directory))?),
        _ => None,
    };
    match (format.make(&Report::new(&run))?, out) {
        (Made::Text(text), None) => match format {
            Format::Json => output::print_json(&text),
            Format::Text => output::print_styled(&text),
            _ => output::print(&text),
        },
        (Made::Text(text), Some(out)) => write_file(&out, text.as_bytes()),
        (Made::Files(files), Some(out)) => write_files(&out, files),
        (Made::Files(_), None) => {
            bail!("this format has several files. Name a directory with --out DIR")
        }
    }
}

fn open(arguments: &Arguments, with_samples: bool) -> anyhow::Result<Run> {
    let read = if with_samples { Run::open } else { Run::open_without_samples };
    let runs = &arguments.runs;
    if let [path] = runs.as_slice() {
        return Ok(read(path)?);
    }
    Ok(rqps_store::merge(named(arguments, read)?, arguments.force)?)
}

/// All runs, each under its name.
fn named(
    arguments: &Arguments,
    read: fn(&Path) -> Result<Run, StoreError>,
) -> anyhow::Result<Vec<(String, Run)>> {
    let runs = &arguments.runs;
    runs.iter().map(|path| Ok((name(path, runs), read(path)?))).collect()
}

/// The name of a run directory, or its path if another has the same name.
fn name(path: &Path, all: &[PathBuf]) -> String {
    let last = |path: &Path| path.file_name().map(|name| name.to_owned());
    let alike = all.iter().filter(|other| last(other) == last(path)).count();
    match last(path) {
        Some(name) if alike == 1 => printable(&name.to_string_lossy()).into_owned(),
        _ => printable(&path.display().to_string()).into_owned(),
    }
}
