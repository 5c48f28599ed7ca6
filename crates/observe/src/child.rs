//! Real processes for tests: a shell that runs a test's script and ends with all its descendants.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

/// A command that runs in a process of its own until its own statistics show `ticks` of user time.
pub(crate) fn burn(ticks: u64) -> String {
    let user = "read -r all < /proc/self/stat; set -- $all; [ ${14} -lt";
    format!("sh -c 'while {user} {ticks} ]; do for i in 1 2 3 4 5 6 7 8 9; do :; done; done'")
}

/// A shell script in a process group of its own.
pub(crate) struct Script {
    child: Child,
}

impl Script {
    pub(crate) fn new(text: &str) -> Script {
        let mut command = Command::new("sh");
        command.args(["-c", text]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        Script { child: command.spawn().unwrap() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for something, such as a line.
    pub(crate) fn is_asleep(&self) -> bool {
        procfs::process::Process::new(self.pid() as i32).unwrap().stat().unwrap().state == 'S'
    }

    /// Lets a script that waits in `read` continue.
    pub(crate) fn go(&self) {
        self.child.stdin.as_ref().unwrap().write_all(b"\n").unwrap();
    }

    /// User and system CPU in microseconds of its children that have ended.
    pub(crate) fn reaped_cpu(&self) -> u64 {
        let stat = procfs::process::Process::new(self.pid() as i32).unwrap().stat().unwrap();
        crate::host::ticks_to_micros((stat.cutime + stat.cstime) as u64)
    }

    /// User and system CPU in microseconds of the shell itself.
    pub(crate) fn own_cpu(&self) -> u64 {
        let stat = procfs::process::Process::new(self.pid() as i32).unwrap().stat().unwrap();
        crate::host::ticks_to_micros(stat.utime + stat.stime)
    }

    /// The next line that the script prints; only one may be pending.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.child.id() as i32).unwrap();
        // If all have ended already, there is no group.
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}
