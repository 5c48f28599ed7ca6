//! A child process from start to end, and what the kernel says it cost.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, bail};

/// The cost of a process, in total or per operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// CPU in microseconds.
    pub(crate) user: f64,
    pub(crate) system: f64,
    /// Context switches.
    pub(crate) voluntary: f64,
    pub(crate) involuntary: f64,
}

pub(crate) struct Ended {
    pub(crate) cost: Cost,
    /// Its output on both streams.
    pub(crate) output: String,
}

impl Cost {
    /// The cost per operation of the operations that a shorter run did not have.
    pub(crate) fn per_operation(&self, shorter: &Cost, operations: u64) -> Cost {
        let each = |long: f64, short: f64| (long - short) / operations as f64;
        Cost {
            user: each(self.user, shorter.user),
            system: each(self.system, shorter.system),
            voluntary: each(self.voluntary, shorter.voluntary),
            involuntary: each(self.involuntary, shorter.involuntary),
        }
    }
}

/// Runs a command to its end. A failure is an error with its output.
pub(crate) fn run(mut command: Command) -> anyhow::Result<Ended> {
    // A file takes all output without a reader that would run beside the client.
    let mut file = tempfile::tempfile().context("no temporary file")?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
    let program = command.get_program().to_string_lossy().into_owned();
    let child = command.spawn().with_context(|| format!("cannot start {program}"))?;
    let (status, cost) = wait(child.id() as libc::pid_t).with_context(|| program.clone())?;
    let output = content(&mut file)?;
    if !status.success() {
        bail!("{program} ended with {status}:\n{}", output.trim_end());
    }
    Ok(Ended { cost, output })
}

/// Waits for a child as the standard library does, and asks for its cost as well.
fn wait(pid: libc::pid_t) -> io::Result<(ExitStatus, Cost)> {
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live values, and nobody else waits for this child.
    while unsafe { libc::wait4(pid, &mut status, 0, &mut usage) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let micros = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    let cost = Cost {
        user: micros(usage.ru_utime),
        system: micros(usage.ru_stime),
        voluntary: usage.ru_nvcsw as f64,
        involuntary: usage.ru_nivcsw as f64,
    };
    Ok((ExitStatus::from_raw(status), cost))
}

fn content(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
