//! `rqps run`: the workloads of a plan file in turn, each with a run directory of its own.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use rqps_analysis::comparison::FailOn;
use rqps_dbms::Dbms;
use rqps_store::{RunDirectory, StoreError, alone_in, refuse_unwritable, write_whole};
use serde::{Deserialize, Serialize};

use super::exit::{self, Exit};
use super::forecast::Forecast;
use super::headings::MEASURE;
use super::matrix::{self, Expanded, Item};
use super::output;
use super::progress::Progress;
use super::run_reports::print_result;
use super::session::{SessionOptions, Setup};
use super::table::table;

/// The plan file and the outcomes, in the directory of the whole matrix.
const MATRIX: &str = "matrix.toml";
const OUTCOMES: &str = "matrix.json";

#[derive(Args)]
pub(crate) struct Arguments {
    /// Plan file, or the plan.toml of a run to repeat
    ///
    /// [default with --resume: that of --out]
    #[arg(value_name = "PLAN", required_unless_present = "resume")]
    plan: Option<PathBuf>,
    /// Run only these workloads, by name or as <verb>-<name>.
    #[arg(long, value_name = "NAME,…", help_heading = MEASURE, value_delimiter = ',')]
    only: Vec<String>,
    #[command(flatten)]
    session: SessionOptions,
}

/// The outcomes of the workloads so far, in the order in which they were run.
#[derive(Default, Serialize, Deserialize)]
struct Outcomes {
    workloads: Vec<Outcome>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Outcome {
    /// Its title, which is also the name of its directory.
    workload: String,
    outcome: Exit,
}

impl Outcomes {
    /// A workload whose run was removed counts as not run.
    fn read(root: &Path) -> anyhow::Result<Self> {
        let path = root.join(OUTCOMES);
        let Ok(text) = fs::read_to_string(&path) else { return Ok(Outcomes::default()) };
        let read: Result<Outcomes, _> = serde_json::from_str(&text);
        let mut outcomes = read.with_context(|| format!("'{}' is damaged", path.display()))?;
        outcomes.workloads.retain(|one| is_begun(&root.join(&one.workload)));
        Ok(outcomes)
    }

    fn of(&self, item: &Item) -> Option<Exit> {
        let found = self.workloads.iter().find(|outcome| outcome.workload == item.title);
        found.map(|outcome| outcome.outcome)
    }

    /// Whether nothing remains to be done.
    fn is_done(&self, item: &Item) -> bool {
        let exit = self.of(item);
        matches!(exit, Some(Exit::Done | Exit::SlaMissed | Exit::Regression | Exit::Unfit))
    }

    fn note(&mut self, item: &Item, outcome: Exit, root: &Path) -> anyhow::Result<()> {
        let title = &item.title;
        self.workloads.retain(|earlier| earlier.workload != *title);
        self.workloads.push(Outcome { workload: title.clone(), outcome });
        Ok(write(&root.join(OUTCOMES), &self.json())?)
    }

    fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("names and outcomes are plain data");
        text + "\n"
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = &arguments.session;
    let root = session.directory("run");
    let Expanded { items, text } = expanded(arguments, &root)?;
    let chosen = matrix::choose(items, &arguments.only)?;
    // A new matrix creates its directory when everything is known to be right.
    let alone = (session.resume && root.is_dir()).then(|| alone_in(&root)).transpose()?;
    let mut outcomes = match session.resume {
        true => Outcomes::read(&root)?,
        false => Outcomes::default(),
    };
    refuse_taken(&root, session.resume)?;
    chosen.iter().try_for_each(|item| refuse_other_plan(&root, item))?;

    let setup = Setup::new()?;
    let left: Vec<&Item> = chosen.iter().filter(|item| !outcomes.is_done(item)).collect();
    Forecast::of(left.iter().map(|item| &item.plan), &setup.home)?.tell();
    // Errors in a contender of the last workload are reported before the first one begins.
    let ready =
        left.iter().map(|item| setup.prepare(&item.plan).with_context(|| item.title.clone()));
    let ready: Vec<Vec<Box<dyn Dbms>>> = ready.collect::<Result<_, _>>()?;
    fs::create_dir_all(&root).with_context(|| format!("cannot create '{}'", root.display()))?;
    let _alone = match alone {
        Some(alone) => alone,
        None => alone_in(&root)?,
    };
    // Another process may have put its matrix there since the first check.
    refuse_taken(&root, session.resume)?;
    write(&root.join(MATRIX), &text)?;

