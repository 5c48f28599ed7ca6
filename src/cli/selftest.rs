//! `rqps selftest`: checks rqps's verdicts on this machine, where the truth is known.

mod parts;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use rqps_analysis::comparison::Interim;
use rqps_dbms::{Dbms, DbmsError};
use rqps_lab::{Lab, LabError, Outcome, Restarts};
use rqps_observe::SessionLock;
use rqps_plan::{Build, Contender, Count, Span};
use rqps_store::selftest::{Fitnesses, engine, host};
use rqps_store::{refuse_unwritable, write_whole};
use rqps_study::{
    Circumstances, Conclusion, Experiment, SelfTest, selftest, selftest_json, selftest_text,
    synthetic,
};

use super::exit::Exit;
use super::headings::{MACHINE, MEASURE, OUTPUT, PRECISION};
use super::output::{self, note};
use super::progress::Progress;
use super::session::Setup;
use super::units::{Bytes, Roughly};
use parts::{About, Part};

/// The builds if none are named.
const DEFAULT: [&str; 2] = ["postgres@17.6", "sqlite"];

#[derive(Args)]
pub(crate) struct Arguments {
    /// Take six minutes only, which finds gross errors.
    #[arg(long, help_heading = MEASURE)]
    quick: bool,
    /// Builds to test, each of which stands for its engine
    ///
    /// [default: postgres@17.6,sqlite]
    #[arg(long, value_name = "CONTENDER,…", help_heading = MEASURE, value_delimiter = ',')]
    dbms: Vec<Contender>,
    /// Number of times that a build takes part in its A/A comparison
    ///
    /// Each has data of its own. Any difference that is found between them is a false alarm. More
    /// of them test more verdicts, and take more time.
    ///
    /// [default: 8, with --quick 4]
    #[arg(long, value_name = "N", help_heading = PRECISION)]
    controls: Option<u32>,
    /// Number of rounds; each restarts all servers
    ///
    /// [default: 8, with --quick 6]
    #[arg(long, value_name = "N", help_heading = PRECISION)]
    rounds: Option<u32>,
    /// Measured time of each test, per contender and round
    ///
    /// Whole runs take four times as long.
    ///
    /// [default: 0.5, with --quick 0.3]
    #[arg(long, value_name = "SECONDS", help_heading = PRECISION)]
    secs: Option<Span>,
    /// Rows of the table.
    #[arg(long, help_heading = MEASURE, default_value = "100K")]
    rows: Count,
    /// Number of clients, each connected to every contender
    ///
    /// With several clients there are only A/A comparisons, since the effect of an injected
    /// slowdown is known for one client. Comparisons with this number of clients use the result,
    /// and no others.
    #[arg(long, value_name = "N", help_heading = MEASURE, default_value_t = 1)]
    clients: u32,
    /// Run only these comparisons
    ///
    /// As with --quick, the result does not replace that of a full selftest if it finds nothing.
    #[arg(long, value_name = "PART,…", help_heading = MEASURE, value_delimiter = ',')]
    only: Vec<About>,
    /// Seed of all random draws.
    #[arg(long, help_heading = MEASURE, default_value_t = 1)]
    seed: u64,
    /// Keep measurements taken on a busy machine
    ///
    /// Otherwise guards discard them, and they are repeated.
    #[arg(long, help_heading = MACHINE)]
    no_guards: bool,
    /// Directory for the results [default: out/selftest-<time>].
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Print the result as JSON instead of tables.
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let scale = arguments.scale();
    let setup = Setup::new()?;
    let data = setup.home.data().map_err(DbmsError::from)?;
    let mut skipped = Vec::new();
    let mut parts = Vec::new();
    for contender in arguments.contenders()? {
        parts.extend(arguments.parts(&contender, &scale, &data, &mut skipped)?);
    }
    if parts.is_empty() {
        bail!(
            "no part remains: --quick leaves out settings, and several --clients leave A/A comparisons \
             only. Drop --quick, --clients or --only"
        );
    }
    let compact = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| PathBuf::from("out").join(format!("selftest-{compact}")));
    refuse_unwritable(&out)?;
    if fs::read_dir(&out).is_ok_and(|mut files| files.next().is_some()) {
        bail!("'{}' is not empty. Use another --out", out.display());
    }
    let is_new = !out.exists();
    // Errors in a contender of the last part are reported before the first one begins.
    announce(&parts, &skipped)?;
    let (parts, ready): (Vec<_>, Vec<_>) =
        prepared(&setup, parts, &mut skipped)?.into_iter().unzip();
    let alone = SessionLock::take(&SessionLock::host_path()).map_err(LabError::from)?;

    note("synthetic rounds come first; they need no server");
    let mut cells = synthetic();
    let title =
        |number: usize, part: &Part| format!("{} ({number} of {})", part.title, parts.len());
    let titled = (1..).zip(&parts).map(|(number, part)| (title(number, part), &part.plan));
    let mut progress = Progress::new(titled)?;
    for (place, (part, ready)) in parts.iter().zip(&ready).enumerate() {
        note(&title(place + 1, part));
        let logs = format!("the logs are in {}", out.join(&part.title).display());
        let is_varied = part.variant().is_some();
        match measure(&alone, &setup, part, ready, &out, (&mut progress, place)) {
            Ok((Outcome::Complete, experiment)) => cells.extend(experiment.cells()),
            Ok((Outcome::Interrupted, _)) => {
                remove(part, &out, is_new)?;
                let kept = match place {
                    0 => String::new(),
                    _ => format!(
                        ": the completed comparisons are in {}, and rqps report shows each",
                        out.display()
                    ),
                };
                note(&format!("interrupted, so the selftest has no result{kept}"));
                return Ok(Exit::Interrupted);
            }
            // Not every machine has what a setting needs, such as a filesystem with direct IO.
            Ok((Outcome::Failed, _)) if is_varied => {
                skip(&mut skipped, format!("{}: it failed; {logs}", part.title));
            }
            Err(error) if is_varied => {
                skip(&mut skipped, format!("{}: {}", part.title, output::told(&error)));
            }
            Ok((Outcome::Failed, _)) => {
                note(&logs);
                return Ok(Exit::Failed);
            }
            Err(error) => return Err(error),
        }
    }
    let circumstances = Circumstances {
        date: jiff::Timestamp::now().to_string(),
        rqps_version: env!("CARGO_PKG_VERSION").to_string(),
        host: host(&rqps_observe::machine_facts(&data)),
        clients: arguments.clients,
        quick: arguments.quick,
        partial: !arguments.only.is_empty(),
        skipped,
    };
    let result = selftest(cells, circumstances);
    conclude(&result, &setup, &out, arguments.json)
}

