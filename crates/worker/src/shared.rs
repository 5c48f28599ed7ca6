//! What all connections share: the database, and what is counted of their work on it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use rustix::time::ClockId;

use crate::WorkerError;
use crate::database::{COUNTED, Database};
use crate::library::RocksdbFunctions;
use crate::operations::clock;
use crate::settings::OpenSettings;
use crate::tree_report;
use crate::work_clock::WorkClock;

/// Numbers that are not counts but states.
const GAUGES: [&str; 8] = [
    "rocksdb.block-cache-usage",
    "rocksdb.cur-size-all-mem-tables",
    "rocksdb.estimate-num-keys",
    "rocksdb.estimate-pending-compaction-bytes",
    "rocksdb.num-running-compactions",
    "rocksdb.num-running-flushes",
    "rocksdb.total-blob-file-size",
    "rocksdb.total-sst-files-size",
];

pub(crate) struct Shared {
    pub(crate) functions: &'static RocksdbFunctions,
    pub(crate) folder: PathBuf,
    pub(crate) settings: OpenSettings,
    /// None while it is made anew, and at the end.
    pub(crate) database: RwLock<Option<Database>>,
    /// Of all clients, in the order of [`COUNTED`].
    pub(crate) counted: [AtomicU64; COUNTED.len()],
    /// Nanoseconds of CPU that threads have used which serve connections, up to their last answers.
    pub(crate) serving: AtomicU64,
    /// How long clients have performed operations.
    pub(crate) at_work: WorkClock,
}

impl Shared {
    pub(crate) fn open(&self) -> Result<Opened<'_>, WorkerError> {
        let guard = self.database.read().unwrap_or_else(PoisonError::into_inner);
        match guard.is_some() {
            true => Ok(Opened(guard)),
            false => Err(WorkerError::Closed),
        }
    }

    /// Closes the database when nobody works on it any more.
    pub(crate) fn close(&self) {
        self.database.write().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// An empty database in place of this one.
    pub(crate) fn recreate(&self) -> Result<(), WorkerError> {
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        // It is closed before it is removed.
        drop(database.take());
        Database::destroy(self.functions, &self.folder)?;
        *database = Some(Database::open(self.functions, &self.folder, &self.settings)?);
        Ok(())
    }

    pub(crate) fn counters(&self) -> Result<Vec<String>, WorkerError> {
        let database = self.open()?;
        let of_clients = COUNTED.iter().zip(&self.counted);
        let of_clients =
            of_clients.map(|((_, name), count)| (*name, count.load(Ordering::Relaxed)));
        let mut rows: Vec<String> =
            of_clients.map(|(name, count)| format!("{name}\t{count}")).collect();
        let serving = self.serving.load(Ordering::Relaxed);
        let background = clock(ClockId::ProcessCPUTime).saturating_sub(serving);
        rows.extend([format!("cpu.serving\t{serving}"), format!("cpu.background\t{background}")]);
        let gauge = |name: &&str| Some(format!("{name}\t{}\tgauge", database.get().number(name)?));
        rows.extend(GAUGES.iter().filter_map(gauge));
        let reported = tree_report::counts(database.get()).into_iter();
        rows.extend(reported.map(|(name, count)| format!("{name}\t{count}")));
        let statistics = database.get().statistics().unwrap_or_default();
        rows.extend(statistics.lines().filter_map(ticker));
        Ok(rows)
    }
}

/// A counter among the statistics: `rocksdb.wal.bytes COUNT : 17`. Histograms have more words.
fn ticker(line: &str) -> Option<String> {
    let (name, count) = line.split_once(" COUNT : ")?;
    let count: u64 = count.trim().parse().ok()?;
    (!name.contains(' ')).then(|| format!("{name}\t{count}"))
}

/// The database, which stays open for as long as this lives.
pub(crate) struct Opened<'a>(RwLockReadGuard<'a, Option<Database>>);

impl Opened<'_> {
    pub(crate) fn get(&self) -> &Database {
        self.0.as_ref().expect("it was there when this was made")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_told_from_histograms() {
        assert_eq!(ticker("rocksdb.wal.bytes COUNT : 17"), Some("rocksdb.wal.bytes\t17".into()));
        let histogram = "rocksdb.db.get.micros P50 : 1.0 P95 : 2.0 COUNT : 3 SUM : 4";
        assert_eq!(ticker(histogram), None);
        assert_eq!(ticker(""), None);
    }
}
