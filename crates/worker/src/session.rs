//! What a connection may ask for, a line of words each, and the answers.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::time::ClockId;

use crate::WorkerError;
use crate::check::read_all;
use crate::database::ThreadCounters;
use crate::operations::{Client, Kind, Limit, OperationTimes, StretchResult, clock};
use crate::options_file;
use crate::shared::Shared;
use crate::writer::{OneWriter, WriterPlan};

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

/// A connection. It stays in its thread, whose counters it reads.
pub(crate) struct Session<'a> {
    shared: &'a Arc<Shared>,
    writer: &'a OneWriter,
    client: Option<Client>,
    /// Of the operations of the last request.
    times: OperationTimes,
    counters: ThreadCounters,
    /// The CPU of this thread that is counted already.
    cpu: u64,
}

impl<'a> Session<'a> {
    pub(crate) fn new(shared: &'a Arc<Shared>, writer: &'a OneWriter) -> Session<'a> {
        let counters = ThreadCounters::of_this_thread(shared.functions);
        Session { shared, writer, client: None, times: OperationTimes::new(), counters, cpu: 0 }
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
            ["write", "end"] => {
                let (keys, millis) = self.writer.end()?;
                Ok(vec![format!("{keys}\t{millis}")])
            }
            ["write", keys, seed, values, rate, when @ ("always" | "in-turns")] => {
                let is_in_turns = when == "in-turns";
                let [keys, seed, values, rate] =
                    [number(keys)?, number(seed)?, number(values)?, number(rate)?];
                let plan = WriterPlan { keys, seed, values, rate, is_in_turns };
                self.writer.start(self.shared, plan).map(|()| Vec::new())
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
}
