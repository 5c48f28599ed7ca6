//! All lines with their series and changes, and what of it must be told.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use rqps_stats::nights::{LogRatio, pooled};
use rqps_store::track::{
    CutChange, NightOutcome, TRACK_SCHEMA, TrackAlert, TrackContents, TrackNote, TrackPoint,
    TrackedBuild,
};

use super::TRACK_METHOD;
use super::changes::{ChangeGroup, ChangeState, ack_of, grouped, is_noise, place_of, test_changes};
use super::night::stored;
use super::series::{Cuts, NightSeries, known};

/// Values on either side of a drift, and the fewest that tell one.
const DRIFT_VALUES: usize = 30;
const DRIFT_FEWEST: usize = 5;
const YEAR: SignedDuration = SignedDuration::from_hours(365 * 24);
const MONTH: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The level of false alarms over the tests of a night.
const ALPHA: f64 = 0.05;

/// What a folder of nights says.
pub struct TrackHistory<'a> {
    pub contents: &'a TrackContents,
    pub lines: Vec<LineHistory<'a>>,
}

impl<'a> TrackHistory<'a> {
    /// The latest night: nothing that is made of a history depends on when it is made.
    pub fn latest(&self) -> Option<&'a TrackPoint> {
        self.contents.points.iter().max_by_key(|point| (point.time, &point.id))
    }

    /// Whether a night is the last in the order of its line.
    pub fn is_last_of_line(&self, night: &TrackPoint) -> bool {
        let line = self.lines.iter().find(|line| line.name == night.line);
        line.is_none_or(|line| line.nights.last().is_none_or(|last| last.id == night.id))
    }

    /// Each series with its line.
    pub fn all_series(&self) -> impl Iterator<Item = (&LineHistory<'a>, &NightSeries<'a>)> {
        self.lines.iter().flat_map(|line| line.series.iter().map(move |series| (line, series)))
    }
}

/// A line: one contender over its builds.
pub struct LineHistory<'a> {
    pub name: &'a str,
    /// All nights, by the time of their commit or run.
    pub nights: Vec<&'a TrackPoint>,
    pub series: Vec<NightSeries<'a>>,
    /// By their place.
    pub changes: Vec<ChangeGroup<'a>>,
    /// Tests that differ from the night before, in the last night, and have no change there.
    pub suspicions: Vec<Suspicion<'a>>,
    pub drifts: Vec<SlowDrift<'a>>,
    /// Changes that were told and that this version of the method does not find.
    pub lost: Vec<&'a TrackAlert>,
}

/// A test of the last night that is faster or slower than the build of the night before.
#[derive(Clone, Copy, Debug)]
pub struct Suspicion<'a> {
    pub test: &'a str,
    pub night: &'a TrackPoint,
    pub step: LogRatio,
}

/// A test that has moved by the margin without a step.
#[derive(Clone, Debug)]
pub struct SlowDrift<'a> {
    pub test: &'a str,
    pub size: LogRatio,
    /// The release, or `a year ago`.
    pub since: &'a str,
}

/// How a test stands, in the order of importance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TestState {
    /// A change that nobody has acknowledged, by its id.
    Slower(String),
    Suspected,
    Drifting,
    Faster(String),
    Acknowledged(String),
    Steady,
}

impl<'a> TrackHistory<'a> {
    pub fn new(contents: &'a TrackContents) -> TrackHistory<'a> {
        let names: BTreeSet<&str> = contents.points.iter().map(|it| it.line.as_str()).collect();
        let lines = names.into_iter().map(|name| line(name, contents)).collect();
        TrackHistory { contents, lines }
    }

    /// Every change of every line.
    pub fn changes(&self) -> impl Iterator<Item = &ChangeGroup<'a>> {
        self.lines.iter().flat_map(|line| &line.changes)
    }

    /// Changes that nobody was told of yet. What is acknowledged already is not told.
    pub fn untold(&self) -> impl Iterator<Item = &ChangeGroup<'a>> {
        self.changes().filter(|group| group.told.is_none() && group.is_open())
    }
}

