//! Which CPUs clients and servers have in a round.

use rqps_observe::allowed_cpus;

use super::setting::Scene;
use crate::client_cpus::ClientCpus;

/// The CPUs of a round. Empty lists do not bind.
pub(super) struct Seating {
    /// Of all clients together.
    pub(super) clients: Vec<usize>,
    /// Of servers.
    pub(super) servers: Vec<usize>,
}

impl Seating {
    pub(super) fn of(scene: &Scene<'_>) -> Seating {
        match &scene.setting.client_cpus {
            ClientCpus::WithServers => {
                let both = common(scene);
                Seating { clients: both.clone(), servers: both }
            }
            ClientCpus::Apart(cpus) => {
                let one = || vec![seat(cpus, scene.number, 0)];
                let clients = if has_one_client(scene) { one() } else { cpus.clone() };
                Seating { clients, servers: Vec::new() }
            }
            ClientCpus::NoneLeft => Seating { clients: Vec::new(), servers: Vec::new() },
        }
    }
}

fn has_one_client(scene: &Scene<'_>) -> bool {
    scene.setting.comparison.of.clients().iter().max() == Some(&1)
}

/// One CPU for one client and all servers, so that only the CPU cost of a query remains. Empty for
/// several clients, and beside remote servers, which nobody binds.
fn common(scene: &Scene<'_>) -> Vec<usize> {
    if scene.members.iter().any(|place| scene.setting.arms[*place].is_remote) {
        return Vec::new();
    }
    match allowed_cpus() {
        Ok(cpus) if has_one_client(scene) && !cpus.is_empty() => vec![seat(&cpus, scene.number, 0)],
        _ => Vec::new(),
    }
}

/// Rounds take turns with the CPUs, and so do the clients of a round. The first CPU serves most
/// interrupts.
pub(super) fn seat(cpus: &[usize], round: u32, client: usize) -> usize {
    cpus[cpus.len() - 1 - (round as usize - 1 + client) % cpus.len()]
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
