//! What one operation of each test does, and the loop that performs operations and times them.

use std::hint::black_box;

use hdrhistogram::Histogram;
use hdrhistogram::iterators::IterationValue;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::time::{ClockId, clock_gettime};

use crate::WorkerError;
use crate::data::{Key, VALUE_BYTES, ValuePool, below, key};
use crate::database::Database;

/// The tests of db_bench that the worker performs, by its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Puts keys in order, without the write-ahead log.
    FillSeq,
    ReadRandom,
    MultiReadRandom,
    FwdRange,
    RevRange,
    /// The same beside a writer.
    ReadWhileWriting,
    FwdRangeWhileWriting,
    RevRangeWhileWriting,
    /// Puts keys drawn at random, with the log.
    Overwrite,
}

/// Keys of a `multireadrandom`; each counts as an operation.
pub(crate) const BATCH: usize = 10;
/// Rows of a range.
pub const RANGE: u64 = 10;
/// How much of a value a range copies.
const COPIED: usize = 256;

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::FillSeq,
        Kind::ReadRandom,
        Kind::MultiReadRandom,
        Kind::FwdRange,
        Kind::RevRange,
        Kind::ReadWhileWriting,
        Kind::FwdRangeWhileWriting,
        Kind::RevRangeWhileWriting,
        Kind::Overwrite,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::FillSeq => "fillseq",
            Kind::ReadRandom => "readrandom",
            Kind::MultiReadRandom => "multireadrandom",
            Kind::FwdRange => "fwdrange",
            Kind::RevRange => "revrange",
            Kind::ReadWhileWriting => "readwhilewriting",
            Kind::FwdRangeWhileWriting => "fwdrangewhilewriting",
            Kind::RevRangeWhileWriting => "revrangewhilewriting",
            Kind::Overwrite => "overwrite",
        }
    }

    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub fn writes(self) -> bool {
        matches!(self, Kind::FillSeq | Kind::Overwrite)
    }

    /// Whether a writer is at work beside it, whose operations do not count.
    pub fn is_beside_writer(self) -> bool {
        use Kind::{FwdRangeWhileWriting, ReadWhileWriting, RevRangeWhileWriting};
        matches!(self, ReadWhileWriting | FwdRangeWhileWriting | RevRangeWhileWriting)
    }

    /// How many operations a call counts as.
    pub fn worth(self) -> u64 {
        if self == Kind::MultiReadRandom { BATCH as u64 } else { 1 }
    }
}

/// When a stretch of operations ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// At the first operation that ends after so many nanoseconds.
    Time(u64),
    Operations(u64),
}

/// What was done, in nanoseconds where it is time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StretchResult {
    /// Calls.
    pub(crate) operations: u64,
    pub(crate) nanos: u64,
    /// Keys that were found, read or put.
    pub(crate) rows: u64,
    /// CPU of this thread.
    pub(crate) cpu: u64,
    /// Delays that nothing interrupted, and the time spent in them.
    pub(crate) delays: u64,
    pub(crate) delayed: u64,
}

/// If a delay takes this much longer than it should, something else had the CPU.
const INTERRUPTION: u64 = 50_000;

/// The time of each operation, in nanoseconds up to an hour.
#[derive(Debug)]
pub(crate) struct OperationTimes(Histogram<u64>);

impl OperationTimes {
    /// Two digits: a third one would make the bins of usual times fill half of a CPU's first cache.
    pub(crate) fn new() -> OperationTimes {
        OperationTimes(
            Histogram::new_with_bounds(1, 3_600_000_000_000, 2).expect("the bounds are in order"),
        )
    }

    /// OperationTimes and how often they were seen, as `2047:3 2063:1`.
    pub(crate) fn text(&self) -> String {
        let bin = |bin: IterationValue<u64>| {
            let middle = self.0.median_equivalent(bin.value_iterated_to());
            format!("{middle}:{}", bin.count_at_value())
        };
        self.0.iter_recorded().map(bin).collect::<Vec<_>>().join(" ")
    }
}

