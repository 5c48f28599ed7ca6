//! A writer beside tests that read: it puts drawn keys at a rate, so that the database has
//! something to compact, and is not counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::WorkerError;
use crate::data::ROW_BYTES;
use crate::operations::{Client, Kind, Limit};
use crate::session::Shared;

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
}

pub(crate) struct Writer {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Result<u64, WorkerError>>,
    begun: Instant,
}

impl Writer {
    pub(crate) fn start(shared: &Arc<Shared>, plan: WriterPlan) -> Writer {
        let (shared, is_over) = (shared.clone(), Arc::new(AtomicBool::new(false)));
        let (told, begun) = (is_over.clone(), Instant::now());
        let thread = thread::spawn(move || {
            let mut client = Client::new(Kind::Overwrite, plan.keys, plan.seed, plan.values);
            let mut written = 0;
            while !told.load(Ordering::Relaxed) {
                thread::sleep(TICK);
                let due = begun.elapsed().as_secs_f64() * plan.rate as f64 / ROW_BYTES as f64;
                let left = (due as u64).saturating_sub(written);
                // The database is not held for longer, so that it can be closed.
                let opened = shared.open()?;
                client.perform(opened.get(), Limit::Operations(left), 0)?;
                written += left;
            }
            Ok(written)
        });
        Writer { is_over, thread, begun }
    }

    /// Ends it. Returns the keys that it has put, and the milliseconds that it had.
    pub(crate) fn end(self) -> Result<(u64, u128), WorkerError> {
        self.is_over.store(true, Ordering::Relaxed);
        let millis = self.begun.elapsed().as_millis();
        let written =
            self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((written, millis))
    }
}
