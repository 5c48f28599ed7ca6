//! A control group that holds a server to the memory that the plan allows, the page cache of its files
//! included: so that data beyond it are read from the device, however much memory the machine has.

use rqps_observe::{Group, GroupError};
use rqps_plan::{Memory, Plan};

use crate::LabError;

/// Puts a server that was just started into a group with the limit. The server leaves the group when
/// the value is dropped.
pub(crate) fn confine(root: u32, memory: Memory, name: &str) -> Result<Group, LabError> {
    let group = limited(memory, name)?;
    group.add_tree(root)?;
    Ok(group)
}

fn limited(memory: Memory, name: &str) -> Result<Group, LabError> {
    let group = Group::create(name).ok_or(GroupError::NotAllowed("memory"))?;
    group.limit_memory(memory.0)?;
    Ok(group)
}

/// Refuses a limit that this machine does not let rqps set.
pub(crate) fn check(plan: &Plan) -> Result<(), LabError> {
    plan.memory.map_or(Ok(()), |memory| limited(memory, "probe").map(drop))
}