/// A part with its contenders, ready to be started.
type Ready = (Part, Vec<Box<dyn Dbms>>);

/// Finds everything that can be wrong with the parts, and fetches the builds. Parts with settings
/// that a build does not have are skipped.
fn prepared(
    setup: &Setup,
    parts: Vec<Part>,
    skipped: &mut Vec<String>,
) -> anyhow::Result<Vec<Ready>> {
    let mut able = Vec::new();
    for part in parts {
        match setup.prepare(&part.plan) {
            Ok(contenders) => able.push((part, contenders)),
            Err(error) => match (error.downcast_ref::<LabError>(), part.variant()) {
                (Some(LabError::Dbms(DbmsError::Setting { dbms, version, name, .. })), Some(_)) => {
                    let why = format!("{dbms} {version} has no setting '{name}'");
                    skip(skipped, format!("{}: {why}", part.title));
                }
                _ => return Err(error),
            },
        }
    }
    Ok(able)
}

/// Reports a part that turns out to be impossible.
fn skip(skipped: &mut Vec<String>, what: String) {
    note(&format!("skipped: {what}"));
    skipped.push(what);
}

/// Removes the run of an interrupted part, and the folder if this selftest created it and it is
/// empty.
fn remove(part: &Part, out: &Path, is_new: bool) -> anyhow::Result<()> {
    let path = out.join(&part.title);
    fs::remove_dir_all(&path).with_context(|| format!("cannot remove '{}'", path.display()))?;
    if is_new {
        let _ = fs::remove_dir(out);
    }
    Ok(())
}

const JSON: &str = "selftest.json";
const TEXT: &str = "selftest.txt";

