//! How long an answer is waited for: as long as somebody wants it, with a word to who waits.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rqps_system::Cancel;

use crate::error::Error;

/// After so long a silence it is asked whether the answer is wanted still.
pub(crate) const SILENCE: Duration = Duration::from_millis(100);
/// After so long a silence of a server it is told what is waited for.
const WORTH_A_WORD: Duration = Duration::from_secs(5);
/// Connecting and logging in take no longer, unless a limit is given.
const LOGIN: Duration = Duration::from_secs(30);
/// A longer statement is told by its begin.
const SHOWN: usize = 60;

type Listener = Box<dyn Fn(&str) + Send + Sync>;

static LISTENER: OnceLock<Listener> = OnceLock::new();

/// Has a line told when control work has waited for a server for some seconds: which server, and
/// for what. The first listener stays.
pub fn tell_of_waiting(listener: impl Fn(&str) + Send + Sync + 'static) {
    // Only one is ever set by the program.
    let _ = LISTENER.set(Box::new(listener));
}

/// What a connection waits for, and how long it may.
pub(crate) struct Waits {
    address: String,
    /// The statement at hand, cut.
    what: String,
    /// While the connection is made: the end of it, and the limit that the end comes from.
    deadline: Option<(Instant, Duration)>,
    /// Whether the answer is wanted no more.
    cancel: Cancel,
}

impl Waits {
    pub(crate) fn to_log_in(address: String, limit: Option<Duration>, cancel: Cancel) -> Self {
        let limit = limit.unwrap_or(LOGIN);
        let deadline = Some((Instant::now() + limit, limit));
        Waits { address, what: "the login".to_string(), deadline, cancel }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The connection is made: from now on there is no limit.
    pub(crate) fn logged_in(&mut self) {
        self.deadline = None;
    }

    pub(crate) fn ask(&mut self, sql: &str) {
        self.what.clear();
        self.what.extend(sql.chars().take(SHOWN));
        if self.what.len() < sql.len() {
            self.what.push('…');
        }
    }

    /// Whether there is time left to make the connection in.
    pub(crate) fn in_time(&self) -> Result<(), Error> {
        match self.deadline {
            Some((end, limit)) if Instant::now() >= end => {
                Err(Error::TooLate { address: self.address.clone(), limit })
            }
            _ => Ok(()),
        }
    }

    /// Whether the answer is wanted still.
    pub(crate) fn wait_on(&self) -> Result<(), Error> {
        Ok(self.cancel.check()?)
    }

    /// Whether to wait on after one more silence.
    #[cold]
    pub(crate) fn after_silence(&self, silences: &mut u32) -> Result<(), Error> {
        self.wait_on()?;
        self.in_time()?;
        *silences += 1;
        if SILENCE * *silences == WORTH_A_WORD
            && let Some(listener) = LISTENER.get()
        {
            let (address, what) = (&self.address, rqps_system::printable(&self.what));
            let seconds = WORTH_A_WORD.as_secs();
            listener(&format!("waiting for {address}, silent for {seconds} s: {what}"));
        }
        Ok(())
    }
}
