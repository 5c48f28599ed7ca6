//! Steps of the levels that are large enough to matter, and those of one night together.

use rqps_stats::nights::{LogRatio, SETTLED, is_brought_back};
use rqps_store::track::{AckKind, PairPoint, TrackAck, TrackAlert, TrackPoint, TrackedBuild};

use super::night::short_hash;
use super::series::{Cuts, NightSeries, SeriesStretch, is_same_place, known};

/// A direct comparison of builds as far apart as this still is one of the change between them.
const BRACKET: usize = 4;

/// How certain a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeState {
    /// The builds were compared directly in fresh rounds, which did not show it.
    Dismissed,
    /// One or two values, not compared directly.
    Suspected,
    /// It was there, and a later step has brought most of it back.
    Reverted,
    Found,
}

impl ChangeState {
    pub fn name(self) -> &'static str {
        match self {
            ChangeState::Dismissed => "not confirmed",
            ChangeState::Suspected => "suspected",
            ChangeState::Reverted => "reverted",
            ChangeState::Found => "change",
        }
    }
}

/// A step of a test by the margin or more.
#[derive(Clone, Debug)]
pub struct TestChange<'a> {
    pub test: &'a str,
    /// The place of the first value behind it in the series of the test.
    pub at: usize,
    /// The place of its build among those of the line.
    pub place: usize,
    pub before: &'a TrackPoint,
    pub after: &'a TrackPoint,
    pub size: LogRatio,
    /// Values behind it, up to the next step.
    pub values: usize,
    /// A person has set it.
    pub is_set: bool,
    /// After to before in fresh rounds, if they were compared directly.
    pub direct: Option<LogRatio>,
    /// After to before in the night that first measured it.
    pub same_night: Option<LogRatio>,
    pub state: ChangeState,
}

/// Changes of tests with one direction in one night.
#[derive(Clone, Debug)]
pub struct ChangeGroup<'a> {
    pub id: String,
    pub line: &'a str,
    pub is_slower: bool,
    pub place: usize,
    pub before: &'a TrackPoint,
    pub after: &'a TrackPoint,
    pub tests: Vec<TestChange<'a>>,
    pub state: ChangeState,
    /// When it was told; none if it was not.
    pub told: Option<&'a TrackAlert>,
    /// The acknowledgement that counts.
    pub ack: Option<&'a TrackAck>,
}

impl ChangeGroup<'_> {
    /// Whether somebody must look at it.
    pub fn is_open(&self) -> bool {
        self.state == ChangeState::Found && self.ack.is_none()
    }
}

/// The changes of a test, in their order.
pub(super) fn test_changes<'a>(
    series: &NightSeries<'a>,
    builds: &[&'a TrackPoint],
    pairs: &'a [PairPoint],
    cuts: &Cuts,
) -> Vec<TestChange<'a>> {
    let of_stretch = |stretch: &SeriesStretch| -> Vec<TestChange<'a>> {
        (1..stretch.levels.len())
            .filter_map(|index| change(series, stretch, index, builds, pairs, cuts))
            .collect()
    };
    series.stretches.iter().flat_map(of_stretch).collect()
}

fn change<'a>(
    series: &NightSeries<'a>,
    stretch: &SeriesStretch,
    index: usize,
    builds: &[&'a TrackPoint],
    pairs: &'a [PairPoint],
    cuts: &Cuts,
) -> Option<TestChange<'a>> {
    let (earlier, level) = (stretch.levels[index - 1], stretch.levels[index]);
    let size = level.level.minus(earlier.level);
    let (before, after) = (&series.values[level.start - 1], &series.values[level.start]);
    if size.value.abs() < after.tested.margin {
        return None;
    }
    let place = place_of(builds, &after.night.build)?;
    let same_night = after.tested.step.filter(|_| {
        after.night.previous.as_ref().is_some_and(|it| it.key() == before.night.build.key())
    });
    let direct = direct(series.test, place, builds, pairs);
    let agrees = |direct: &LogRatio| {
        direct.estimate().is_significant() && direct.value.signum() == size.value.signum()
    };
    let values = level.end - level.start;
    let is_set = cuts.set.contains(&after.night.build.key());
    let state = match &direct {
        Some(direct) if !agrees(direct) && !is_set => ChangeState::Dismissed,
        None if values < SETTLED && index + 1 == stretch.levels.len() && !is_set => {
            ChangeState::Suspected
        }
        _ if is_brought_back(&stretch.levels, index) => ChangeState::Reverted,
        _ => ChangeState::Found,
    };
    Some(TestChange {
        test: series.test,
        at: level.start,
        place,
        before: before.night,
        after: after.night,
        size,
        values,
        is_set,
        direct,
        same_night: same_night.map(known),
        state,
    })
}

