//! Ctrl-C while rqps itself waits for a server: for maintenance, checks, sizes, plans, counters. Clients have
//! crews that look after them.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How often it is asked whether the user wants to stop.
const LOOK: Duration = Duration::from_secs(1);
/// How long what is under way may take to end by itself, as for clients.
const GRACE: Duration = Duration::from_secs(2);

/// Does work whose waiting for servers that say nothing ends some seconds after the user wanted to stop.
pub(crate) fn interruptible<T>(
    cancelled: &(dyn Fn() -> bool + Sync),
    work: impl FnOnce() -> T,
) -> T {
    let (end, ended) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let is_over = |time| ended.recv_timeout(time) != Err(RecvTimeoutError::Timeout);
            while !cancelled() {
                if is_over(LOOK) {
                    return;
                }
            }
            if !is_over(GRACE) {
                rqps_wire::want_answers(false);
                let _ = ended.recv();
                rqps_wire::want_answers(true);
            }
        });
        let done = work();
        drop(end);
        done
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::time::Instant;

    use rqps_wire::{Address, Login, Target};

    use super::*;
    use crate::LabError;

    #[test]
    fn a_server_that_says_nothing_is_waited_for_until_the_user_wants_to_stop() {
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
        });
        let begun = Instant::now();
        let cancelled = || begun.elapsed() > GRACE;
        let connect = || target.connect().map(drop).map_err(LabError::from);
        let ended = interruptible(&cancelled, connect);
        assert!(matches!(ended, Err(LabError::Interrupted)), "{ended:?}");
        assert!(begun.elapsed() >= 2 * GRACE, "{:?}", begun.elapsed());
    }
}
