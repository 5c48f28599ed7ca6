//! Tables of a step with a column for each formula over its totals.

use rqps_stats::{Column, Window};

use super::{Model, StepModel};
use crate::document::{Cell, Heading, Row, Table};

/// One row for each contender that finished the step.
pub(crate) fn by_column<'c>(
    model: &Model,
    step: &StepModel,
    columns: impl IntoIterator<Item = &'c Column>,
) -> Table {
    let columns: Vec<&Column> = columns.into_iter().collect();
    let headings = columns
        .iter()
        .map(|column| Heading::new(column.name, format!("{} ({})", column.legend, column.unit)));
    let rows = step.done().map(|(index, measured)| {
        let window = measured.window();
        let cells = columns.iter().map(|column| Cell::plain(column.print(&window)));
        Row::new(model.contenders[index], cells.collect())
    });
    Table::new(headings.collect(), rows.collect()).named("contender")
}

/// The same, without columns that have no value for any contender.
pub(crate) fn by_known_column<'c>(
    model: &Model,
    step: &StepModel,
    columns: impl IntoIterator<Item = &'c Column>,
) -> Table {
    let windows: Vec<Window> = step.done().map(|(_, measured)| measured.window()).collect();
    let has_value = |column: &&Column| windows.iter().any(|one| (column.value)(one).is_some());
    by_column(model, step, columns.into_iter().filter(has_value))
}
