//! What others do on remote servers while a test is measured there.
//!
//! A server counts the statements, or transactions, of everybody. Of those in the databases that
//! rqps works in, as many are its own as it has sent, at most: several statements may be one
//! transaction. Others executed the rest. A long statement counts as one, so sessions of others are
//! looked at as well, now and then.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rqps_dbms::{ExecutedCounts, OthersWatch, Server};
use rqps_load::Slice;
use rqps_observe::{GuardFailure, Metric, Reading};
use rqps_store::RoundRecord;

use super::blame::of;
use super::round::{Round, Running};
use crate::error::LabError;

/// Others may execute so many statements, in percent of those of rqps.
const MOST_PERCENT: f64 = 10.0;
/// Statements that do not count, for each arm and for each of its clients: those that prepare the
/// test, those of control, and those of the server's own processes.
const SPARE: u64 = 100;
const SPARE_OF_CLIENT: u64 = 20;
/// How often sessions are looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// A remote server that is watched during a test.
pub(super) struct WatchedServer {
    /// The arms that are on it.
    slots: Vec<usize>,
    watch: OthersWatch,
    /// The databases that rqps works in.
    here: BTreeSet<String>,
    before: ExecutedCounts,
    looks: u64,
    /// Sessions at work, summed over all looks.
    at_work: u64,
    last_look: Option<Instant>,
}

impl WatchedServer {
    /// Begins to watch the server of these arms, before any client of the test is there. The first
    /// is named to readers. None if it is rqps's own, or does not count what it executes.
    pub(super) fn of<'s>(
        slots: Vec<usize>,
        server: impl Fn(usize) -> &'s dyn Server,
    ) -> Result<Option<WatchedServer>, LabError> {
        let mut here = BTreeSet::new();
        let mut first = None;
        for &slot in &slots {
            let Some(mut watch) = server(slot).watch_others().map_err(of(slot))? else { continue };
            here.extend(watch.here().map_err(of(slot))?);
            first.get_or_insert(watch);
        }
        let Some(mut watch) = first else { return Ok(None) };
        let Some(before) = watch.executed().map_err(of(slots[0]))? else { return Ok(None) };
        let (looks, at_work, last_look) = (0, 0, None);
        Ok(Some(WatchedServer { slots, watch, here, before, looks, at_work, last_look }))
    }

    /// Looks at sessions of others if it is time to. That a look fails is no failure of a
    /// contender: its clients notice if the server is gone.
    pub(super) fn look(&mut self) {
        if self.last_look.is_some_and(|last| last.elapsed() < LOOK_AGAIN) {
            return;
        }
        self.last_look = Some(Instant::now());
        if let Ok(Some(sessions)) = self.watch.at_work() {
            self.looks += 1;
            self.at_work += sessions;
        }
    }

    /// Records what others did since it was begun, when the clients are gone, and returns what
    /// discards the measurement. `sent` is what rqps sent to the server; if it is not known,
    /// everything in the databases of rqps counts as its own.
    pub(super) fn judge(
        self,
        cost: &mut Reading,
        (contender, server): (&str, &dyn Server),
        sent: Option<u64>,
        clients: u32,
    ) -> Result<Vec<GuardFailure>, LabError> {
        let WatchedServer { slots, mut watch, here, before, looks, at_work, .. } = self;
        let mut against = Vec::new();
        if let Some(mean) = (1000 * at_work + looks / 2).checked_div(looks) {
            cost.set(Metric::OtherSessions, mean);
        }
        if let Some(now) = watch.executed().map_err(of(slots[0]))? {
            let spare = slots.len() as u64 * (SPARE + SPARE_OF_CLIENT * u64::from(clients));
            if let Some(share) =
                share_of_others((&before, &now), &here, sent.unwrap_or(u64::MAX), spare)
            {
                cost.set(Metric::OtherStatements, (1000.0 * share).round() as u64);
                let percent = 100.0 * share;
                let failure = GuardFailure::ForeignStatements {
                    contender: contender.to_string(),
                    percent,
                    most: MOST_PERCENT,
                };
                against.extend((percent > MOST_PERCENT).then_some(failure));
            }
        }
        let changes = server.changed_settings().map_err(of(slots[0]))?;
        let settings = |changes| GuardFailure::Settings { contender: contender.into(), changes };
        against.extend(changes.map(settings));
        Ok(against)
    }
}

impl Round<'_> {
    /// The remote servers of the arms that are up, with the slots of each.
    fn remote_servers(&self) -> Vec<Vec<usize>> {
        let server = |slot: usize| self.context.shared.servers[self.running[slot].arm.index];
        let mut servers: Vec<Vec<usize>> = Vec::new();
        for slot in (0..self.running.len()).filter(|slot| server(*slot).is_some()) {
            match servers.iter_mut().find(|slots| server(slots[0]) == server(slot)) {
                Some(slots) => slots.push(slot),
                None => servers.push(vec![slot]),
            }
        }
        servers
    }

    /// Begins to watch all remote servers, before any client of the test is there.
    pub(super) fn watch_others(&self) -> Result<Vec<WatchedServer>, LabError> {
        let mut watched = Vec::new();
        for mut slots in self.remote_servers() {
            // In the order of the plan, so that the first has the name that readers know best.
            slots.sort_by_key(|slot| {
                (self.running[*slot].arm.is_control, self.running[*slot].arm.index)
            });
            watched.extend(WatchedServer::of(slots, |slot| &*self.running[slot].server)?);
        }
        Ok(watched)
    }

    /// Records what others did since then. `sent` is by slot what rqps sent.
    pub(super) fn judge_others(
        &self,
        pass: &mut RoundRecord,
        watched: Vec<WatchedServer>,
        sent: &[u64],
        clients: u32,
    ) -> Result<Vec<GuardFailure>, LabError> {
        let mut against = Vec::new();
        for one in watched {
            let sent = one.slots.iter().map(|slot| sent[*slot]).sum();
            let Running { arm, server, .. } = &self.running[one.slots[0]];
            let cost = &mut pass.arms.entry(arm.name.clone()).or_default().cost;
            against.extend(one.judge(cost, (&arm.name, &**server), Some(sent), clients)?);
        }
        Ok(against)
    }
}

