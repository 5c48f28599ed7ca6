//! The CPUs of clients and servers. If they are not bound, it depends on chance whether they wake
//! each other across CPUs, and the cost of that moves rates more than most changes of a DBMS. Where
//! contenders have CPUs of their own, clients alone are bound, to other CPUs.

use rqps_observe::{Placement, allowed_cpus, has_thread, pin_threads, pin_tree};

use super::round::Round;
use super::seating::{Seating, seat};
use crate::client_cpus::ClientCpus;
use crate::error::LabError;

/// The placement of clients and servers in a test.
pub(super) struct Seats {
    /// By client, where the server's side of its connection is bound, too.
    pub(super) cpus: Vec<usize>,
    _placements: Vec<Placement>,
}

/// The CPUs of a test.
pub(super) struct Room {
    /// Of its clients; empty if they are not bound.
    pub(super) cpus: Vec<usize>,
    /// Of several processes of a server on a statement, which then have all CPUs.
    pub(super) is_widened: bool,
    _servers: Vec<Placement>,
}

impl Round<'_> {
    /// The CPUs of the round; all CPUs where several processes of a server work on a statement,
    /// until the test is over.
    pub(super) fn room(&self, is_parallel: bool) -> Result<Room, LabError> {
        let Seating { clients, servers } = &self.seating;
        let is_widened = is_parallel && !servers.is_empty();
        let mut room = Room { cpus: clients.clone(), is_widened, _servers: Vec::new() };
        if is_widened {
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
        let common = &self.seating.servers;
        let free = Seats { cpus: common.clone(), _placements: Vec::new() };
        let cpus = match &self.context.shared.client_cpus {
            _ if clients.len() < 2 => return Ok(free),
            ClientCpus::NoneLeft => return Ok(free),
            ClientCpus::Apart(cpus) => return self.apart(clients, cpus),
            ClientCpus::WithServers => allowed_cpus().unwrap_or_default(),
        };
        if cpus.is_empty() {
            return Ok(free);
        }
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
            let cpu = seat(&cpus, self.context.number, client);
            seats._placements.push(pin_threads(&own, &[cpu]).map_err(LabError::Placement)?);
            seats.cpus.push(cpu);
        }
        Ok(seats)
    }

    /// Binds each of several clients to one of these CPUs, and no server.
    fn apart(&self, clients: &[u32], cpus: &[usize]) -> Result<Seats, LabError> {
        let number = self.context.number;
        let bind = |(client, thread): (usize, &u32)| {
            pin_threads(&[*thread], &[seat(cpus, number, client)]).map_err(LabError::Placement)
        };
        let _placements = clients.iter().enumerate().map(bind).collect::<Result<_, _>>()?;
        Ok(Seats { cpus: Vec::new(), _placements })
    }
}