/// The operations of one client.
pub(crate) struct Client {
    kind: Kind,
    random: Xoshiro256PlusPlus,
    values: ValuePool,
    /// How many keys there are.
    keys: u64,
    /// The number of the next put.
    next: u64,
}

impl Client {
    /// `seed` is the client's own; all clients have the same values.
    pub(crate) fn new(kind: Kind, keys: u64, seed: u64, values: u64) -> Client {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Client { kind, random, values: ValuePool::new(values), keys, next: 0 }
    }

    /// Performs operations up to the limit. Each takes `delay` nanoseconds longer. `times` are of
    /// these operations then.
    pub(crate) fn perform(
        &mut self,
        database: &Database,
        (limit, delay): (Limit, u64),
        times: &mut OperationTimes,
    ) -> Result<StretchResult, WorkerError> {
        times.0.clear();
        let stretch = OperationStretch { limit, delay, times };
        match self.kind {
            Kind::ReadRandom | Kind::ReadWhileWriting => stretch.repeat(|| self.get(database)),
            Kind::MultiReadRandom => stretch.repeat(|| self.get_batch(database)),
            Kind::FwdRange | Kind::FwdRangeWhileWriting => {
                stretch.repeat(|| self.range(database, true))
            }
            Kind::RevRange | Kind::RevRangeWhileWriting => {
                stretch.repeat(|| self.range(database, false))
            }
            Kind::FillSeq => stretch.repeat(|| self.put_next(database)),
            Kind::Overwrite => stretch.repeat(|| self.put_again(database)),
        }
    }

    fn draw(&mut self) -> u64 {
        below(&mut self.random, self.keys)
    }

    fn get(&mut self, database: &Database) -> Result<u64, WorkerError> {
        let number = self.draw();
        match database.get(&key(number))? {
            Some(VALUE_BYTES) => Ok(1),
            Some(length) => Err(WorkerError::Length { number, length }),
            None => Err(WorkerError::Missing(number)),
        }
    }

    fn get_batch(&mut self, database: &Database) -> Result<u64, WorkerError> {
        let keys: [Key; BATCH] = std::array::from_fn(|_| key(self.draw()));
        match database.get_all(&keys, VALUE_BYTES)? {
            found if found == BATCH as u64 => Ok(found),
            found => Err(WorkerError::MissingOf { found, wanted: BATCH as u64 }),
        }
    }

    fn range(&mut self, database: &Database, is_forward: bool) -> Result<u64, WorkerError> {
        let mut cursor = database.iterator();
        cursor.seek(&key(self.draw()));
        let (mut rows, mut copy) = (0, [0; COPIED]);
        while rows < RANGE {
            let is_more = cursor.visit(is_forward, |key, value| {
                let length = value.len().min(COPIED);
                copy[..length].copy_from_slice(&value[..length]);
                black_box((key, &copy));
            });
            if !is_more {
                cursor.check()?;
                break;
            }
            rows += 1;
        }
        match rows {
            0 => Err(WorkerError::EmptyRange),
            rows => Ok(rows),
        }
    }

    fn put_next(&mut self, database: &Database) -> Result<u64, WorkerError> {
        let number = self.next;
        self.next += 1;
        database.put(&key(number), self.values.value(number), false).map(|()| 1)
    }

    fn put_again(&mut self, database: &Database) -> Result<u64, WorkerError> {
        let number = self.draw();
        let value = self.values.value(self.next);
        self.next += 1;
        database.put(&key(number), value, true).map(|()| 1)
    }
}

/// Operations in sequence.
struct OperationStretch<'a> {
    limit: Limit,
    /// Nanoseconds that each takes longer.
    delay: u64,
    times: &'a mut OperationTimes,
}

