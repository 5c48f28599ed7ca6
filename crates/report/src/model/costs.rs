//! The CPU of the DBMS and the CPU of the client.

use rqps_document::{Cell, Heading, Row, Table};
use rqps_stats::{COSTS, NOT_AVAILABLE, Window};

use super::columns::by_known_column;
use super::number::significant;
use super::{Model, StepModel};

/// One row for each contender that finished the step, with CPU, switches and IO of server and
/// client, without columns that have no value for any contender.
pub(crate) fn costs(model: &Model, step: &StepModel) -> Table {
    by_known_column(model, step, &COSTS)
}

/// Microseconds of CPU per operation in every step: a row for the server and one for the client of
/// each contender, or one for both where they share a process.
pub(crate) fn cpu_split(model: &Model) -> Table {
    let mut rows = Vec::new();
    for (index, record) in model.run.contenders.iter().enumerate() {
        let sides: &[(&str, Total)] = if record.transport == IN_PROCESS {
            &[("server and client", |w| w.server_cpu())]
        } else {
            &[("server", |w| w.server_cpu()), ("client", |w| w.client_cpu())]
        };
        for (side, cpu) in sides {
            let cells = model.steps.iter().map(|step| match &step.measured[index] {
                Some(measured) if measured.is_done() => {
                    let window = measured.window();
                    match window.per_operation(cpu(&window)) {
                        Some(micros) => Cell::plain(significant(micros)),
                        None => Cell::missing(NOT_AVAILABLE),
                    }
                }
                _ => Cell::missing(NOT_AVAILABLE),
            });
            let row = Row::new(format!("{} {side}", record.name), cells.collect());
            rows.push(row.of(&record.name));
        }
    }
    let headings = model.steps.iter().map(|step| {
        let legend = format!("microseconds of CPU per {}", step.counts.operation());
        Heading::new(step.name, legend)
    });
    Table::new(headings.collect(), rows).named("contender")
}

type Total = fn(&Window) -> Option<u64>;

/// The transport of a DBMS that runs inside the client.
pub(super) const IN_PROCESS: &str = "in process";
