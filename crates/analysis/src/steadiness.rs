//! Levels and stalls of a step, which its average hides.

use rqps_plan::Counts;
use rqps_stats::autocorrelation::independent_stretches;
use rqps_stats::stalls::{Stalls, stalls};
use rqps_stats::steady::{Steady, steady};
use rqps_store::Operation;

use crate::measured::Measured;

/// Fewer seconds are too few for levels and stalls.
const LEAST_SECONDS: usize = 20;
/// Fixed, so each report of a run is the same.
const SEED: u64 = 1;

/// Levels and stalls in the whole seconds of a step.
pub struct Steadiness {
    /// None for steps of fixed work, and for fewer than 25 seconds.
    pub steady: Option<Steady>,
    pub stalls: Stalls,
    /// The number of independent samples in the seconds.
    pub stretches: f64,
}

/// None for steps without a rate by the second: scans, indexes, and those under twenty seconds.
pub(crate) fn steadiness(measured: &Measured) -> Option<Steadiness> {
    let counts = measured.round.counts;
    let operation = match counts {
        Counts::RowsInserted => Operation::Insert,
        Counts::Queries => Operation::Query,
        Counts::Statements | Counts::Transactions => Operation::Transaction,
        Counts::RowsIndexed | Counts::RowsScanned => return None,
    };
    let done = measured.of(operation).filter(|done| done.operations > 0)?;
    let seconds = done.seconds.iter().map(|second| second.operations as f64);
    let idle = std::iter::repeat(0.0);
    let rates: Vec<f64> = seconds.chain(idle).take(measured.record.seconds as usize).collect();
    if rates.len() < LEAST_SECONDS {
        return None;
    }
    // In a step of fixed work, a slower DBMS has smaller tables at the same second.
    let is_timed = counts != Counts::RowsInserted;
    Some(Steadiness {
        steady: if is_timed { steady(&rates, SEED) } else { None },
        stalls: stalls(&rates),
        stretches: independent_stretches(&rates),
    })
}
