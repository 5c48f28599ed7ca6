//! The cache that a plan chooses for a contender.

use rqps_dbms::Descriptor;
use rqps_plan::{Contender, Plan};

use crate::error::LabError;

/// The bytes of a contender's cache, if the plan chooses it, on a machine with `memory` bytes.
pub(crate) fn cache(
    plan: &Plan,
    contender: &Contender,
    memory: u64,
) -> Result<Option<u64>, LabError> {
    let rows = plan.workload().most_rows();
    let memory = plan.memory.map_or(memory, |most| most.0.min(memory));
    let need = <&Descriptor>::from(contender).need;
    let chosen = plan.cache.map(|cache| cache.bytes(contender, need, rows, memory));
    Ok(chosen.transpose()?)
}
