//! The context that all rounds of a comparison share, and that of one of them.

use std::collections::BTreeSet;
use std::time::Duration;

use rand::seq::SliceRandom;
use rqps_dbms::{Dbms, Installed};
use rqps_plan::{Comparison, Method, Plan};
use rqps_wire::Target;
use rqps_workload::{Driver, Random, Site, Task, stream};

use super::folders::Folders;
use super::lost::Lost;
use super::stored_baseline::Earlier;
use crate::arm::Arm;
use crate::client_cpus::ClientCpus;
use crate::error::LabError;
use crate::selftest::treatment::Treatment;

/// The tests that an arm cannot execute, with the arm.
pub(crate) type Failing = BTreeSet<(String, String)>;

/// The uses of random draws in a comparison: the order of loads, of tests in a round, of server
/// starts (slots), of slices, of whole runs, and of the user's restarts; the first of the sets that
/// slices begin with; and the instants at which operations are due.
#[derive(Clone, Copy)]
pub(crate) enum Draw {
    Loads = 1,
    Tests,
    Slots,
    Slices,
    Runs,
    Sets,
    Restarts,
    Arrivals,
}

/// The context that all rounds share.
pub(crate) struct ComparisonContext<'a> {
    pub(crate) comparison: &'a Comparison,
    pub(crate) arms: &'a [Arm],
    pub(crate) ready: &'a [Box<dyn Dbms>],
    pub(crate) folders: &'a Folders,
    pub(crate) treatment: &'a Treatment,
    /// The runs of an earlier baseline, which then is not measured.
    pub(crate) earlier: Option<&'a Earlier>,
    pub(crate) plan: &'a Plan,
    /// The tasks of the workload.
    pub(crate) tasks: &'a [Task],
    /// The servers of all arms may be up at the same time.
    pub(crate) fit_together: bool,
    /// Found when answers were compared.
    pub(crate) failing: Failing,
    pub(crate) lost: Lost,
    /// Where clients run.
    pub(crate) client_cpus: ClientCpus,
    /// The remote servers of the contenders, each by the place of the first contender that is on
    /// it; none for those that rqps starts.
    pub(crate) servers: Vec<Option<usize>>,
}

impl ComparisonContext<'_> {
    /// The task of a test.
    pub(crate) fn task(&self, test: &str) -> Result<&Task, LabError> {
        task(self.tasks, test)
    }

    /// A test's place in the plan.
    pub(super) fn place(&self, test: &str) -> u32 {
        let tests = self.comparison.tests();
        tests.iter().position(|name| name == test).unwrap_or(tests.len()) as u32
    }

    /// The measured arms, by their places.
    pub(crate) fn measured(&self) -> impl Iterator<Item = usize> {
        let is_measured = |place: &usize| self.earlier.is_none() || self.arms[*place].index > 0;
        (0..self.arms.len()).filter(is_measured)
    }

    /// The measured arms in the random order of a round's whole runs.
    pub(super) fn order_of_runs(&self, round: u32) -> Vec<usize> {
        let mut order: Vec<usize> = self.measured().collect();
        order.shuffle(&mut self.random(Draw::Runs, &[round.into()]));
        order
    }

    /// The builds of these arms, as far as they are rqps's to start.
    pub(crate) fn builds(&self, members: &[usize]) -> impl Iterator<Item = &Installed> {
        members.iter().filter_map(|place| self.ready[self.arms[*place].index].build())
    }

    /// Whether data for a round of these arms exist.
    pub(crate) fn is_loaded(&self, members: &[usize], round: u32) -> bool {
        let load = self.comparison.load_of(round);
        members.iter().any(|place| self.folders.loaded(*place, load).exists())
    }

    /// Whether other arms work on the same tables as this one.
    pub(super) fn is_shared(&self, arm: &Arm) -> bool {
        self.arms.iter().filter(|other| other.tables == arm.tables).count() > 1
    }

    /// Whether no other member works on the server of this one.
    pub(super) fn is_alone(&self, arm: &Arm, members: &[usize]) -> bool {
        let server = |arm: &Arm| self.servers[arm.index];
        let others = members.iter().map(|place| &self.arms[*place]);
        server(arm).is_none() || others.filter(|other| server(other) == server(arm)).count() < 2
    }

    /// Whether only one server is ever started on a load.
    pub(super) fn is_used_once(&self) -> bool {
        self.comparison.loads.is_none() && self.fit_together
    }

    /// A separate stream for each use, so that a resumed run has the same draws as an uninterrupted
    /// one.
    pub(crate) fn random(&self, of: Draw, which: &[u64]) -> Random {
        draw(self.plan.seed, of, which)
    }

    /// How long the machine may take to be as fast as usual. Without guards it may be as it is.
    pub(crate) fn patience(&self, most: Duration) -> Duration {
        if self.comparison.guards { most } else { Duration::ZERO }
    }
}

/// The workload on an arm's server.
pub(super) fn driver<'a>(
    plan: &'a Plan,
    arm: &Arm,
    target: &'a Target,
) -> Result<Box<dyn Driver + 'a>, LabError> {
    let site = Site {
        target,
        dbms: arm.dbms,
        dialect: arm.dialect,
        seed: plan.seed,
        is_own: !arm.is_remote,
        method: Method::Slices,
    };
    Ok(rqps_workload::driver(plan.workload(), site)?)
}

/// The task of that name.
pub(super) fn task<'a>(tasks: &'a [Task], name: &str) -> Result<&'a Task, LabError> {
    let found = tasks.iter().find(|task| task.name == name);
    found.ok_or_else(|| LabError::NoTest(name.to_string()))
}

fn draw(seed: u64, of: Draw, which: &[u64]) -> Random {
    stream(seed, &[&[of as u64], which].concat())
}

/// The context of one round.
pub(crate) struct RoundContext<'a> {
    pub(crate) shared: &'a ComparisonContext<'a>,
    /// The number of the round.
    pub(crate) number: u32,
    /// The number of the group of arms that are up together, from 1.
    pub(crate) part: u32,
    /// The arms of the group, by their places.
    pub(crate) members: &'a [usize],
    /// Another round needs the load, too.
    pub(crate) keeps_load: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_started_first_as_often_and_the_seed_decides() {
        let first = |seed: u64, round: u64| {
            let mut slots = [0, 1, 2];
            slots.shuffle(&mut draw(seed, Draw::Slots, &[round, 1]));
            slots[0]
        };
        let mut counts = [0; 3];
        (1..=300).for_each(|round| counts[first(1, round)] += 1);
        // 100 each, give or take four standard deviations of 8.2.
        assert!(counts.iter().all(|count| (67..=133).contains(count)), "{counts:?}");
        let firsts = |seed| (1..=50).map(|round| first(seed, round)).collect::<Vec<_>>();
        assert_eq!(firsts(7), firsts(7));
        assert_ne!(firsts(7), firsts(8));
    }
}
