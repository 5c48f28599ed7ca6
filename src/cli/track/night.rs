//! `rqps track run` and `add`: a night becomes a point, and what it changes is told.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use rqps_analysis::track::{night_tests, series_line, tracked_build, tracked_epoch};
use rqps_plan::Contender;
use rqps_store::Run;
use rqps_store::track::{
    NightOutcome, TRACK_SCHEMA, Track, TrackContents, TrackError, TrackPoint, TrackedBuild,
};

use super::super::exit::Exit;
use super::super::headings::MEASURE;
use super::super::output;
use super::super::session::Setup;
use super::compared::{self, Ended, Planned, contender, hash, measure, named, plan};
use super::{CommitShown, Severity, told};

/// An unchanged build is measured again after so long.
const WEEK: SignedDuration = SignedDuration::from_hours(7 * 24 - 12);

#[derive(Args)]
pub(crate) struct Arguments {
    /// Folder of nights.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Build of this night; a label names the series, such as main=postgres@/opt/pg/2026-11-28.
    #[arg(long, value_name = "CONTENDER", help_heading = MEASURE)]
    build: Contender,
    #[command(flatten)]
    commit: CommitShown,
    /// Record that there is no build, and why, and measure nothing.
    #[arg(long, value_name = "REASON", help_heading = MEASURE)]
    build_failed: Option<String>,
    /// Measure also a build that was measured in the last week.
    #[arg(long, help_heading = MEASURE)]
    again: bool,
    /// Do not measure the build of the night before once more
    ///
    /// Then the noise between nights stays assumed, and another machine begins a series that is not
    /// joined.
    #[arg(long, help_heading = MEASURE)]
    no_previous: bool,
    /// Do not compare the two builds of a suspected change directly.
    #[arg(long, help_heading = MEASURE)]
    no_confirm: bool,
    #[command(flatten)]
    severity: Severity,
}

#[derive(Args)]
pub(crate) struct Added {
    /// Folder of nights.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Run directory of rqps compare.
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Contender of the run that is the build of the night [default: the last].
    #[arg(long, value_name = "NAME", help_heading = MEASURE)]
    contender: Option<String>,
    /// Series of the night [default: the contender's label, or the contender without its build].
    #[arg(long, value_name = "NAME", help_heading = MEASURE)]
    line: Option<String>,
    #[command(flatten)]
    commit: CommitShown,
    #[command(flatten)]
    severity: Severity,
}

/// A point without values.
fn empty_point(id: &str, now: Timestamp, line: String, build: TrackedBuild) -> TrackPoint {
    TrackPoint {
        schema: TRACK_SCHEMA.to_string(),
        id: id.to_string(),
        line,
        time: now,
        build,
        outcome: NightOutcome::Measured,
        epoch: Default::default(),
        anchor: None,
        previous: None,
        run: None,
        kept: None,
        rqps_version: env!("CARGO_PKG_VERSION").to_string(),
        tests: Default::default(),
    }
}

impl CommitShown {
    fn of(&self, build: TrackedBuild) -> TrackedBuild {
        TrackedBuild { commit: self.commit.clone(), commit_time: self.time, ..build }
    }
}

/// The last night of a line that was measured.
fn last_night<'a>(all: &'a TrackContents, line: &str, now: Timestamp) -> Option<&'a TrackPoint> {
    let is_one = |point: &&TrackPoint| {
        point.line == line && point.outcome == NightOutcome::Measured && point.time <= now
    };
    all.points.iter().filter(is_one).max_by_key(|point| (point.time, &point.id))
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let track = Track::open(&arguments.folder)?;
    let _alone = track.lock()?;
    let all = track.contents()?;
    all.faults.iter().for_each(|fault| output::note(&format!("warning: {fault}")));
    let now = Timestamp::now();
    let (id, line) = (Track::new_id(now), series_line(&arguments.build));
    let spec = arguments.build.spec();
    let unmeasured = TrackedBuild { spec, ..TrackedBuild::default() };
    if let Some(why) = &arguments.build_failed {
        let outcome = NightOutcome::BuildFailed(why.clone());
        let build = arguments.commit.of(unmeasured);
        track.add(&TrackPoint { outcome, ..empty_point(&id, now, line, build) }, now)?;
        output::note(&format!("night {id} has no build: {why}"));
        return Ok(Exit::Done);
    }
    let setup = Setup::new()?;
    let last = last_night(&all, &line, now);
    let (planned, previous) = prepared(&setup, &track, arguments, last)?;
    let found = planned.ready.last().and_then(|today| hash(&**today));
    if let Some(last) = last
        && found.is_some()
        && found == last.build.sha256
        && now.duration_since(last.time) < WEEK
        && !arguments.again
    {
        let build = arguments.commit.of(TrackedBuild { ..last.build.clone() });
        let point = empty_point(&id, now, line, build);
        track.add(&TrackPoint { outcome: NightOutcome::NoNewBuild, ..point }, now)?;
        output::note(&format!(
            "no new build: it was measured in night {}. To measure it again: --again",
            last.id
        ));
        return Ok(Exit::Done);
    }
    let run = match measure(&setup, &track, &id, planned)? {
        Ended::Complete(run) => run,
        Ended::Not(exit) => {
            let (folder, path) = (track.path().display(), track.run_path(&id));
            let path = path.display();
            output::note(&format!(
                "to resume: rqps compare --resume --out {path}, then rqps track add {folder} {path} \
                 --line {line}"
            ));
            return Ok(exit);
        }
    };
    let names = (compared::TODAY, previous.then_some(compared::PREVIOUS));
    let point = point(&track, (&id, now, &line), &run, names, &arguments.commit)?;
    let point = TrackPoint { kept: Some(id.clone()), ..point };
    let confirming = (!arguments.no_confirm).then_some(&setup);
    told::night(&track, &all, &point, confirming, arguments.severity.strict)
}

