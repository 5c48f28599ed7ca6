//! Values of other programs on the site: beside the measured ones, never among them.

use std::collections::BTreeMap;

use maud::{Markup, html};
use rqps_analysis::track::TrackHistory;
use rqps_document::html::table;
use rqps_document::{Cell, Heading, Row, Table};
use rqps_store::track::{ImportedPoint, ImportedValues};

use super::chart::line;
use super::sheet::sheet;
use super::words::{day, many, slug};

/// The line of imported values in names of pages, which no contender can have.
const LINE: &str = "imported values";

type Tests<'a> = BTreeMap<&'a str, Vec<(&'a ImportedPoint, &'a ImportedValues)>>;

/// All values by test, in the order of time.
fn tests<'a>(history: &TrackHistory<'a>) -> Tests<'a> {
    let mut tests = Tests::new();
    for import in &history.contents.imports {
        for point in &import.points {
            tests.entry(&point.test).or_default().push((point, import));
        }
    }
    tests.values_mut().for_each(|values| values.sort_by_key(|(point, _)| point.time));
    tests
}

/// On the first page.
pub(super) fn section(history: &TrackHistory<'_>) -> Markup {
    let tests = tests(history);
    html! {
        @if !tests.is_empty() {
            section #imported {
                h2 { "Imported" }
                p.note { "Values of other programs have no anchor and no interval. They are never an alert." }
                div.scroll tabindex="0" {
                    table.imported {
                        thead { tr { th scope="col" { "test" } th scope="col" { "last value" } th.words scope="col" { "values" } } }
                        tbody {
                            @for (test, values) in &tests {
                                tr.run {
                                    th scope="row" { a href={ "t/" (slug(LINE, test)) ".html" } { (test) } }
                                    td { @if let Some((last, _)) = values.last() { (last.value) " " (last.unit) } }
                                    td.words { (drawn(values)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Relative to the first, so that any unit has a scale.
fn drawn(values: &[(&ImportedPoint, &ImportedValues)]) -> Markup {
    let logs: Vec<f64> = values.iter().map(|(point, _)| point.value.ln()).collect();
    line(&logs)
}

/// A page for each test, under the name of its file.
pub(super) fn pages(history: &TrackHistory<'_>) -> Vec<(String, String)> {
    let page = |(test, values): (&str, Vec<(&ImportedPoint, &ImportedValues)>)| {
        let title = format!("{test} (imported)");
        let headings = vec![
            Heading::new("value", "as imported"),
            Heading::words("unit"),
            Heading::words("commit"),
            Heading::words("from"),
        ];
        let rows = values.iter().rev().map(|(point, import)| {
            Row::new(
                day(point.time),
                vec![
                    Cell::plain(point.value.to_string()),
                    Cell::plain(&point.unit),
                    Cell::known(point.commit.clone()),
                    Cell::plain(&import.source),
                ],
            )
        });
        let body = html! {
            header { h1 { (title) } p.note { (many(values.len(), "value")) " of another program, without intervals" } }
            main {
                section #chart { div.imported { (drawn(&values)) } }
                section #nights { h2 { "Values" } (table(&Table::new(headings, rows.collect()).named("time"))) }
            }
        };
        (slug(LINE, test), sheet(&title, "../", None, &body))
    };
    tests(history).into_iter().map(page).collect()
}
