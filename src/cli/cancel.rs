//! Ctrl-C: once to end in an orderly way, twice to end immediately.

use std::fs;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use rqps_system::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use super::output;

/// The exit code of a process that a signal has ended.
const CODE: i32 = 130;
/// How often, and how many times in a row, a script must be in Lua after a signal to be taken for
/// one that never returns: longer than `rqps sysbench` waits for its clients.
const LOOK: Duration = Duration::from_millis(100);
const LOOKS: u32 = 60;

/// Listens from now on. The second signal ends the process, and with it the servers: the kernel
/// signals them when their parent dies.
pub(crate) fn listen() -> std::io::Result<Cancel> {
    let cancel = Cancel::default();
    let (mut told, tell) = UnixStream::pair()?;
    // A script starts background processes with SIGINT ignored; they are interrupted all the same.
    let signals = [SIGINT, SIGTERM, SIGHUP];
    for signal in signals.into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP)) {
        // Order matters: at the first signal the flag is not set yet.
        flag::register_conditional_shutdown(signal, CODE, cancel.flag())?;
        flag::register(signal, cancel.flag())?;
        low_level::pipe::register(signal, tell.try_clone()?)?;
    }
    thread::spawn(move || {
        if told.read_exact(&mut [0]).is_ok() {
            end_with_script();
        }
    });
    Ok(cancel)
}

/// Ends the process once a script has not returned from Lua for a while, where nothing can end it.
fn end_with_script() {
    let mut looks = 0;
    while looks < LOOKS {
        thread::sleep(LOOK);
        looks = if rqps_workload::lua::is_in_lua() { looks + 1 } else { 0 };
    }
    output::note("a script does not return from Lua: rqps ends without it");
    low_level::exit(CODE);
}

/// Whether the parent wants this process to continue at a signal, as `nohup` does
/// (proc_pid_status(5), SigIgn).
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
