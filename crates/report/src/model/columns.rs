//! Tables with a column for each formula over the totals of a step, or for each step.

use rqps_document::{Cell, Heading, Row, Table};
use rqps_stats::{Column, Window};

use super::{Measured, Model, StepModel};

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

/// A heading for every step.
pub(crate) fn step_headings(model: &Model) -> Vec<Heading> {
    model.steps.iter().map(|step| Heading::new(step.name, step.title)).collect()
}

/// A table with a row for every contender and a column for every step.
pub(crate) fn by_step(model: &Model, cell: impl Fn(&Measured) -> Cell) -> Table {
    let rows = model.contenders.iter().enumerate().map(|(index, name)| {
        let cells = model.steps.iter().map(|step| match &step.measured[index] {
            Some(measured) => cell(measured),
            None => Cell::missing("-"),
        });
        Row::new(*name, cells.collect())
    });
    Table::new(step_headings(model), rows.collect()).named("contender")
}
