//! The page of a test: its chart, its changes and notes, and every night as a table.

use maud::{Markup, html};
use rqps_analysis::track::{
    ChangeGroup, LineHistory, NightSeries, SeriesValue, TrackHistory, epoch_changes,
};
use rqps_document::html::{chip as draw_chip, table};
use rqps_document::{Cell, Heading, Row, Table};
use rqps_store::track::{TrackNote, TrackPoint};

use super::change;
use super::chart::{Flag, chart};
use super::sheet::sheet;
use super::words::{
    build, change as percent, change_with_interval, day, known, outcome, ratio, slug, span, state,
    test_chip,
};

pub(super) fn page(
    history: &TrackHistory<'_>,
    line: &LineHistory<'_>,
    series: &NightSeries<'_>,
) -> String {
    let changes: Vec<&ChangeGroup<'_>> = line
        .changes
        .iter()
        .filter(|group| group.tests.iter().any(|one| one.test == series.test))
        .collect();
    let notes: Vec<(usize, &TrackNote)> = series.notes(&history.contents.notes).collect();
    let flags = flags(series, &changes, &notes);
    let title = format!("{}: {}", line.name, series.test);
    let last = series.values.last();
    let data = format!("../data/{}.json", slug(line.name, series.test));
    let body = html! {
        header {
            h1 { (title) }
            p.strip {
                (draw_chip(&test_chip(&line.state(series.test)), None))
                @if let Some(value) = last {
                    span { "Last build: " (ratio(value.joined)) " of the anchor (" (span(value.joined)) ")" }
                }
            }
        }
        main {
            section #chart {
                (chart(series, &changes, &flags))
                p.note {
                    "Dots are builds with their 95 % intervals, bars are levels between changes. "
                    "The noise between nights is " (format!("{:.2} %", 100.0 * series.noise.sqrt()))
                    (noise_source(series)) "."
                }
            }
            @if !changes.is_empty() {
                section #changes { h2 { "Changes" } (change::list(&changes, "../")) }
            }
            @let drifts = line.drifts.iter().filter(|drift| drift.test == series.test);
            @for drift in drifts {
                section { p { b { "Drift: " } (change_with_interval(drift.size)) " since " (drift.since) ", without a step." } }
            }
            (epochs(series))
            (self::notes(series, &notes))
            section #nights {
                h2 { "Nights" }
                (table(&nights(history, line, series)))
                p { a href=(data) { "These values as JSON" } }
            }
        }
    };
    sheet(&title, "../", None, &body)
}

fn noise_source(series: &NightSeries<'_>) -> String {
    match series.pairs < rqps_stats::nights::FEWEST_PAIRS {
        true => ", assumed until ten builds were measured in two nights".to_string(),
        false => format!(", from {} builds that were measured in two nights", series.pairs),
    }
}

/// What is marked in the chart: changes by their number in the list, epochs, releases, notes.
fn flags(
    series: &NightSeries<'_>,
    changes: &[&ChangeGroup<'_>],
    notes: &[(usize, &TrackNote)],
) -> Vec<Flag> {
    let mut flags = Vec::new();
    for (number, group) in (1..).zip(changes) {
        for one in group.tests.iter().filter(|one| one.test == series.test) {
            let by = if one.is_set { ", set by a person" } else { "" };
            flags.push(Flag {
                at: one.at,
                text: number.to_string(),
                title: format!(
                    "{} {}, {}{by}",
                    day(one.after.place()),
                    percent(one.size),
                    state(group)
                ),
                link: Some(format!("../c/{}.html", group.id)),
                class: "change",
            });
        }
    }
    for stretch in series.stretches.iter().skip(1) {
        let title = "another machine, kernel, anchor or workload".to_string();
        let text = if stretch.is_joined { "⋮" } else { "∦" }.to_string();
        flags.push(Flag { at: stretch.start, text, title, link: None, class: "epoch" });
    }
    for (at, note) in notes {
        let class = if note.release { "release" } else { "note" };
        let text = if note.release { "R" } else { "N" }.to_string();
        flags.push(Flag { at: *at, text, title: note.text.clone(), link: None, class });
    }
    flags
}

fn epochs(series: &NightSeries<'_>) -> Markup {
    let stretches: Vec<_> = series.stretches.windows(2).collect();
    html! {
        @if !stretches.is_empty() {
            section #epochs {
                h2 { "Epochs" }
                ul {
                    @for pair in stretches {
                        @let (before, after) = (series.values[pair[1].start - 1].night, series.values[pair[1].start].night);
                        li {
                            (day(after.place())) ": "
                            @for (index, (name, was, is)) in epoch_changes(before, after).into_iter().enumerate() {
                                @if index > 0 { "; " }
                                (name) " " code { (was) } " became " code { (is) }
                            }
                            @if pair[1].is_joined {
                                ". Joined by a build that was measured on both sides, or by a comparison of the anchors: "
                                (change_with_interval(pair[1].offset)) "."
                            } @else { ". Not joined: no build was measured on both sides." }
                        }
                    }
                }
            }
        }
    }
}

fn notes(series: &NightSeries<'_>, notes: &[(usize, &TrackNote)]) -> Markup {
    html! {
        @if !notes.is_empty() {
            section #notes {
                h2 { "Notes" }
                ul {
                    @for (at, note) in notes {
                        li {
                            (build(&series.values[*at].night.build)) ": "
                            @if note.release { b { "release " } }
                            (note.text) span.dim { " (" (note.who) ", " (day(note.when)) ")" }
                        }
                    }
                }
            }
        }
    }
}

/// Every night of the line, the newest first: also those without a value.
fn nights(history: &TrackHistory<'_>, line: &LineHistory<'_>, series: &NightSeries<'_>) -> Table {
    let headings = vec![
        Heading::words("build"),
        Heading::new("ratio", "rate relative to the anchor"),
        Heading::new("95 % interval", "with the noise between nights"),
        Heading::new("step", "relative to the build of the night before, in the same minutes"),
        Heading::words("verdict"),
        Heading::words("run"),
    ];
    let rows = line.nights.iter().rev().map(|night| row(history, series, night));
    Table::new(headings, rows.collect()).named("night")
}

fn row(history: &TrackHistory<'_>, series: &NightSeries<'_>, night: &TrackPoint) -> Row {
    let value: Option<&SeriesValue<'_>> =
        series.values.iter().find(|value| value.night.id == night.id);
    let tested = night.tests.get(series.test);
    let step = tested.and_then(|tested| tested.step).map(known);
    let label = match (outcome(night), tested) {
        (Some(outcome), _) => outcome,
        (None, Some(tested)) => tested.label.clone(),
        (None, None) => "not measured".to_string(),
    };
    let run = match &night.kept {
        Some(name) if history.contents.runs.contains(name) => format!("runs/{name}"),
        Some(_) => "pruned".to_string(),
        None => night.run.clone().unwrap_or_default(),
    };
    let cells = vec![
        Cell::plain(build(&night.build)),
        Cell::known(value.map(|value| ratio(value.joined))),
        Cell::known(value.map(|value| span(value.joined))),
        Cell::known(step.map(percent)),
        Cell::plain(label),
        Cell::plain(run),
    ];
    Row::new(day(night.place()), cells)
}
