//! The loop that performs operations: when to start and to end, and what to record.

use std::sync::Arc;
use std::time::Duration;

use rqps_wire::{Error, ErrorClass};

use crate::clock::{Clock, Monotonic};
use crate::halt::Halt;
use crate::live::Live;
use crate::recorder::{Recorder, Tally};
use crate::schedule::{Schedule, Timetable};
use crate::work::{Portion, Work};

/// How often a worker publishes its cost: often within the second of a reading, and rarely enough
/// for the system call not to matter.
const PUBLISH: u64 = 10_000_000;
/// What another process performs at once in a closed loop: much more than a message costs, and
/// little compared with a second, for which there is a row.
const AT_ONCE: (Duration, u64) = (Duration::from_millis(20), 5_000);

/// When a worker's run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    Operations(u64),
    /// At the first operation that ends after this time.
    Elapsed(Duration),
    /// After so many operations; before that, at the first one that ends after this time.
    OperationsWithin(u64, Duration),
    /// When all workers without this order have ended.
    LeadersDone,
}

pub(crate) struct Worker<C = Monotonic> {
    work: Box<dyn Work>,
    live: Arc<Live>,
    /// Created at the first run.
    recorder: Option<Recorder>,
    clock: C,
}

impl Worker {
    pub(crate) fn new(work: Box<dyn Work>, live: Arc<Live>) -> Self {
        Worker { work, live, recorder: None, clock: Monotonic }
    }
}

impl<C: Clock> Worker<C> {
    /// Runs until the order ends it, and returns when it ended. `epoch` is the start of the run for
    /// all workers.
    pub(crate) fn run(
        &mut self,
        schedule: Schedule,
        until: Until,
        epoch: u64,
        halt: &Halt,
    ) -> Result<u64, Error> {
        let recorder = self.recorder.get_or_insert_with(|| Recorder::new(epoch));
        let operations = match until {
            Until::Operations(operations) | Until::OperationsWithin(operations, _) => {
                Some(operations)
            }
            Until::Elapsed(_) | Until::LeadersDone => None,
        };
        let mut timetable = Timetable::new(schedule, operations);
        let deadline = match until {
            Until::Elapsed(time) | Until::OperationsWithin(_, time) => {
                epoch + time.as_nanos() as u64
            }
            Until::Operations(_) | Until::LeadersDone => u64::MAX,
        };
        if schedule != Schedule::Closed {
            self.clock.sharpen();
        }
        let limit = operations.unwrap_or(u64::MAX);
        let in_time = self.live.limit().unwrap_or(u64::MAX);
        let follows = until == Until::LeadersDone;
        let mut may_perform = schedule == Schedule::Closed;
        let before = recorder.tally.operations;
        let mut ended = epoch;
        self.live.publish_cost();
        let mut publish_at = ended + PUBLISH;
        loop {
            let intended = timetable.next().map(|offset| epoch + offset);
            let done = recorder.tally.operations - before;
            if done >= limit || ended >= deadline || (follows && halt.are_leaders_done()) {
                // The whole time of the last operation belongs to the run.
                if let Some(intended) = intended {
                    self.clock.sleep_until(intended.min(deadline), halt);
                    ended = self.clock.now();
                }
                break;
            }
            if may_perform {
                let portion = match operations {
                    Some(all) => Portion::Operations(AT_ONCE.1.min(all - done)),
                    None => Portion::Time(
                        AT_ONCE.0.min(Duration::from_nanos(deadline.saturating_sub(ended))),
                    ),
                };
                if halt.is_abandoned() {
                    break;
                }
                match self.work.perform(portion, 0) {
                    None => may_perform = false,
                    Some(performed) => {
                        let performed = performed?;
                        ended = self.clock.now();
                        recorder.record_all(ended, &performed);
                        self.live.publish_cost();
                        self.live.set_operations(recorder.tally.operations);
                        continue;
                    }
                }
            }
            self.work.make(halt)?;
            if let Some(intended) = intended {
                self.clock.sleep_until(intended, halt);
            }
            let rest = self.work.rest();
            if rest > 0 {
                let over = ended + rest;
                self.clock.sleep_until(over.min(deadline), halt);
                if over >= deadline {
                    ended = self.clock.now();
                    break;
                }
            }
            if halt.is_abandoned() {
                break;
            }
            let started = self.clock.now();
            let effect = loop {
                match self.work.execute() {
                    Ok(effect) => break effect,
                    Err(error) if error.class() == ErrorClass::Retry && !halt.is_abandoned() => {
                        recorder.tally.retries += 1;
                    }
                    Err(error) => return Err(error),
                }
            };
            ended = self.clock.now();
            recorder.record(intended, started, ended, effect);
            if intended.is_some_and(|intended| ended - intended.min(started) > in_time) {
                self.live.count_late();
            }
            if ended >= publish_at {
                self.live.publish_cost();
                publish_at = ended + PUBLISH;
            }
            self.live.set_operations(recorder.tally.operations);
        }
        self.live.publish_cost();
        Ok(ended)
    }

    /// Discards all records so far.
    pub(crate) fn forget(&mut self) {
        self.recorder = None;
        self.work.forget();
        self.live.set_operations(0);
        self.live.forget_late();
    }

    pub(crate) fn finish(self) -> Tally {
        self.recorder.map_or_else(Tally::new, |recorder| recorder.finish(self.clock.now()))
    }
}

#[cfg(test)]
mod tests;
