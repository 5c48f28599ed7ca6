//! The flag that ends a run early.

use std::sync::atomic::{AtomicU8, Ordering};

const RUNNING: u8 = 0;
const LEADERS_DONE: u8 = 1;
const ABANDONED: u8 = 2;

/// Every worker reads it before each operation; it is written a few times in a run.
#[derive(Debug, Default)]
pub struct Halt(AtomicU8);

impl Halt {
    pub(crate) fn reset(&self) {
        self.0.store(RUNNING, Ordering::Relaxed);
    }

    /// Workers that run until the others are done may stop.
    pub(crate) fn leaders_done(&self) {
        self.0.fetch_max(LEADERS_DONE, Ordering::Relaxed);
    }

    /// Every worker stops after its current operation: after an error, or a cancellation.
    pub(crate) fn abandon(&self) {
        self.0.store(ABANDONED, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn are_leaders_done(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= LEADERS_DONE
    }

    #[inline]
    pub fn is_abandoned(&self) -> bool {
        self.0.load(Ordering::Relaxed) == ABANDONED
    }
}
