//! The CPUs of clients and servers. If they are not bound, it depends on chance whether they wake
//! each other across CPUs, and the cost of that moves rates more than most changes of a DBMS.

use rqps_observe::{Placement, allowed_cpus, has_thread, pin_threads, pin_tree};

use super::round::{Round, Scene};
use crate::LabError;

/// The placement of clients and servers in a test.
pub(super) struct Seats {
    /// By client.
    pub(super) cpus: Vec<usize>,
    _placements: Vec<Placement>,
}

/// One CPU for one client and all servers, so that only the CPU cost of a query remains. Empty for
/// several clients, and beside remote servers, which nobody binds.
pub(super) fn common(scene: &Scene<'_>) -> Vec<usize> {
    if scene.members.iter().any(|place| scene.setting.arms[*place].is_remote) {
        return Vec::new();
    }
    match (scene.setting.comparison.of.clients().iter().max(), allowed_cpus()) {
        (Some(1), Ok(cpus)) if !cpus.is_empty() => vec![seat(&cpus, scene.number, 0)],
        _ => Vec::new(),
    }
}

/// Rounds take turns with the CPUs, and so do the clients of a round. The first CPU serves most
/// interrupts.
fn seat(cpus: &[usize], round: u32, client: usize) -> usize {
    cpus[cpus.len() - 1 - (round as usize - 1 + client) % cpus.len()]
}

/// The CPUs of a test.
pub(super) struct Room {
    /// Of its clients; empty if they are not bound.
    pub(super) cpus: Vec<usize>,
    _servers: Vec<Placement>,
}

impl Round<'_> {
    /// The CPUs of the round; all CPUs where several processes of a server work on a statement,
    /// until the test is over.
    pub(super) fn room(&self, is_parallel: bool) -> Result<Room, LabError> {
        let mut room = Room { cpus: self.cpus.clone(), _servers: Vec::new() };
        if is_parallel && !self.cpus.is_empty() {
            room.cpus = allowed_cpus().map_err(LabError::Placement)?;
            for root in self.running.iter().filter_map(|one| one.process()) {
                let placed = pin_tree(root, &room.cpus).map_err(LabError::Placement)?;
                room._servers.push(placed);
            }
        }
        Ok(room)
    }

    /// Binds each of several clients to a CPU, together with the servers' threads that serve it.
    /// Other threads of servers are free. `answering` is by contender and client: if one of these
    /// threads is unknown, all are free, since arms must be treated alike.
    pub(super) fn seats(
        &self,
        clients: &[u32],
        answering: &[Vec<Option<u32>>],
    ) -> Result<Seats, LabError> {
        let free = Seats { cpus: self.cpus.clone(), _placements: Vec::new() };
        let cpus = match allowed_cpus() {
            Ok(cpus) if clients.len() > 1 && !cpus.is_empty() => cpus,
            _ => return Ok(free),
        };
        let mut seats = Seats { cpus: Vec::new(), _placements: Vec::new() };
        for (client, thread) in clients.iter().enumerate() {
            let mut own = vec![*thread];
            for (one, answering) in self.running.iter().zip(answering) {
                // An embedded DBMS runs in the client's thread.
                let Some(root) = one.process() else { continue };
                match answering[client].filter(|thread| has_thread(root, *thread)) {
                    Some(thread) => own.push(thread),
                    None => return Ok(free),
                }
            }
            let cpu = seat(&cpus, self.scene.number, client);
            seats._placements.push(pin_threads(&own, &[cpu]).map_err(LabError::Placement)?);
            seats.cpus.push(cpu);
        }
        Ok(seats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_take_turns_with_the_cpus_and_so_do_rounds() {
        let of = |round| [0, 1, 2].map(|client| seat(&[0, 1], round, client));
        assert_eq!((of(1), of(2), of(3)), ([1, 0, 1], [0, 1, 0], [1, 0, 1]));
        assert_eq!(seat(&[3], 7, 4), 3);
    }
}
