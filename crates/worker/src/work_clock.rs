//! A clock that goes on while clients perform operations, and stands between them. A process that
//! is frozen between its turns owes nothing for that time, although other clocks go on.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(crate) struct WorkClock(Mutex<WorkedTime>);

#[derive(Debug, Default)]
struct WorkedTime {
    /// How many are at work.
    clients: u32,
    /// When the first of them began.
    since: Option<Instant>,
    /// Of those who have ended.
    earlier: Duration,
}

/// Somebody at work, until this is dropped.
pub(crate) struct AtWork<'a>(&'a WorkClock);

impl WorkClock {
    pub(crate) fn begin(&self) -> AtWork<'_> {
        let mut work = self.work();
        work.clients += 1;
        work.since.get_or_insert_with(Instant::now);
        AtWork(self)
    }

    /// The time in which somebody was at work.
    pub(crate) fn elapsed(&self) -> Duration {
        self.work().elapsed()
    }

    fn work(&self) -> MutexGuard<'_, WorkedTime> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WorkedTime {
    fn elapsed(&self) -> Duration {
        self.earlier + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        let mut work = self.0.work();
        work.clients -= 1;
        if work.clients == 0 {
            work.earlier = work.elapsed();
            work.since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    const LONG: Duration = Duration::from_millis(30);

    #[test]
    fn it_stands_while_nobody_is_at_work() {
        let clock = WorkClock::default();
        sleep(LONG);
        assert_eq!(clock.elapsed(), Duration::ZERO);
        let (one, other) = (clock.begin(), clock.begin());
        sleep(LONG);
        drop(one);
        let so_far = clock.elapsed();
        assert!(so_far >= LONG);
        sleep(LONG);
        drop(other);
        let in_all = clock.elapsed();
        assert!(in_all >= so_far + LONG, "two at once count once, and the second one went on");
        sleep(LONG);
        assert_eq!(clock.elapsed(), in_all);
    }
}
