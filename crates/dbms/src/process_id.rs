//! Processes that cannot be mistaken for later ones with the same pid, and how to end them with all
//! their descendants.

use std::fs;
use std::time::{Duration, Instant};

use procfs::process::{Process, Stat};
use rqps_observe::descendants;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use crate::error::DbmsError;

/// How long killed processes may take to end: they release their memory first.
const DEATH: Duration = Duration::from_secs(30);
/// How long processes may take to notice that their parent has ended, and to end by themselves.
const FAREWELL: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A process that cannot be mistaken for a later one with the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessId {
    pub(crate) pid: i32,
    /// Clock ticks after boot, from /proc/PID/stat.
    started: u64,
}

/// Where pids are valid: one boot of a machine, and one of its containers (pid_namespaces(7)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Numbers {
    boot: String,
    namespace: String,
}

impl Numbers {
    pub(crate) fn here() -> Numbers {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        Numbers { boot: boot.trim().into(), namespace: namespace.display().to_string() }
    }

    pub(crate) fn are_here(&self) -> bool {
        *self == Numbers::here()
    }

    #[cfg(test)]
    pub(crate) fn elsewhere() -> Numbers {
        Numbers { namespace: "pid:[1]".into(), ..Numbers::here() }
    }
}

/// Has ended, but its parent has not reaped it.
pub(crate) fn is_zombie(stat: &Stat) -> bool {
    stat.state == 'Z'
}

impl ProcessId {
    pub(crate) fn of(pid: i32) -> Option<ProcessId> {
        ProcessId::read(&Process::new(pid).ok()?)
    }

    fn read(process: &Process) -> Option<ProcessId> {
        let stat = process.stat().ok()?;
        (!is_zombie(&stat)).then_some(ProcessId { pid: process.pid, started: stat.starttime })
    }

    pub(crate) fn is_alive(self) -> bool {
        ProcessId::of(self.pid) == Some(self)
    }

    /// Its living descendants, which are known only until the process itself has ended.
    fn below(self) -> Vec<ProcessId> {
        let tree = descendants(self.pid);
        let mut tree = tree.iter().filter_map(ProcessId::read);
        // The root comes first. A later process with its pid has other descendants.
        if tree.next() == Some(self) { tree.collect() } else { Vec::new() }
    }

    /// Sends a signal, unless the process has ended.
    pub(crate) fn signal(self, signal: Signal) -> Result<(), Errno> {
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(()) };
        let sent = match pidfd_open(pid, PidfdFlags::empty()) {
            // The descriptor stays with the process, even if it ends now.
            Ok(process) if self.is_alive() => pidfd_send_signal(process, signal),
            // The kernel is older than 5.3, or a container forbids the call.
            Err(Errno::NOSYS | Errno::PERM) if self.is_alive() => kill_process(pid, signal),
            _ => Ok(()),
        };
        match sent {
            Err(Errno::SRCH) => Ok(()),
            sent => sent,
        }
    }

    /// Ends the process with all its descendants: first with a request, then by force. Descendants
    /// mostly end with it, except frozen ones. An error if it keeps running.
    pub(crate) fn end(self, polite: Signal, patience: Duration) -> Result<(), DbmsError> {
        let mut below = self.below();
        let mut sent = self.signal(polite);
        // A process that cannot be signalled is not waited for.
        let patience = if sent.is_ok() { patience } else { Duration::ZERO };
        if !are_gone(&[self], patience) {
            // It may have started more processes during the wait.
            below.extend(self.below());
            sent = self.signal(Signal::KILL);
            // The kernel may need a while for killed processes, too.
            are_gone(&[self], if sent.is_ok() { DEATH } else { Duration::ZERO });
        }
        if !are_gone(&below, FAREWELL) {
            let refused: Vec<Errno> =
                below.iter().filter_map(|process| process.signal(Signal::KILL).err()).collect();
            if refused.is_empty() {
                are_gone(&below, DEATH);
            }
        }
        match below.iter().chain([&self]).find(|process| process.is_alive()) {
            None => Ok(()),
            Some(process) => Err(DbmsError::LivesOn { pid: process.pid, why: sent.err() }),
        }
    }
}

/// Waits until processes have ended, up to a limit; returns whether they have.
fn are_gone(processes: &[ProcessId], patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    while processes.iter().any(|process| process.is_alive()) {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    true
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn what_is_below_a_process_is_ended_with_it_also_when_it_is_frozen() {
        // In sessions of their own, like the processes of Postgres.
        let script = "setsid sleep 60 & setsid sleep 60 & echo both are there; wait";
        let mut command = Command::new("sh");
        let mut shell = command.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let root = ProcessId::of(shell.id() as i32).unwrap();
        let below = root.below();
        assert_eq!(below.len(), 2, "{said}");

        for process in below.iter().chain([&root]) {
            process.signal(Signal::STOP).unwrap();
        }
        root.end(Signal::TERM, Duration::from_millis(100)).unwrap();
        assert!(!below.iter().any(|process| process.is_alive()));
        assert!(!shell.wait().unwrap().success());
    }

    #[test]
    fn a_later_process_with_the_same_number_is_left_alone() {
        let mut later = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = later.id() as i32;
        ProcessId { pid, started: 1 }.end(Signal::KILL, Duration::ZERO).unwrap();
        assert!(ProcessId::of(pid).is_some());
        later.kill().unwrap();
        later.wait().unwrap();
    }
}
