//! Two workers that must keep in step: inserts and the deletes that follow them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::halt::Halt;

/// How many operations one worker may be ahead of the other. The original's queues hold eight
/// statements, and one more is being executed.
const WINDOW: u64 = 9;

/// How often a waiting worker checks whether the run was abandoned.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Insert = 0,
    Delete = 1,
}

/// Counts the operations of each side. Neither gets further than [`WINDOW`] ahead, so a slow side
/// slows the other, and the number of rows stays constant.
#[derive(Debug, Default)]
pub struct Pair {
    done: [CachePadded<AtomicU64>; 2],
    waiting: AtomicUsize,
    mutex: Mutex<()>,
    moved: Condvar,
}

impl Pair {
    /// Waits until `side` may do its next operation; returns early when the run is abandoned.
    pub fn wait(&self, side: Side, halt: &Halt) {
        if !self.is_ahead(side) {
            return;
        }
        let mut guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        while self.is_ahead(side) && !halt.is_abandoned() {
            let waited = self.moved.wait_timeout(guard, LOOK);
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Records that `side` has done one more.
    pub fn advance(&self, side: Side) {
        self.done[side as usize].fetch_add(1, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            let _guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
            self.moved.notify_all();
        }
    }

    fn is_ahead(&self, side: Side) -> bool {
        let mine = self.done[side as usize].load(Ordering::SeqCst);
        let theirs = self.done[1 - side as usize].load(Ordering::SeqCst);
        mine >= theirs + WINDOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_side_gets_more_than_nine_ahead() {
        let (pair, halt) = (Pair::default(), Halt::default());
        let furthest = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for side in [Side::Insert, Side::Delete] {
                let (pair, halt, furthest) = (&pair, &halt, &furthest);
                scope.spawn(move || {
                    for _ in 0..5_000 {
                        pair.wait(side, halt);
                        pair.advance(side);
                        let [a, b] = [0, 1].map(|s| pair.done[s].load(Ordering::SeqCst));
                        // The other side may move between the two loads, so only the lead of this
                        // side over the loaded value counts.
                        let (mine, theirs) = if side == Side::Insert { (a, b) } else { (b, a) };
                        furthest.fetch_max(mine.saturating_sub(theirs), Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(furthest.load(Ordering::SeqCst) <= WINDOW);
        assert_eq!(pair.done[0].load(Ordering::SeqCst), 5_000);
    }

    #[test]
    fn an_abandoned_run_frees_the_side_that_waits() {
        let (pair, halt) = (Pair::default(), Halt::default());
        for _ in 0..WINDOW {
            pair.advance(Side::Insert);
        }
        assert!(pair.is_ahead(Side::Insert));
        halt.abandon();
        pair.wait(Side::Insert, &halt);
    }
}
