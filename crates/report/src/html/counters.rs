//! The DBMSs' own counters in the tests of a comparison: a table for each contender, which the
//! script puts into the page.

use std::collections::BTreeMap;

use maud::{Markup, html};
use rqps_analysis::diagnosis::Change;
use rqps_document::html as render;
use rqps_document::{Cell, Heading, Row, Table, Tone};

use crate::comparison::{Judged, Verdicts};
use crate::model::number::significant;

/// By test.
pub(super) fn tables<'v>(verdicts: &'v Verdicts<'_>) -> BTreeMap<&'v str, String> {
    let of = |index: usize| {
        let judged = verdicts.judged.iter();
        let parts = judged.map(|judged| table(verdicts, judged, index).into_string());
        (verdicts.tests[index].name, parts.collect::<String>())
    };
    (0..verdicts.tests.len()).map(of).filter(|(_, tables)| !tables.is_empty()).collect()
}

fn table(verdicts: &Verdicts<'_>, judged: &Judged<'_>, index: usize) -> Markup {
    let counters = verdicts.counters(judged, index);
    let row = |(name, change): &(&str, &Change)| {
        let [ratio, interval] = ratio(change);
        let amounts = [change.base, change.contender].map(|value| Cell::plain(amount(value)));
        Row::new(*name, amounts.into_iter().chain([ratio, interval]).collect())
    };
    let names = [verdicts.base.as_str(), &judged.contender, "ratio", "95 % interval"];
    let headings = names.map(|name| Heading::new(name, "")).into();
    let cells = Table::new(headings, counters.iter().map(row).collect()).named("counter");
    html! {
        @if !cells.is_empty() {
            div data-of=(judged.contender) { (render::table(&cells)) }
        }
    }
}

/// Some events happen once in a million operations.
fn amount(value: f64) -> String {
    match value {
        value if value > 0.0 && value < 1e-3 => format!("{value:.2e}"),
        value => significant(value),
    }
}

/// Unknown if either value is zero.
fn ratio(change: &Change) -> [Cell; 2] {
    let known = change.log.ends().filter(|_| change.base > 0.0 && change.contender > 0.0);
    let number = |log: f64| significant(log.exp());
    let tone = if change.is_sure() { Tone::Plain } else { Tone::Unsure };
    match known {
        None => [Cell::missing("-"), Cell::missing("-")],
        Some((low, high)) => {
            let span = format!("{} – {}", number(low), number(high));
            [Cell::new(number(change.log.value), tone), Cell::new(span, tone)]
        }
    }
}
