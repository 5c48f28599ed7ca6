//! What a post has below its summary: how promised rates were kept, sizes, and response times by
//! bucket.

use super::{Colour, draw, finish, summary, wrapped};
use crate::comparison::{Verdicts, metrics_together};
use crate::model::{
    Cell, Heading, LAG_NOTE, Model, Row, SHORT_NOTE, Table, all_sizes, histograms, lag,
    short_seconds,
};

/// Without what only a page has: shades and colours.
const BUCKETS: &str = "Percentage of the responses that took at most the time in the heading and longer than the \
     one before it: empty is none at all, nonzero less than 0.0005%. max is in seconds. A percentile needs ten \
     responses beyond it; with fewer it is few.";

const RATES: &str = "A single odd round moves a mean, and hardly the rQPS, which is a robust estimate, \
     against base and twin.";

/// Of the steps of a run, or of whole runs taken together.
pub(super) fn parts(model: &Model, colour: Colour) -> Vec<String> {
    let kept = [
        ("Seconds in which the insert rate was not kept", SHORT_NOTE, short_seconds(model)),
        ("How late writes began", LAG_NOTE, lag(model)),
    ];
    let mut parts = Vec::new();
    for (title, note, table) in kept.into_iter().filter(|(_, _, table)| !table.is_empty()) {
        parts.push(format!(
            "{title}\n{}\n{}",
            wrapped([[note]].into_iter()),
            summary(&table, colour)
        ));
    }
    for (title, table) in all_sizes(model) {
        parts.push(format!("{title}\n{}", summary(&table, colour)));
    }
    let mut note = Some(wrapped([[BUCKETS]].into_iter()));
    for step in &model.steps {
        for histogram in histograms(model, step) {
            let title = format!("{}: {}", step.name, histogram.clock.title(histogram.operation));
            parts.extend(note.take().map(|note| format!("Response times\n{note}")));
            parts.push(format!("{title}\n{}", abreast(&histogram.table, colour)));
        }
    }
    parts
}

/// Of a comparison: rates as they were measured, and the posts' metrics of its whole runs.
pub(super) fn of_comparison(
    verdicts: &Verdicts<'_>,
    together: &Model,
    colour: Colour,
) -> Vec<String> {
    let title =
        format!("Rates: {} per second, the mean of the rounds that count", verdicts.counted().many);
    let note = wrapped([[RATES]].into_iter());
    let mut parts = vec![format!("{title}\n{note}\n{}", abreast(&rates(verdicts), colour))];
    for step in &together.steps {
        for table in metrics_together(together, step) {
            parts.push(format!("{}, all rounds together\n{}", step.name, abreast(&table, colour)));
        }
    }
    parts.extend(self::parts(together, colour));
    parts
}

fn rates(verdicts: &Verdicts<'_>) -> Table {
    let headings = verdicts.names().into_iter().map(|name| Heading::new(name, ""));
    let cell = |rate: Option<f64>| match rate {
        Some(rate) => Cell::plain(format!("{rate:.0}")),
        None => Cell::missing("-"),
    };
    let rows = verdicts.tests.iter().map(|test| {
        let cells = verdicts.names().into_iter().map(|name| cell(test.rate(name)));
        Row::new(test.name, cells.collect())
    });
    Table { headings: headings.collect(), rows: rows.collect() }
}

/// All columns beside each other, as in posts.
fn abreast(table: &Table, colour: Colour) -> String {
    let columns: Vec<usize> = (0..table.headings.len()).collect();
    finish(draw(table, &columns, colour))
}
