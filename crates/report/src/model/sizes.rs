//! How large the data were at the end of each step.

use rqps_observe::Metric;
use rqps_stats::NOT_AVAILABLE;

use super::{Cell, Model, Table};

const MIB: f64 = 1024.0 * 1024.0;

#[derive(Clone, Copy)]
pub(crate) enum Size {
    Database,
    Logs,
    Directory,
    Memory,
}

impl Size {
    pub(crate) const ALL: [Size; 4] = [Size::Database, Size::Logs, Size::Directory, Size::Memory];

    pub(crate) fn title(self) -> &'static str {
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

/// MiB by contender and step; without rows if it was never read.
pub(crate) fn sizes(model: &Model, size: Size) -> Table {
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
