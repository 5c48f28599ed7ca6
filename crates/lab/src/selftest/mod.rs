//! Comparisons with injected slowdowns of known size, for `rqps selftest`.

mod delay;
pub(crate) mod dosing;
pub(crate) mod limit;
mod spin;
pub(crate) mod treatment;

use std::sync::{Mutex, PoisonError};

use rqps_dbms::Dbms;
use rqps_observe::SessionLock;
use rqps_plan::{Comparison, Dose, Injection, Plan};
use rqps_store::RunDirectory;

use crate::contender::folder;
use crate::error::{LabError, file_error};
use crate::lab::{Lab, Outcome};
use crate::run::run;
use crate::{compare, other_disk};
use treatment::Treatment;

pub use limit::obstacle;

/// Runs a comparison whose contenders have these injections, by their place in the plan. The data
/// are removed, however it ends. The caller has locked the host for several comparisons.
pub fn run_injected(
    _alone: &SessionLock,
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    ready: &[Box<dyn Dbms>],
    injections: &[Option<Injection>],
) -> Result<(Outcome, Vec<Dose>), LabError> {
    let plan: Plan = directory.plan.clone();
    let Some(comparison) = plan.comparison() else {
        return Ok((run(lab, directory, ready)?, Vec::new()));
    };
    let treatment = Treatment { injections: injections.to_vec(), doses: Mutex::default() };
    let outcome = compared(lab, directory, &plan, comparison, ready, &treatment);
    let data = folder(lab, directory)?;
    other_disk::remove(&data).map_err(file_error("remove", &data))?;
    Ok((outcome?, treatment.doses.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

fn compared(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    comparison: &Comparison,
    ready: &[Box<dyn Dbms>],
    treatment: &Treatment,
) -> Result<Outcome, LabError> {
    match compare::run(lab, directory, plan, comparison, ready, treatment) {
        // While the data are being loaded.
        Err(LabError::Interrupted) => Ok(Outcome::Interrupted),
        other => other,
    }
}
