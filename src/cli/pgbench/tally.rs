//! What is counted of a run: of all transactions, of each script and of each command.

use std::ops::AddAssign;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rqps_workload::pgbench::Watcher;

/// Times in microseconds, as sums.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) count: u64,
    sum: f64,
    squares: f64,
    pub(super) max: f64,
}

impl Times {
    pub(super) fn add(&mut self, micros: f64) {
        self.count += 1;
        self.sum += micros;
        self.squares += micros * micros;
        self.max = self.max.max(micros);
    }

    /// Milliseconds; 0 of none.
    pub(super) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 / 1e3 }
    }

    /// The deviation of the population, in milliseconds, as in pgbench.
    pub(super) fn deviation(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let mean = self.sum / self.count as f64;
        (self.squares / self.count as f64 - mean * mean).max(0.0).sqrt() / 1e3
    }

    /// Those that came after `earlier`; the longest of all.
    fn since(&self, earlier: &Times) -> Times {
        Times {
            count: self.count - earlier.count,
            sum: self.sum - earlier.sum,
            squares: self.squares - earlier.squares,
            max: self.max,
        }
    }
}

impl AddAssign for Times {
    fn add_assign(&mut self, other: Times) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
        self.max = self.max.max(other.max);
    }
}

/// Transactions by how they ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TransactionTally {
    /// Of those that were processed.
    pub(super) latency: Times,
    /// From when they were due to when they began.
    pub(super) lag: Times,
    pub(super) skipped: u64,
    pub(super) serialization_failures: u64,
    pub(super) deadlock_failures: u64,
    /// Transactions that took several tries, and these tries.
    pub(super) retried: u64,
    pub(super) retries: u64,
    /// Slower than the limit.
    pub(super) late: u64,
}

impl TransactionTally {
    pub(super) fn processed(&self) -> u64 {
        self.latency.count
    }

    pub(super) fn failures(&self) -> u64 {
        self.serialization_failures + self.deadlock_failures
    }

    pub(super) fn all(&self) -> u64 {
        self.processed() + self.skipped + self.failures()
    }

    pub(super) fn since(&self, earlier: &TransactionTally) -> TransactionTally {
        TransactionTally {
            latency: self.latency.since(&earlier.latency),
            lag: self.lag.since(&earlier.lag),
            skipped: self.skipped - earlier.skipped,
            serialization_failures: self.serialization_failures - earlier.serialization_failures,
            deadlock_failures: self.deadlock_failures - earlier.deadlock_failures,
            retried: self.retried - earlier.retried,
            retries: self.retries - earlier.retries,
            late: self.late - earlier.late,
        }
    }
}

impl AddAssign for TransactionTally {
    fn add_assign(&mut self, other: TransactionTally) {
        self.latency += other.latency;
        self.lag += other.lag;
        self.skipped += other.skipped;
        self.serialization_failures += other.serialization_failures;
        self.deadlock_failures += other.deadlock_failures;
        self.retried += other.retried;
        self.retries += other.retries;
        self.late += other.late;
    }
}

/// Executions of a command.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Executions {
    pub(super) times: Times,
    pub(super) failures: u64,
    pub(super) retries: u64,
}

/// What a client has done: by script, and by command of each script.
#[derive(Clone, Debug)]
pub(super) struct ClientTally {
    pub(super) scripts: Vec<TransactionTally>,
    pub(super) commands: Vec<Vec<Executions>>,
    /// When the last command ended, or the transaction began.
    pub(super) last: Instant,
}

impl ClientTally {
    /// `commands` is how many each script has.
    pub(super) fn new(commands: &[usize]) -> ClientTally {
        ClientTally {
            scripts: vec![TransactionTally::default(); commands.len()],
            commands: commands.iter().map(|count| vec![Executions::default(); *count]).collect(),
            last: Instant::now(),
        }
    }

    pub(super) fn total(&self) -> TransactionTally {
        let mut total = TransactionTally::default();
        self.scripts.iter().for_each(|script| total += *script);
        total
    }
}

impl AddAssign<&ClientTally> for ClientTally {
    fn add_assign(&mut self, other: &ClientTally) {
        for (sum, script) in self.scripts.iter_mut().zip(&other.scripts) {
            *sum += *script;
        }
        let all = self.commands.iter_mut().flatten().zip(other.commands.iter().flatten());
        for (sum, command) in all {
            sum.times += command.times;
            sum.failures += command.failures;
            sum.retries += command.retries;
        }
    }
}

/// A tally that the progress reads while its client writes.
#[derive(Clone)]
pub(super) struct SharedTally(Arc<Mutex<ClientTally>>);

impl SharedTally {
    pub(super) fn new(tally: ClientTally) -> SharedTally {
        SharedTally(Arc::new(Mutex::new(tally)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ClientTally> {
        // Numbers are whole, whatever a thread died of.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Times the commands of a client, and prints what `debug` shows.
pub(super) struct CommandWatcher {
    pub(super) tally: SharedTally,
    pub(super) is_timed: bool,
    pub(super) print: fn(&str),
}

impl Watcher for CommandWatcher {
    /// The clock is read once for each command.
    fn ended(&mut self, script: usize, command: usize) {
        if self.is_timed {
            let now = Instant::now();
            let mut tally = self.tally.lock();
            let micros = now.duration_since(tally.last).as_secs_f64() * 1e6;
            tally.commands[script][command].times.add(micros);
            tally.last = now;
        }
    }

    fn shows(&mut self, script: usize, command: usize, value: &str) {
        (self.print)(&format!("debug(script={script},command={}): {value}", command + 1));
    }
}
