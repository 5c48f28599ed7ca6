//! The fixed piece of work of a session.

use std::time::Duration;

use rqps_observe::Canary;

/// How long it takes: it tells whether the machine is as fast as before.
const CANARY: Duration = Duration::from_millis(50);

/// A fixed piece of work, and how long it took so far.
pub(crate) struct Canaries {
    canary: Canary,
    seen: Vec<Duration>,
}

impl Canaries {
    pub(crate) fn new() -> Self {
        Canaries { canary: Canary::tuned(CANARY), seen: Vec::new() }
    }

    pub(crate) fn run(&mut self) -> Duration {
        let time = self.canary.run();
        self.seen.push(time);
        time
    }

    pub(crate) fn median(&self) -> Duration {
        let mut sorted = self.seen.clone();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    }
}
