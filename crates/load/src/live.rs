//! What a worker shows while it runs: its own cache line, written by it alone.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

/// Totals of one worker since it was started, readable from any thread.
#[derive(Debug, Default)]
pub struct Live {
    counters: CachePadded<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    operations: AtomicU64,
    cpu_user: AtomicU64,
    cpu_system: AtomicU64,
    voluntary: AtomicU64,
    involuntary: AtomicU64,
}

/// What a thread cost: CPU in microseconds, and context switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCost {
    pub cpu_user: u64,
    pub cpu_system: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
}

impl Live {
    pub fn operations(&self) -> u64 {
        self.counters.operations.load(Ordering::Relaxed)
    }

    /// Cost of the worker's thread as of some milliseconds ago, or of the end of its last run.
    pub fn cost(&self) -> ThreadCost {
        let counters = &self.counters;
        ThreadCost {
            cpu_user: counters.cpu_user.load(Ordering::Relaxed),
            cpu_system: counters.cpu_system.load(Ordering::Relaxed),
            voluntary_switches: counters.voluntary.load(Ordering::Relaxed),
            involuntary_switches: counters.involuntary.load(Ordering::Relaxed),
        }
    }

    #[inline]
    pub(crate) fn set_operations(&self, operations: u64) {
        self.counters.operations.store(operations, Ordering::Relaxed);
    }

    /// Publishes the calling thread's cost.
    pub(crate) fn publish_cost(&self) {
        let cost = thread_cost();
        let counters = &self.counters;
        counters.cpu_user.store(cost.cpu_user, Ordering::Relaxed);
        counters.cpu_system.store(cost.cpu_system, Ordering::Relaxed);
        counters.voluntary.store(cost.voluntary_switches, Ordering::Relaxed);
        counters.involuntary.store(cost.involuntary_switches, Ordering::Relaxed);
    }
}

/// getrusage(RUSAGE_THREAD) of the calling thread.
fn thread_cost() -> ThreadCost {
    // SAFETY: rusage is plain numbers, for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a valid selector and a live rusage.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    ThreadCost {
        cpu_user: micros(usage.ru_utime),
        cpu_system: micros(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    }
}
