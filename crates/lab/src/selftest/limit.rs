//! Limits of a server that runs alone, by a control group.

use std::path::Path;

use rqps_dbms::Server;
use rqps_observe::{Group, GroupError, Throttle};
use rqps_plan::Injection;

use crate::error::LabError;

/// Puts a server under its limit, which holds until the returned value is dropped.
pub(crate) fn limit(
    injection: Option<Injection>,
    server: &dyn Server,
    name: &str,
) -> Result<Option<Group>, LabError> {
    let Some((injection, root)) = injection.filter(is_limit).zip(server.process()) else {
        return Ok(None);
    };
    let group = Group::create(name).ok_or(GroupError::NotAllowed("anything"))?;
    apply(&group, injection, server.data().unwrap_or(Path::new("/")))?;
    group.add_tree(root)?;
    Ok(Some(group))
}

fn is_limit(injection: &Injection) -> bool {
    !matches!(injection, Injection::Delay { .. })
}

fn apply(group: &Group, injection: Injection, data: &Path) -> Result<(), GroupError> {
    match injection {
        Injection::Delay { .. } => Ok(()),
        Injection::Cpus(cpus) => group.limit_cpu(cpus),
        Injection::WritesPerSecond(writes) => {
            let throttle = Throttle { writes_per_second: Some(writes), ..Throttle::default() };
            group.throttle_io(data, throttle)
        }
    }
}

/// Why an injection is not possible on this machine, for servers with their data in `data`.
pub fn obstacle(injection: Injection, data: &Path) -> Option<String> {
    if !is_limit(&injection) {
        return None;
    }
    let Some(group) = Group::create("probe") else {
        return Some("rqps cannot create control groups on this machine".to_string());
    };
    apply(&group, injection, data).err().map(|error| error.to_string())
}
