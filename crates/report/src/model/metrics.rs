//! The posts' metrics table of one step.

use rqps_stats::METRICS;

use super::{Cell, Heading, Model, Row, StepModel, Table};

pub(crate) const METRICS_NOTE: &str = "The columns of the Insert Benchmark posts, under their \
     names. Some are per second, some per operation: a row inserted or indexed in the l. steps, a \
     query in the others. CPU is that of the whole host.";

/// One row for each contender that finished the step, named by the posts' last column, `tag`.
pub(crate) fn metrics(model: &Model, step: &StepModel) -> Table {
    let headings = METRICS
        .iter()
        .map(|column| Heading::new(column.name, format!("{} ({})", column.legend, column.unit)));
    let rows = step.done().map(|(index, measured)| {
        let window = measured.window();
        let cells = METRICS.iter().map(|column| Cell::plain(column.print(&window)));
        Row::new(model.contenders[index], cells.collect())
    });
    Table { headings: headings.collect(), rows: rows.collect() }
}
