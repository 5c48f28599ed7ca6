//! Lines of threads that wait for a server: above the live view while there is one.

use std::sync::{Mutex, PoisonError};

use super::super::output::note;
use super::screen::{Screen, View};

type Teller = Box<dyn Fn(&str) -> bool + Send>;

/// Of the screen that is there now, or was last.
static ABOVE: Mutex<Option<Teller>> = Mutex::new(None);

/// Has it told from now on when a server has been waited for for some seconds.
pub(crate) fn tell_of_waiting() {
    rqps_wire::tell_of_waiting(say);
}

/// Tells a line, above the live view if there is one.
pub(crate) fn say(line: &str) {
    let above = ABOVE.lock().unwrap_or_else(PoisonError::into_inner);
    if !above.as_ref().is_some_and(|above| above(line)) {
        note(line);
    }
}

/// Lines go above this screen from now on, until it is gone.
pub(super) fn tell_above(screen: &Screen<impl View>) {
    *ABOVE.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(screen.teller()));
}