/// What others executed, as a share of what rqps did. None if the server has not counted anything
/// of rqps: then it does not show what others do either.
///
/// A Postgres session publishes its transactions once a second and when it ends, so `now` must be
/// read when the sessions of rqps have ended, and what others did may be early or late by a second.
fn share_of_others(
    (before, now): (&ExecutedCounts, &ExecutedCounts),
    here: &BTreeSet<String>,
    sent: u64,
    spare: u64,
) -> Option<f64> {
    // A server that counts for all databases together has one name for them.
    let is_here = |name: &String| here.is_empty() || here.contains(name);
    let (mut at_home, mut elsewhere) = (0, 0);
    for (name, count) in &now.0 {
        // A database without an earlier count is new.
        let more = count.saturating_sub(before.0.get(name).copied().unwrap_or(0));
        *(if is_here(name) { &mut at_home } else { &mut elsewhere }) += more;
    }
    let own = at_home.min(sent);
    let others = (at_home - own + elsewhere).saturating_sub(spare);
    (own > 0).then(|| others as f64 / own as f64)
}

/// The statements that an arm was sent in slices, warm-ups included.
pub(super) fn sent<'s>(slot: usize, slices: impl Iterator<Item = &'s Vec<Slice>>) -> u64 {
    let own = slices.flatten().filter(|slice| slice.contender == slot);
    let of_slice = |slice: &Slice| {
        let measured = slice.statements.total().max(slice.operations);
        let each = measured as f64 / slice.operations.max(1) as f64;
        measured + (each * slice.warm_up_operations as f64).ceil() as u64
    };
    own.map(of_slice).sum()
}

/// How long operations of an arm were held back; none if they were not.
pub(super) fn held(slot: usize, slices: &[Vec<Slice>]) -> Option<u64> {
    let own = slices.iter().flatten().filter(|slice| slice.contender == slot);
    Some(own.map(|slice| slice.held).sum()).filter(|held| *held > 0)
}

#[cfg(test)]
mod tests {
    use rqps_load::Statements;

    use super::*;

    fn executed(all: &[(&str, u64)]) -> ExecutedCounts {
        ExecutedCounts(all.iter().map(|(name, count)| (name.to_string(), *count)).collect())
    }

    /// In percent, of a server that had executed a thousand in each database before.
    fn percent(now: &[(&str, u64)], sent: u64) -> Option<f64> {
        let before = executed(&[("bench", 1_000), ("shop", 1_000)]);
        let here = BTreeSet::from(["bench".to_string()]);
        let share = share_of_others((&before, &executed(now)), &here, sent, 100);
        share.map(|share| (1000.0 * share).round() / 10.0)
    }

    #[test]
    fn what_rqps_did_not_send_was_executed_by_others() {
        let quiet = [("bench", 11_050), ("shop", 1_000)];
        assert_eq!(percent(&quiet, 10_000), Some(0.0), "control executes some, too");
        assert_eq!(percent(&[("bench", 13_100), ("shop", 1_000)], 10_000), Some(20.0));
        assert_eq!(percent(&[("bench", 11_000), ("shop", 6_100)], 10_000), Some(50.0));
        assert_eq!(percent(&[("bench", 11_000), ("new", 5_100)], 10_000), Some(50.0));
    }

    #[test]
    fn statements_of_one_transaction_hide_no_others_in_other_databases() {
        // A thousand transactions of ten statements.
        assert_eq!(percent(&[("bench", 2_000), ("shop", 1_600)], 10_000), Some(50.0));
        // In the database of rqps they do.
        assert_eq!(percent(&[("bench", 3_000), ("shop", 1_000)], 10_000), Some(0.0));
    }

    #[test]
    fn a_server_that_does_not_count_rqps_says_nothing_about_others() {
        assert_eq!(percent(&[("bench", 1_000), ("shop", 9_000)], 10_000), None);
        assert_eq!(percent(&[("bench", 3), ("shop", 2)], 10_000), None, "counts were reset");
        assert_eq!(percent(&[], 10_000), None);
    }

    #[test]
    fn a_server_may_count_for_all_databases_together() {
        let (before, now) = (executed(&[("Questions", 50)]), executed(&[("Questions", 1_650)]));
        let share = share_of_others((&before, &now), &BTreeSet::new(), 1_000, 100);
        assert_eq!(share, Some(0.5));
    }

    #[test]
    fn statements_of_warm_ups_were_sent_as_well() {
        let slice = |contender, operations, warm_up_operations, each| Slice {
            contender,
            operations,
            warm_up_operations,
            statements: Statements { reads: operations * each, ..Statements::default() },
            ..Slice::default()
        };
        let slices = [vec![slice(0, 10, 5, 3), slice(1, 100, 0, 1)], vec![slice(0, 4, 2, 1)]];
        assert_eq!(sent(0, slices.iter()), 45 + 6);
        assert_eq!(sent(1, slices.iter()), 100);
    }
}