/// Keeps the result where comparisons look for it, and prints it.
fn conclude(result: &SelfTest, setup: &Setup, out: &Path, json: bool) -> anyhow::Result<Exit> {
    let (text, for_programs) = (selftest_text(result), selftest_json(result));
    for (name, text) in [(JSON, &for_programs), (TEXT, &text)] {
        let path = out.join(name);
        write_whole(&path, |out| out.write_all(text.as_bytes()))?;
    }
    let mut known = Fitnesses::read(setup.home.root()).unwrap_or_else(|error| {
        note(&format!("{error}; results of earlier selftests are lost"));
        Fitnesses::default()
    });
    known.add(result.fitness.clone());
    let kept = known.write(setup.home.root())?;
    match json {
        true => output::print_json(&for_programs)?,
        false => output::print(&text)?,
    }
    note(&format!("wrote {}", out.join(JSON).display()));
    note(&match result.fitness[..] {
        [] => "rqps compare keeps its defaults: there is no result for this machine".to_string(),
        _ if result.clients > 1 => {
            format!("rqps compare --clients {} uses {}", result.clients, kept.display())
        }
        _ => format!("rqps compare uses {}", kept.display()),
    });
    Ok(match result.conclusion {
        Conclusion::Sound => Exit::Done,
        Conclusion::TooNoisy | Conclusion::OutOfBounds => Exit::Unfit,
    })
}

/// Prints the time and disk that it takes.
fn announce(parts: &[Part], skipped: &[String]) -> anyhow::Result<()> {
    let (cpus, memory) = (rqps_observe::cpus(), rqps_dbms::memory());
    let estimates = parts.iter().map(|part| rqps_lab::estimate(&part.plan, cpus, memory));
    let estimates = estimates.collect::<Result<Vec<_>, _>>()?;
    let time: Duration = estimates.iter().map(|estimate| estimate.time.total()).sum();
    let disk = estimates.iter().map(|estimate| estimate.disk).max().unwrap_or(0);
    let plural = if parts.len() == 1 { "" } else { "s" };
    note(&format!(
        "{} comparison{plural}, about {} and at most {} of disk",
        parts.len(),
        Roughly(time),
        Bytes(disk)
    ));
    skipped.iter().for_each(|what| note(&format!("skipped: {what}")));
    Ok(())
}

fn measure(
    alone: &SessionLock,
    setup: &Setup,
    part: &Part,
    ready: &[Box<dyn Dbms>],
    out: &Path,
    (progress, place): (&mut Progress, usize),
) -> anyhow::Result<(Outcome, Experiment)> {
    let mut directory = setup.create_for_selftest(&out.join(&part.title), part.plan.clone())?;
    progress.begin(place);
    let mut watch = |event| progress.event(&event);
    let mut lab = Lab {
        home: &setup.home,
        watch: &mut watch,
        cancel: &setup.cancel,
        keep_data: false,
        restarts: &Restarts::default(),
        judge: &|_, _| Interim::default(),
    };
    let injections = part.injections();
    let measured = rqps_lab::run_injected(alone, &mut lab, &mut directory, ready, &injections);
    progress.end();
    let (outcome, doses) =
        measured.with_context(|| format!("the run in '{}'", directory.path().display()))?;
    let text = serde_json::to_string_pretty(&doses).context("doses are plain data")?;
    directory.write("doses.json", |out| out.write_all(text.as_bytes()))?;
    let experiment = Experiment {
        engine: engine(&part.contender),
        interventions: part.interventions.clone(),
        run: directory.run()?,
        doses,
    };
    Ok((outcome, experiment))
}

impl Arguments {
    fn contenders(&self) -> anyhow::Result<Vec<Contender>> {
        if self.controls.is_some_and(|controls| controls < 2) {
            bail!("--controls must be at least 2, since an A/A comparison has two arms");
        }
        if self.dbms.is_empty() {
            return Ok(DEFAULT.map(|name| name.parse().expect("these are contenders")).to_vec());
        }
        if let Some(one) = self.dbms.iter().find(|one| matches!(one.build, Build::Server { .. })) {
            bail!(
                "cannot test '{one}': a selftest starts and slows down servers of its own. Name a \
                 build"
            );
        }
        Ok(self.dbms.clone())
    }
}