    let title = |number: usize, item: &Item| format!("{} ({number} of {})", item.title, left.len());
    let titled = (1..).zip(&left).map(|(number, item)| (title(number, item), &item.plan));
    let mut progress = Progress::new(titled)?;
    for (place, (item, ready)) in left.iter().zip(&ready).enumerate() {
        output::note(&title(place + 1, item));
        let shown = (&mut progress, place);
        let outcome = measure(&setup, item, &root, ready, session, shown).unwrap_or_else(|error| {
            output::note(&format!("error: {}: {}", item.title, output::told(&error)));
            exit::of(&error)
        });
        outcomes.note(item, outcome, &root)?;
        if outcome == Exit::Interrupted {
            break;
        }
    }
    conclude(&chosen, &outcomes, &root, session)
}

fn expanded(arguments: &Arguments, root: &Path) -> anyhow::Result<Expanded> {
    if let Some(plan) = &arguments.plan {
        return matrix::read(plan);
    }
    let kept = root.join(MATRIX);
    if !kept.exists() {
        bail!("'{}' contains no matrix: it has no {MATRIX}. Name a plan file", root.display());
    }
    matrix::read(&kept)
}

/// A directory that is not empty is resumed or left alone.
fn refuse_taken(root: &Path, resume: bool) -> Result<(), StoreError> {
    match resume {
        false if root.join(MATRIX).exists() => Err(StoreError::Taken(root.to_path_buf())),
        false if fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_some()) => {
            Err(StoreError::NotEmpty(root.to_path_buf()))
        }
        _ => refuse_unwritable(root),
    }
}

/// The plan file may have gained workloads since, but those that were started must be unchanged.
fn refuse_other_plan(root: &Path, item: &Item) -> anyhow::Result<()> {
    let begun = root.join(&item.title);
    match fs::read_to_string(begun.join("plan.toml")) {
        Ok(text) if text != item.plan.to_toml() => bail!(
            "'{}' was started with another plan (see its plan.toml). Use another --out, or rename \
             the changed workload",
            begun.display()
        ),
        _ => Ok(()),
    }
}

/// Whether a directory contains a run.
fn is_begun(directory: &Path) -> bool {
    directory.join("results.sqlite").exists()
}

/// Runs a workload, or the rest of it.
fn measure(
    setup: &Setup,
    item: &Item,
    root: &Path,
    ready: &[Box<dyn Dbms>],
    session: &SessionOptions,
    shown: (&mut Progress, usize),
) -> anyhow::Result<Exit> {
    // The folder of the matrix may come from elsewhere.
    let path = rqps_system::below(root, Path::new(&item.title))?;
    setup.arrive(&item.plan, ready)?;
    let mut directory = match is_begun(&path) {
        true => RunDirectory::resume(&path)?,
        false => setup.create(&path, item.plan.clone())?,
    };
    setup.measure(&mut directory, ready, (session, FailOn::Regression), shown, |report, _| {
        if !session.json {
            output::print(&format!("== {} ==\n", item.title))?;
            print_result(report, false)?;
            output::print("\n")?;
        }
        Ok(())
    })
}

/// Prints the outcomes, and how to resume.
fn conclude(
    items: &[Item],
    outcomes: &Outcomes,
    root: &Path,
    session: &SessionOptions,
) -> anyhow::Result<Exit> {
    let mut summary = table(&["WORKLOAD", "RESULT", "REPORT"]);
    for item in items {
        let result = match outcomes.of(item) {
            None => "not started",
            Some(Exit::Done) => "done",
            Some(Exit::SlaMissed) => "done, write rate missed",
            Some(Exit::Regression) => "done, regression found",
            Some(Exit::Interrupted) => "interrupted",
            Some(Exit::Unfit) => "done, undecided",
            Some(
                Exit::Busy
                | Exit::Failed
                | Exit::Usage
                | Exit::ScriptRefused
                | Exit::ScriptAborted
                | Exit::GitSkips
                | Exit::GitStops,
            ) => "failed",
        };
        let report = root.join(&item.title).join("report.html");
        let report = if report.exists() { report.display().to_string() } else { String::new() };
        summary.add_row([item.title.clone(), result.to_string(), report]);
    }
    match session.json {
        true => output::print_json(&outcomes.json())?,
        false => output::print(&format!("{summary}\n"))?,
    }
    if items.iter().any(|item| !outcomes.is_done(item)) {
        let out = root.display();
        output::note(&format!("to resume: rqps run --resume --out {out}"));
    }
    Ok(items.iter().filter_map(|item| outcomes.of(item)).max().unwrap_or(Exit::Done))
}

fn write(path: &Path, text: &str) -> Result<(), StoreError> {
    write_whole(path, |out| out.write_all(text.as_bytes()))
}
