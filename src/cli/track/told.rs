//! What a new night changes: a suspected change is confirmed, and a new one is told once.

use std::collections::BTreeSet;

use jiff::Timestamp;
use rqps_analysis::track::{ChangeGroup, ChangeState, TrackHistory, pair_ratios, tracked_build};
use rqps_report::alert_json;
use rqps_store::track::{
    NightOutcome, PairPoint, TRACK_SCHEMA, Track, TrackContents, TrackPoint, TrackedBuild,
};

use super::super::exit::Exit;
use super::super::output;
use super::super::session::Setup;
use super::compared::{self, Ended, Planned, contender, hash, measure, named, plan};
use super::hook;

/// Adds a night, and tells what has changed with it. With a setup, the two builds of a suspected
/// change are compared directly first.
pub(super) fn night(
    track: &Track,
    before: &TrackContents,
    point: &TrackPoint,
    confirming: Option<&Setup>,
    strict: bool,
) -> anyhow::Result<Exit> {
    let path = track.add(point, point.time)?;
    output::note(&format!("night {} is in {}", point.id, path.display()));
    let mut all = track.contents()?;
    if let Some(setup) = confirming
        && let Some((before, after)) = suspected(&TrackHistory::new(&all), &point.line)
    {
        if let Some(exit) = confirm(setup, track, &point.line, &before, &after)? {
            return Ok(exit);
        }
        all = track.contents()?;
    }
    let history = TrackHistory::new(&all);
    moved(before, &history, point);
    let is_slower = alert(track, &history, point)?;
    let invalid: Vec<&str> = point
        .tests
        .iter()
        .filter(|(_, test)| test.rate.is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    if !invalid.is_empty() {
        output::note(&format!("no valid result of {}", invalid.join(", ")));
    }
    prune(track, &all)?;
    output::print_styled(&rqps_report::track_status(&history, output::terminal()))?;
    let is_invalid = !invalid.is_empty() || point.tests.is_empty();
    Ok(match (is_slower, strict && is_invalid) {
        (true, _) => Exit::Regression,
        (false, true) => Exit::Unfit,
        (false, false) => Exit::Done,
    })
}

/// The two builds whose comparison would say most: those of the change with the most tests that
/// were not compared yet.
fn suspected(history: &TrackHistory<'_>, line: &str) -> Option<(TrackedBuild, TrackedBuild)> {
    let line = history.lines.iter().find(|it| it.name == line)?;
    let is_compared = |before: &TrackedBuild, after: &TrackedBuild| {
        let mut pairs = history.contents.pairs.iter();
        pairs.any(|it| it.before.key() == before.key() && it.after.key() == after.key())
    };
    let is_open = |group: &&ChangeGroup<'_>| {
        let is_direct = group.tests.iter().any(|test| test.direct.is_some());
        let is_known = group.told.is_some() || group.ack.is_some();
        group.state >= ChangeState::Suspected && !is_direct && !is_known
    };
    let groups = line.changes.iter().filter(is_open);
    let of_groups = groups.map(|it| (it.tests.len(), &it.before.build, &it.after.build));
    let steps = line.suspicions.first().and_then(|one| {
        Some((line.suspicions.len(), one.night.previous.as_ref()?, &one.night.build))
    });
    let open = of_groups.chain(steps).filter(|(_, before, after)| !is_compared(before, after));
    let (_, before, after) = open.max_by_key(|(tests, ..)| *tests)?;
    Some((before.clone(), after.clone()))
}

