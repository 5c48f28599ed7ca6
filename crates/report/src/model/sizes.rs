//! How large the data were at the end of each step.

use rqps_observe::Metric;
use rqps_stats::NOT_AVAILABLE;

use super::{Cell, Model, StepModel, Table};

const MIB: f64 = 1024.0 * 1024.0;
const AMPLIFICATION: &str = "Whole data directory as a multiple of the smallest";

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
    let relative = (AMPLIFICATION, amplification(model, Size::Directory));
    all.into_iter().chain([relative]).filter(|(_, cells)| !cells.is_empty()).collect()
}

/// MiB by contender and step; without rows if it was never read.
fn sizes(model: &Model, size: Size) -> Table {
    let mut table = model.by_step(|measured| match measured.record.cost.get(size.metric()) {
        Some(bytes) => Cell::plain(format!("{:.1}", bytes as f64 / MIB)),
        None => Cell::missing(NOT_AVAILABLE),
    });
    let measured = model.steps.iter().flat_map(|step| step.measured.iter().flatten());
    if measured.filter_map(|m| m.record.cost.get(size.metric())).next().is_none() {
        table.rows.clear();
    }
    table
}

/// What a contender needs as a multiple of the one that needs the least, after each step: space
/// amplification, as far as it can be told without a perfect DBMS. Without rows if there is nobody to
/// be held against.
fn amplification(model: &Model, size: Size) -> Table {
    let least: Vec<u64> = model.steps.iter().map(|step| smallest(step, size)).collect();
    let mut table = model.by_step(|measured| {
        let place = model.steps.iter().position(|step| step.name == measured.record.step);
        let least = place.map_or(0, |place| least[place]);
        match measured.record.cost.get(size.metric()) {
            Some(bytes) if least > 0 => Cell::plain(format!("{:.2}", bytes as f64 / least as f64)),
            _ => Cell::missing(NOT_AVAILABLE),
        }
    });
    if model.contenders.len() < 2 || least.iter().all(|least| *least == 0) {
        table.rows.clear();
    }
    table
}

fn smallest(step: &StepModel, size: Size) -> u64 {
    let sizes = step.done().filter_map(|(_, measured)| measured.record.cost.get(size.metric()));
    sizes.min().unwrap_or(0)
}
