//! How a history stands, for a terminal, and as JSON.

use rqps_analysis::track::{ChangeGroup, LineHistory, NightSeries, TRACK_METHOD, TrackHistory};
use rqps_document::terminal::render;
use rqps_document::{Block, Cell, Document, Heading, Inline, List, ListItem, Row, Style, Table};
use rqps_store::track::{TrackAlert, TrackContents, TrackPoint};
use serde_json::{Value, json};

use super::words::{
    build, change_with_interval, day, known, many, outcome, ratio, sentence, span, state,
    test_chip, tests_of,
};
use crate::Terminal;

/// Lines of a list.
const MOST: usize = 12;

/// What must be looked at, then every test.
pub fn track_status(history: &TrackHistory<'_>, terminal: Terminal) -> String {
    let open: Vec<&ChangeGroup<'_>> = history.changes().filter(|it| it.is_open()).collect();
    let slower = open.iter().filter(|group| group.is_slower).count();
    let nights = history.contents.points.len();
    let title = format!(
        "{} in {}: {} to be looked at",
        many(history.lines.iter().map(|line| line.series.len()).sum(), "test"),
        many(nights, "night"),
        match slower {
            0 => "no regression".to_string(),
            count => many(count, "regression"),
        }
    );
    let mut blocks = Vec::new();
    blocks.extend(changes("Open changes", &open));
    let suspected: Vec<&ChangeGroup<'_>> = history
        .changes()
        .filter(|group| group.state == rqps_analysis::track::ChangeState::Suspected)
        .collect();
    blocks.extend(changes("Suspected: the next night measures them again", &suspected));
    for line in &history.lines {
        blocks.extend(self::line(line));
    }
    let faults = history.contents.faults.iter().cloned();
    if let Some(list) = Block::list(Style::Bullets, faults) {
        blocks.extend([Block::heading("Files that are left out"), list]);
    }
    render(&Document { title, blocks }, terminal)
}

fn changes(title: &str, groups: &[&ChangeGroup<'_>]) -> Vec<Block> {
    if groups.is_empty() {
        return Vec::new();
    }
    let item = |group: &&ChangeGroup<'_>| ListItem {
        text: vec![
            Inline::Strong(group.id.clone()),
            format!(" {}: {}", group.line, sentence(group)).into(),
        ],
        details: vec![vec![
            format!(
                "{} to {}, {}; {}",
                build(&group.before.build),
                build(&group.after.build),
                day(group.after.place()),
                state(group)
            )
            .into(),
        ]],
        ..ListItem::default()
    };
    let items = groups.iter().rev().take(MOST).map(item).collect();
    vec![Block::heading(title), Block::List(List { style: Style::Bullets, items })]
}

fn line(line: &LineHistory<'_>) -> Vec<Block> {
    let headings = vec![
        Heading::new("builds", "measured"),
        Heading::new("ratio", "the last build to the anchor"),
        Heading::new("95 % interval", ""),
        Heading::words("state"),
    ];
    let row = |series: &NightSeries<'_>| {
        let last = series.values.last();
        Row::new(
            series.test,
            vec![
                Cell::plain(series.values.len().to_string()),
                Cell::known(last.map(|value| ratio(value.joined))),
                Cell::known(last.map(|value| span(value.joined))),
                Cell::plain(test_chip(&line.state(series.test)).text),
            ],
        )
    };
    let table = Table::new(headings, line.series.iter().map(row).collect()).named("test");
    let mut blocks = vec![Block::heading(line.name)];
    if let Some(night) = line.nights.iter().max_by_key(|night| (night.time, &night.id)) {
        let ended = outcome(night).map_or(String::new(), |outcome| format!(": {outcome}"));
        blocks.push(Block::text(format!(
            "Last night: {}, {}{ended}",
            day(night.time),
            build(&night.build)
        )));
    }
    blocks.push(Block::Table(table));
    let of_step = line.suspicions.iter().map(|one| {
        format!("{}: {} since the night before", one.test, change_with_interval(one.step))
    });
    let of_drift = line.drifts.iter().map(|one| {
        let size = change_with_interval(one.size);
        format!("{}: {size} since {}, without a step", one.test, one.since)
    });
    let of_lost = line.lost.iter().map(|alert| {
        format!(
            "{}, told on {} by version {} of the method, is no longer found",
            alert.id,
            day(alert.time),
            alert.method
        )
    });
    blocks.extend(Block::list(Style::Bullets, of_step.chain(of_drift).chain(of_lost)));
    blocks
}

