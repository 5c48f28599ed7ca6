//! Live values of a worker while it runs: a cache line of its own, which only it writes.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

/// Totals of one worker, readable from any thread: its operations since the last reset, and the
/// cost of its thread since it was started.
#[derive(Debug, Default)]
pub struct Live {
    counters: CachePadded<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    operations: AtomicU64,
    /// Of them, those that took longer than the limit from when they were due.
    late: AtomicU64,
    /// In nanoseconds; 0 if there is none.
    limit: AtomicU64,
    cpu_user: AtomicU64,
    cpu_system: AtomicU64,
    voluntary: AtomicU64,
    involuntary: AtomicU64,
}

/// Cost of a thread: CPU in microseconds, and context switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCost {
    pub cpu_user: u64,
    pub cpu_system: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// Bytes that the thread read from storage, and bytes that it passed to write(2) and its like;
    /// not in [`Live::cost`].
    pub read_bytes: u64,
    pub write_bytes: u64,
}

impl ThreadCost {
    /// The difference from `earlier` to this.
    pub fn since(&self, earlier: &ThreadCost) -> ThreadCost {
        ThreadCost {
            cpu_user: self.cpu_user.saturating_sub(earlier.cpu_user),
            cpu_system: self.cpu_system.saturating_sub(earlier.cpu_system),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(earlier.write_bytes),
        }
    }
}

impl std::ops::AddAssign for ThreadCost {
    fn add_assign(&mut self, other: Self) {
        self.cpu_user += other.cpu_user;
        self.cpu_system += other.cpu_system;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
    }
}

/// The kernel counts a thread's reads in blocks of this size (getrusage(2),
/// task_io_accounting_ops.h).
const BLOCK: u64 = 512;

impl Live {
    pub fn operations(&self) -> u64 {
        self.counters.operations.load(Ordering::Relaxed)
    }

    /// Cost of the worker's thread some milliseconds ago, or at the end of its last run.
    pub fn cost(&self) -> ThreadCost {
        let counters = &self.counters;
        ThreadCost {
            cpu_user: counters.cpu_user.load(Ordering::Relaxed),
            cpu_system: counters.cpu_system.load(Ordering::Relaxed),
            voluntary_switches: counters.voluntary.load(Ordering::Relaxed),
            involuntary_switches: counters.involuntary.load(Ordering::Relaxed),
            ..ThreadCost::default()
        }
    }

    /// The operations since the last reset that took longer than the limit from when they were due.
    pub fn late(&self) -> u64 {
        self.counters.late.load(Ordering::Relaxed)
    }

    pub(crate) fn set_limit(&self, nanos: u64) {
        self.counters.limit.store(nanos, Ordering::Relaxed);
    }

    /// In nanoseconds, if there is one.
    pub(crate) fn limit(&self) -> Option<u64> {
        Some(self.counters.limit.load(Ordering::Relaxed)).filter(|limit| *limit > 0)
    }

    pub(crate) fn count_late(&self) {
        self.counters.late.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn forget_late(&self) {
        self.counters.late.store(0, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn set_operations(&self, operations: u64) {
        self.counters.operations.store(operations, Ordering::Relaxed);
    }

    /// Publishes the calling thread's cost.
    pub(crate) fn publish_cost(&self) {
        let cost = thread_usage();
        let counters = &self.counters;
        counters.cpu_user.store(cost.cpu_user, Ordering::Relaxed);
        counters.cpu_system.store(cost.cpu_system, Ordering::Relaxed);
        counters.voluntary.store(cost.voluntary_switches, Ordering::Relaxed);
        counters.involuntary.store(cost.involuntary_switches, Ordering::Relaxed);
    }
}

/// Cost of the calling thread, including its writes.
pub(crate) fn thread_cost() -> ThreadCost {
    ThreadCost { write_bytes: written().unwrap_or(0), ..thread_usage() }
}

/// getrusage(RUSAGE_THREAD) of the calling thread.
fn thread_usage() -> ThreadCost {
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
        read_bytes: usage.ru_inblock as u64 * BLOCK,
        write_bytes: 0,
    }
}

thread_local! {
    /// The calling thread's own, for its lifetime.
    static IO: Option<File> = File::open("/proc/thread-self/io").ok();
}

/// Bytes that the calling thread passed to write(2) and its like. Not `ru_oublock`, which counts
/// whole folios of the page cache when a byte of them becomes dirty.
fn written() -> Option<u64> {
    let mut text = [0; 256];
    let length = IO.with(|io| io.as_ref()?.read_at(&mut text, 0).ok())?;
    let mut lines = str::from_utf8(&text[..length]).ok()?.lines();
    lines.find_map(|line| line.strip_prefix("wchar: "))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_charged_for_the_pages_that_it_wrote_and_not_for_their_folios() {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = directory.path().join("file");
        let file = File::create(path).unwrap();
        for megabyte in 0..16 {
            file.write_all_at(&[0; 1 << 20], megabyte << 20).unwrap();
        }
        file.sync_all().unwrap();
        let before = thread_cost();
        for page in [100, 500, 900, 1300, 1700] {
            file.write_all_at(&[1; 8192], page * 8192).unwrap();
        }
        assert_eq!(thread_cost().since(&before).write_bytes, 5 * 8192);
    }
}
