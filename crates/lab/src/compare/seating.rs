//! Which CPUs clients and servers have in a round.

use rqps_observe::allowed_cpus;

use super::context::RoundContext;
use crate::client_cpus::ClientCpus;

/// The CPUs of a round. Empty lists do not bind.
pub(super) struct Seating {
    /// Of all clients together.
    pub(super) clients: Vec<usize>,
    /// Of servers.
    pub(super) servers: Vec<usize>,
}

impl Seating {
    pub(super) fn of(context: &RoundContext<'_>) -> Seating {
        match &context.shared.client_cpus {
            ClientCpus::WithServers => {
                let both = common(context);
                Seating { clients: both.clone(), servers: both }
            }
            ClientCpus::Apart(cpus) => {
                let one = || vec![seat(cpus, context.number, 0)];
                let clients = if has_one_client(context) { one() } else { cpus.clone() };
                Seating { clients, servers: Vec::new() }
            }
            ClientCpus::NoneLeft => Seating { clients: Vec::new(), servers: Vec::new() },
        }
    }
}

fn has_one_client(context: &RoundContext<'_>) -> bool {
    context.shared.comparison.of.clients().iter().max() == Some(&1)
}

/// One CPU for one client and all servers, so that only the CPU cost of a query remains. Empty for
/// several clients, and beside remote servers, which nobody binds.
fn common(context: &RoundContext<'_>) -> Vec<usize> {
    if context.members.iter().any(|place| context.shared.arms[*place].is_remote) {
        return Vec::new();
    }
    match allowed_cpus() {
        Ok(cpus) if has_one_client(context) && !cpus.is_empty() => {
            vec![seat(&cpus, context.number, 0)]
        }
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