/// The night's comparison with its builds. The build of the night before takes part if it is still
/// the same.
fn prepared(
    setup: &Setup,
    track: &Track,
    arguments: &Arguments,
    last: Option<&TrackPoint>,
) -> anyhow::Result<(Planned, bool)> {
    let (flags, anchor) = (&track.settings.compare, &track.settings.anchor);
    let today = (compared::TODAY, &arguments.build);
    let is_other = |one: &Contender| one.spec() != arguments.build.spec();
    let previous = last.filter(|_| !arguments.no_previous).and_then(|last| contender(&last.build));
    if let Some((previous, last)) = previous.filter(is_other).zip(last) {
        let all = named(&[(compared::ANCHOR, anchor), (compared::PREVIOUS, &previous), today]);
        let plan = plan(flags, all)?;
        match setup.prepare(&plan) {
            Ok(ready) if hash(&*ready[1]) == last.build.sha256 => {
                return Ok((Planned { plan, ready }, true));
            }
            Ok(_) => output::note(&format!(
                "'{previous}' is no longer the build of night {}, so it is not measured again",
                last.id
            )),
            Err(error) => output::note(&format!(
                "the build of night {} is not measured again: {}",
                last.id,
                output::told(&error)
            )),
        }
    }
    let plan = plan(flags, named(&[(compared::ANCHOR, anchor), today]))?;
    let ready = setup.prepare(&plan)?;
    Ok((Planned { plan, ready }, false))
}

/// What is kept of a run.
fn point(
    track: &Track,
    (id, now, line): (&str, Timestamp, &str),
    run: &Run,
    (build, previous): (&str, Option<&str>),
    commit: &CommitShown,
) -> anyhow::Result<TrackPoint> {
    let results = compared::results(run, track.path())?;
    let found = tracked_build(run, build).context("the build of the night was not started")?;
    let time = run.manifest.created.parse().unwrap_or(now);
    Ok(TrackPoint {
        epoch: tracked_epoch(run),
        anchor: tracked_build(run, &results.base),
        previous: previous.and_then(|name| tracked_build(run, name)),
        run: Some(run.manifest.id.clone()),
        tests: night_tests(&results, build, previous),
        ..empty_point(id, time, line.to_string(), commit.of(found))
    })
}

pub(super) fn add(arguments: &Added) -> anyhow::Result<Exit> {
    let track = Track::open(&arguments.folder)?;
    let _alone = track.lock()?;
    let all = track.contents()?;
    let now = Timestamp::now();
    let run = compared::read(&arguments.run)?;
    let results = compared::results(&run, &arguments.run)?;
    let contenders = &run.plan.contenders;
    let named = |name: &String| contenders.iter().skip(1).find(|one| one.name() == *name);
    let today = match &arguments.contender {
        Some(name) => named(name).with_context(|| {
            let names: Vec<String> = contenders.iter().skip(1).map(Contender::name).collect();
            format!("the run has no contender '{name}' beside its baseline: {}", names.join(", "))
        })?,
        None => contenders.last().context("the run has no contender")?,
    };
    let anchor = &track.settings.anchor;
    if contenders[0].spec() != anchor.spec() {
        bail!(
            "the baseline of the run is '{}' and the anchor of the track is '{}'. Compare with the anchor, or \
             change it with rqps track anchor",
            contenders[0].spec(),
            anchor.spec()
        );
    }
    if let Some(night) = all.points.iter().find(|it| it.run.as_ref() == Some(&run.manifest.id)) {
        let (run, night) = (run.manifest.id.clone(), night.id.clone());
        return Err(TrackError::Twice { run, night }.into());
    }
    // A build of an earlier night that takes part shows the noise between nights.
    let line = arguments.line.clone().unwrap_or_else(|| series_line(today));
    let is_earlier = |contender: &&Contender| {
        let build = tracked_build(&run, &contender.name());
        let key = build.map(|build| build.key());
        let mut earlier = all.points.iter().filter(|point| point.line == line);
        contender.name() != today.name() && earlier.any(|it| Some(it.build.key()) == key)
    };
    let previous = contenders.iter().skip(1).find(is_earlier).map(Contender::name);
    drop(results);
    let id = Track::new_id(now);
    let names = (today.name(), previous);
    let names = (names.0.as_str(), names.1.as_deref());
    let point = point(&track, (&id, now, &line), &run, names, &arguments.commit)?;
    let point = TrackPoint { kept: kept(&track, &arguments.run), ..point };
    told::night(&track, &all, &point, None, arguments.severity.strict)
}

/// The name of a run directory that is below the track's own.
fn kept(track: &Track, run: &Path) -> Option<String> {
    let name = run.canonicalize().ok()?.file_name()?.to_str()?.to_string();
    let own = track.run_path(&name).canonicalize().ok()?;
    (run.canonicalize().ok()? == own).then_some(name)
}
