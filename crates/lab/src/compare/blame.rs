//! Which arm an error belongs to.

use rqps_load::Failure;

use crate::error::LabError;

/// Marks an error with the slot of the arm that it belongs to.
pub(super) fn of<E: Into<LabError>>(slot: usize) -> impl FnOnce(E) -> LabError {
    move |error| match error.into() {
        LabError::Interrupted => LabError::Interrupted,
        error => LabError::Driven { slot, error: Box::new(error) },
    }
}

/// The error of a connection belongs to the arm in that slot.
pub(super) fn driven(failure: Failure) -> LabError {
    match failure {
        Failure::Cancelled => LabError::Interrupted,
        Failure::Worker { index, error } => of(index)(error),
        overdue @ Failure::Overdue(_) => overdue.into(),
    }
}
