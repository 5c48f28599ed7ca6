//! Other programs: servers, clients of package registries, perf. Each runs in a given folder and as
//! a given user, without rqps's environment, and never outlives rqps.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::SigHandler;
use rustix::process::{Pid, Signal, getppid, kill_process_group, set_parent_process_death_signal};

use crate::{Cancelled, User};

/// Variables of rqps's environment that every program gets; a star stands for any end of the name.
const NEUTRAL: [&str; 4] = ["PATH", "LANG", "LC_*", "TZ"];

/// The most that is kept of a program's output, so that an endless one does not fill the memory.
pub const MOST_OUTPUT: u64 = 256 << 20;

/// The surroundings in which a program runs.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Its working directory, which only trusted users may write to, since many programs obey files
    /// there.
    pub folder: &'a Path,
    /// None for rqps's own.
    pub user: Option<User>,
    /// Further variables of rqps's environment that it gets; a star stands for any end.
    pub environment: &'a [&'a str],
    /// The signal that it gets when the thread that started it ends (see [`start`]); none if it may
    /// outlive rqps.
    pub at_end: Option<Signal>,
}

/// A command in its surroundings, in a process group of its own and without input.
pub fn command(program: &Path, around: &Surroundings<'_>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(around.folder).stdin(Stdio::null()).process_group(0);
    command.env_clear().envs(kept(std::env::vars_os(), around.environment));
    if let Some(user) = around.user {
        // The groups of root are dropped, too.
        command.uid(user.uid).gid(user.gid);
    }
    if let Some(signal) = around.at_end {
        let parent = rustix::process::getpid();
        // SAFETY: between fork and exec only system calls are made, and nothing is allocated: an
        // error without a text is a number.
        unsafe {
            command.pre_exec(move || {
                heed(signal)?;
                set_parent_process_death_signal(Some(signal))?;
                // rqps may have ended before the signal was requested.
                match getppid() {
                    Some(now) if now != parent => Err(io::ErrorKind::BrokenPipe.into()),
                    _ => Ok(()),
                }
            });
        }
    }
    command
}

/// Has the calling process end at a signal, which it may have been told to ignore: a shell tells
/// its jobs in the background to ignore SIGINT and SIGQUIT, and these tell what they start.
fn heed(signal: Signal) -> io::Result<()> {
    if signal == Signal::KILL {
        return Ok(());
    }
    let signal = nix::sys::signal::Signal::try_from(signal.as_raw())?;
    // SAFETY: no handler is replaced that other code relies on, since exec would reset it.
    unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl) }?;
    Ok(())
}

fn kept<'a>(
    environment: impl Iterator<Item = (OsString, OsString)> + 'a,
    more: &'a [&'a str],
) -> impl Iterator<Item = (OsString, OsString)> + 'a {
    let is_named = |name: &OsStr, pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => name.as_encoded_bytes().starts_with(start.as_bytes()),
        None => name == pattern,
    };
    environment
        .filter(move |(name, _)| NEUTRAL.iter().chain(more).any(|pattern| is_named(name, pattern)))
}

/// Finds a program as a shell would, except in relative folders: these would be others where the
/// program runs.
pub fn find(program: &str, path: &OsStr) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).find(|candidate| {
        let runs = rustix::fs::access(candidate, rustix::fs::Access::EXEC_OK).is_ok();
        runs && candidate.is_file()
    })
}

/// A command as a person would type it, for logs.
pub fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    shlex::try_join(words.iter().map(|word| &**word)).unwrap_or_else(|_| words.join(" "))
}

/// The output of a program that has ended.
#[derive(Debug)]
pub struct Said {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Why a program did not end by itself.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Start(#[from] io::Error),
    #[error("it did not end within {0:?}")]
    TooLong(Duration),
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Starts a program that may outlive the calling thread, but not rqps. The kernel sends the signal
/// of [`Surroundings::at_end`] when the thread ends that started the program
/// (PR_SET_PDEATHSIG(2const)), so all of these are started by one thread, which ends with rqps. The
/// files that the command has for the program are closed when this returns.
pub fn start(command: Command) -> io::Result<Child> {
    type Answer = Sender<io::Result<Child>>;
    static STARTER: OnceLock<Sender<(Command, Answer)>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (orders, inbox) = channel::<(Command, Answer)>();
        thread::spawn(move || {
            for (mut command, answer) in inbox {
                let started = command.spawn();
                drop(command);
                // Its caller waits for it below.
                let _ = answer.send(started);
            }
        });
        orders
    });
    let (answer, answered) = channel();
    starter.send((command, answer)).expect("it serves for as long as rqps runs");
    answered.recv().expect("it answers every order")
}

