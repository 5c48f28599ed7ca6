//! Ctrl-C: once to end in an orderly way, twice to end at once.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether the user wants to stop.
#[derive(Clone, Debug)]
pub(crate) struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Listens from now on. The second signal ends the process, and with it the servers, which
    /// the kernel tells of their parent's death.
    pub(crate) fn listen() -> std::io::Result<Self> {
        let cancelled = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Order matters: at the first signal the flag is not set yet.
            flag::register_conditional_shutdown(signal, 130, cancelled.clone())?;
            flag::register(signal, cancelled.clone())?;
        }
        Ok(Cancel(cancelled))
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// For whoever is asked whether to go on.
    pub(crate) fn go_on(&self) -> ControlFlow<()> {
        if self.is_wanted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
