//! The size of the data at the end of each step, and the bytes written for it.

use rqps_document::{Cell, Table};
use rqps_observe::Metric;
use rqps_stats::NOT_AVAILABLE;

use super::{Measured, Model, StepModel, by_step};

const MIB: f64 = 1024.0 * 1024.0;
const SPACE: &str = "Whole data directory as a multiple of the smallest";
const WRITES: &str =
    "Written to the device per operation (per row in loads) as a multiple of the least";

#[derive(Clone, Copy)]
enum Size {
    Database,
    Logs,
    Directory,
    Memory,
}

impl Size {
    const ALL: [Size; 4] = [Size::Database, Size::Logs, Size::Directory, Size::Memory];

    fn title(self) -> &'static str {
        match self {
            Size::Database => "Tables and indexes, MiB",
            Size::Logs => "Write-ahead, redo, undo and binary logs, MiB",
            Size::Directory => "Whole data directory with logs, MiB",
            Size::Memory => "Resident memory of the largest DBMS process, MiB",
        }
    }

    fn metric(self) -> Metric {
        match self {
            Size::Database => Metric::DatabaseBytes,
            Size::Logs => Metric::LogBytes,
            Size::Directory => Metric::DirectoryBytes,
            Size::Memory => Metric::ServerRss,
        }
    }
}

/// All tables of sizes that were read, with their titles.
pub(crate) fn all_sizes(model: &Model) -> Vec<(&'static str, Table)> {
    let all = Size::ALL.map(|size| (size.title(), sizes(model, size)));
    let space = |measured: &Measured| Some(measured.window().directory_bytes? as f64);
    let writes = |measured: &Measured| {
        let window = measured.window();
        window.per_operation(window.device_write_bytes)
    };
    let relative = [(SPACE, amplification(model, space)), (WRITES, amplification(model, writes))];
    all.into_iter().chain(relative).filter(|(_, cells)| !cells.is_empty()).collect()
}

/// MiB by contender and step; without rows if it was never read.
fn sizes(model: &Model, size: Size) -> Table {
    let mut table = by_step(model, |measured| match measured.record.cost.get(size.metric()) {
        Some(bytes) => Cell::plain(format!("{:.1}", bytes as f64 / MIB)),
        None => Cell::missing(NOT_AVAILABLE),
    });
    let measured = model.steps.iter().flat_map(|step| step.measured.iter().flatten());
    if measured.filter_map(|m| m.record.cost.get(size.metric())).next().is_none() {
        table.rows.clear();
    }
    table
}

/// What a contender needs as a multiple of the one that needs the least, in each step: a stand-in
/// for space and write amplification, which would need a perfect DBMS. Without rows if there is
/// only one contender.
fn amplification(model: &Model, needs: impl Fn(&Measured) -> Option<f64>) -> Table {
    let smallest = |step: &StepModel| {
        let needed = step.done().filter_map(|(_, measured)| needs(measured));
        needed.filter(|needed| *needed > 0.0).min_by(f64::total_cmp)
    };
    let least: Vec<Option<f64>> = model.steps.iter().map(smallest).collect();
    let mut table = by_step(model, |measured| {
        let place = model.steps.iter().position(|step| step.name == measured.round.test);
        match (needs(measured), place.and_then(|place| least[place])) {
            (Some(needed), Some(least)) => Cell::plain(format!("{:.2}", needed / least)),
            _ => Cell::missing(NOT_AVAILABLE),
        }
    });
    if model.contenders.len() < 2 || least.iter().all(Option::is_none) {
        table.rows.clear();
    }
    table
}
