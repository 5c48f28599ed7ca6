//! How long an execution may take, and what it means when one takes longer.
//!
//! A limit of a contender is a multiple of the slowest execution of the baseline that is known. An
//! operation that no arm had before may be slow on all of them. So one that took too long is
//! executed on the baseline, too, before it counts against its contender.

use std::time::Duration;

use rqps_load::{Cancel, Failure, Overdue, Relay, Slice, Slicing, Turns};
use rqps_workload::TimeLimit;

use super::blame::driven;
use crate::error::LabError;

/// A contender may take so many times as long as the slowest execution of the baseline,
const FACTOR: u32 = 50;
/// and always this long.
pub(super) const LEAST: Duration = Duration::from_secs(10);
/// The baseline has nothing to be compared with; what takes longer probably waits for ever.
const OF_BASE: Duration = Duration::from_secs(600);

/// The relay of a test, which ends what takes too long.
pub(super) struct LimitedRelay {
    pub(super) relay: Relay,
    /// None if operations may take as long as they like.
    pub(super) limit: Option<TimeLimit>,
    /// The number of arms, and the place of the baseline.
    pub(super) arms: usize,
    pub(super) base: usize,
    /// The slowest execution of the baseline that is known.
    pub(super) slowest: Duration,
    /// See [`LEAST`].
    pub(super) least: Duration,
}

impl LimitedRelay {
    pub(super) fn run(
        &mut self,
        turns: &Turns,
        slicing: Slicing,
        progress: &mut dyn FnMut(usize),
        cancel: &Cancel,
    ) -> Result<Vec<Vec<Slice>>, LabError> {
        self.relay.limit(self.limits());
        match self.relay.run(turns, slicing, progress, cancel) {
            Ok(slices) => {
                self.learn(&slices);
                Ok(slices)
            }
            Err(Failure::Overdue(overdue)) => Err(self.judged(overdue, cancel)),
            Err(failure) => Err(driven(failure)),
        }
    }

    fn limits(&self) -> Vec<Duration> {
        let of = |contender: usize| match self.limit? {
            TimeLimit::After(limit) => Some(limit),
            TimeLimit::Auto if contender == self.base => Some(OF_BASE),
            TimeLimit::Auto => Some((self.slowest * FACTOR).max(self.least)),
        };
        (0..self.arms).filter_map(of).collect()
    }

    fn learn(&mut self, slices: &[Vec<Slice>]) {
        let own = slices.iter().flatten().filter(|slice| slice.contender == self.base);
        let each = own.map(|slice| slice.nanos / slice.operations.max(1));
        self.slowest = self.slowest.max(Duration::from_nanos(each.max().unwrap_or(0)));
    }

