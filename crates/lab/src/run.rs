//! From a plan to a run: it is checked and prepared, then each contender runs by itself, or all are
//! compared.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rqps_dbms::{Dbms, Home, source, with_cache};
use rqps_load::Cancel;
use rqps_observe::SessionLock;
use rqps_plan::{Build, Contender, Plan};
use rqps_store::RunDirectory;

use crate::cache::cache;
use crate::confine::memory_hold;
use crate::error::LabError;
use crate::lab::{Lab, Outcome};
use crate::selftest::treatment::Treatment;
use crate::{alone, arm, compare, contender};

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
        let as_they_are = Treatment::default();
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
    let arms = arm::arms(plan, &Treatment::default());
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
