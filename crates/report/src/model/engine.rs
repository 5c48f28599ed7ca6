//! What the DBMS itself counted in a step.

use std::collections::BTreeSet;

use rqps_observe::Kind;

use super::number::significant;
use super::{Cell, Heading, Model, Row, StepModel, Table};

pub(crate) const ENGINE_NOTE: &str = "Counters and gauges of the DBMS under its own names and in \
     its own units, where they are not zero: what was counted in the step, in all and per operation, \
     and gauges as they were at its end. Everything that was read is in results.sqlite.";

/// A row for each counter that moved for any contender; for each contender that finished the step a
/// column of totals and one of totals per operation.
pub(crate) fn engine(model: &Model, step: &StepModel) -> Table {
    let counted: Vec<_> = step
        .done()
        .filter(|(_, measured)| measured.record.engine.iter().next().is_some())
        .collect();
    let moved = counted.iter().flat_map(|(_, measured)| measured.record.engine.iter());
    let names: BTreeSet<&str> =
        moved.filter(|(_, read)| read.value > 0).map(|(name, _)| name).collect();
    let headings = counted.iter().flat_map(|(index, _)| {
        let name = model.contenders[*index];
        [
            Heading::new(name, "in the step; a gauge at its end"),
            Heading::new("/o", format!("of {name}, per {}", step.counts.operation())),
        ]
    });
    let rows = names.into_iter().map(|name| {
        let cells = counted.iter().flat_map(|(_, measured)| {
            let found = measured.record.engine.iter().find(|(known, _)| *known == name);
            let Some((_, read)) = found else { return [Cell::missing("-"), Cell::missing("-")] };
            let each = measured.window().per_operation(Some(read.value));
            let each = match (read.kind, each) {
                (Kind::Counter, Some(each)) => Cell::plain(significant(each)),
                _ => Cell::missing("-"),
            };
            [Cell::plain(read.value.to_string()), each]
        });
        Row::new(name, cells.collect())
    });
    Table { headings: headings.collect(), rows: rows.collect() }
}
