//! How long an answer is waited for: as long as somebody wants it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::Error;

/// After so long a silence it is asked whether the answer is wanted still.
pub(crate) const SILENCE: Duration = Duration::from_secs(2);

static WANTED: AtomicBool = AtomicBool::new(true);

/// Says whether anybody in this process wants the answers of servers. Those that nobody wants end with
/// [`Error::Interrupted`] when a server has said nothing for some seconds; not so on connections that
/// were handed over ([`crate::Connection::hand_over`]), nor while a connection is made or a server does
/// not read.
pub fn want_answers(wanted: bool) {
    WANTED.store(wanted, Ordering::Relaxed);
}

/// Whether to wait on: after a silence, and for those who ask a server again and again until it has done
/// something.
pub fn wait_on() -> Result<(), Error> {
    match WANTED.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err(Error::Interrupted),
    }
}