/// Compares two builds directly. Answers how that ended, if it was not to its end.
fn confirm(
    setup: &Setup,
    track: &Track,
    line: &str,
    before: &TrackedBuild,
    after: &TrackedBuild,
) -> anyhow::Result<Option<Exit>> {
    let cannot = |why: &str| {
        output::note(&format!(
            "the suspected change from {} to {} is not confirmed: {why}",
            before.name(),
            after.name()
        ));
        Ok(None)
    };
    let Some((old, new)) = contender(before).zip(contender(after)) else {
        return cannot("the builds are gone");
    };
    if old.spec() == new.spec() {
        return cannot("both builds were in the same place");
    }
    let both = named(&[(compared::BEFORE, &old), (compared::AFTER, &new)]);
    let plan = plan(&track.settings.compare, both)?;
    let ready = match setup.prepare(&plan) {
        Ok(ready) => ready,
        Err(error) => return cannot(&output::told(&error)),
    };
    if [hash(&*ready[0]), hash(&*ready[1])] != [before.sha256.clone(), after.sha256.clone()] {
        return cannot("other builds are in their places");
    }
    output::note(&format!("compares {} and {} directly", before.name(), after.name()));
    let now = Timestamp::now();
    let id = Track::new_id(now);
    let run = match measure(setup, track, &id, Planned { plan, ready })? {
        Ended::Complete(run) => run,
        Ended::Not(Exit::Interrupted) => return Ok(Some(Exit::Interrupted)),
        Ended::Not(_) => return cannot("the comparison failed"),
    };
    let results = compared::results(&run, &track.run_path(&id))?;
    let found = |name: &str, known: &TrackedBuild| {
        let build = tracked_build(&run, name).unwrap_or_else(|| known.clone());
        TrackedBuild { commit: known.commit.clone(), commit_time: known.commit_time, ..build }
    };
    let pair = PairPoint {
        schema: TRACK_SCHEMA.to_string(),
        id: id.clone(),
        line: line.to_string(),
        time: now,
        before: found(compared::BEFORE, before),
        after: found(compared::AFTER, after),
        run: run.manifest.id.clone(),
        kept: Some(id),
        tests: pair_ratios(&results, compared::AFTER),
    };
    track.add(&pair, now)?;
    Ok(None)
}

/// A night that came late may move changes that were told.
fn moved(before: &TrackContents, history: &TrackHistory<'_>, point: &TrackPoint) {
    if history.is_last_of_line(point) {
        return;
    }
    output::note(&format!("night {} has its place among earlier ones", point.id));
    let earlier = TrackHistory::new(before);
    let places = |history: &TrackHistory<'_>| -> Vec<(String, String)> {
        history.changes().map(|it| (it.id.clone(), it.after.build.name())).collect()
    };
    let (was, is) = (places(&earlier), places(history));
    for (id, build) in &is {
        match was.iter().find(|(known, _)| known == id) {
            Some((_, old)) if old != build => {
                output::note(&format!("change {id} moved: it begins with {build}, not with {old}"));
            }
            _ => {}
        }
    }
    for (id, build) in was.iter().filter(|(id, _)| !is.iter().any(|(now, _)| now == id)) {
        output::note(&format!("change {id} at {build} is no longer found"));
    }
}

/// Tells new changes. Answers whether one is towards slower.
fn alert(track: &Track, history: &TrackHistory<'_>, point: &TrackPoint) -> anyhow::Result<bool> {
    let now = point.time;
    let mut is_slower = false;
    for group in history.untold() {
        let alert = group.alert(point, now);
        track.add(&alert, now)?;
        is_slower |= group.is_slower;
        output::note(&format!(
            "change {}: {} from {} to {}",
            group.id,
            if group.is_slower { "slower" } else { "faster" },
            group.before.build.name(),
            group.after.build.name()
        ));
        hook::call(track, &alert_json(group, &alert));
    }
    Ok(is_slower)
}

/// Removes the run directories of old nights, except for those around a change.
fn prune(track: &Track, all: &TrackContents) -> anyhow::Result<()> {
    let measured = all.points.iter().filter(|it| it.outcome == NightOutcome::Measured);
    let recent = measured.rev().take(track.settings.retention);
    let mut keep: BTreeSet<String> = recent.filter_map(|point| point.kept.clone()).collect();
    let history = TrackHistory::new(all);
    let around = history.changes().flat_map(|group| [group.before, group.after]);
    keep.extend(around.filter_map(|night| night.kept.clone()));
    keep.extend(all.pairs.iter().filter_map(|pair| pair.kept.clone()));
    let removed = track.prune(&keep, all)?;
    if removed > 0 {
        output::note(&format!("removed {removed} run directories of old nights"));
    }
    Ok(())
}
