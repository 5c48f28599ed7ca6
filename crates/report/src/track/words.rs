//! The words of a history that all its forms share.

use jiff::Timestamp;
use rqps_analysis::track::{ChangeGroup, ChangeState, TestState, short_hash};
use rqps_document::Chip;
use rqps_stats::nights::LogRatio;
use rqps_store::track::{NightOutcome, StoredRatio, TrackPoint, TrackedBuild};

use crate::comparison;

/// `-2.6 %`
pub(super) fn change(size: LogRatio) -> String {
    comparison::change(&size.estimate())
}

/// `-2.6 % (-3.1 % to -2.1 %)`
pub(super) fn change_with_interval(size: LogRatio) -> String {
    comparison::with_interval(&size.estimate())
}

/// `0.974`
pub(super) fn ratio(ratio: LogRatio) -> String {
    comparison::ratio(&ratio.estimate())
}

/// `0.969 – 0.979`
pub(super) fn span(ratio: LogRatio) -> String {
    comparison::span(&ratio.estimate())
}

pub(super) fn known(ratio: StoredRatio) -> LogRatio {
    LogRatio { value: ratio.log, error: ratio.error }
}

/// `2026-11-28`
pub(super) fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

/// `18.0, from 2026-11-28`, or the commit.
pub(super) fn build(build: &TrackedBuild) -> String {
    match build.name() == build.version {
        true => build.version.clone(),
        false => format!("{} ({})", build.name(), build.version),
    }
}

/// The name of a file for a test of a line, whatever their names are.
pub(super) fn slug(line: &str, test: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' };
    let name: String = format!("{line}-{test}").chars().map(plain).take(80).collect();
    format!("{}-{}", name.trim_start_matches('.'), &short_hash(&format!("{line}\n{test}"))[..6])
}

/// How a change stands, in a label.
pub(super) fn chip(group: &ChangeGroup<'_>) -> Chip {
    let class = match (group.is_open(), group.is_slower) {
        (true, true) => "slower",
        (true, false) => "faster",
        _ => "unknown",
    };
    Chip { class, text: state(group) }
}

/// `change`, `known`, `suspected`, …
pub(super) fn state(group: &ChangeGroup<'_>) -> String {
    match (group.state, group.ack) {
        (ChangeState::Found, Some(ack)) => format!("acknowledged as {}", ack.kind),
        (state, _) => state.name().to_string(),
    }
}

/// How a test stands, in a label.
pub(super) fn test_chip(state: &TestState) -> Chip {
    let (class, text) = match state {
        TestState::Slower(_) => ("slower", "slower"),
        TestState::Suspected => ("unknown", "suspected"),
        TestState::Drifting => ("slower", "drift"),
        TestState::Faster(_) => ("faster", "faster"),
        TestState::Acknowledged(_) => ("unknown", "acknowledged"),
        TestState::Steady => ("", "steady"),
    };
    Chip { class, text: text.to_string() }
}

/// The tests of a change: the largest first.
pub(super) fn tests_of(group: &ChangeGroup<'_>) -> Vec<(String, LogRatio)> {
    let mut tests: Vec<(String, LogRatio)> =
        group.tests.iter().map(|change| (change.test.to_string(), change.size)).collect();
    tests.sort_by(|one, other| other.1.value.abs().total_cmp(&one.1.value.abs()));
    tests
}

/// `3 tests slower, point-query -3.2 % (-3.6 % to -2.8 %)`
pub(super) fn sentence(group: &ChangeGroup<'_>) -> String {
    let tests = tests_of(group);
    let way = if group.is_slower { "slower" } else { "faster" };
    let largest =
        tests.first().map(|(name, size)| format!("{name} {}", change_with_interval(*size)));
    match (tests.len(), largest) {
        (1, Some(largest)) => format!("{way}: {largest}"),
        (count, Some(largest)) => format!("{count} tests {way}, most of all {largest}"),
        (_, None) => way.to_string(),
    }
}

/// What became of a night, if it has no values.
pub(super) fn outcome(night: &TrackPoint) -> Option<String> {
    match &night.outcome {
        NightOutcome::Measured => None,
        NightOutcome::NoNewBuild => Some("no new build".to_string()),
        NightOutcome::BuildFailed(why) => Some(format!("build failed: {why}")),
    }
}

/// `3 changes`
pub(super) fn many(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
