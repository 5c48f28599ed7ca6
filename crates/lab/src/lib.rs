//! Carries out a plan: which arm runs when, on which data, and what is recorded. This crate knows
//! no HTML and no statistics.
//!
//! [`run`] goes through the contenders in random order. Each is started on a data directory of its
//! own, runs the steps that the journal lacks, is checked after every one, and is removed when all
//! are done. The data of failed and interrupted contenders are kept, to be resumed.

mod alone;
mod arm;
mod arrivals;
mod client_cpus;
mod compare;
mod confine;
mod contender;
mod engine;
mod error;
mod estimate;
mod event;
mod laps;
mod measure;
mod other_disk;
mod remaining;
mod selftest;
mod stage;
mod task;
mod trying;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rqps_analysis::comparison::Interim;
use rqps_dbms::{Dbms, Descriptor, Home, source, with_cache};
use rqps_load::Cancel;
use rqps_observe::SessionLock;
use rqps_plan::{Build, Contender, Plan};
use rqps_store::{RoundRecord, RunDirectory};

pub use arrivals::TooFewArrivals;
pub use compare::{Restarts, StoredBaselineError, stored_baseline};
pub use confine::memory_hold;
pub use error::LabError;
pub use estimate::{PlanEstimate, RemoteNeeds, Time, build_bytes, estimate, log_share, pace};
pub use event::{Enough, Event, Pace, Watch};
pub use other_disk::on_other_disks;
pub use remaining::Remaining;
pub use selftest::{obstacle, run_injected};

/// What the lab needs from its caller.
pub struct Lab<'a> {
    pub home: &'a Home,
    /// Receives the events.
    pub watch: &'a mut Watch<'a>,
    /// Set when the user wants to stop.
    pub cancel: &'a Cancel,
    /// Whether data directories are kept when a contender is done.
    pub keep_data: bool,
    pub restarts: &'a Restarts,
    /// Judges the rounds of a comparison so far.
    pub judge: &'a dyn Fn(&Plan, &[RoundRecord]) -> Interim,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Complete,
    /// A step or a server failed; the others continued.
    Failed,
    Interrupted,
}

/// Refuses what is wrong with a plan and can be found without any build.
pub fn validate(plan: &Plan) -> Result<(), LabError> {
    rqps_workload::tasks(plan.workload())?;
    if let Some(comparison) = plan.comparison() {
        compare::validate(plan, comparison)?;
    }
    plan.contenders.iter().try_for_each(|contender| {
        rqps_dbms::resolved(contender)?;
        cache(plan, contender, rqps_dbms::memory()).map(drop)
    })
}

/// The bytes of a contender's cache, if the plan chooses it, on a machine with `memory` bytes.
fn cache(plan: &Plan, contender: &Contender, memory: u64) -> Result<Option<u64>, LabError> {
    let rows = plan.workload().most_rows();
    let memory = plan.memory.map_or(memory, |most| most.0.min(memory));
    let need = <&Descriptor>::from(contender).need;
    let chosen = plan.cache.map(|cache| cache.bytes(contender, need, rows, memory));
    Ok(chosen.transpose()?)
}

/// Prepares every contender, so that everything wrong with a name, build, config or setting is
/// found before anything is measured. Returns them in the order of the plan, each with the cache
/// that the plan chooses.
pub fn prepare(
    home: &Home,
    plan: &Plan,
    tell: &mut source::Tell,
    cancel: &Cancel,
) -> Result<Vec<Box<dyn Dbms>>, LabError> {
    validate(plan)?;
    rqps_dbms::reap(home)?;
    rqps_observe::Group::reap();
    memory_hold(plan)?;
    let wanted: Vec<_> = plan.contenders.iter().map(|it| (it.dbms, it.build.clone())).collect();
    let builds = source::alike(home, &wanted, tell).map_err(rqps_dbms::DbmsError::from)?;
    let mut prepare = |contender: &Contender, build: Build| {
        let contender = match cache(plan, contender, rqps_dbms::memory())? {
            Some(bytes) => with_cache(contender, bytes),
            None => contender.clone(),
        };
        Ok(rqps_dbms::prepare(home, &Contender { build, ..contender }, tell, cancel)?)
    };
    if let Some(comparison) = plan.comparison() {
        compare::Parts::new(plan, comparison)?;
        if comparison.profile.is_some() {
            rqps_observe::probe()?;
        }
        if comparison.only_instructions().is_some() {
            rqps_observe::Callgrind::find()?;
        }
    }
    plan.contenders.iter().zip(builds).map(|(contender, build)| prepare(contender, build)).collect()
}

/// Inspects the remote servers of a plan: whether the plan can be carried out there, and whether
/// another rqps uses them. Other runs are locked out from now on. Nothing is created.
///
/// Returns the contenders of a comparison whose URLs turn out to be the baseline's server.
pub fn arrive(plan: &Plan, ready: &[Box<dyn Dbms>]) -> Result<Vec<String>, LabError> {
    for (index, dbms) in ready.iter().enumerate() {
        contender::arrive(plan, index, &**dbms)?;
    }
    match plan.comparison() {
        Some(_) => compare::compare_servers(plan, ready),
        None => Ok(Vec::new()),
    }
}

/// Runs what the journal of `directory` lacks. `ready` is the result of [`prepare`].
pub fn run(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    ready: &[Box<dyn Dbms>],
) -> Result<Outcome, LabError> {
    let plan = directory.plan.clone();
    lab.keep_data |= contender::were_to_stay(lab.home, directory);
    if let Some(comparison) = plan.comparison() {
        // Counts of instructions do not depend on what else the machine does.
        let _alone = match comparison.only_instructions() {
            Some(_) => None,
            None => Some(SessionLock::take(&SessionLock::host_path())?),
        };
        let as_they_are = selftest::Treatment::default();
        return compare::run(lab, directory, &plan, comparison, ready, &as_they_are);
    }
    run_in_turn(lab, directory, &plan, ready)
}

/// Each contender runs all of its steps before the next one begins.
fn run_in_turn(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    ready: &[Box<dyn Dbms>],
) -> Result<Outcome, LabError> {
    let arms = arm::arms(plan, &selftest::Treatment::default());
    let mut order: Vec<usize> = (0..arms.len()).collect();
    order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(plan.seed));
    directory.set_order(order.iter().map(|&place| arms[place].name.clone()).collect())?;
    let failed = alone::in_turn(lab, &arms, &order, |lab, _, place| {
        contender::run(lab, directory, plan, &arms[place], &*ready[place])
    });
    let outcome = match failed {
        Ok(failed) if failed.is_empty() => Outcome::Complete,
        Ok(_) => Outcome::Failed,
        Err(LabError::Interrupted) => return Ok(Outcome::Interrupted),
        Err(error) => return Err(error),
    };
    contender::tidy(lab, directory);
    Ok(outcome)
}
