//! A client of a whole run, whose executions are ended in the server when they take too long. In
//! slices the lab does that, since there the baseline says what is too long.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rqps_load::{Effect, Halt, Work};
use rqps_wire::{Error, Interrupter};

use super::limited::GRACE;
use crate::task::TimeLimit;

/// How long an execution may take where nothing else is said: one that takes longer probably waits
/// for ever.
const USUAL: Duration = Duration::from_secs(600);
/// How often the time is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Milliseconds since the first call, from 1.
fn now() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_millis() as u64 + 1
}

/// What the client and the thread that watches it share.
#[derive(Default)]
struct ExecutionWatch {
    /// When the execution began; 0 if there is none.
    begun: AtomicU64,
    has_ended_it: AtomicBool,
}

pub(super) struct WatchedClient<W> {
    client: W,
    query: String,
    limit: Duration,
    watch: Arc<ExecutionWatch>,
    /// Ends the thread when it is dropped.
    _ended: Sender<()>,
}

impl<W: Work> WatchedClient<W> {
    pub(super) fn new(client: W, query: &str, limit: TimeLimit) -> Result<Self, Error> {
        let limit = limit.or(USUAL);
        let interrupter = client.interrupter()?;
        let watch = Arc::new(ExecutionWatch::default());
        let (ended, is_over) = channel::<()>();
        let watched = Arc::clone(&watch);
        thread::spawn(move || {
            while is_over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let begun = watched.begun.load(Ordering::Acquire);
                if begun == 0 || now() - begun < limit.as_millis() as u64 {
                    continue;
                }
                watched.has_ended_it.store(true, Ordering::Release);
                interrupter.cancel_statement();
                let is_left = || watched.begun.load(Ordering::Acquire) == begun;
                if is_over.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) && is_left() {
                    interrupter.interrupt();
                }
                return;
            }
        });
        let query = query.to_string();
        Ok(WatchedClient { client, query, limit, watch, _ended: ended })
    }
}

impl<W: Work> Work for WatchedClient<W> {
    fn make(&mut self, halt: &Halt) -> Result<(), Error> {
        self.client.make(halt)
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        self.watch.begun.store(now(), Ordering::Release);
        let done = self.client.execute();
        self.watch.begun.store(0, Ordering::Release);
        if self.watch.has_ended_it.load(Ordering::Acquire) {
            let WatchedClient { query, limit, .. } = self;
            return Err(Error::Client(format!(
                "an execution of '{query}' took longer than {} s and was ended. Set timeout in its \
                 file to allow more",
                limit.as_secs_f64()
            )));
        }
        done
    }

    fn seek(&mut self, operation: u64) {
        self.client.seek(operation);
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.client.interrupter()
    }
}