/// Runs a command to its end and keeps its output. It is killed with all its descendants when it
/// takes longer than `limit`, or when `go_on`, which is called repeatedly, returns an error.
pub fn run(
    command: &mut Command,
    limit: Duration,
    go_on: &mut dyn FnMut() -> Result<(), Cancelled>,
) -> Result<Said, RunError> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let begun = Instant::now();
    let mut group = Group(spawn(command, go_on)?);
    let stdout = collect(group.0.stdout.take());
    let stderr = collect(group.0.stderr.take());
    let status = group.wait(begun, limit, go_on)?;
    Ok(Said { status, stdout: text(stdout), stderr: text(stderr) })
}

/// The same for a program whose output is too large for memory: all of it goes into a log.
pub fn run_into(
    log: &File,
    command: &mut Command,
    limit: Duration,
    go_on: &mut dyn FnMut() -> Result<(), Cancelled>,
) -> Result<ExitStatus, RunError> {
    command.stdout(log.try_clone()?).stderr(log.try_clone()?);
    let begun = Instant::now();
    Group(spawn(command, go_on)?).wait(begun, limit, go_on)
}

/// The same for a program whose result is the content of a file; only its errors are kept.
pub fn run_to(
    file: &File,
    command: &mut Command,
    limit: Duration,
    go_on: &mut dyn FnMut() -> Result<(), Cancelled>,
) -> Result<Said, RunError> {
    command.stdout(file.try_clone()?).stderr(Stdio::piped());
    let begun = Instant::now();
    let mut group = Group(spawn(command, go_on)?);
    let stderr = collect(group.0.stderr.take());
    let status = group.wait(begun, limit, go_on)?;
    Ok(Said { status, stdout: String::new(), stderr: text(stderr) })
}

/// Starts a command whose output is read while it runs, in the thread that called this.
pub fn output_of(command: &mut Command) -> Result<ProgramOutput, RunError> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group(spawn(command, &mut || Ok(()))?);
    let stdout = group.0.stdout.take().expect("it was asked for");
    let stderr = collect(group.0.stderr.take());
    Ok(ProgramOutput { group, stdout, stderr })
}

/// What a program writes. Where it ends because the program failed, reading is an error with the
/// program's own words. The program is killed when this is dropped.
pub struct ProgramOutput {
    group: Group,
    stdout: ChildStdout,
    stderr: Option<JoinHandle<Vec<u8>>>,
}

impl Read for ProgramOutput {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.stdout.read(to)?;
        if read > 0 || to.is_empty() {
            return Ok(read);
        }
        let status = self.group.0.wait()?;
        let said = text(self.stderr.take());
        match said.trim() {
            _ if status.success() => Ok(0),
            "" => Err(io::Error::other(status.to_string())),
            said => Err(io::Error::other(said)),
        }
    }
}

/// Starts a program that may have just been written. A child that another thread forks at that time
/// holds the file open for writing until its exec, and starting it fails with "busy". On a stalled
/// machine this may take seconds; `go_on` is called before each retry.
fn spawn(
    command: &mut Command,
    go_on: &mut dyn FnMut() -> Result<(), Cancelled>,
) -> Result<Child, RunError> {
    tracing::debug!("runs {}", shown(command));
    let mut tries = 6_000;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && tries > 0 => {
                tries -= 1;
                go_on()?;
                thread::sleep(Duration::from_millis(5));
            }
            started => return Ok(started?),
        }
    }
}

/// A child that takes its process group with it when it is dropped.
struct Group(Child);

