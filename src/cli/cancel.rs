//! Ctrl-C: once to end in an orderly way, twice to end immediately.

use std::fs;

use rqps_system::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Listens from now on. The second signal ends the process, and with it the servers: the kernel
/// signals them when their parent dies.
pub(crate) fn listen() -> std::io::Result<Cancel> {
    let cancel = Cancel::default();
    // A script starts background processes with SIGINT ignored; they are interrupted all the same.
    let signals = [SIGINT, SIGTERM, SIGHUP];
    for signal in signals.into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP)) {
        // Order matters: at the first signal the flag is not set yet.
        flag::register_conditional_shutdown(signal, 130, cancel.flag())?;
        flag::register(signal, cancel.flag())?;
    }
    Ok(cancel)
}

/// Whether the parent wants this process to continue at a signal, as `nohup` does
/// (proc_pid_status(5), SigIgn).
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
