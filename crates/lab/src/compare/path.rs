//! How long the way to a server is: empty exchanges, just before a test. Answers of a remote server
//! include it, so a difference of the ways is a part of what is compared.

use std::time::{Duration, Instant};

use rqps_observe::{Metric, Reading};
use rqps_store::RoundRecord;
use rqps_wire::Connection;

use super::blame::of;
use super::round::Round;
use crate::error::LabError;

/// The exchanges with each server, in turn with the others, so many at a time.
const EXCHANGES: usize = 200;
const AT_A_TIME: usize = 20;
/// Far away there are fewer.
const ENOUGH: Duration = Duration::from_millis(500);

/// Nanoseconds of an empty exchange: the median, and half of the distance between quartiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoundTrip {
    median: u64,
    spread: u64,
}

impl RoundTrip {
    /// None without any exchange.
    fn of(mut nanos: Vec<u64>) -> Option<RoundTrip> {
        nanos.sort_unstable();
        let at = |quarter: usize| nanos.get((nanos.len() * quarter / 4).min(nanos.len() - 1));
        let first = nanos.first().and_then(|_| at(1))?;
        Some(RoundTrip { median: *at(2)?, spread: (at(3)? - first) / 2 })
    }

    pub(super) fn record(&self, cost: &mut Reading) {
        cost.set(Metric::RoundTrip, self.median);
        cost.set(Metric::RoundTripSpread, self.spread);
    }
}

/// Empty exchanges over these connections in turn, or which of them failed. None where there is no
/// connection.
pub(super) fn exchange(
    connections: &mut [Option<Box<dyn Connection>>],
) -> Result<Vec<Option<RoundTrip>>, (usize, rqps_wire::Error)> {
    let mut nanos = vec![Vec::new(); connections.len()];
    let deadline = Instant::now() + ENOUGH * connections.len() as u32;
    for _ in 0..EXCHANGES / AT_A_TIME {
        for (slot, connection) in connections.iter_mut().enumerate() {
            let Some(connection) = connection else { continue };
            for _ in 0..AT_A_TIME {
                let began = Instant::now();
                connection.ping().map_err(|error| (slot, error))?;
                nanos[slot].push(began.elapsed().as_nanos() as u64);
            }
        }
        if Instant::now() > deadline {
            break;
        }
    }
    Ok(nanos.into_iter().map(RoundTrip::of).collect())
}

impl Round<'_> {
    /// The way to the server of each arm, if there is a remote one among them. None where the DBMS
    /// runs in this process.
    pub(super) fn round_trips(&self) -> Result<Vec<Option<RoundTrip>>, LabError> {
        if !self.running.iter().any(|one| one.arm.is_remote) {
            return Ok(Vec::new());
        }
        let connect = |(slot, one): (usize, &super::round::Running<'_>)| {
            let is_reached = !one.server.is_embedded();
            is_reached.then(|| one.server.target().connect().map_err(of(slot))).transpose()
        };
        let mut connections: Vec<_> =
            self.running.iter().enumerate().map(connect).collect::<Result<_, _>>()?;
        exchange(&mut connections).map_err(|(slot, error)| of(slot)(error))
    }

    pub(super) fn record_round_trips(&self, pass: &mut RoundRecord, all: &[Option<RoundTrip>]) {
        for (one, trip) in self.running.iter().zip(all) {
            let (Some(trip), Some(arm)) = (trip, pass.arms.get_mut(&one.arm.name)) else {
                continue;
            };
            trip.record(&mut arm.cost);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_is_the_usual_one_and_a_stall_does_not_change_it() {
        assert_eq!(RoundTrip::of(Vec::new()), None);
        assert_eq!(RoundTrip::of(vec![7]), Some(RoundTrip { median: 7, spread: 0 }));
        let mut nanos: Vec<u64> = (0..200).map(|number| 1_000 + number).collect();
        let usual = RoundTrip::of(nanos.clone());
        assert_eq!(usual, Some(RoundTrip { median: 1_100, spread: 50 }));
        nanos[3] = 1_000_000_000;
        let RoundTrip { median, spread } = RoundTrip::of(nanos).unwrap();
        assert!(median.abs_diff(1_100) < 3 && spread.abs_diff(50) < 3);
    }
}
