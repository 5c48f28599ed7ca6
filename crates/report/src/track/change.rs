//! The page of a change: what was before and after, how it was confirmed, and what to do.

use std::collections::BTreeMap;

use maud::{Markup, html};
use rqps_analysis::track::{ChangeGroup, LineHistory, TRACK_METHOD, TrackHistory};
use rqps_document::html::{blocks, chip as draw_chip, table};
use rqps_document::{Block, Cell, Heading, Inline, Row, Table};
use rqps_store::track::{TrackAck, TrackAlert, TrackPoint};

use super::commands::{bisect_command, compare_command};
use super::sheet::sheet;
use super::words::{build, change_with_interval, chip, day, known, sentence, slug};
use crate::html::COPY;

/// Changes as a list, the newest first. Links lead from a page below by `up`.
pub(super) fn list(changes: &[&ChangeGroup<'_>], up: &str) -> Markup {
    html! {
        ol.changes reversed {
            @for group in changes.iter().rev() {
                li.run {
                    (draw_chip(&chip(group), None)) " "
                    a href={ (up) "c/" (group.id) ".html" } { (day(group.after.place())) ", " (group.line) ": " (sentence(group)) }
                    span.dim { " from " (build(&group.before.build)) " to " (build(&group.after.build)) }
                    @if let Some(ack) = group.ack { (acknowledged(ack)) }
                }
            }
        }
    }
}

fn acknowledged(ack: &TrackAck) -> Markup {
    html! {
        span.dim {
            " · " (ack.who) ", " (day(ack.when)) ": " (ack.why)
            @if let Some(until) = &ack.until { " (until " (until) ")" }
        }
    }
}

pub(super) fn page(
    history: &TrackHistory<'_>,
    line: &LineHistory<'_>,
    group: &ChangeGroup<'_>,
    commits_between: &BTreeMap<String, Vec<String>>,
) -> String {
    let title = format!("{}: {}", group.line, sentence(group));
    let flags = &history.contents.settings.compare;
    let body = html! {
        header {
            h1 { (title) }
            p.strip {
                (draw_chip(&chip(group), None))
                span { "id " code { (group.id) } }
                @if let Some(alert) = group.told { span { "told " (day(alert.time)) } }
            }
        }
        main {
            section #builds { h2 { "Builds" } (builds(group.before, group.after)) }
            section #tests { h2 { "Tests" } (tests(line, group)) (links(group)) }
            (commits(commits_between, &group.id))
            (acks(&history.contents.acks, &group.id))
            section #next {
                h2 { "Next" }
                (blocks(&next(group, flags)))
                p.note { "Found by version " (TRACK_METHOD) " of the method"
                    @if let Some(by) = group.moved(line) { ". It has moved by " (by) " builds since it was told" } "." }
            }
        }
    };
    sheet(&title, "../", Some(COPY), &body)
}

/// What a reader may do, as commands.
fn next(group: &ChangeGroup<'_>, flags: &[String]) -> Vec<Block> {
    let again = compare_command(&group.before.build, &group.after.build, flags);
    let ack = format!("rqps track ack DIR {} --as known --why WHY", group.id);
    let search = bisect_command(group, flags);
    let all = search.map(|command| ("Find out which commit or release it was:", command));
    let all = [("Compare the two builds again:", again)].into_iter().chain(all);
    let all = all.chain([("Acknowledge the change:", ack)]);
    all.flat_map(|(what, command)| [Block::text(what), Block::text(Inline::Code(command))])
        .collect()
}

/// Of a change that was told and is no longer found.
pub(super) fn lost_page(
    history: &TrackHistory<'_>,
    line: &LineHistory<'_>,
    alert: &TrackAlert,
) -> String {
    let title = format!("{}: a change that is no longer found", line.name);
    let sizes = alert
        .tests
        .iter()
        .map(|(test, size)| Row::new(test, vec![Cell::plain(change_with_interval(known(*size)))]));
    let heading = vec![Heading::new("size", "when it was told")];
    let body = html! {
        header {
            h1 { (title) }
            p { "It was told on " (day(alert.time)) ", from " (build(&alert.before)) " to " (build(&alert.after)) "." }
        }
        main {
            section {
                p.note { "It was acknowledged as noise, a person has removed it, or later nights have shown that it is none." }
                (table(&Table::new(heading, sizes.collect()).named("test")))
                p.dim { "c/" (alert.id) ".html" ", found by version " (alert.method) " of the method; this is version " (TRACK_METHOD) "." }
            }
            (acks(&history.contents.acks, &alert.id))
        }
    };
    sheet(&title, "../", None, &body)
}

fn builds(before: &TrackPoint, after: &TrackPoint) -> Markup {
    let row = |name: &str, night: &TrackPoint| {
        let of = &night.build;
        let hash = of.sha256.as_ref().map(|hash| hash.chars().take(12).collect::<String>());
        Row::new(
            name,
            vec![
                Cell::plain(&of.version),
                Cell::known(of.commit.clone()),
                Cell::known(hash),
                Cell::plain(&of.spec),
                Cell::plain(day(night.time)),
            ],
        )
    };
    let headings = vec![
        Heading::words("version"),
        Heading::words("commit"),
        Heading::words("server SHA-256"),
        Heading::words("contender"),
        Heading::new("night", "when it was first measured"),
    ];
    let rows = vec![row("before", before), row("after", after)];
    html! { (table(&Table::new(headings, rows).named("build"))) }
}

fn tests(line: &LineHistory<'_>, group: &ChangeGroup<'_>) -> Markup {
    let headings = vec![
        Heading::new("step", "of the levels before and after"),
        Heading::new("same night", "the two builds in the night that first measured the later one"),
        Heading::new("direct", "the two builds in fresh rounds of their own"),
        Heading::new("builds", "since the step"),
        Heading::words("state"),
    ];
    let rows = group.tests.iter().map(|one| {
        let by = if one.is_set { ", set by a person" } else { "" };
        Row::new(
            one.test,
            vec![
                Cell::plain(change_with_interval(one.size)),
                Cell::known(one.same_night.map(change_with_interval)),
                Cell::known(one.direct.map(change_with_interval)),
                Cell::plain(one.values.to_string()),
                Cell::plain(format!("{}{by}", one.state.name())),
            ],
        )
    });
    let name = format!("test of {}", line.name);
    html! { (table(&Table::new(headings, rows.collect()).named(name))) }
}

fn commits(between: &BTreeMap<String, Vec<String>>, id: &str) -> Markup {
    html! {
        @if let Some(commits) = between.get(id) {
            section #commits {
                h2 { "Commits between" }
                ul { @for commit in commits { li { code { (commit) } } } }
            }
        }
    }
}

fn links(group: &ChangeGroup<'_>) -> Markup {
    html! {
        p.strip {
            @for one in &group.tests { a href={ "../t/" (slug(group.line, one.test)) ".html" } { (one.test) } }
        }
    }
}

fn acks(all: &[TrackAck], id: &str) -> Markup {
    let mut acks = all.iter().filter(|ack| ack.change == id).peekable();
    html! {
        @if acks.peek().is_some() {
            section #acks {
                h2 { "Acknowledged" }
                ul { @for ack in acks { li { b { (ack.kind) } (acknowledged(ack)) } } }
            }
        }
    }
}
