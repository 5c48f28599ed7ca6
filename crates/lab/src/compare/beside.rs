//! What is watched beside a whole run of a remote server: the way to it, and what others do there.

use rqps_dbms::Server;
use rqps_observe::GuardFailure;
use rqps_store::{Measurement, WorkRecord};
use rqps_workload::Task;

use super::others::WatchedServer;
use super::path::{RoundTrip, exchange};
use crate::arm::Arm;
use crate::error::LabError;

pub(super) struct Beside {
    trip: Option<RoundTrip>,
    watched: Option<WatchedServer>,
}

impl Beside {
    /// Begins before any client of the run is there.
    pub(super) fn begin(
        arms: &[Arm],
        place: usize,
        server: &dyn Server,
    ) -> Result<Beside, LabError> {
        let trip = match arms.iter().any(|arm| arm.is_remote) {
            true => round_trip(server)?,
            false => None,
        };
        Ok(Beside { trip, watched: WatchedServer::of(vec![place], |_| server)? })
    }

    /// Looks at sessions of others if it is time to.
    pub(super) fn look(&mut self) {
        self.watched.iter_mut().for_each(WatchedServer::look);
    }

    /// Records what was seen, when the clients are gone, and returns what discards the run. `sent`
    /// is what rqps sent, if that is known.
    pub(super) fn end(
        self,
        measured: &mut Measurement,
        (contender, server): (&str, &dyn Server),
        sent: Option<u64>,
    ) -> Result<Vec<GuardFailure>, LabError> {
        if let Some(trip) = self.trip {
            trip.record(&mut measured.cost);
        }
        let Some(watched) = self.watched else { return Ok(Vec::new()) };
        watched.judge(&mut measured.cost, (contender, server), sent, measured.clients)
    }
}

/// The way to a server. None where the DBMS runs in this process.
fn round_trip(server: &dyn Server) -> Result<Option<RoundTrip>, LabError> {
    if server.is_embedded() {
        return Ok(None);
    }
    let trips = exchange(&mut [Some(server.target().connect()?)]);
    Ok(trips.map_err(|(_, error)| error)?.into_iter().next().flatten())
}

/// The statements that a task sent, those of its warm-up included.
pub(super) fn sent(measured: &Measurement, task: &Task) -> u64 {
    let of = |work: &WorkRecord| work.statements().max(work.operations);
    let counted = measured.work.iter().map(of).sum::<u64>() as f64;
    let warm_up = task.warm_up.unwrap_or_default().as_secs_f64();
    (counted * (1.0 + warm_up / measured.seconds)).ceil() as u64
}
