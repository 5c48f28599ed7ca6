//! The commands that would tell more, in one place.

use super::evidence::Evidence;

/// Where the CPU goes; that is told in the report where there is a profile.
pub(super) fn profile(of: &Evidence) -> String {
    match of.profile.is_empty() {
        true => format!("{} --profile", compare(of)),
        false => "the flame graphs in report.html".to_string(),
    }
}

/// What is waited for.
pub(super) fn off_cpu(of: &Evidence) -> String {
    format!("perf trace -s -p PID of the servers of {}", both(of))
}

/// The test once more, from restored data.
pub(super) fn compare(of: &Evidence) -> String {
    format!("rqps compare {} {} --workload micro:{}", of.base, of.contender, of.test)
}

/// What the machine is doing.
pub(super) fn doctor(_: &Evidence) -> String {
    "rqps doctor".to_string()
}

/// What the plans touch.
pub(super) fn plans(of: &Evidence) -> String {
    format!("EXPLAIN (ANALYZE, BUFFERS) of {} on {} and on {}", of.test, of.base, of.contender)
}

/// Which system calls there are more of.
pub(super) fn system_calls(of: &Evidence) -> String {
    format!("strace -c -f -p PID of the servers of {}", both(of))
}

/// The servers while they do the test.
fn both(of: &Evidence) -> String {
    format!("{} and {} while they do {}", of.base, of.contender, of.test)
}
