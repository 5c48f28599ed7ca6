//! `rqps selftest`: are rqps's verdicts true on this machine?

mod parts;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use rqps_dbms::{Dbms, DbmsError};
use rqps_lab::{Interim, Lab, LabError, Outcome};
use rqps_observe::SessionLock;
use rqps_plan::{Build, Contender, Count, Span};
use rqps_report::{
    Circumstances, Conclusion, Experiment, SelfTest, selftest, selftest_json, selftest_text,
    synthetic,
};
use rqps_store::selftest::{Fitnesses, engine, host};
use rqps_store::{refuse_unwritable, write_whole};

use super::exit::Exit;
use super::output::{self, note};
use super::progress::Progress;
use super::session::Setup;
use super::units::{Bytes, Roughly};
use parts::{About, Part};

/// Builds for somebody who names none.
const DEFAULT: [&str; 2] = ["postgres@17.6", "sqlite"];

#[derive(Args)]
pub(crate) struct Arguments {
    /// Five minutes: finds gross errors only.
    #[arg(long)]
    quick: bool,
    /// The builds to try it with, each of which stands for its engine [default:
    /// postgres@17.6,sqlite].
    #[arg(long, value_name = "CONTENDER,…", value_delimiter = ',')]
    dbms: Vec<Contender>,
    /// How often a build takes part beside itself [default: 8, with --quick 4].
    #[arg(long, value_name = "N")]
    twins: Option<u32>,
    /// Restarts of all servers [default: 8, with --quick 6].
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// How long each contender is measured for each test in each round [default: 0.5, with --quick
    /// 0.3; whole runs four times as long].
    #[arg(long, value_name = "SECONDS")]
    secs: Option<Span>,
    /// Rows of the table.
    #[arg(long, default_value = "100K")]
    rows: Count,
    /// Clients, each with a connection to every contender. With several there are only equals: how
    /// much of a slowdown is to be seen is known for one. Comparisons with as many clients go by
    /// the result, and no others.
    #[arg(long, value_name = "N", default_value_t = 1)]
    clients: u32,
    /// Only some of its comparisons. What is found counts as little as with --quick.
    #[arg(long, value_name = "PART,…", value_delimiter = ',')]
    only: Vec<About>,
    /// Decides all random draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Count what was measured while the machine was busy with something else.
    #[arg(long)]
    no_guards: bool,
    /// The directory for the results [default: out/selftest-<time>].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result as JSON instead of tables.
    #[arg(long)]
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
            "nothing is left to try: settings are not part of --quick, and with several --clients there are only equals"
        );
    }
    let compact = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S");
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| PathBuf::from("out").join(format!("selftest-{compact}")));
    refuse_unwritable(&out)?;
    if fs::read_dir(&out).is_ok_and(|mut files| files.next().is_some()) {
        bail!("'{}' is not empty: name another --out", out.display());
    }
    let is_new = !out.exists();
    // What is wrong with a contender of the last part is told before the first one begins.
    announce(&parts, &skipped)?;
    let (parts, ready): (Vec<_>, Vec<_>) =
        prepared(&setup, parts, &mut skipped)?.into_iter().unzip();
    let alone = SessionLock::take(&SessionLock::host_path()).map_err(LabError::from)?;

    note("synthetic rounds first, which need no server");
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
                        ": the comparisons that were done are in {}, and rqps report shows each",
                        out.display()
                    ),
                };
                note(&format!("interrupted, so nothing is concluded{kept}"));
                return Ok(Exit::Interrupted);
            }
            // Not every machine has what a setting needs, such as a filesystem with direct IO.
            Ok((Outcome::Failed, _)) if is_varied => {
                skip(&mut skipped, format!("{}: it failed, and {logs}", part.title));
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

/// A part with its contenders, which can be started.
type Ready = (Part, Vec<Box<dyn Dbms>>);

/// Finds everything that can be wrong with the parts, and fetches the builds. Settings that a build
/// does not know are not tried.
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

/// What turns out not to be possible.
fn skip(skipped: &mut Vec<String>, what: String) {
    note(&format!("not tried: {what}"));
    skipped.push(what);
}

/// Removes the run of a part that was not ended, which this selftest has made, and the folder if it
/// is new and nothing else is in it.
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
        note(&format!("{error}: what was known is lost"));
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
        [] => {
            "rqps compare goes on by default: nothing has become known of this machine".to_string()
        }
        _ if result.clients > 1 => {
            format!("rqps compare --clients {} goes by {}", result.clients, kept.display())
        }
        _ => format!("rqps compare goes by {}", kept.display()),
    });
    Ok(match result.conclusion {
        Conclusion::Sound => Exit::Done,
        Conclusion::TooNoisy | Conclusion::OutOfBounds => Exit::Unfit,
    })
}

/// What it will take.
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
    skipped.iter().for_each(|what| note(&format!("not tried: {what}")));
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
        if self.twins.is_some_and(|twins| twins < 2) {
            bail!("a build beside itself is two: --twins must be at least 2");
        }
        if self.dbms.is_empty() {
            return Ok(DEFAULT.map(|name| name.parse().expect("these are contenders")).to_vec());
        }
        if let Some(one) = self.dbms.iter().find(|one| matches!(one.build, Build::Server { .. })) {
            bail!(
                "'{one}' is running already: a selftest starts and slows down servers of its own, so \
                 name builds"
            );
        }
        Ok(self.dbms.clone())
    }
}
