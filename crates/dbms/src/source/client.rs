//! Running the ordinary clients of package registries, which honour the user's registries,
//! proxies and credentials.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, getppid, kill_process_group, set_parent_process_death_signal};

use super::error::{SourceError, at};
use super::progress::{Progress, Tell, report};

/// What a program said before it ended.
pub(super) struct Said {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Finds a program as a shell would.
pub(super) fn find(program: &str, path: &OsStr) -> Option<PathBuf> {
    // A relative folder would mean another one where the program is run.
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).find(|candidate| {
        let meta = candidate.metadata();
        meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    })
}

/// Runs a program to its end in a folder, telling `progress` again and again. It dies with rqps,
/// and when the caller cancels.
pub(super) fn run(
    program: &Path,
    args: &[OsString],
    folder: &Path,
    progress: &Progress,
    tell: &mut Tell,
) -> Result<Said, SourceError> {
    report(tell, progress.clone())?;
    let mut command = Command::new(program);
    command.args(args).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own, so that what it starts can be ended with it.
    command.process_group(0);
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // rqps may have died before the line above took effect.
            match getppid() {
                Some(now) if now != parent => Err(io::Error::from(io::ErrorKind::BrokenPipe)),
                _ => Ok(()),
            }
        });
    }
    let again = &mut || report(tell, progress.clone());
    let mut group = Group(spawn(&mut command, program, again)?);
    let stdout = collect(group.0.stdout.take());
    let stderr = collect(group.0.stderr.take());
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = group.0.try_wait().map_err(at(program))? {
            break status;
        }
        report(tell, progress.clone())?;
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    };
    Ok(Said { status, stdout: text(stdout), stderr: text(stderr) })
}

/// Starts a program that may have been written a moment ago: when another thread starts a program
/// just then, that one holds the file open for writing until it runs, and this one is "busy". A
/// machine may have it stand still for seconds; `again` is asked before each further try.
fn spawn(
    command: &mut Command,
    program: &Path,
    again: &mut dyn FnMut() -> Result<(), SourceError>,
) -> Result<Child, SourceError> {
    let mut tries = 6_000;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && tries > 0 => {
                tries -= 1;
                again()?;
                thread::sleep(Duration::from_millis(5));
            }
            started => return started.map_err(at(program)),
        }
    }
}

/// A child that takes its process group with it when it is dropped.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        // Errors mean that it has just ended by itself.
        if let Some(pid) = Pid::from_raw(self.0.id().cast_signed()) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// Reads on a thread of its own, since a full pipe would stop the client.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Option<JoinHandle<Vec<u8>>> {
    let mut pipe = pipe?;
    Some(thread::spawn(move || {
        let mut bytes = Vec::new();
        // A pipe that breaks ends what there is to read.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    }))
}

fn text(reader: Option<JoinHandle<Vec<u8>>>) -> String {
    let bytes = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;
    use std::time::Instant;

    fn sh(script: &str, tell: &mut Tell) -> Result<Said, SourceError> {
        let args = ["-c".into(), script.into()];
        run(Path::new("/bin/sh"), &args, Path::new("/"), &Progress::Waiting, tell)
    }

    #[test]
    fn both_outputs_are_read_however_long() {
        let said =
            sh("seq 100000; seq 100000 >&2; exit 3", &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(said.status.code(), Some(3));
        assert!(said.stdout.ends_with("\n100000\n") && said.stderr == said.stdout);
    }

    #[test]
    fn cancelling_ends_the_client_and_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let marker = folder.path().join("pid");
        let begun = Instant::now();
        let script = format!("sleep 600 & echo $! > {}; wait", marker.display());
        let written = || std::fs::read_to_string(&marker).is_ok_and(|pid| pid.ends_with('\n'));
        let error = sh(&script, &mut |_| match written() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        assert!(matches!(error, Err(SourceError::Cancelled)));
        assert!(begun.elapsed() < Duration::from_secs(100));
        let pid = std::fs::read_to_string(&marker).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        let alive = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        while alive() {
            assert!(begun.elapsed() < Duration::from_secs(100), "the grandchild lives on");
            thread::sleep(Duration::from_millis(10));
        }
    }
}
