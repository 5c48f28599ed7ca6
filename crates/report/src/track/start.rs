//! The first page: what somebody must look at, then every test.

use maud::{Markup, html};
use rqps_analysis::track::{ChangeGroup, LineHistory, NightSeries, TrackHistory};
use rqps_document::html::chip as draw_chip;
use rqps_stats::nights::LogRatio;

use super::chart::sparkline;
use super::sheet::sheet;
use super::words::{build, change, day, many, outcome, ratio, slug, span, test_chip};
use super::{change, imported};

const FILTER: &str = include_str!("../../assets/index.js");

const NOTE: &str = "Each value is the rate of a build relative to the anchor, which is measured in \
     the same minutes. A change is a step of the levels by the margin or more, confirmed by a direct \
     comparison where the builds are still there. Intervals are of 95 %.";

pub(super) fn page(history: &TrackHistory<'_>) -> String {
    let open: Vec<&ChangeGroup<'_>> = history.changes().filter(|group| group.is_open()).collect();
    let slower = open.iter().filter(|group| group.is_slower).count();
    let title = match slower {
        0 => "No open regression".to_string(),
        _ => many(slower, "open regression"),
    };
    let tests: usize = history.lines.iter().map(|line| line.series.len()).sum();
    let others: Vec<&ChangeGroup<'_>> =
        history.changes().filter(|group| !group.is_open()).collect();
    let body = html! {
        header {
            h1 { (title) }
            p.note {
                (many(tests, "test")) ", anchor " code { (history.contents.settings.anchor) }
                @if let Some(night) = history.latest() {
                    ", last night " time datetime=(night.time) { (day(night.time)) }
                }
            }
            p {
                label { "Search: " input #search type="search" autocomplete="off"; }
                " " span #found role="status" {}
            }
        }
        main {
            @if !open.is_empty() {
                section #open { h2 { "Open" } (change::list(&open, "")) }
            }
            @for line in &history.lines { (self::line(history, line)) }
            (imported::section(history))
            @if !others.is_empty() {
                section #earlier {
                    h2 { "Suspected, acknowledged and earlier changes" }
                    (change::list(&others, ""))
                }
            }
            @if !history.contents.faults.is_empty() {
                section #faults {
                    h2 { "Files that are left out" }
                    ul { @for fault in &history.contents.faults { li { (fault) } } }
                }
            }
            section #legend { h2 { "Legend" } p.note { (NOTE) } }
        }
    };
    sheet(&title, "", Some(FILTER), &body)
}

fn line(history: &TrackHistory<'_>, line: &LineHistory<'_>) -> Markup {
    let last = line.nights.iter().max_by_key(|night| (night.time, &night.id));
    html! {
        section {
            h2 { (line.name) }
            @if let Some(night) = last {
                p.note {
                    "Last night: " (day(night.time)) ", " (build(&night.build))
                    @if let Some(outcome) = outcome(night) { ": " (outcome) }
                }
            }
            div.scroll tabindex="0" {
                table.tests {
                    thead {
                        tr {
                            th scope="col" { "test" }
                            th.words scope="col" { "state" }
                            th scope="col" { "ratio" }
                            th scope="col" { "95 % interval" }
                            th scope="col" { "since release" }
                            th.words scope="col" { "last builds" }
                        }
                    }
                    tbody { @for series in &line.series { (row(history, line, series)) } }
                }
            }
        }
    }
}

fn row(history: &TrackHistory<'_>, line: &LineHistory<'_>, series: &NightSeries<'_>) -> Markup {
    let state = line.state(series.test);
    let last = series.values.last();
    let link = format!("t/{}.html", slug(line.name, series.test));
    html! {
        tr.run {
            th scope="row" { a href=(link) { (series.test) } }
            td.words { (draw_chip(&test_chip(&state), None)) }
            @match last {
                Some(value) => { td { (ratio(value.joined)) } td { (span(value.joined)) } },
                None => { td.missing { "-" } td.missing { "-" } },
            }
            (since_release(history, series))
            td.words { (sparkline(series)) }
        }
    }
}

/// The last value relative to that of the last release.
fn since_release(history: &TrackHistory<'_>, series: &NightSeries<'_>) -> Markup {
    let released = series.notes(&history.contents.notes).filter(|(_, note)| note.release);
    let released = released.max_by_key(|(place, note)| (*place, note.when));
    let size = released.and_then(|(place, note)| {
        let (then, now) = (series.values.get(place)?, series.values.last()?);
        Some((now.joined.minus(then.joined), note))
    });
    html! {
        @match size {
            Some((size, note)) => td title=(note.text) { (arrow(size)) " " (change(size)) },
            None => td.missing { "-" },
        }
    }
}

/// Up or down only where the interval leaves out no change.
fn arrow(size: LogRatio) -> &'static str {
    match (size.estimate().is_significant(), size.value > 0.0) {
        (true, true) => "▲",
        (true, false) => "▼",
        (false, _) => "·",
    }
}