impl OperationStretch<'_> {
    /// Repeats an operation, which returns its rows, up to the limit. An operation is timed from
    /// the end of the one before, as the clock is read once for each.
    fn repeat(
        self,
        mut operation: impl FnMut() -> Result<u64, WorkerError>,
    ) -> Result<StretchResult, WorkerError> {
        let OperationStretch { limit, delay, times } = self;
        let (time, most) = match limit {
            Limit::Time(time) => (time, u64::MAX),
            Limit::Operations(most) => (u64::MAX, most),
        };
        let mut done = StretchResult::default();
        let cpu = clock(ClockId::ThreadCPUTime);
        let began = clock(ClockId::Monotonic);
        while done.nanos < time && done.operations < most {
            done.rows += operation()?;
            done.operations += 1;
            let mut ended = clock(ClockId::Monotonic);
            if delay > 0 {
                let (from, mut spent) = (ended, 0);
                while spent < delay {
                    ended = clock(ClockId::Monotonic);
                    spent = ended - from;
                }
                if spent < delay + INTERRUPTION {
                    done.delays += 1;
                    done.delayed += spent;
                }
            }
            let nanos = ended - began;
            times.0.saturating_record(nanos - done.nanos);
            done.nanos = nanos;
        }
        done.cpu = clock(ClockId::ThreadCPUTime) - cpu;
        Ok(done)
    }
}

/// Nanoseconds of a clock.
#[inline]
pub(crate) fn clock(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_found_by_its_name() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(Kind::from_name("readseq"), None);
    }

    fn stretch(
        limit: Limit,
        delay: u64,
        operation: impl FnMut() -> Result<u64, WorkerError>,
    ) -> Result<StretchResult, WorkerError> {
        OperationStretch { limit, delay, times: &mut OperationTimes::new() }.repeat(operation)
    }

    #[test]
    fn the_time_of_each_operation_is_told() {
        let (mut times, mut number) = (OperationTimes::new(), 0);
        let slow_third = || {
            number += 1;
            if number == 3 {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            Ok(1)
        };
        let limit = Limit::Operations(10);
        OperationStretch { limit, delay: 0, times: &mut times }.repeat(slow_third).unwrap();
        let text = times.text();
        let bins: Vec<(u64, u64)> = text
            .split(' ')
            .map(|bin| bin.split_once(':').unwrap())
            .map(|(nanos, count)| (nanos.parse().unwrap(), count.parse().unwrap()))
            .collect();
        assert_eq!(bins.iter().map(|bin| bin.1).sum::<u64>(), 10, "{text}");
        assert!(bins.last().unwrap().0 >= 19_800_000, "{text}");
        assert_eq!(OperationTimes::new().text(), "");
    }

    #[test]
    fn a_stretch_ends_by_count_or_with_the_operation_that_ends_after_its_time() {
        let done = stretch(Limit::Operations(7), 0, || Ok(3)).unwrap();
        assert_eq!((done.operations, done.rows, done.delays), (7, 21, 0));
        let done = stretch(Limit::Time(2_000_000), 0, || Ok(1)).unwrap();
        assert!(done.nanos >= 2_000_000 && done.operations == done.rows, "{done:?}");
        assert_eq!(stretch(Limit::Operations(0), 0, || Ok(1)).unwrap().operations, 0);
    }

    #[test]
    fn a_delay_is_in_the_time_of_its_operation_and_told() {
        let done = stretch(Limit::Operations(20), 100_000, || Ok(1)).unwrap();
        assert!(done.nanos >= 20 * 100_000, "{done:?}");
        assert!(done.delays <= 20 && done.delayed >= done.delays * 100_000, "{done:?}");
    }

    #[test]
    fn an_error_ends_a_stretch() {
        let error = stretch(Limit::Operations(5), 0, || Err(WorkerError::Missing(4)));
        assert_eq!(error.unwrap_err().to_string(), "key 4 was not found");
    }
}
