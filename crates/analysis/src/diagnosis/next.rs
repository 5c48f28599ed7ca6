//! The next step after a finding: a command, or where to look.

use super::evidence::Evidence;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Where the CPU time goes.
    Profile,
    /// Which system calls have increased, and how long they wait.
    SystemCalls,
    /// The test again, with data that are loaded anew.
    Again,
    /// What the machine is doing.
    Doctor,
    /// What the query plans read, on data that are kept.
    Plans,
}

impl Next {
    pub const ALL: [Next; 5] =
        [Next::Profile, Next::SystemCalls, Next::Again, Next::Doctor, Next::Plans];

    /// A command that a shell takes as it is and that ends in one of rqps; or where to look, if it
    /// has been measured already.
    pub fn text(self, of: &Evidence) -> String {
        let again = &of.again;
        match self {
            Next::Profile if !of.profile.is_empty() => {
                "the flame graphs in report.html".to_string()
            }
            Next::Profile if of.can_be_profiled => format!("{again} --profile=all"),
            // A DBMS inside rqps and steps that build on each other are profiled from outside.
            Next::Profile => format!("perf record -a -g -o rqps.perf {again}"),
            Next::Again => again.clone(),
            // By thread, which separates the servers from the client.
            Next::SystemCalls => format!("perf trace -s -o calls.txt {again}"),
            Next::Doctor => "rqps doctor".to_string(),
            Next::Plans => format!("{again} --keep-data"),
        }
    }
}
