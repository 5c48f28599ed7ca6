//! Cancellation, which everything checks that may take long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a sleep checks for cancellation.
const LOOK: Duration = Duration::from_millis(50);

/// Whether the user wants to stop. Clones share the state; the default is never cancelled.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    requested: Arc<AtomicBool>,
    /// The work that this one is a part of.
    whole: Option<Arc<Cancel>>,
}

/// Values that can be cancelled are equal in any state of cancellation.
impl PartialEq for Cancel {
    fn eq(&self, _: &Cancel) -> bool {
        true
    }
}

impl Eq for Cancel {}

/// The user has cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Cancelled;

impl Cancel {
    /// For a part of the work: cancelled with all of it, or by itself.
    pub fn part(&self) -> Cancel {
        Cancel { requested: Arc::default(), whole: Some(Arc::new(self.clone())) }
    }

    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
            || self.whole.as_ref().is_some_and(|whole| whole.is_requested())
    }

    /// An error if cancelled, for work in steps.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_requested() { Err(Cancelled) } else { Ok(()) }
    }

    pub fn sleep_until(&self, deadline: Instant) -> Result<(), Cancelled> {
        loop {
            self.check()?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK));
        }
    }

    /// The flag for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.requested.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_with_the_wish_to_stop() {
        let cancel = Cancel::default();
        let soon = Instant::now() + Duration::from_millis(1);
        assert_eq!(cancel.sleep_until(soon), Ok(()));
        let other = cancel.clone();
        let asleep = std::thread::spawn(move || {
            other.sleep_until(Instant::now() + Duration::from_secs(600))
        });
        cancel.request();
        assert_eq!(asleep.join().unwrap(), Err(Cancelled));
        assert!(!Cancel::default().is_requested());
    }

    #[test]
    fn a_part_ends_with_the_whole_but_not_the_whole_with_a_part() {
        let whole = Cancel::default();
        let (part, other) = (whole.part(), whole.part());
        part.request();
        assert!(part.is_requested() && !other.is_requested() && !whole.is_requested());
        whole.request();
        assert!(other.is_requested());
    }
}
