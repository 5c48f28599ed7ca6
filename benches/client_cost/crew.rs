//! Work that a crew performs to its end.

use rqps_load::{Cancel, Crew, Failure};
use rqps_workload::Assigned;

/// Runs work to its end.
pub(crate) fn run(assigned: Vec<Assigned>) -> anyhow::Result<()> {
    let (work, orders): (Vec<_>, Vec<_>) = assigned.into_iter().unzip();
    let mut crew = Crew::start(work)?;
    crew.run(&orders, &mut |_, _| {}, &Cancel::default()).map_err(failed)?;
    crew.finish();
    Ok(())
}

/// Why a crew's run ended early.
pub(crate) fn failed(failure: Failure) -> anyhow::Error {
    match failure {
        Failure::Worker { error, .. } => error.into(),
        Failure::Overdue(_) | Failure::Cancelled => anyhow::anyhow!("cancelled"),
    }
}
