//! `rqps report`: reports from the stored data of one run or of merged runs, the formats of other
//! programs, and the page of a folder of runs; and the reports that all measuring verbs write.

use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use console::Term;
use rqps_report::{Colour, File, FleetReport, JointReport, Report, Terminal};
use rqps_store::{Run, RunDirectory, StoreError};
use rqps_system::printable;

use super::exit::Exit;
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

/// Beginnings of the schemas' names in rqps's JSON, and within how many bytes one is.
const MARKS: [&[u8]; 2] = [b"\"rqps-", b"\"bisect/"];
const MARK_WITHIN: u64 = 100;

/// The verb of RocksDB's workloads.
const DBBENCH: &str = "dbbench";

/// Tables are readable from this width on, in columns.
const NARROWEST: usize = 40;

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

/// Writes a file as it is made.
type Make<'a> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'a>;

/// The reports of a run directory, each of which is made when it is written: they can be large.
fn files<'r>(report: &'r Report<'_>) -> Vec<(&'static str, Make<'r>)> {
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
fn write_and_tell(out: &Path, report: &Report<'_>) -> anyhow::Result<(Vec<PathBuf>, String)> {
    thread::scope(|scope| {
        let text = scope.spawn(|| rqps_report::text(report, terminal()));
        let files = write_all(out, report)?;
        Ok((files, text.join().unwrap_or_else(|panic| resume_unwind(panic))))
    })
}

/// Refuses to replace files that rqps did not write. The marked file tells whether rqps has written
/// to the folder.
pub(super) fn refuse_theirs<'a>(
    folder: &Path,
    marked: &str,
    mut names: impl Iterator<Item = &'a str>,
) -> anyhow::Result<()> {
    let mut start = Vec::new();
    let read = fs::File::open(folder.join(marked)).map(|file| file.take(MARK_WITHIN));
    let is_read = read.and_then(|mut file| file.read_to_end(&mut start)).is_ok();
    let has = |mark: &&[u8]| start.windows(mark.len()).any(|window| window == *mark);
    if is_read && MARKS.iter().any(has) {
        return Ok(());
    }
    match names.find(|name| folder.join(name).symlink_metadata().is_ok()) {
        Some(name) => bail!(
            "'{}' exists and was not written by rqps. Name another folder",
            folder.join(name).display()
        ),
        None => Ok(()),
    }
}

fn write_files(out: &Path, files: impl IntoIterator<Item = File>) -> anyhow::Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot create '{}'", out.display()))?;
    files.into_iter().try_for_each(|file| replace_file(&out.join(&file.name), &file.contents))
}

/// Writes a file in a folder that may come from elsewhere: a link there is replaced.
pub(super) fn replace_file(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    rqps_store::write_whole(path, |out| out.write_all(contents))?;
    told(path);
    Ok(())
}

/// Writes a file that the user names, which may be a pipe or a device.
pub(super) fn write_file(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    fs::write(path, contents).with_context(|| format!("cannot write '{}'", path.display()))?;
    told(path);
    Ok(())
}

fn told(path: &Path) {
    output::note(&format!("wrote {}", path.display()));
}

/// Writes a run's result to stdout.
pub(super) fn print_result(report: &Report<'_>, json: bool) -> anyhow::Result<()> {
    match json {
        true => output::print_json(&rqps_report::result_json(report)),
        false => output::print_styled(&rqps_report::text(report, terminal())),
    }
}

/// Where stdout is shown. Colour is for a person at a terminal who has not declined it
/// (no-color.org).
pub(super) fn terminal() -> Terminal {
    let size = Term::stdout().size_checked().filter(|_| io::stdout().is_terminal());
    let Some((_, columns)) = size else { return Terminal::PLAIN };
    let declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colour = if declined { Colour::Never } else { Colour::Always };
    Terminal { width: usize::from(columns).max(NARROWEST), colour }
}
