//! What a connection may ask for, a line of words each, and the answers.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use rustix::time::ClockId;

use crate::WorkerError;
use crate::check::read_all;
use crate::database::{COUNTED, Database, ThreadCounters};
use crate::library::RocksdbFunctions;
use crate::operations::{Client, Kind, Limit, OperationTimes, StretchResult, clock};
use crate::settings::OpenSettings;
use crate::work_clock::WorkClock;
use crate::writer::{Writer, WriterPlan};
use crate::{options_file, tree_report};

/// Properties that are 0 when no work is left to background threads.
const PENDING: [&str; 4] = [
    "rocksdb.mem-table-flush-pending",
    "rocksdb.num-running-flushes",
    "rocksdb.compaction-pending",
    "rocksdb.num-running-compactions",
];
/// How often background work has failed.
const ERRORS: &str = "rocksdb.background-errors";
/// They must be 0 so many times in a row, since one piece of work may schedule the next,
const CALM: u32 = 3;
/// this far apart,
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// and that is waited for no longer than this.
const PATIENCE: Duration = Duration::from_secs(3_600);

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

/// What all connections share.
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
    pub(crate) writer: Mutex<Option<Writer>>,
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
    fn recreate(&self) -> Result<(), WorkerError> {
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        // It is closed before it is removed.
        drop(database.take());
        Database::destroy(self.functions, &self.folder)?;
        *database = Some(Database::open(self.functions, &self.folder, &self.settings)?);
        Ok(())
    }

    fn counters(&self) -> Result<Vec<String>, WorkerError> {
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

/// Waits until nothing is left of what `look` finds. It is an error if something is left after all:
/// whoever waits takes the end for the end of the work.
fn until_calm(
    patience: Duration,
    mut look: impl FnMut() -> Result<Option<&'static str>, WorkerError>,
) -> Result<(), WorkerError> {
    let deadline = Instant::now() + patience;
    let mut calm = 0;
    loop {
        match look()? {
            None => calm += 1,
            Some(left) if Instant::now() > deadline => {
                return Err(WorkerError::Busy { left, patience });
            }
            Some(_) => calm = 0,
        }
        if calm == CALM {
            return Ok(());
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// The database, which stays open for as long as this lives.
pub(crate) struct Opened<'a>(RwLockReadGuard<'a, Option<Database>>);

impl Opened<'_> {
    pub(crate) fn get(&self) -> &Database {
        self.0.as_ref().expect("it was there when this was made")
    }
}

/// A connection. It stays in its thread, whose counters it reads.
pub(crate) struct Session<'a> {
    shared: &'a Arc<Shared>,
    client: Option<Client>,
    /// Of the operations of the last request.
    times: OperationTimes,
    counters: ThreadCounters,
    /// The CPU of this thread that is counted already.
    cpu: u64,
}

impl<'a> Session<'a> {
    pub(crate) fn new(shared: &'a Arc<Shared>) -> Session<'a> {
        let counters = ThreadCounters::of_this_thread(shared.functions);
        Session { shared, client: None, times: OperationTimes::new(), counters, cpu: 0 }
    }

    pub(crate) fn answer(&mut self, request: &str) -> Result<Vec<String>, WorkerError> {
        let answer = self.reply(request);
        let now = clock(ClockId::ThreadCPUTime);
        self.shared.serving.fetch_add(now - self.cpu, Ordering::Relaxed);
        self.cpu = now;
        answer
    }

    fn reply(&mut self, request: &str) -> Result<Vec<String>, WorkerError> {
        let words: Vec<&str> = request.split_whitespace().collect();
        let number =
            |word: &str| word.parse::<u64>().map_err(|_| WorkerError::Request(request.to_string()));
        match words[..] {
            ["time", nanos, delay] => self.perform(Limit::Time(number(nanos)?), number(delay)?),
            ["count", operations, delay] => {
                self.perform(Limit::Operations(number(operations)?), number(delay)?)
            }
            ["client", kind, keys, seed, values] => {
                let kind = Kind::from_name(kind);
                let kind = kind.ok_or_else(|| WorkerError::Request(request.to_string()))?;
                let (keys, seed, values) = (number(keys)?, number(seed)?, number(values)?);
                self.client = Some(Client::new(kind, keys, seed, values));
                Ok(Vec::new())
            }
            ["thread"] => Ok(vec![rustix::thread::gettid().as_raw_nonzero().to_string()]),
            ["version"] => self.version(),
            ["settings"] => self.settings(),
            ["counters"] => self.shared.counters(),
            ["property", name] => {
                let opened = self.shared.open()?;
                let value = opened.get().property(name);
                let value = value.ok_or_else(|| WorkerError::NoProperty(name.to_string()))?;
                Ok(value.lines().map(str::to_string).collect())
            }
            ["read", seed] => {
                let opened = self.shared.open()?;
                let read = read_all(opened.get(), number(seed)?)?;
                Ok(vec![format!("{}\t{}", read.keys, read.as_loaded)])
            }
            ["write", "end"] => self.end_writer(),
            ["write", keys, seed, values, rate, when @ ("always" | "in-turns")] => {
                let is_in_turns = when == "in-turns";
                let [keys, seed, values, rate] =
                    [number(keys)?, number(seed)?, number(values)?, number(rate)?];
                let plan = WriterPlan { keys, seed, values, rate, is_in_turns };
                let writer = Writer::start(self.shared, plan);
                self.writer().replace(writer).map_or(Ok(()), |earlier| earlier.end().map(drop))?;
                Ok(Vec::new())
            }
            ["recreate"] => self.shared.recreate().map(|()| Vec::new()),
            ["flush"] => self.shared.open()?.get().flush().map(|()| Vec::new()),
            ["wait"] => self.wait().map(|()| Vec::new()),
            ["compact"] => {
                self.wait()?;
                self.shared.open()?.get().compact();
                self.wait().map(|()| Vec::new())
            }
            _ => Err(WorkerError::Request(request.to_string())),
        }
    }

    fn perform(&mut self, limit: Limit, delay: u64) -> Result<Vec<String>, WorkerError> {
        let opened = self.shared.open()?;
        let client = self.client.as_mut().ok_or(WorkerError::NoClient)?;
        let before = self.counters.read();
        let _at_work = self.shared.at_work.begin();
        let StretchResult { operations, nanos, rows, cpu, delays, delayed } =
            client.perform(opened.get(), (limit, delay), &mut self.times)?;
        for ((total, after), before) in
            self.shared.counted.iter().zip(self.counters.read()).zip(before)
        {
            total.fetch_add(after.saturating_sub(before), Ordering::Relaxed);
        }
        let numbers = [operations, nanos, rows, cpu, delays, delayed];
        let fields = numbers.iter().map(u64::to_string).chain([self.times.text()]);
        Ok(vec![fields.collect::<Vec<_>>().join("\t")])
    }

    fn writer(&self) -> MutexGuard<'_, Option<Writer>> {
        self.shared.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end_writer(&self) -> Result<Vec<String>, WorkerError> {
        let writer = self.writer().take().ok_or(WorkerError::NoWriter)?;
        let (keys, millis) = writer.end()?;
        Ok(vec![format!("{keys}\t{millis}")])
    }

    /// Flushes, and waits until no background work is left.
    fn wait(&self) -> Result<(), WorkerError> {
        let opened = self.shared.open()?;
        let database = opened.get();
        database.flush()?;
        let number = |name: &str| {
            database.number(name).ok_or_else(|| WorkerError::NoProperty(name.to_string()))
        };
        until_calm(PATIENCE, || {
            if number(ERRORS)? > 0 {
                return Err(WorkerError::Background);
            }
            for name in PENDING {
                if number(name)? > 0 {
                    return Ok(Some(name));
                }
            }
            Ok(None)
        })
    }

    fn options(&self) -> Result<String, WorkerError> {
        let newest = options_file::newest(&self.shared.folder)?;
        fs::read_to_string(&newest).map_err(|source| WorkerError::File { path: newest, source })
    }

    fn version(&self) -> Result<Vec<String>, WorkerError> {
        let version = options_file::version(&self.options()?).ok_or(WorkerError::NoVersion)?;
        Ok(vec![version])
    }

    fn settings(&self) -> Result<Vec<String>, WorkerError> {
        let options = options_file::options(&self.options()?);
        let mut rows: Vec<String> =
            options.into_iter().map(|(name, value)| format!("{name}\t{value}")).collect();
        let opened = self.shared.open()?;
        if let Some(bytes) = opened.get().property("rocksdb.block-cache-capacity") {
            rows.push(format!("block cache, bytes\t{bytes}"));
        }
        rows.extend(self.shared.settings.told().into_iter().map(|(a, b)| format!("{a}\t{b}")));
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_nothing_is_left_several_times_in_a_row() {
        let mut answers =
            [Some("a flush"), None, None, Some("a compaction"), None, None, None].into_iter();
        until_calm(PATIENCE, || Ok(answers.next().expect("it looked on after the end"))).unwrap();
        assert_eq!(answers.next(), None);
    }

    #[test]
    fn a_wait_for_work_that_does_not_end_is_an_error() {
        let error = until_calm(Duration::ZERO, || Ok(Some(PENDING[2]))).unwrap_err().to_string();
        assert!(error.contains("rocksdb.compaction-pending is not 0"), "{error}");
        let error = until_calm(PATIENCE, || Err(WorkerError::Background)).unwrap_err();
        assert!(matches!(error, WorkerError::Background));
    }

    #[test]
    fn counters_are_told_from_histograms() {
        assert_eq!(ticker("rocksdb.wal.bytes COUNT : 17"), Some("rocksdb.wal.bytes\t17".into()));
        let histogram = "rocksdb.db.get.micros P50 : 1.0 P95 : 2.0 COUNT : 3 SUM : 4";
        assert_eq!(ticker(histogram), None);
        assert_eq!(ticker(""), None);
    }
}
