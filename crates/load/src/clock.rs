//! Monotonic time in nanoseconds, and sleeping until an instant of it.

use std::num::NonZero;
use std::time::Duration;

use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::halt::Halt;

/// The longest sleep between two checks of the halt flag.
const LOOK: u64 = 50_000_000;

/// CLOCK_MONOTONIC in nanoseconds.
#[inline]
pub fn now() -> u64 {
    read(ClockId::Monotonic)
}

/// The clock of a worker: the machine's, or that of a test.
pub(crate) trait Clock {
    fn now(&self) -> u64;
    /// Sleeps until the absolute `deadline`, or until `halt` ends the run.
    fn sleep_until(&self, deadline: u64, halt: &Halt);
    /// The thread is about to sleep until exact instants.
    fn sharpen(&self) {}
}

/// CLOCK_MONOTONIC.
pub(crate) struct Monotonic;

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> u64 {
        now()
    }

    fn sleep_until(&self, deadline: u64, halt: &Halt) {
        sleep_until(deadline, halt);
    }

    /// The kernel may delay a wake-up by the slack of the thread, 50 us by default (prctl(2)).
    fn sharpen(&self) {
        // Where it is forbidden, instants are less exact.
        let _ = set_current_timer_slack(NonZero::new(1));
    }
}

/// CPU time of the calling thread in nanoseconds (CLOCK_THREAD_CPUTIME_ID).
#[inline]
pub(crate) fn thread_cpu() -> u64 {
    read(ClockId::ThreadCPUTime)
}

#[inline]
fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Until an absolute time, so that a late wake-up does not shift later ones.
fn sleep_until(deadline: u64, halt: &Halt) {
    loop {
        let now = now();
        if now >= deadline || halt.is_abandoned() {
            return;
        }
        let wake = Duration::from_nanos(deadline.min(now + LOOK));
        let time = Timespec { tv_sec: wake.as_secs() as i64, tv_nsec: wake.subsec_nanos().into() };
        // A signal ends the sleep early, and the loop continues it.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &time);
    }
}
