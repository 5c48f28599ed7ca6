//! Waiting for an answer: until cancelled, with a message to the user.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rqps_system::Cancel;

use crate::error::Error;

/// The interval of silence after which cancellation is checked.
pub(crate) const SILENCE: Duration = Duration::from_millis(100);
/// The interval of silence after which a message says what is waited for.
const WORTH_A_WORD: Duration = Duration::from_secs(5);
/// The limit for connecting and logging in, unless one is given.
const LOGIN: Duration = Duration::from_secs(30);
/// A longer statement is cut in messages.
const SHOWN: usize = 60;

type Listener = Box<dyn Fn(&str) + Send + Sync>;

static LISTENER: OnceLock<Listener> = OnceLock::new();

/// Sets the listener for messages when control work has waited for a server for some seconds: for
/// which server, and for what. The first listener stays.
pub fn tell_of_waiting(listener: impl Fn(&str) + Send + Sync + 'static) {
    // Only one is ever set by the program.
    let _ = LISTENER.set(Box::new(listener));
}

/// What a connection waits for, and how long it may.
pub(crate) struct Waits {
    address: String,
    /// The current statement, cut.
    what: String,
    /// While the connection is made: its deadline, and the limit behind that.
    deadline: Option<(Instant, Duration)>,
    /// Cancellation of the wait.
    cancel: Cancel,
    /// A wait was cancelled.
    is_given_up: Cell<bool>,
}

impl Waits {
    pub(crate) fn to_log_in(address: String, limit: Option<Duration>, cancel: Cancel) -> Self {
        let limit = limit.unwrap_or(LOGIN);
        let deadline = Some((Instant::now() + limit, limit));
        let is_given_up = Cell::new(false);
        Waits { address, what: "the login".to_string(), deadline, cancel, is_given_up }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The connection is made: there is no limit any more.
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

    /// An error if the time to make the connection is over.
    pub(crate) fn in_time(&self) -> Result<(), Error> {
        match self.deadline {
            Some((end, limit)) if Instant::now() >= end => {
                Err(Error::TooLate { address: self.address.clone(), limit })
            }
            _ => Ok(()),
        }
    }

    /// An error if the wait is cancelled.
    pub(crate) fn wait_on(&self) -> Result<(), Error> {
        self.is_given_up.set(self.cancel.is_requested());
        Ok(self.cancel.check()?)
    }

    /// Whether the server may still be busy with what nobody waits for any more.
    pub(crate) fn is_given_up(&self) -> bool {
        self.is_given_up.get()
    }

    /// Whether to continue waiting after another interval of silence.
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
