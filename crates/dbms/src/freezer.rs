//! Freezes the process of a server, so that it does nothing while others are measured. All of its
//! threads stop, whatever they do, and go on where they were. It is for servers that are one
//! process (SIGSTOP, see signal(7)): a control group, which would freeze several, is not there on
//! every machine.
//!
//! A frozen process is never left behind: it thaws when this is dropped, and if rqps is killed, the
//! kernel kills the process (see `process::command`), which a frozen one cannot defer.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::process_id::ProcessId;

/// A process that can be frozen.
pub struct Freezer {
    process: ProcessId,
    /// Stays with the process, and takes a microsecond for a signal. None if the kernel is older
    /// than 5.3, or a container forbids it.
    descriptor: Option<OwnedFd>,
}

impl Freezer {
    /// None if it has ended.
    pub fn of(process: u32) -> Option<Freezer> {
        let pid = i32::try_from(process).ok()?;
        let process = ProcessId::of(pid)?;
        let descriptor = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok();
        // Not another one that has got its number meanwhile.
        process.is_alive().then_some(Freezer { process, descriptor })
    }

    /// Stops all of its threads. One that has ended is no error: whoever asks it something is told.
    pub fn freeze(&self) -> io::Result<()> {
        self.send(Signal::STOP)
    }

    /// Lets them go on.
    pub fn thaw(&self) -> io::Result<()> {
        self.send(Signal::CONT)
    }

    fn send(&self, signal: Signal) -> io::Result<()> {
        let sent = match &self.descriptor {
            Some(descriptor) => pidfd_send_signal(descriptor, signal),
            None => self.process.signal(signal),
        };
        match sent {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        // Only a process that has ended cannot be sent it, for which there is nothing to do.
        let _ = self.thaw();
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    use procfs::process::Process;

    use super::*;

    fn sleeper() -> (Child, Freezer) {
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let freezer = Freezer::of(child.id()).unwrap();
        (child, freezer)
    }

    /// Waits until it is frozen, or is not.
    fn await_frozen(child: &Child, is_frozen: bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        let state = || Process::new(child.id() as i32).unwrap().stat().unwrap().state;
        while (state() == 'T') != is_frozen {
            assert!(Instant::now() < deadline, "it is {}", state());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_is_frozen_until_it_thaws_or_nobody_can_thaw_it_any_more() {
        let (child, freezer) = sleeper();
        freezer.freeze().unwrap();
        await_frozen(&child, true);
        freezer.thaw().unwrap();
        await_frozen(&child, false);
        freezer.freeze().unwrap();
        await_frozen(&child, true);
        drop(freezer);
        await_frozen(&child, false);
        end(child);
    }

    #[test]
    fn without_a_descriptor_it_is_the_same() {
        let (child, mut freezer) = sleeper();
        freezer.descriptor = None;
        freezer.freeze().unwrap();
        await_frozen(&child, true);
        drop(freezer);
        await_frozen(&child, false);
        end(child);
    }

    #[test]
    fn one_that_has_ended_is_no_error() {
        let (child, freezer) = sleeper();
        end(child);
        freezer.freeze().unwrap();
        assert!(Freezer::of(u32::MAX).is_none());
    }
}