impl<'a> LineHistory<'a> {
    /// How a test stands.
    pub fn state(&self, test: &str) -> TestState {
        let of_test = |group: &&ChangeGroup<'_>| {
            let mut changes = group.tests.iter();
            group.state == ChangeState::Found
                && changes.any(|it| it.test == test && it.state == ChangeState::Found)
        };
        let states = self.changes.iter().filter(of_test).map(|group| match group.ack {
            Some(_) => TestState::Acknowledged(group.id.clone()),
            None if group.is_slower => TestState::Slower(group.id.clone()),
            None => TestState::Faster(group.id.clone()),
        });
        let mut changes = self.changes.iter().flat_map(|group| &group.tests);
        let is_suspected = self.suspicions.iter().any(|one| one.test == test)
            || changes.any(|one| one.test == test && one.state == ChangeState::Suspected);
        let is_drifting = self.drifts.iter().any(|one| one.test == test);
        let others = [
            is_suspected.then_some(TestState::Suspected),
            is_drifting.then_some(TestState::Drifting),
        ];
        states.chain(others.into_iter().flatten()).min().unwrap_or(TestState::Steady)
    }

    /// The build of the last night in which something was measured.
    pub fn last_measured(&self) -> Option<&'a TrackPoint> {
        let measured = self.nights.iter().filter(|it| it.outcome == NightOutcome::Measured);
        measured.copied().max_by_key(|night| (night.time, &night.id))
    }
}

fn line<'a>(name: &'a str, contents: &'a TrackContents) -> LineHistory<'a> {
    let of_line = contents.points.iter().filter(|point| point.line == name);
    let mut nights: Vec<&TrackPoint> = of_line.collect();
    nights.sort_by_key(|night| (night.place(), night.time, &night.id));
    let is_measured = |night: &&&TrackPoint| night.outcome == NightOutcome::Measured;
    let mut builds: Vec<&TrackPoint> = nights.iter().filter(is_measured).copied().collect();
    builds.dedup_by_key(|night| night.build.key());
    let removed = removed_as_noise(name, &builds, contents);
    let tests: BTreeSet<&str> =
        builds.iter().flat_map(|night| night.tests.keys().map(String::as_str)).collect();
    let (mut series, mut changes) = (Vec::new(), Vec::new());
    for test in tests {
        let cuts = cuts(test, &builds, &contents.notes, &removed);
        let one = NightSeries::new(test, &nights, &contents.anchors, &cuts);
        changes.extend(test_changes(&one, &builds, &contents.pairs, &cuts));
        series.push(one);
    }
    let mut changes = grouped(name, changes, &builds, &contents.alerts);
    for group in &mut changes {
        group.ack = ack_of(&group.id, &builds, &contents.acks);
    }
    let is_lost = |alert: &&TrackAlert| {
        alert.line == name && !changes.iter().any(|group| group.id == alert.id)
    };
    let lost = contents.alerts.iter().filter(is_lost).collect();
    let mut line = LineHistory {
        name,
        nights,
        series,
        changes,
        suspicions: Vec::new(),
        drifts: Vec::new(),
        lost,
    };
    line.suspicions = suspicions(&line);
    line.drifts = drifts(&line, &contents.notes);
    line
}

/// Builds before which a change was acknowledged as noise.
fn removed_as_noise(
    line: &str,
    builds: &[&TrackPoint],
    contents: &TrackContents,
) -> Vec<TrackedBuild> {
    let alerts = contents.alerts.iter().filter(|alert| alert.line == line);
    let is_noisy =
        |alert: &&TrackAlert| ack_of(&alert.id, builds, &contents.acks).is_some_and(is_noise);
    alerts.filter(is_noisy).map(|alert| alert.after.clone()).collect()
}

/// The steps of a test that people have set and removed.
fn cuts(test: &str, builds: &[&TrackPoint], notes: &[TrackNote], removed: &[TrackedBuild]) -> Cuts {
    let mut cuts = Cuts { removed: removed.iter().map(TrackedBuild::key).collect(), set: vec![] };
    let mut notes: Vec<&TrackNote> = notes.iter().collect();
    notes.sort_by_key(|note| (note.when, &note.id));
    for note in notes.into_iter().filter(|it| it.test.as_deref().is_none_or(|of| of == test)) {
        let Some(change) = note.change_point else { continue };
        let meant = builds.iter().rfind(|night| night.build.is_meant_by(&note.at));
        let Some(key) = meant.map(|night| night.build.key()) else { continue };
        // What is said last counts.
        cuts.set.retain(|other| *other != key);
        cuts.removed.retain(|other| *other != key);
        match change {
            CutChange::Add => cuts.set.push(key),
            CutChange::Remove => cuts.removed.push(key),
        }
    }
    cuts
}

