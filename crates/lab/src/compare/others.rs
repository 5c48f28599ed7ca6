//! What others do on remote servers while a test is measured there.
//!
//! A server counts the statements, or transactions, of everybody. Those of rqps are known, or are
//! at most as many as the statements that it sent: several may be one transaction. So others
//! executed the rest, or more.

use rqps_observe::GuardFailure;

use super::pass::of;
use super::round::Round;
use crate::LabError;

/// Others may execute so many statements beside those of rqps, in percent.
const MOST_PERCENT: f64 = 10.0;
/// … and always so many for each arm: control sessions of rqps execute some, and so do the server's
/// own processes.
const ALWAYS: u64 = 200;

/// A server, and what it had executed before a test.
pub(super) struct CountedArms {
    /// The arms that are on it.
    slots: Vec<usize>,
    before: u64,
}

impl Round<'_> {
    /// The remote servers of the arms that are up, with the slots of each.
    fn servers(&self) -> Vec<Vec<usize>> {
        let mut servers: Vec<Vec<usize>> = Vec::new();
        for slot in 0..self.running.len() {
            let Some(own) = self.server_of(slot) else { continue };
            match servers.iter_mut().find(|slots| self.server_of(slots[0]) == Some(own)) {
                Some(slots) => slots.push(slot),
                None => servers.push(vec![slot]),
            }
        }
        servers
    }

    fn server_of(&self, slot: usize) -> Option<&str> {
        self.scene.setting.servers[self.running[slot].arm.index].as_deref()
    }

    /// Reads what the servers have executed.
    pub(super) fn watch_others(&self) -> Result<Vec<CountedArms>, LabError> {
        let mut watched = Vec::new();
        for slots in self.servers() {
            if let Some(before) = self.activity(slots[0])? {
                watched.push(CountedArms { slots, before });
            }
        }
        Ok(watched)
    }

    /// The servers on which others executed too much since then; `own` is by slot what rqps did.
    pub(super) fn busy_servers(
        &self,
        watched: &[CountedArms],
        own: &[u64],
    ) -> Result<Vec<GuardFailure>, LabError> {
        let mut busy = Vec::new();
        for CountedArms { slots, before } in watched {
            let Some(now) = self.activity(slots[0])? else { continue };
            let own: u64 = slots.iter().map(|slot| own[*slot]).sum();
            let others = others(now.saturating_sub(*before), own, slots.len() as u64);
            let contender = &self.running[slots[0]].arm.name;
            busy.extend(others.map(|others| GuardFailure::ForeignStatements {
                contender: contender.clone(),
                others,
                own,
                most: MOST_PERCENT,
            }));
        }
        Ok(busy)
    }

    fn activity(&self, slot: usize) -> Result<Option<u64>, LabError> {
        let index = self.running[slot].arm.index;
        self.scene.setting.ready[index].activity().map_err(of(slot))
    }
}

/// How much of what a server executed is of others, if that is too much.
fn others(all: u64, own: u64, arms: u64) -> Option<u64> {
    let others = all.saturating_sub(own);
    let beyond = others.saturating_sub(ALWAYS * arms);
    (beyond as f64 > own as f64 * MOST_PERCENT / 100.0).then_some(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_execute_is_what_is_left_and_a_little_of_it_does_not_matter() {
        assert_eq!(others(10_500, 10_000, 1), None, "5 %");
        assert_eq!(others(12_000, 10_000, 1), Some(2_000), "20 %");
        assert_eq!(others(200, 0, 1), None, "control sessions");
        assert_eq!(others(600, 100, 2), Some(500));
        assert_eq!(others(1_000, 7_000, 1), None, "seven statements in each transaction");
    }
}
