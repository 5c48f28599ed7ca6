//! Ends clients that block after their run was abandoned: first their statements, then, if that
//! does not help, their connections.

use rqps_wire::Interrupter;

use crate::clock::now;

const SECOND: u64 = 1_000_000_000;
/// How long a client may take for its current operation before the server is asked to end it.
const PATIENCE: u64 = SECOND / 5;
/// … and then before its connection is closed.
const GRACE: u64 = 2 * SECOND;

#[derive(Default)]
pub(crate) struct Ending {
    /// When the next step is due; none before the run is abandoned.
    due: Option<u64>,
    /// The servers were asked.
    is_asked: bool,
}

impl Ending {
    /// The statements are ended at the next look.
    pub(crate) fn at_once() -> Ending {
        Ending { due: Some(0), is_asked: false }
    }

    /// Called again and again after the run was abandoned, with those that are still busy.
    pub(crate) fn look<'i>(&mut self, busy: impl Iterator<Item = &'i Interrupter>) {
        if now() < *self.due.get_or_insert_with(|| now() + PATIENCE) {
            return;
        }
        match std::mem::replace(&mut self.is_asked, true) {
            // Each may have to wait for its server.
            false => std::thread::scope(|scope| {
                busy.for_each(|one| drop(scope.spawn(|| one.cancel_statement())));
            }),
            true => busy.for_each(Interrupter::interrupt),
        }
        self.due = Some(now() + GRACE);
    }
}
