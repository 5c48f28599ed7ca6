//! The comparisons of a night: its plan from the flags in `track.toml`, and its run.

use std::path::Path;

use anyhow::{Context, bail};
use clap::Parser;
use rqps_analysis::comparison::{FailOn, Results};
use rqps_dbms::Dbms;
use rqps_plan::{Build, Contender, Plan};
use rqps_store::Run;
use rqps_store::track::{Track, TrackedBuild};

use super::super::compare;
use super::super::exit::Exit;
use super::super::forecast::Forecast;
use super::super::progress::Progress;
use super::super::session::{SessionOptions, Setup};

/// Names of contenders in the runs of a track.
pub(super) const ANCHOR: &str = "anchor";
pub(super) const PREVIOUS: &str = "previous";
pub(super) const TODAY: &str = "today";
pub(super) const BEFORE: &str = "before";
pub(super) const AFTER: &str = "after";

/// Flags of `rqps compare` that are not of the plan, or that need what a night has not.
const NOT_OF_A_NIGHT: [&str; 10] = [
    "--out",
    "--resume",
    "--json",
    "--junit",
    "--strict",
    "--fail-on",
    "--keep-data",
    "--baseline-from",
    "--instructions-only",
    "--no-control",
];

#[derive(Parser)]
#[command(name = "rqps compare")]
struct Compare {
    #[command(flatten)]
    arguments: compare::Arguments,
}

/// Contenders under these names.
pub(super) fn named(contenders: &[(&str, &Contender)]) -> Vec<Contender> {
    let named = contenders.iter().map(|(name, contender)| Contender {
        label: Some((*name).to_string()),
        ..(*contender).clone()
    });
    named.collect()
}

/// The plan of a comparison with these flags.
pub(super) fn plan(flags: &[String], contenders: Vec<Contender>) -> anyhow::Result<Plan> {
    let is_refused =
        |flag: &&String| NOT_OF_A_NIGHT.iter().any(|name| flag.split('=').next() == Some(*name));
    if let Some(flag) = flags.iter().find(is_refused) {
        bail!(
            "cannot use {flag} in a track: every night has a folder and an A/A control of its own. Drop it"
        );
    }
    let words = ["rqps compare".to_string()].into_iter();
    let shown = contenders.iter().map(Contender::to_string);
    let parsed = Compare::try_parse_from(words.chain(shown).chain(flags.iter().cloned()));
    let parsed = parsed.map_err(|error| {
        let text = error.to_string();
        let reason = text.lines().next().unwrap_or("a wrong flag").trim_start_matches("error: ");
        anyhow::anyhow!("cannot use the flags of the track: {reason}")
    })?;
    // The words have lost the passwords of URLs.
    parsed.arguments.with(contenders).plan()
}

/// The SHA-256 of a build that is ready.
pub(super) fn hash(dbms: &dyn Dbms) -> Option<String> {
    dbms.build().map(|build| build.server_sha256.clone())
}

/// The contender of a build that was measured before, if it can still be there.
pub(super) fn contender(build: &TrackedBuild) -> Option<Contender> {
    let contender: Contender = build.spec.parse().ok()?;
    match &contender.build {
        Build::Path(path) if !path.exists() => None,
        // A server has what it has today.
        Build::Server { .. } => None,
        _ => Some(contender),
    }
}

/// A comparison that is to be run.
pub(super) struct Planned {
    pub(super) plan: Plan,
    pub(super) ready: Vec<Box<dyn Dbms>>,
}

/// What a run of a comparison left.
pub(super) enum Ended {
    Complete(Box<Run>),
    Not(Exit),
}

/// Runs a comparison into `runs/`.
pub(super) fn measure(
    setup: &Setup,
    track: &Track,
    id: &str,
    Planned { plan, ready }: Planned,
) -> anyhow::Result<Ended> {
    setup.arrive(&plan, &ready)?;
    let path = track.run_path(id);
    let mut directory = setup.create(&path, plan)?;
    Forecast::of([&directory.plan].into_iter(), &setup.home)?.tell();
    let mut progress = Progress::new([(String::new(), &directory.plan)])?;
    let session = SessionOptions::for_folder(path.clone());
    let (session, progress) = ((&session, FailOn::Rows), (&mut progress, 0));
    let exit = setup.measure(&mut directory, &ready, session, progress, |_, _| Ok(()))?;
    drop(directory);
    if matches!(exit, Exit::Failed | Exit::Interrupted) {
        return Ok(Ended::Not(exit));
    }
    Ok(Ended::Complete(Box::new(read(&path)?)))
}

pub(super) fn read(path: &Path) -> anyhow::Result<Run> {
    Ok(Run::open_without_samples(path)?)
}

/// The results of a comparison.
pub(super) fn results<'r>(run: &'r Run, path: &Path) -> anyhow::Result<Results<'r>> {
    Results::new(run).with_context(|| {
        format!("'{}' is no comparison: a night needs a baseline. Use rqps compare", path.display())
    })
}
