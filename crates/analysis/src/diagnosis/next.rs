//! What would tell more, in one place.

use super::evidence::Evidence;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Where the CPU goes.
    Profile,
    /// Which system calls there are more of, and how long they wait.
    SystemCalls,
    /// The test once more, from data that are loaded again.
    Again,
    /// What the machine is doing.
    Doctor,
    /// What the plans touch, on data that are kept.
    Plans,
}

impl Next {
    pub const ALL: [Next; 5] =
        [Next::Profile, Next::SystemCalls, Next::Again, Next::Doctor, Next::Plans];

    /// A command that a shell takes as it is, with one of rqps at its end; or where to look, if
    /// what would tell more has been measured.
    pub fn text(self, of: &Evidence) -> String {
        let again = &of.again;
        match self {
            Next::Profile if !of.profile.is_empty() => {
                "the flame graphs in report.html".to_string()
            }
            Next::Profile if of.can_be_profiled => format!("{again} --profile=all"),
            // What runs inside rqps, or in steps that build on each other, is profiled from
            // outside.
            Next::Profile => format!("perf record -a -g -o rqps.perf {again}"),
            Next::Again => again.clone(),
            // By thread, so that servers and client are told apart.
            Next::SystemCalls => format!("perf trace -s -o calls.txt {again}"),
            Next::Doctor => "rqps doctor".to_string(),
            Next::Plans => format!("{again} --keep-data"),
        }
    }
}