/// Every night, the newest first.
pub fn track_nights(contents: &TrackContents, terminal: Terminal) -> String {
    let headings = vec![
        Heading::words("line"),
        Heading::words("build"),
        Heading::words("outcome"),
        Heading::words("night"),
    ];
    let row = |night: &TrackPoint| {
        let valid = night.tests.values().filter(|test| test.rate.is_some()).count();
        let measured = || format!("{valid} of {} valid", many(night.tests.len(), "test"));
        Row::new(
            day(night.time),
            vec![
                Cell::plain(&night.line),
                Cell::plain(build(&night.build)),
                Cell::plain(outcome(night).unwrap_or_else(measured)),
                Cell::plain(&night.id),
            ],
        )
    };
    let rows = contents.points.iter().rev().map(row).collect();
    let table = Block::Table(Table::new(headings, rows).named("time"));
    let title = many(contents.points.len(), "night");
    let blocks = if contents.points.is_empty() { Vec::new() } else { vec![table] };
    render(&Document { title, blocks }, terminal)
}

/// The same for programs.
pub fn track_status_json(history: &TrackHistory<'_>) -> String {
    let line = |line: &LineHistory<'_>| {
        let test = |series: &NightSeries<'_>| {
            let last = series.values.last().map(|value| {
                let interval = value.joined.estimate().interval.exp();
                json!({
                    "ratio": value.joined.value.exp(), "low": interval.low, "high": interval.high,
                    "night": value.night.id, "build": value.night.build,
                })
            });
            json!({
                "test": series.test, "builds": series.values.len(), "last": last,
                "state": test_chip(&line.state(series.test)).text,
                "noise_between_nights": series.noise.sqrt(),
            })
        };
        let suspected = line.suspicions.iter().map(|it| it.test).collect::<Vec<_>>();
        let drifts = line.drifts.iter().map(
            |drift| json!({ "test": drift.test, "log": drift.size.value, "since": drift.since }),
        );
        json!({
            "line": line.name,
            "nights": line.nights.len(),
            "tests": line.series.iter().map(test).collect::<Vec<_>>(),
            "changes": line.changes.iter().map(change).collect::<Vec<_>>(),
            "suspected": suspected,
            "no_longer_found": line.lost.iter().map(|alert| &alert.id).collect::<Vec<_>>(),
            "drifts": drifts.collect::<Vec<_>>(),
        })
    };
    let status = json!({
        "schema": "rqps-track-status/1",
        "method": TRACK_METHOD,
        "lines": history.lines.iter().map(line).collect::<Vec<_>>(),
        "faults": history.contents.faults,
    });
    serde_json::to_string_pretty(&status).expect("it is JSON") + "\n"
}

fn change(group: &ChangeGroup<'_>) -> Value {
    let tests = group.tests.iter().map(|one| {
        let interval = one.size.estimate().interval;
        json!({
            "test": one.test, "log": one.size.value, "low": interval.low, "high": interval.high,
            "builds_since": one.values, "state": one.state.name(),
            "direct": one.direct.map(|direct| direct.value), "by_a_person": one.is_set,
        })
    });
    json!({
        "id": group.id,
        "is_slower": group.is_slower,
        "state": group.state.name(),
        "acknowledged": group.ack.map(|ack| ack.kind.name()),
        "before": group.before.build,
        "after": group.after.build,
        "night": group.after.id,
        "told": group.told.map(|alert| alert.time.to_string()),
        "tests": tests.collect::<Vec<_>>(),
    })
}

/// A new alert for a program that passes it on, in one line.
pub fn alert_json(group: &ChangeGroup<'_>, alert: &TrackAlert) -> String {
    let tests = tests_of(group)
        .into_iter()
        .map(|(test, size)| json!({ "test": test, "change": change_with_interval(size) }));
    let alert = json!({
        "schema": "rqps-track-alert/1",
        "id": alert.id,
        "line": alert.line,
        "is_slower": alert.is_slower,
        "text": format!("{}: {}", alert.line, sentence(group)),
        "before": alert.before,
        "after": alert.after,
        "tests": tests.collect::<Vec<_>>(),
        "logs": alert.tests.iter().map(|(test, size)| (test.clone(), json!(known(*size).value)))
            .collect::<serde_json::Map<_, _>>(),
    });
    alert.to_string() + "\n"
}
