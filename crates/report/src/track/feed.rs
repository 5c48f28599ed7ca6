//! What programs and readers of feeds take: an Atom feed of changes, and a badge for each test.

use maud::html;
use rqps_analysis::track::{ChangeGroup, LineHistory, NightSeries, TestState, TrackHistory};

use super::words::{build, sentence, state};

/// Entries of the feed.
const ENTRIES: usize = 50;
/// About the width of a letter of the badge.
const LETTER: usize = 7;

/// Told changes, the newest first (RFC 4287).
pub(super) fn feed(history: &TrackHistory<'_>, base_url: Option<&str>) -> String {
    let mut told: Vec<&ChangeGroup<'_>> =
        history.changes().filter(|group| group.told.is_some()).collect();
    told.sort_by_key(|group| std::cmp::Reverse(group.told.map(|alert| (alert.time, &alert.id))));
    told.truncate(ENTRIES);
    let base = base_url.map_or(String::new(), |url| format!("{}/", url.trim_end_matches('/')));
    let night = history.latest().map(|night| night.time);
    let newest = told.iter().filter_map(|group| group.told.map(|alert| alert.time)).max();
    let updated = newest.or(night).unwrap_or_default();
    let feed = html! {
        feed xmlns="http://www.w3.org/2005/Atom" {
            title { "Changes of performance" }
            id { "urn:rqps:track" }
            author { name { "rqps" } }
            updated { (updated) }
            link rel="self" href={ (base) "feed.xml" } {}
            @for group in told {
                entry {
                    title { (group.line) ": " (sentence(group)) }
                    id { "urn:rqps:change:" (group.id) }
                    @if let Some(alert) = group.told { updated { (alert.time) } }
                    link href={ (base) "c/" (group.id) ".html" } {}
                    summary { (state(group)) ", from " (build(&group.before.build)) " to " (build(&group.after.build)) }
                }
            }
        }
    };
    format!("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n{}\n", feed.into_string())
}

/// The state of a test in a picture.
pub(super) fn badge(line: &LineHistory<'_>, series: &NightSeries<'_>) -> String {
    let state = line.state(series.test);
    let (word, colour) = match state {
        TestState::Slower(_) => ("slower", "#d55e00"),
        TestState::Drifting => ("drifting", "#d55e00"),
        TestState::Suspected => ("suspected", "#7a6a00"),
        TestState::Faster(_) => ("faster", "#0072b2"),
        TestState::Acknowledged(_) => ("acknowledged", "#5b6570"),
        TestState::Steady => ("steady", "#0b5c45"),
    };
    let name: String = series.test.chars().take(40).collect();
    let (left, right) = (LETTER * name.chars().count() + 12, LETTER * word.len() + 12);
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(left + right) height="20" role="img" aria-label={ (name) ": " (word) } {
            rect width=(left) height="20" fill="#343b43" {}
            rect x=(left) width=(right) height="20" fill=(colour) {}
            g fill="#fff" font-family="system-ui, sans-serif" font-size="12" {
                text x="6" y="14" textLength=(left - 12) { (name) }
                text x=(left + 6) y="14" textLength=(right - 12) { (word) }
            }
        }
    };
    picture.into_string() + "\n"
}
