//! What would tell more, in one place.

use super::evidence::Evidence;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Where the CPU goes.
    Profile,
    /// What is waited for.
    OffCpu,
    /// The test once more, from data that are loaded again.
    Again,
    /// What the machine is doing.
    Doctor,
    /// What the plans touch.
    Plans,
    /// Which system calls there are more of.
    SystemCalls,
}

impl Next {
    pub const ALL: [Next; 6] =
        [Next::Profile, Next::OffCpu, Next::Again, Next::Doctor, Next::Plans, Next::SystemCalls];

    /// In words. A command of rqps is complete and ends them.
    pub fn text(self, of: &Evidence) -> String {
        let again = &of.again;
        match self {
            Next::Profile if !of.profile.is_empty() => {
                "the flame graphs in report.html".to_string()
            }
            Next::Profile if of.can_be_profiled => format!("{again} --profile=all"),
            Next::Profile | Next::Again => again.clone(),
            Next::OffCpu => format!("perf trace -s -p PID of the DBMS during {again}"),
            Next::SystemCalls => format!("strace -c -f -p PID of the DBMS during {again}"),
            Next::Doctor => "rqps doctor".to_string(),
            Next::Plans => {
                format!("EXPLAIN ANALYZE of its statements on the data of {again} --keep-data")
            }
        }
    }
}
