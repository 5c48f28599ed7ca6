//! The wish to stop, as everything asks for it that may take long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often a sleep looks up.
const LOOK: Duration = Duration::from_millis(50);

/// Whether the user wants to stop. Clones are the same wish; the default is one that nobody has.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

/// What can be stopped is the same, whoever may want that.
impl PartialEq for Cancel {
    fn eq(&self, _: &Cancel) -> bool {
        true
    }
}

impl Eq for Cancel {}

/// The user wants to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Cancelled;

impl Cancel {
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// For what goes on step by step.
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

    /// What a signal sets.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
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
}
