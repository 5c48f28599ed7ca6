//! Executions that are ended after a time.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rqps_wire::Interrupter;

use crate::task::TimeLimit;

/// How long a server may take to end a statement, before its connection is closed.
const GRACE: Duration = Duration::from_secs(2);

impl TimeLimit {
    /// Where there is no time of a baseline.
    pub(super) fn or(self, usual: Duration) -> Duration {
        match self {
            TimeLimit::Auto => usual,
            TimeLimit::After(limit) => limit,
        }
    }
}

/// Executes something on a connection, and ends it in the server after the limit. Returns what it
/// came to, and whether it was ended.
pub(super) fn within<T>(
    limit: Duration,
    interrupter: &Interrupter,
    execute: impl FnOnce() -> T,
) -> (T, bool) {
    let (ended, is_over) = channel::<()>();
    thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let goes_on = |time| is_over.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            let is_late = goes_on(limit);
            if is_late {
                interrupter.cancel_statement();
                if goes_on(GRACE) {
                    interrupter.interrupt();
                }
            }
            is_late
        });
        let done = execute();
        drop(ended);
        (done, watch.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