impl Group {
    fn wait(
        &mut self,
        begun: Instant,
        limit: Duration,
        go_on: &mut dyn FnMut() -> Result<(), Cancelled>,
    ) -> Result<ExitStatus, RunError> {
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            go_on()?;
            if begun.elapsed() > limit {
                return Err(RunError::TooLong(limit));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        // An error means that it has just ended by itself.
        if let Some(pid) = Pid::from_raw(self.0.id().cast_signed()) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// Reads on a thread of its own, since a full pipe would stop the program.
fn collect(pipe: Option<impl Read + Send + 'static>) -> Option<JoinHandle<Vec<u8>>> {
    let mut pipe = pipe?;
    Some(thread::spawn(move || {
        let mut bytes = Vec::new();
        // A broken pipe ends the output.
        let _ = (&mut pipe).take(MOST_OUTPUT).read_to_end(&mut bytes);
        let _ = io::copy(&mut pipe, &mut io::sink());
        bytes
    }))
}

fn text(reader: Option<JoinHandle<Vec<u8>>>) -> String {
    let bytes = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Seek;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(100);

    fn sh(
        script: &str,
        limit: Duration,
        go_on: &mut dyn FnMut() -> Result<(), Cancelled>,
    ) -> Result<Said, RunError> {
        let around = Surroundings {
            folder: Path::new("/"),
            user: None,
            environment: &[],
            at_end: Some(Signal::KILL),
        };
        run(command(Path::new("/bin/sh"), &around).args(["-c", script]), limit, go_on)
    }

    #[test]
    fn both_outputs_are_read_however_long() {
        let go_on = &mut || Ok(());
        let said = sh("seq 100000; seq 100000 >&2; exit 3", PATIENCE, go_on).unwrap();
        assert_eq!(said.status.code(), Some(3));
        assert!(said.stdout.ends_with("\n100000\n") && said.stderr == said.stdout);
    }

    #[test]
    fn a_log_has_both_outputs_in_their_order() {
        let mut log = tempfile::tempfile().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo one; echo two >&2; echo three; exit 4"]);
        let status = run_into(&log, &mut command, PATIENCE, &mut || Ok(()));
        assert_eq!(status.unwrap().code(), Some(4));
        let mut text = String::new();
        log.seek(io::SeekFrom::Start(0)).unwrap();
        log.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\ntwo\nthree\n");
    }

    #[test]
    fn output_that_is_read_while_it_is_written_ends_with_what_went_wrong() {
        let read = |script: &str| {
            let mut command = Command::new("/bin/sh");
            let mut output = output_of(command.process_group(0).args(["-c", script])).unwrap();
            let mut text = String::new();
            output.read_to_string(&mut text).map(|_| text).map_err(|error| error.to_string())
        };
        assert_eq!(read("echo out; echo aside >&2"), Ok("out\n".to_string()));
        assert_eq!(read("seq 100000 >&2; exit 0"), Ok(String::new()));
        assert_eq!(read("echo out; echo no room >&2; exit 1"), Err("no room".to_string()));
        assert_eq!(read("exit 4"), Err("exit status: 4".to_string()));
    }

    #[test]
    fn of_the_environment_only_what_is_named_is_given() {
        let all =
            ["PATH=/bin", "LC_ALL=C", "LANGUAGE=de", "TOKEN=hush", "npm_config_x=1", "TZ=UTC"];
        let all = all.iter().map(|pair| {
            let (name, value) = pair.split_once('=').unwrap();
            (OsString::from(name), OsString::from(value))
        });
        let names: Vec<OsString> = kept(all, &["npm_config_*"]).map(|(name, _)| name).collect();
        assert_eq!(names, ["PATH", "LC_ALL", "npm_config_x", "TZ"]);
    }

    #[test]
    fn cancelling_ends_the_program_and_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let marker = folder.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}; wait", marker.display());
        let written = || std::fs::read_to_string(&marker).is_ok_and(|pid| pid.ends_with('\n'));
        let error = sh(&script, PATIENCE, &mut || match written() {
            true => Err(Cancelled),
            false => Ok(()),
        });
        assert!(matches!(error, Err(RunError::Cancelled(_))));
        let pid = std::fs::read_to_string(&marker).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        let alive = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        let begun = Instant::now();
        while alive() {
            assert!(begun.elapsed() < PATIENCE, "the grandchild lives on");
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn what_a_thread_has_started_outlives_the_thread() {
        let around = Surroundings {
            folder: Path::new("/"),
            user: None,
            environment: &[],
            at_end: Some(Signal::KILL),
        };
        let sleeping = || {
            let mut sleep = command(Path::new("/bin/sh"), &around);
            sleep.args(["-c", "echo there; exec sleep 600"]).stdout(Stdio::piped());
            sleep
        };
        let awaited = |mut child: Child| {
            let mut there = [0; 6];
            child.stdout.take().unwrap().read_exact(&mut there).unwrap();
            child
        };
        let on_a_thread = |start: fn(Command) -> io::Result<Child>| {
            let command = sleeping();
            thread::spawn(move || awaited(start(command).unwrap())).join().unwrap()
        };
        let mut own = on_a_thread(|mut command| command.spawn());
        let mut others = on_a_thread(start);
        assert!(!own.wait().unwrap().success(), "the kernel has ended it with its thread");
        assert!(others.try_wait().unwrap().is_none());
        others.kill().unwrap();
        others.wait().unwrap();
    }

    #[test]
    fn a_signal_that_is_ignored_here_ends_the_program_with_its_thread() {
        let ignored = nix::sys::signal::Signal::SIGUSR1;
        // SAFETY: nothing in this process waits for this signal.
        unsafe { nix::sys::signal::signal(ignored, SigHandler::SigIgn) }.unwrap();
        let at_end = Some(Signal::USR1);
        let around = Surroundings { folder: Path::new("/"), user: None, environment: &[], at_end };
        let mut sleep = command(Path::new("/bin/sleep"), &around);
        let mut child = thread::spawn(move || sleep.arg("600").spawn().unwrap()).join().unwrap();
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < PATIENCE, "it lives on");
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn what_takes_too_long_is_ended() {
        let error = sh("sleep 600", Duration::from_millis(50), &mut || Ok(()));
        assert!(matches!(error, Err(RunError::TooLong(_))));
    }
}
