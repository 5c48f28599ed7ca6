//! Lines of threads that wait for a server: above the live view while there is one.

use std::sync::{Mutex, PoisonError};

use super::super::output::note;
use super::screen::{Screen, View};

type Teller = Box<dyn Fn(&str) -> bool + Send>;

/// Of the current screen, or the last one.
static ABOVE: Mutex<Option<Teller>> = Mutex::new(None);

/// From now on, reports when a thread has waited for a server for some seconds.
pub(crate) fn tell_of_waiting() {
    rqps_wire::tell_of_waiting(say);
}

/// Prints a line, above the live view if there is one.
pub(crate) fn say(line: &str) {
    let above = ABOVE.lock().unwrap_or_else(PoisonError::into_inner);
    if !above.as_ref().is_some_and(|above| above(line)) {
        note(line);
    }
}

/// From now on, prints lines above this screen, until it is gone.
pub(super) fn tell_above(screen: &Screen<impl View>) {
    *ABOVE.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(screen.teller()));
}
