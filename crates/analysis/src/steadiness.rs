//! Levels and stalls of a step, which its average hides.

use rqps_plan::Counts;
use rqps_stats::autocorrelation::{FEW_STRETCHES, independent_stretches};
use rqps_stats::stalls::{Stalls, stalls};
use rqps_stats::steady::{RunShape, Steady, steady};
use rqps_store::{Operation, WorkRecord};

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
pub(crate) fn steadiness(
    counts: Counts,
    totals: &[WorkRecord],
    whole_seconds: usize,
) -> Option<Steadiness> {
    let operation = match counts {
        Counts::RowsInserted => Operation::Insert,
        Counts::Queries => Operation::Query,
        Counts::Statements | Counts::Transactions => Operation::Transaction,
        Counts::RowsIndexed | Counts::RowsScanned => return None,
    };
    let done = totals.iter().find(|one| one.operation == operation);
    let done = done.filter(|done| done.operations > 0)?;
    let seconds = done.seconds.iter().map(|second| second.operations as f64);
    let idle = std::iter::repeat(0.0);
    let rates: Vec<f64> = seconds.chain(idle).take(whole_seconds).collect();
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

impl Steadiness {
    /// The class in JSON and CSV.
    pub fn class(&self) -> Option<&'static str> {
        Some(match self.steady.as_ref()?.class {
            RunShape::Flat => "flat",
            RunShape::WarmUp => "warm_up",
            RunShape::SlowDown => "slow_down",
            RunShape::MultiLevel => "multi_level",
        })
    }

    /// What a reader of the average must know; empty for a run at one level without stalls.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some(steady) = &self.steady {
            let trend = 100.0 * steady.trend.change;
            match steady.class {
                RunShape::WarmUp => remarks
                    .push(format!("warm-up of {} s: faster at the end than before", steady.cut)),
                RunShape::SlowDown => {
                    remarks.push("slow-down: slower at the end than before".to_string());
                }
                RunShape::MultiLevel => {
                    let levels = steady.changes.len() + 1;
                    remarks.push(format!("{levels} levels, both faster and slower than the end"));
                }
                RunShape::Flat if steady.trend.is_flagged => {
                    remarks.push(format!("a trend of {trend:+.0} % from start to end"));
                }
                RunShape::Flat => {}
            }
            if !steady.is_steady {
                remarks.push("no steady state".to_string());
            }
        }
        if self.stalls.longest > 0 {
            let Stalls { share, longest, period } = self.stalls;
            let period = period.map_or(String::new(), |seconds| format!(", every {seconds} s"));
            remarks.push(format!(
                "stalls in {:.1} % of the seconds, the longest {longest} s{period}",
                100.0 * share
            ));
        }
        // At one level, the correlation of seconds does not matter.
        if !remarks.is_empty() && self.stretches < FEW_STRETCHES {
            remarks.push(format!("fewer than {FEW_STRETCHES} independent stretches in this run"));
        }
        remarks
    }
}
