//! Work that is done to its end by threads of its own.

use rqps_load::{Cancel, ClientThreads, Failure};
use rqps_workload::Assigned;

/// Runs work to its end.
pub(crate) fn run(assigned: Vec<Assigned>) -> anyhow::Result<()> {
    let (work, orders): (Vec<_>, Vec<_>) = assigned.into_iter().unzip();
    let mut client_threads = ClientThreads::start(work)?;
    client_threads.run(&orders, &mut |_, _| {}, &Cancel::default()).map_err(failed)?;
    client_threads.finish();
    Ok(())
}

/// Why a run ended early.
pub(crate) fn failed(failure: Failure) -> anyhow::Error {
    match failure {
        Failure::Worker { error, .. } => error.into(),
        Failure::Overdue(_) | Failure::Cancelled => anyhow::anyhow!("cancelled"),
    }
}
