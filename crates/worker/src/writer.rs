//! A writer beside tests that read: it puts drawn keys at a rate, so that the database has
//! something to compact, and is not counted. Where databases take turns, it writes only for the
//! time in which clients perform operations: while its process is frozen, nothing falls due.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::WorkerError;
use crate::data::ROW_BYTES;
use crate::operations::{Client, Kind, Limit, OperationTimes};
use crate::shared::Shared;

/// How often it puts what is due.
const TICK: Duration = Duration::from_millis(5);

/// What it writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriterPlan {
    pub(crate) keys: u64,
    pub(crate) seed: u64,
    pub(crate) values: u64,
    /// Bytes of keys and values in a second.
    pub(crate) rate: u64,
    /// Only in seconds in which clients are at work.
    pub(crate) is_in_turns: bool,
}

/// The writer of a process, which has no more than one at a time.
#[derive(Default)]
pub(crate) struct OneWriter(Mutex<Option<Writer>>);

impl OneWriter {
    /// Ends an earlier one first.
    pub(crate) fn start(&self, shared: &Arc<Shared>, plan: WriterPlan) -> Result<(), WorkerError> {
        let mut one = self.lock();
        if let Some(earlier) = one.take() {
            earlier.end()?;
        }
        *one = Some(Writer::start(shared, plan));
        Ok(())
    }

    /// Returns the keys that it has put, and the milliseconds of work that it had.
    pub(crate) fn end(&self) -> Result<(u64, u128), WorkerError> {
        let writer = self.lock().take().ok_or(WorkerError::NoWriter)?;
        writer.end()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Writer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Writer {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Result<u64, WorkerError>>,
    shared: Arc<Shared>,
    /// What the clock of work showed when it began.
    begun: Duration,
}

impl Writer {
    fn start(shared: &Arc<Shared>, plan: WriterPlan) -> Writer {
        let is_over = Arc::new(AtomicBool::new(false));
        let begun = shared.at_work.elapsed();
        let (told, of_thread) = (is_over.clone(), shared.clone());
        let thread = thread::spawn(move || {
            let shared = of_thread;
            let _always = (!plan.is_in_turns).then(|| shared.at_work.begin());
            let mut client = Client::new(Kind::Overwrite, plan.keys, plan.seed, plan.values);
            let (mut written, mut times) = (0, OperationTimes::new());
            while !told.load(Ordering::Relaxed) {
                thread::sleep(TICK);
                let seconds = (shared.at_work.elapsed() - begun).as_secs_f64();
                let due = seconds * plan.rate as f64 / ROW_BYTES as f64;
                let left = (due as u64).saturating_sub(written);
                // The database is not held for longer, so that it can be closed.
                let opened = shared.open()?;
                client.perform(opened.get(), (Limit::Operations(left), 0), &mut times)?;
                written += left;
            }
            Ok(written)
        });
        Writer { is_over, thread, shared: shared.clone(), begun }
    }

    /// Ends it. Returns the keys that it has put, and the milliseconds of work that it had.
    fn end(self) -> Result<(u64, u128), WorkerError> {
        self.is_over.store(true, Ordering::Relaxed);
        let millis = (self.shared.at_work.elapsed() - self.begun).as_millis();
        let written =
            self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((written, millis))
    }
}
