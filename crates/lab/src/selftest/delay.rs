//! A delay in each operation of the client, as the preloaded library has it in the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rqps_load::{Effect, Halt, Performed, Portion, Work, now};
use rqps_wire::{Error, Interrupter};

use super::spin::Counted;

/// If a delay takes this much longer than it should, something else had the CPU, as in the library.
const INTERRUPTION: u64 = 50_000;

/// Shared by the clients of a contender.
#[derive(Debug, Default)]
pub(crate) struct Delay {
    nanos: AtomicU64,
    operations: AtomicU64,
    timed: AtomicU64,
    spent: AtomicU64,
}

impl Delay {
    /// Sets the delay of each operation from now on.
    pub(crate) fn set(&self, nanos: u64) {
        self.nanos.store(nanos, Ordering::Relaxed);
    }

    pub(crate) fn counted(&self) -> Counted {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Counted {
            messages: read(&self.operations),
            timed: read(&self.timed),
            spent: read(&self.spent),
        }
    }

    fn spend(&self) {
        let nanos = self.nanos.load(Ordering::Relaxed);
        let began = now();
        let mut spent = now() - began;
        while spent < nanos {
            spent = now() - began;
        }
        self.operations.fetch_add(1, Ordering::Relaxed);
        if spent < nanos + INTERRUPTION {
            self.timed.fetch_add(1, Ordering::Relaxed);
            self.spent.fetch_add(spent, Ordering::Relaxed);
        }
    }
}

/// Work whose operations take longer.
pub(crate) struct Delayed {
    pub(crate) work: Box<dyn Work>,
    pub(crate) delay: Arc<Delay>,
}

impl Work for Delayed {
    fn make(&mut self, halt: &Halt) -> Result<(), Error> {
        self.work.make(halt)
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let effect = self.work.execute()?;
        self.delay.spend();
        Ok(effect)
    }

    fn perform(&mut self, portion: Portion, _delay: u64) -> Option<Result<Performed, Error>> {
        let performed = self.work.perform(portion, self.delay.nanos.load(Ordering::Relaxed))?;
        if let Ok(performed) = &performed {
            self.delay.operations.fetch_add(performed.operations, Ordering::Relaxed);
            self.delay.timed.fetch_add(performed.delays, Ordering::Relaxed);
            self.delay.spent.fetch_add(performed.delayed, Ordering::Relaxed);
        }
        Some(performed)
    }

    fn begin_turn(&mut self) -> Result<(), Error> {
        self.work.begin_turn()
    }

    fn end_turn(&mut self) -> Result<(), Error> {
        self.work.end_turn()
    }

    fn seek(&mut self, operation: u64) {
        self.work.seek(operation);
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.work.interrupter()
    }
}