/// Tests of the last night whose step from the night before is beyond the margin, at a level that
/// is adjusted for all of them.
fn suspicions<'a>(line: &LineHistory<'a>) -> Vec<Suspicion<'a>> {
    let Some(night) = line.last_measured() else { return Vec::new() };
    let count = night.tests.values().filter(|test| test.step.is_some()).count() as f64;
    let is_known = |test: &str| {
        let changes = line.changes.iter().flat_map(|group| &group.tests);
        changes.clone().any(|change| change.test == test && change.after.id == night.id)
    };
    let tests = night.tests.iter().filter_map(|(name, test)| {
        let step = known(test.step?);
        let is_beyond = step.value.abs() >= test.margin && step.estimate().p < ALPHA / count;
        (is_beyond && !is_known(name)).then_some(Suspicion { test: name, night, step })
    });
    tests.collect()
}

/// Tests without a step since a release, or for a year, that have moved nevertheless.
fn drifts<'a>(line: &LineHistory<'a>, notes: &'a [TrackNote]) -> Vec<SlowDrift<'a>> {
    let drift = |series: &NightSeries<'a>| -> Option<SlowDrift<'a>> {
        let last = series.values.last()?;
        let stretch = series.stretches.last()?;
        let released = series.notes(notes).filter(|(_, note)| note.release);
        let released = released.max_by_key(|(place, note)| (*place, note.when));
        let (from, to, since) = match released {
            Some((place, note)) => (place.saturating_sub(DRIFT_VALUES), place + 1, &*note.text),
            None => {
                let place = |time: Timestamp| {
                    series.values.partition_point(|value| value.night.place() < time)
                };
                let year = last.night.place().checked_sub(YEAR).ok()?;
                let ends = (year.checked_sub(MONTH).ok()?, year.checked_add(MONTH).ok()?);
                (place(ends.0), place(ends.1), "a year ago")
            }
        };
        let has_change = line.changes.iter().flat_map(|group| &group.tests).any(|change| {
            change.test == series.test && change.at >= from && change.state >= ChangeState::Reverted
        });
        // What is not joined has another scale.
        let from = from.max(joined_from(series));
        let recent = series.values.len().saturating_sub(DRIFT_VALUES).max(to).max(stretch.start);
        let ratios = |from: usize, to: usize| -> Vec<LogRatio> {
            let values = series.values.get(from..to).unwrap_or_default();
            values.iter().map(|value| value.joined).collect()
        };
        let (before, after) = (ratios(from, to), ratios(recent, series.values.len()));
        if has_change || before.len() < DRIFT_FEWEST || after.len() < DRIFT_FEWEST {
            return None;
        }
        let size = pooled(&after)?.minus(pooled(&before)?);
        let is_one = size.value.abs() >= last.tested.margin && size.estimate().is_significant();
        is_one.then_some(SlowDrift { test: series.test, size, since })
    };
    line.series.iter().filter_map(drift).collect()
}

/// The first value on the scale of the last.
fn joined_from(series: &NightSeries<'_>) -> usize {
    let unjoined = series.stretches.iter().rev().find(|stretch| !stretch.is_joined);
    unjoined.map_or(0, |stretch| stretch.start)
}

impl ChangeGroup<'_> {
    /// What is kept of it when it is told.
    pub fn alert(&self, night: &TrackPoint, now: Timestamp) -> TrackAlert {
        let found = self.tests.iter().filter(|change| change.state == ChangeState::Found);
        TrackAlert {
            schema: TRACK_SCHEMA.to_string(),
            id: self.id.clone(),
            line: self.line.to_string(),
            time: now,
            night: night.id.clone(),
            is_slower: self.is_slower,
            before: self.before.build.clone(),
            after: self.after.build.clone(),
            tests: found.map(|it| (it.test.to_string(), stored(it.size))).collect(),
            method: TRACK_METHOD,
        }
    }

    /// Whether its builds are still those between which it was told, or by how many builds it has
    /// moved.
    pub fn moved(&self, line: &LineHistory<'_>) -> Option<isize> {
        let told = place_of(&line.nights, &self.told?.after)?;
        let now = place_of(&line.nights, &self.after.build)?;
        Some(now as isize - told as isize).filter(|by| *by != 0)
    }
}