    /// What an execution that took too long means: the baseline executes the same.
    fn judged(&mut self, overdue: Overdue, cancel: &Cancel) -> LabError {
        let Overdue { contender, operation, limit } = overdue;
        let late = |slot, base| LabError::Overdue { slot, limit, base };
        if contender == self.base {
            return late(contender, None);
        }
        let again = Turns { from: Some(operation), ..Turns::all(vec![self.base]) };
        let took = match self.relay.run(&again, Slicing::by_count(1, 0), &mut |_| {}, cancel) {
            Ok(slices) => slices.iter().flatten().map(|slice| slice.nanos).max().unwrap_or(0),
            Err(Failure::Overdue(of_base)) => {
                return LabError::Overdue { slot: self.base, limit: of_base.limit, base: None };
            }
            Err(failure) => return driven(failure),
        };
        let took = Duration::from_nanos(took);
        self.slowest = self.slowest.max(took);
        match self.limit {
            Some(TimeLimit::Auto) if took * FACTOR > limit => LabError::SlowOnAll(took),
            _ => late(contender, Some(took)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::sleep;

    use rqps_load::{COUNTERS, Effect, Halt, Work};
    use rqps_wire::{Error, Interrupter};

    use super::*;

    /// An arm of which each operation takes this time, or is cancelled.
    struct Sleeper {
        of_operation: fn(u64) -> Duration,
        next: u64,
        is_cancelled: Arc<AtomicBool>,
    }

    impl Work for Sleeper {
        fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
            self.next += 1;
            Ok(())
        }

        fn execute(&mut self) -> Result<Effect, Error> {
            let mut left = (self.of_operation)(self.next - 1);
            while !left.is_zero() && !self.is_cancelled.swap(false, Ordering::Relaxed) {
                let step = left.min(Duration::from_millis(2));
                sleep(step);
                left -= step;
            }
            Ok(Effect::read(1))
        }

        fn seek(&mut self, operation: u64) {
            self.next = operation;
        }

        fn interrupter(&self) -> Result<Interrupter, Error> {
            let is_cancelled = self.is_cancelled.clone();
            let cancel = move || {
                is_cancelled.store(true, Ordering::Relaxed);
                Ok(())
            };
            Ok(Interrupter::Server(UnixStream::pair()?.0.into(), Box::new(cancel)))
        }
    }

    const SHORT: Duration = Duration::from_millis(2);
    const ENDLESS: Duration = Duration::from_secs(1000);

    /// Both arms execute operations 7, 8 and 9 in turn, the baseline first.
    fn ended(limit: TimeLimit, arms: [fn(u64) -> Duration; 2]) -> LabError {
        let work = arms.map(|of_operation| {
            let is_cancelled = Arc::default();
            Box::new(Sleeper { of_operation, next: 0, is_cancelled }) as Box<dyn Work>
        });
        let relay = Relay::start(vec![work.into()], Box::new(|_| [0; COUNTERS])).unwrap();
        let slowest = Duration::ZERO;
        let (limit, least) = (Some(limit), Duration::from_millis(60));
        let mut relay = LimitedRelay { relay, limit, arms: 2, base: 0, slowest, least };
        let turns = Turns { from: Some(7), ..Turns::all(vec![0, 1, 1, 0, 0, 1]) };
        let one = Slicing::by_count(1, 0);
        let error = relay.run(&turns, one, &mut |_| {}, &Cancel::default()).unwrap_err();
        relay.relay.finish();
        error
    }

    const AFTER: TimeLimit = TimeLimit::After(Duration::from_millis(150));

    #[test]
    fn an_execution_that_takes_too_long_is_ended_and_the_baseline_does_the_same() {
        let error = ended(AFTER, [|_| SHORT, |number| if number == 8 { ENDLESS } else { SHORT }]);
        let LabError::Overdue { slot: 1, limit, base: Some(base) } = error else {
            panic!("{error}")
        };
        assert!(limit >= 20 * SHORT && base >= SHORT && base < limit, "{base:?}");
    }

    #[test]
    fn what_the_baseline_does_not_end_either_is_no_fault_of_the_contender() {
        // The contender is the first to execute operation 8.
        let slow: fn(u64) -> Duration = |number| if number == 8 { ENDLESS } else { SHORT };
        let error = ended(AFTER, [slow, slow]);
        assert!(matches!(error, LabError::Overdue { slot: 0, base: None, .. }), "{error}");
    }

    #[test]
    fn what_takes_long_on_the_baseline_too_may_take_longer() {
        // The contender is the first to execute operation 8.
        let slow: fn(u64) -> Duration =
            |number| if number == 8 { Duration::from_millis(200) } else { SHORT };
        let error = ended(TimeLimit::Auto, [slow, slow]);
        assert!(matches!(error, LabError::SlowOnAll(took) if took > 60 * SHORT), "{error}");
    }

    #[test]
    fn limits_grow_with_what_the_baseline_takes() {
        let relay = Relay::start(vec![Vec::new()], Box::new(|_| [0; COUNTERS])).unwrap();
        let limit = Some(TimeLimit::Auto);
        let mut relay =
            LimitedRelay { relay, limit, arms: 3, base: 1, slowest: SHORT, least: LEAST };
        assert_eq!(relay.limits(), [LEAST, OF_BASE, LEAST]);
        let slice = |contender: usize, operations: u64, seconds: u64| Slice {
            contender,
            operations,
            nanos: 1_000_000_000 * seconds,
            ..Slice::default()
        };
        relay.learn(&[vec![slice(0, 1, 90), slice(1, 1, 2), slice(1, 10, 5)]]);
        assert_eq!(relay.limits()[0], Duration::from_secs(100));
        relay.limit = None;
        assert!(relay.limits().is_empty());
        relay.relay.finish();
    }
}
