//! Monotonic time in nanoseconds, and sleeping until an instant of it.

use std::time::Duration;

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::halt::Halt;

/// The longest sleep between two looks at the halt flag.
const LOOK: u64 = 50_000_000;

/// CLOCK_MONOTONIC in nanoseconds.
#[inline]
pub fn now() -> u64 {
    read(ClockId::Monotonic)
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

/// Sleeps until `deadline`, absolutely, so that a late wake-up does not shift what follows. Returns
/// early when `halt` ends the run.
pub(crate) fn sleep_until(deadline: u64, halt: &Halt) {
    loop {
        let now = now();
        if now >= deadline || halt.is_abandoned() {
            return;
        }
        let wake = Duration::from_nanos(deadline.min(now + LOOK));
        let wake = Timespec::try_from(wake).expect("it is soon");
        // A signal ends the sleep early, and the loop goes on with it.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &wake);
    }
}
