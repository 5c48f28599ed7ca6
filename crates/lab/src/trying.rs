//! A rate that is tried for a service level: for how long it is measured.

use std::cell::RefCell;
use std::time::Duration;

use rqps_analysis::largest_rate::{IsKept, TriedRate, TriedSecond};
use rqps_load::{Order, Schedule, Until};
use rqps_plan::ServiceLevel;

use crate::arrivals::grace;

/// Before a try nothing is counted for this share of its time,
const RAMP: f64 = 0.1;
/// … it is longer by this share while it is undecided,
const MORE: f64 = 0.5;
/// … up to this multiple of its time.
const LONGEST: f64 = 3.0;

/// What ends in a shorter rest of a second belongs to the second before.
const SHORTEST_BLOCK: Duration = Duration::from_millis(500);

pub(crate) struct Trying {
    pub(crate) limit: Duration,
    pub(crate) ramp: Duration,
    more: Duration,
    longest: Duration,
    trial: RefCell<TriedRate>,
}

impl Trying {
    /// `time` is that of a try that is decided at once.
    pub(crate) fn new(level: ServiceLevel, per_second: f64, time: Duration) -> Trying {
        Trying {
            limit: level.limit.0,
            ramp: time.mul_f64(RAMP),
            more: time.mul_f64(MORE),
            longest: time.mul_f64(LONGEST),
            trial: RefCell::new(TriedRate::new(level.percentile, per_second)),
        }
    }

    /// So much was measured. Returns whether it is to be measured for longer.
    pub(crate) fn add(&self, blocks: Vec<TriedSecond>, elapsed: Duration) -> bool {
        let mut trial = self.trial.borrow_mut();
        trial.add(blocks, elapsed.as_secs_f64());
        let after = trial.seconds() + self.more.as_secs_f64();
        trial.kept() == IsKept::Undecided && after < 1.001 * self.longest.as_secs_f64()
    }

    /// The order of a client for another while, with arrivals of its own.
    pub(crate) fn longer(&self, order: &Order, piece: u64) -> Order {
        let Schedule::Poisson { per_second, seed } = order.schedule else { return *order };
        let operations = (per_second * self.more.as_secs_f64()).round() as u64;
        Order {
            schedule: Schedule::Poisson { per_second, seed: seed.wrapping_add(piece) },
            until: Until::OperationsWithin(operations, self.more + grace(self.more)),
        }
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.trial.borrow().kept_at_last()
    }
}

/// The seconds of a window as blocks.
#[derive(Default)]
pub(crate) struct TriedSeconds {
    blocks: Vec<TriedSecond>,
    /// Totals at the end of the last block, and when that was.
    seen: TriedSecond,
    at: Duration,
}

impl TriedSeconds {
    /// The totals at an instant of the window: a second has passed, or it has ended.
    pub(crate) fn see(&mut self, totals: TriedSecond, at: Duration) {
        let TriedSecond { operations, late } = self.seen;
        let block = TriedSecond {
            operations: totals.operations.saturating_sub(operations),
            late: totals.late.saturating_sub(late),
        };
        match self.blocks.last_mut() {
            Some(last) if at.saturating_sub(self.at) < SHORTEST_BLOCK => {
                last.operations += block.operations;
                last.late += block.late;
            }
            _ => self.blocks.push(block),
        }
        (self.seen, self.at) = (totals, at);
    }

    /// Those of a window that has ended; the next one begins.
    pub(crate) fn take(&mut self) -> Vec<TriedSecond> {
        self.at = Duration::ZERO;
        std::mem::take(&mut self.blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_blocks_and_a_short_rest_belongs_to_the_last_one() {
        let mut blocks = TriedSeconds::default();
        let block = |operations, late| TriedSecond { operations, late };
        let mut see = |operations, late, millis| {
            blocks.see(block(operations, late), Duration::from_millis(millis));
        };
        see(10, 1, 1_000);
        see(20, 1, 2_000);
        see(22, 2, 2_010);
        assert_eq!(blocks.take(), [block(10, 1), block(12, 1)]);
        blocks.see(block(30, 2), Duration::from_millis(900));
        assert_eq!(blocks.take(), [block(8, 0)], "another window begins with what was seen");
    }

    #[test]
    fn a_try_is_longer_while_it_is_undecided_up_to_three_times_its_time() {
        let level = "p50=5ms".parse().unwrap();
        let trying = Trying::new(level, 100.0, Duration::from_secs(20));
        assert_eq!(trying.ramp, Duration::from_secs(2));
        let undecided = |seconds: usize| {
            [TriedSecond { operations: 100, late: 100 }, TriedSecond { operations: 100, late: 0 }]
                .repeat(seconds / 2)
        };
        let mut times = vec![20];
        while trying.add(
            undecided(times[times.len() - 1]),
            Duration::from_secs(times[times.len() - 1] as u64),
        ) {
            times.push(10);
        }
        assert_eq!(times.iter().sum::<usize>(), 60);
        assert!(trying.is_kept(), "half of them are within the limit");
    }
}
