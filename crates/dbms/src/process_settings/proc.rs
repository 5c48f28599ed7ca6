//! What the kernel tells of a process.

use std::fs;

/// A file of `/proc/PID`; empty if the process has ended.
pub(super) fn of_proc(pid: u32, file: &str) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

/// A line of `/proc/PID/status` (proc_pid_status(5)).
pub(super) fn status(pid: u32, name: &str) -> Option<String> {
    let text = String::from_utf8(of_proc(pid, "status")).ok()?;
    let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_string());
    text.lines().find_map(value)
}
