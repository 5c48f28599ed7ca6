//! The process that measures a cell, as others find it.

use std::fs;

use procfs::process::Process;
use rqps_observe::{MachineIdentity, host_name};
use rqps_system::printable;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::submission::{job_of_environment, node_of_environment};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellHolder {
    pub host: String,
    pub machine: MachineIdentity,
    /// Pids are of this namespace (pid_namespaces(7)).
    pub(crate) namespace: String,
    pub pid: i32,
    /// Clock ticks after boot, so that a later process with this pid is another.
    pub(crate) started: u64,
    /// As the scheduler calls it: `slurm 17_2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// What the scheduler calls the machine, which may not be its host name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// RFC 3339, by the clock of its host.
    pub since: String,
}

/// What another process can find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellLife {
    Alive,
    Gone,
    /// It is on another machine.
    Unknown,
}

impl CellHolder {
    /// This process.
    pub fn current() -> Self {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        CellHolder {
            host: printable(&host_name()).into_owned(),
            machine: MachineIdentity::current(),
            namespace: namespace(),
            pid,
            started: started(pid).unwrap_or(0),
            job: job_of_environment(),
            node: node_of_environment(),
            since: jiff::Timestamp::now().to_string(),
        }
    }

    pub fn life(&self) -> CellLife {
        let here = MachineIdentity::current();
        if !self.machine.is_same(&here) {
            return CellLife::Unknown;
        }
        match (self.machine.boot == here.boot, self.namespace == namespace()) {
            (false, _) => CellLife::Gone,
            (true, false) => CellLife::Unknown,
            (true, true) if started(self.pid) == Some(self.started) => CellLife::Alive,
            (true, true) => CellLife::Gone,
        }
    }

    /// Asks the process to end, if it is on this machine and is still the same. Whether it was
    /// asked.
    pub fn end(&self) -> bool {
        let pid = Pid::from_raw(self.pid).filter(|_| self.life() == CellLife::Alive);
        pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok())
    }

    /// `db1, process 4711, job 17_2`
    pub fn told(&self) -> String {
        let job = self.job.as_ref().map_or(String::new(), |job| format!(", job {job}"));
        printable(&format!("{}, process {}{job}", self.host, self.pid)).into_owned()
    }
}

fn namespace() -> String {
    fs::read_link("/proc/self/ns/pid").unwrap_or_default().display().to_string()
}

/// When a process was started; none if there is none that runs.
fn started(pid: i32) -> Option<u64> {
    let stat = Process::new(pid).ok()?.stat().ok()?;
    (stat.state != 'Z').then_some(stat.starttime)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_known_by_its_start_and_not_by_its_pid_alone() {
        let here = CellHolder::current();
        assert_eq!(here.life(), CellLife::Alive);
        let later = CellHolder { started: here.started + 1, ..here.clone() };
        assert_eq!(later.life(), CellLife::Gone);
        assert!(!later.end(), "it must not be sent a signal");
        let mut rebooted = here.clone();
        rebooted.machine.boot = "0".repeat(16);
        // One without a machine-id cannot be told from another machine.
        let expected = match here.machine.installation {
            Some(_) => CellLife::Gone,
            None => CellLife::Unknown,
        };
        assert_eq!(rebooted.life(), expected);
        let mut elsewhere = rebooted.clone();
        elsewhere.machine.host = "1".repeat(16);
        assert_eq!(elsewhere.life(), CellLife::Unknown);
    }

    #[test]
    fn a_process_is_asked_to_end() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = child.id() as i32;
        let holder = CellHolder { pid, started: started(pid).unwrap(), ..CellHolder::current() };
        assert!(holder.end());
        assert!(!child.wait().unwrap().success());
        assert_eq!(holder.life(), CellLife::Gone);
    }
}