/// The place of a build among those of a line, the last if it was measured more than once.
pub(super) fn place_of(builds: &[&TrackPoint], build: &TrackedBuild) -> Option<usize> {
    let key = build.key();
    builds.iter().rposition(|night| night.build.key() == key)
}

/// The latest direct comparison of two builds with only this change between them.
fn direct(
    test: &str,
    place: usize,
    builds: &[&TrackPoint],
    pairs: &[PairPoint],
) -> Option<LogRatio> {
    let brackets = |pair: &&PairPoint| {
        let (before, after) = (place_of(builds, &pair.before), place_of(builds, &pair.after));
        before.zip(after).is_some_and(|(before, after)| {
            before < place && place <= after && after - before <= BRACKET
        })
    };
    let with_test = pairs.iter().filter(|pair| pair.tests.contains_key(test));
    let latest = with_test.filter(brackets).max_by_key(|pair| (pair.time, &pair.id))?;
    Some(known(latest.tests[test]))
}

/// The changes of all tests of a line, those of one night and direction together. A change keeps
/// the id under which it was told, wherever it has moved by up to two builds.
pub(super) fn grouped<'a>(
    line: &'a str,
    mut changes: Vec<TestChange<'a>>,
    builds: &[&'a TrackPoint],
    alerts: &'a [TrackAlert],
) -> Vec<ChangeGroup<'a>> {
    let is_slower = |change: &TestChange<'_>| change.size.value < 0.0;
    changes.sort_by_key(|change| (is_slower(change), change.place, change.test));
    let told: Vec<(usize, &TrackAlert)> = alerts
        .iter()
        .filter(|alert| alert.line == line)
        .filter_map(|alert| Some((place_of(builds, &alert.after)?, alert)))
        .collect();
    let mut groups: Vec<ChangeGroup<'a>> = Vec::new();
    for change in changes {
        let of_night = groups.last_mut().filter(|group| {
            group.is_slower == is_slower(&change) && is_same_place(group.place, change.place)
        });
        match of_night {
            Some(group) => group.tests.push(change),
            None => groups.push(ChangeGroup {
                id: String::new(),
                line,
                is_slower: is_slower(&change),
                place: change.place,
                before: change.before,
                after: change.after,
                tests: vec![change],
                state: ChangeState::Suspected,
                told: None,
                ack: None,
            }),
        }
    }
    for group in &mut groups {
        let is_told = |(place, alert): &&(usize, &TrackAlert)| {
            alert.is_slower == group.is_slower && is_same_place(*place, group.place)
        };
        group.told = told.iter().find(is_told).map(|(_, alert)| *alert);
        group.state = group.tests.iter().map(|change| change.state).max().unwrap_or(group.state);
        group.id = match group.told {
            Some(alert) => alert.id.clone(),
            None => {
                let (before, after) = (group.before.build.key(), group.after.build.key());
                short_hash(&format!("{line}\n{}\n{before}\n{after}", group.is_slower))
            }
        };
    }
    groups.sort_by_key(|group| group.place);
    groups
}

/// The latest acknowledgement of a change, unless it has ended.
pub(super) fn ack_of<'a>(
    id: &str,
    builds: &[&TrackPoint],
    acks: &'a [TrackAck],
) -> Option<&'a TrackAck> {
    let ack = acks.iter().rev().find(|ack| ack.change == id)?;
    let is_over = |until: &String| {
        let reached = builds.iter().filter(|night| night.time > ack.when);
        reached.clone().any(|night| night.build.is_meant_by(until))
            || date(until).is_some_and(|date| reached.clone().any(|night| night.time >= date))
    };
    (!ack.until.as_ref().is_some_and(is_over)).then_some(ack)
}

/// A date or a time that a person has written.
fn date(text: &str) -> Option<jiff::Timestamp> {
    let time = text.parse::<jiff::Timestamp>().ok();
    let day = || text.parse::<jiff::civil::Date>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    time.or_else(|| Some(day()?.timestamp()))
}

/// Changes that are acknowledged as noise are no steps.
pub(super) fn is_noise(ack: &TrackAck) -> bool {
    ack.kind == AckKind::Noise
}
