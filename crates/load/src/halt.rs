//! How a run is told to end before its time.

use std::sync::atomic::{AtomicU8, Ordering};

const RUNNING: u8 = 0;
const LEADERS_DONE: u8 = 1;
const ABANDONED: u8 = 2;

/// Read by every worker before each operation, written a few times in a run.
#[derive(Debug, Default)]
pub struct Halt(AtomicU8);

impl Halt {
    pub(crate) fn reset(&self) {
        self.0.store(RUNNING, Ordering::Relaxed);
    }

    /// Those who run until the others are done may stop.
    pub(crate) fn leaders_done(&self) {
        self.0.fetch_max(LEADERS_DONE, Ordering::Relaxed);
    }

    /// Everyone stops after the operation in hand: an error, or the user's wish.
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
