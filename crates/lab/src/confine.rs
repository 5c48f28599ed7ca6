//! A control group that limits the memory of a server to that of the plan, including the page cache
//! of its files: data beyond it are read from the device, however much memory the machine has.

use rqps_observe::{Group, GroupError, GroupVersion};
use rqps_plan::{Memory, Plan};
use rqps_store::MemoryHold;

use crate::error::LabError;

/// Puts a newly started server into a group with the limit. The server leaves the group when the
/// value is dropped.
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

/// How the memory of a plan's servers is limited on this machine. Fails if rqps cannot set a limit
/// here.
pub fn memory_hold(plan: &Plan) -> Result<MemoryHold, LabError> {
    let Some(memory) = plan.memory else { return Ok(MemoryHold::Nothing) };
    let (group, bytes) = (limited(memory, "probe")?, memory.0);
    Ok(match group.memory_version()? {
        GroupVersion::One => MemoryHold::CgroupV1 { bytes },
        GroupVersion::Two => MemoryHold::CgroupV2 { bytes },
    })
}
