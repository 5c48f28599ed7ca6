//! The injected slowdowns of a comparison.

use std::sync::{Mutex, PoisonError};

use rqps_plan::{Dose, Injection};

/// The injected slowdowns of a comparison, by place in the plan, and the measured doses.
#[derive(Debug, Default)]
pub(crate) struct Treatment {
    pub(super) injections: Vec<Option<Injection>>,
    pub(super) doses: Mutex<Vec<Dose>>,
}

impl Treatment {
    pub(crate) fn of(&self, contender: usize) -> Option<Injection> {
        self.injections.get(contender).copied().flatten()
    }

    pub(crate) fn record(&self, doses: impl IntoIterator<Item = Dose>) {
        self.doses.lock().unwrap_or_else(PoisonError::into_inner).extend(doses);
    }
}
