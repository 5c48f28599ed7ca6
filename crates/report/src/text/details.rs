//! The tables of a post below its summary: target rates, sizes, and response times by bucket.

use super::{Colour, draw, finish, summary, wrapped};
use crate::comparison::{Verdicts, metrics_together};
use crate::model::{
    Cell, Heading, LAG_NOTE, Model, Row, SHORT_NOTE, Table, all_sizes, histograms, lag,
    short_seconds,
};

/// Like the note of the page, without shades and colours.
const BUCKETS: &str = "Percentage of the responses that took at most the time in the heading and longer than \
     the time in the heading before it. Empty cells are zero, nonzero is less than 0.0005%. max is in seconds. \
     A percentile needs ten responses beyond it; the cell says few where there are fewer.";

const RATES: &str = "An outlier moves these means. It hardly moves rQPS, a robust estimate against the \
     baseline and the A/A control.";

/// The tables of a run's steps, or of pooled whole runs.
pub(super) fn parts(model: &Model, colour: Colour) -> Vec<String> {
    let kept = [
        ("Seconds below the target insert rate", SHORT_NOTE, short_seconds(model)),
        ("Longest delay of a write", LAG_NOTE, lag(model)),
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

/// The tables of a comparison: rates as measured, and the posts' metrics of its whole runs.
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
            parts.push(format!("{}, pooled over rounds\n{}", step.name, abreast(&table, colour)));
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

/// All columns side by side, as in posts.
fn abreast(table: &Table, colour: Colour) -> String {
    let columns: Vec<usize> = (0..table.headings.len()).collect();
    finish(draw(table, &columns, colour))
}
