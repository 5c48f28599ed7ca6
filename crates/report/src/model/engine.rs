//! The counters of the DBMS itself in a step.

use std::collections::BTreeSet;

use rqps_document::{Cell, Heading, Row, Table};
use rqps_observe::Kind;

use super::number::significant;
use super::{Model, StepModel};

pub(crate) const ENGINE_NOTE: &str = "Counters and gauges of the DBMS that are not zero, with its \
     names and units. Counters are totals of the step and values per operation; gauges are the \
     values at its end. results.sqlite has all of them.";

/// A row for each counter that is not zero for any contender. Each contender that finished the
/// step has a column of totals and one of totals per operation.
pub(crate) fn engine(model: &Model, step: &StepModel) -> Table {
    let counted: Vec<_> = step
        .done()
        .filter(|(_, measured)| measured.record.engine.iter().next().is_some())
        .map(|(index, measured)| (index, &measured.record.engine, measured.window()))
        .collect();
    let names: BTreeSet<&str> = moved(step).collect();
    let headings = counted.iter().flat_map(|(index, ..)| {
        let name = model.contenders[*index];
        [
            Heading::new(name, "total of the step; a gauge at its end").of(name),
            Heading::new("/o", format!("{name}, per {}", step.counts.operation())).of(name),
        ]
    });
    let rows = names.into_iter().map(|name| {
        let cells = counted.iter().flat_map(|(_, engine, window)| {
            let found = engine.read(name);
            let Some(read) = found else { return [Cell::missing("-"), Cell::missing("-")] };
            let each = window.per_operation(Some(read.value));
            let each = match (read.kind, each) {
                (Kind::Counter, Some(each)) => Cell::plain(significant(each)),
                _ => Cell::missing("-"),
            };
            [Cell::plain(read.value.to_string()), each]
        });
        Row::new(name, cells.collect())
    });
    Table::new(headings.collect(), rows.collect()).named("counter")
}

/// Whether there is anything in that table.
pub(crate) fn has_engine(step: &StepModel) -> bool {
    moved(step).next().is_some()
}

fn moved<'m>(step: &'m StepModel) -> impl Iterator<Item = &'m str> {
    let read = step.done().flat_map(|(_, measured)| measured.record.engine.iter());
    read.filter(|(_, read)| read.value > 0).map(|(name, _)| name)
}
