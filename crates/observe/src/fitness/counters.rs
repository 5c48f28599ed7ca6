//! Which of the CPU's own counters rqps can read.

use std::io;

use super::Finding;
use crate::hardware::{Countable, countable};

pub(super) fn finding() -> Finding {
    told(countable())
}

fn told(found: Countable) -> Finding {
    let value = match found.names.as_slice() {
        [] => "none: results have no instructions, cycles and misses per operation".to_string(),
        names => names.join(", "),
    };
    // Nothing can be done where the machine has no counters.
    let is_forbidden =
        found.refused.is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
    let warning = is_forbidden.then(|| {
        "the kernel forbids counting: run rqps as root, or as root: sysctl \
         kernel.perf_event_paranoid=2"
            .to_string()
    });
    Finding { subject: "hardware counters".to_string(), value, warning }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_counters_is_fit_and_one_that_forbids_them_is_warned_of() {
        let all = told(Countable { names: vec!["instructions", "cycles"], refused: None });
        assert_eq!((all.value.as_str(), all.warning), ("instructions, cycles", None));
        let told =
            |kind: io::ErrorKind| told(Countable { names: Vec::new(), refused: Some(kind.into()) });
        assert_eq!(told(io::ErrorKind::NotFound).warning, None, "a virtual machine");
        let forbidden = told(io::ErrorKind::PermissionDenied).warning.unwrap();
        assert!(forbidden.contains("perf_event_paranoid"), "{forbidden}");
    }
}
