//! Monotonic time in nanoseconds, and sleeping until an instant of it.

use std::time::Duration;

use crate::halt::Halt;

/// The longest sleep between two checks of the halt flag.
const LOOK: u64 = 50_000_000;

/// CLOCK_MONOTONIC in nanoseconds.
#[inline]
pub fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC)
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
        // SAFETY: the call takes numbers, and changes the calling thread alone.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
    }
}

/// CPU time of the calling thread in nanoseconds (CLOCK_THREAD_CPUTIME_ID).
#[inline]
pub(crate) fn thread_cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid clock and a live timespec; the call cannot fail for them.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Until an absolute time, so that a late wake-up does not shift later ones.
fn sleep_until(deadline: u64, halt: &Halt) {
    loop {
        let now = now();
        if now >= deadline || halt.is_abandoned() {
            return;
        }
        let wake = deadline.min(now + LOOK);
        let wake = Duration::from_nanos(wake);
        let time = libc::timespec {
            tv_sec: wake.as_secs() as libc::time_t,
            tv_nsec: wake.subsec_nanos() as libc::c_long,
        };
        // SAFETY: a valid clock, and a live timespec; the remainder is not requested. A signal ends
        // the sleep early, and the loop continues it.
        unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &time,
                std::ptr::null_mut(),
            );
        }
    }
}
