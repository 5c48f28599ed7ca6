//! Ctrl-C while rqps itself waits for a server: for maintenance, checks, sizes, plans, counters.
//! Clients have crews that look after them.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How often it is asked whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Does work whose waiting for servers that say nothing ends as soon as the user wants to stop.
pub fn interruptible<T>(cancelled: &(dyn Fn() -> bool + Sync), work: impl FnOnce() -> T) -> T {
    let (end, ended) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let is_over = |time| ended.recv_timeout(time) != Err(RecvTimeoutError::Timeout);
            while !cancelled() {
                if is_over(LOOK) {
                    return;
                }
            }
            rqps_wire::want_answers(false);
            let _ = ended.recv();
            rqps_wire::want_answers(true);
        });
        let done = work();
        drop(end);
        done
    })
}

/// Whether answers are wanted is said for the whole process: a test that says it, or waits for a
/// server, is alone in that.
#[cfg(test)]
pub(crate) fn alone_with_answers() -> impl Drop {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::time::Instant;

    use rqps_wire::{Address, Login, Target, Terms};

    use super::*;
    use crate::LabError;

    /// When the user wants to stop.
    const WHEN: Duration = Duration::from_millis(500);

    #[test]
    fn a_server_that_says_nothing_is_waited_for_until_the_user_wants_to_stop() {
        let _alone = alone_with_answers();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        // Connections are made, and nobody serves them.
        let _listener = UnixListener::bind(&path).unwrap();
        let target = Target::Postgres(Login {
            address: Address::Unix { path },
            user: "ann".to_string(),
            password: None,
            database: "db".to_string(),
            parameters: Vec::new(),
            setup: Vec::new(),
            terms: Terms::default(),
        });
        let begun = Instant::now();
        let cancelled = || begun.elapsed() > WHEN;
        let connect = || target.connect().map(drop).map_err(LabError::from);
        let ended = interruptible(&cancelled, connect);
        assert!(matches!(ended, Err(LabError::Interrupted)), "{ended:?}");
        assert!(begun.elapsed() >= WHEN, "{:?}", begun.elapsed());
    }
}
