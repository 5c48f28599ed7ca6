//! Where a server's CPU time goes: its processes are sampled with `perf`, with call stacks.
//!
//! The fetched builds have symbols but no frame pointers, so stacks are unwound from a copy of the
//! stack's top that the kernel adds to each sample. What a sample costs, and how many stacks are
//! whole, is in docs/profiles.md.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rqps_system::private_folder;
use rqps_system::program::{RunError, Surroundings, command, find, run};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::process_tree::descendants;
use crate::symbol;

/// Samples per second of CPU. Not a round number, to avoid sampling in step with periodic work.
pub const FREQUENCY: u32 = 997;
/// Bytes of the stack that are copied with a sample.
const STACK_BYTES: u32 = 16 * 1024;
/// How long perf may take to attach, to follow an order or to end.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error(
        "profiles need perf, which is not installed. Install it (Debian: linux-perf, Ubuntu: \
         linux-tools-generic, Fedora: perf)"
    )]
    NoPerf,
    #[error(
        "perf may not sample: kernel.perf_event_paranoid is {paranoid} ({said}). Run rqps as root, or \
         run sysctl kernel.perf_event_paranoid=1 (2 leaves out the kernel)"
    )]
    Forbidden { paranoid: i32, said: String },
    #[error("perf failed: {0}")]
    Failed(String),
    #[error("perf took no samples: this machine has no timer that perf can use")]
    NoSamples,
    #[error("cannot {what} '{path}': {source}")]
    File { what: &'static str, path: PathBuf, source: std::io::Error },
}

/// What a server's CPU was used for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacks {
    /// Nanoseconds of CPU by stack, the outermost function first, joined by semicolons as in flame
    /// graphs. Functions of the kernel end in `_[k]`; one without a name is the name of its file in
    /// brackets, or `[kernel]`.
    pub nanos: BTreeMap<String, u64>,
    pub samples: u64,
}

/// Tests whether perf can sample here, by sampling.
pub fn probe() -> Result<(), ProfileError> {
    let made = private_folder();
    let folder = made.map_err(|error| file("create a folder in", &env::temp_dir())(error))?;
    let data = folder.path().join("probe.data");
    let busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let mut record = perf(folder.path())?;
    record.arg("record").args([
        "-q",
        "-N",
        "-B",
        "-F",
        &FREQUENCY.to_string(),
        "-e",
        event(),
        "-o",
    ]);
    record.arg(&data).args(["--", "sh", "-c", busy]);
    let said = run(&mut record, PATIENCE, &mut || Ok(())).map_err(not_run)?;
    succeeded(said.status, &said.stderr)?;
    match script(folder.path(), &data)?.samples {
        0 => Err(ProfileError::NoSamples),
        _ => Ok(()),
    }
}

/// Whether perf may sample kernel code.
pub fn sees_kernel() -> bool {
    rustix::process::geteuid().is_root() || paranoid() <= 1
}

/// What users other than root may sample: 2 leaves out the kernel, 3 and more (Debian, Ubuntu)
/// allow nothing.
fn paranoid() -> i32 {
    let setting = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    setting.ok().and_then(|value| value.trim().parse().ok()).unwrap_or(2)
}

fn event() -> &'static str {
    if sees_kernel() { "cpu-clock" } else { "cpu-clock:u" }
}

/// perf without any configuration, and without notes in the user's home.
fn perf(folder: &Path) -> Result<Command, ProfileError> {
    let path = env::var_os("PATH").unwrap_or_default();
    let program = find("perf", &path).ok_or(ProfileError::NoPerf)?;
    let at_end = Some(Signal::KILL);
    let mut perf =
        command(&program, &Surroundings { folder, user: None, environment: &[], at_end });
    perf.env("PERF_CONFIG", "/dev/null").env("HOME", folder);
    Ok(perf)
}

fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ProfileError {
    let path = path.to_path_buf();
    move |source| ProfileError::File { what, path, source }
}

/// `perf` attached to a server. Ends when dropped, or with the server.
pub struct Profiler {
    perf: Child,
    /// A folder that only this profiler's user can enter.
    folder: TempDir,
    data: PathBuf,
    control: Fifo,
    answers: Fifo,
}

impl Profiler {
    /// Attaches to all processes below a root and to those that they will start. Nothing is sampled
    /// yet. Samples go to files in a folder in `directory`, which is removed at the end.
    pub fn attach(root: u32, directory: &Path) -> Result<Profiler, ProfileError> {
        let mode = Permissions::from_mode(0o700);
        let made = tempfile::Builder::new().prefix("perf-").permissions(mode).tempdir_in(directory);
        let folder = made.map_err(file("create a folder in", directory))?;
        let data = folder.path().join("perf.data");
        let control = Fifo::make(folder.path().join("perf.control"))?;
        let answers = Fifo::make(folder.path().join("perf.answers"))?;
        let tree = descendants(root as i32);
        let pids: Vec<String> = tree.iter().map(|process| process.pid.to_string()).collect();
        let mut record = perf(folder.path())?;
        // Build ids would be stored in the user's home.
        record.args(["record", "-q", "-N", "-B", "-e", event(), "-F", &FREQUENCY.to_string()]);
        record.args(["--call-graph", &format!("dwarf,{STACK_BYTES}"), "-p", &pids.join(",")]);
        // Samples begin when told to.
        record.args(["-D", "-1", "--control"]);
        record.arg(format!("fifo:{},{}", control.path.display(), answers.path.display()));
        record.arg("-o").arg(&data).stdout(Stdio::null()).stderr(Stdio::piped());
        let perf = record.spawn().map_err(|error| ProfileError::Failed(error.to_string()))?;
        let mut profiler = Profiler { perf, folder, data, control, answers };
        profiler.tell("ping")?;
        Ok(profiler)
    }

    /// Starts sampling.
    pub fn start(&mut self) -> Result<(), ProfileError> {
        self.tell("enable")
    }

    /// Stops sampling.
    pub fn stop(&mut self) -> Result<(), ProfileError> {
        self.tell("disable")
    }

    /// Ends perf and reads its samples.
    pub fn finish(mut self) -> Result<Stacks, ProfileError> {
        self.interrupt();
        let begun = Instant::now();
        while self.perf.try_wait().is_ok_and(|status| status.is_none()) {
            if begun.elapsed() > PATIENCE {
                return Err(ProfileError::Failed("it did not end".to_string()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let status = self.perf.wait().map_err(|error| ProfileError::Failed(error.to_string()))?;
        let was_interrupted = status.signal() == Some(Signal::INT.as_raw());
        if !status.success() && !was_interrupted {
            return Err(refusal(&self.said()));
        }
        script(self.folder.path(), &self.data)
    }

    /// Gives perf an order and waits until it is done.
    fn tell(&mut self, order: &str) -> Result<(), ProfileError> {
        let control = &self.control.path;
        writeln!(self.control.file, "{order}").map_err(file("write", control))?;
        let begun = Instant::now();
        loop {
            let mut answer = [PollFd::new(&self.answers.file, PollFlags::IN)];
            let wait = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
            if poll(&mut answer, Some(&wait)).is_ok_and(|ready| ready > 0) {
                let answers = &self.answers.path;
                self.answers.file.read(&mut [0; 64]).map_err(file("read", answers))?;
                return Ok(());
            }
            if self.perf.try_wait().is_ok_and(|status| status.is_some()) {
                return Err(refusal(&self.said()));
            }
            if begun.elapsed() > PATIENCE {
                return Err(ProfileError::Failed(format!("it did not answer '{order}'")));
            }
        }
    }

    /// The errors that perf printed before it ended.
    fn said(&mut self) -> String {
        let mut text = String::new();
        if let Some(stderr) = &mut self.perf.stderr {
            // The failure is reported even where the text cannot be read.
            let _ = stderr.read_to_string(&mut text);
        }
        text
    }

    fn interrupt(&self) {
        // Only this value reaps it, so the pid is still its own; an ended process needs no signal.
        if let Some(pid) = Pid::from_raw(self.perf.id() as i32) {
            let _ = kill_process(pid, Signal::INT);
        }
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        if self.perf.try_wait().is_ok_and(|status| status.is_none()) {
            // It may end by itself in between.
            let _ = self.perf.kill();
            let _ = self.perf.wait();
        }
    }
}

/// A named pipe.
struct Fifo {
    path: PathBuf,
    file: File,
}

impl Fifo {
    fn make(path: PathBuf) -> Result<Fifo, ProfileError> {
        let made = mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0);
        // Opened for both directions, so that opening does not block.
        let opened = made
            .map_err(std::io::Error::from)
            .and_then(|()| OpenOptions::new().read(true).write(true).open(&path));
        match opened {
            Ok(file) => Ok(Fifo { path, file }),
            Err(source) => Err(ProfileError::File { what: "create", path, source }),
        }
    }
}

fn not_run(error: RunError) -> ProfileError {
    ProfileError::Failed(error.to_string())
}

fn succeeded(status: ExitStatus, stderr: &str) -> Result<(), ProfileError> {
    if status.success() { Ok(()) } else { Err(refusal(stderr)) }
}

/// Why perf ended, in its words and with a remedy.
fn refusal(stderr: &str) -> ProfileError {
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = lines.iter().take(3).copied().collect::<Vec<_>>().join(" ");
    let words = ["not permitted", "Permission denied", "perf_event_paranoid", "No permission"];
    match words.iter().any(|word| stderr.contains(word)) {
        true => ProfileError::Forbidden { paranoid: paranoid(), said },
        false if said.is_empty() => ProfileError::Failed("it did not say why".to_string()),
        false => ProfileError::Failed(said),
    }
}

/// Has perf name the functions in a file of samples. Its output may be larger than the memory.
fn script(folder: &Path, data: &Path) -> Result<Stacks, ProfileError> {
    let complaints = folder.join("script.stderr");
    let mut script = perf(folder)?;
    script.args(["script", "--no-inline", "-F", "period,ip,sym,dso", "-i"]).arg(data);
    let stderr = File::create(&complaints).map_err(file("create", &complaints))?;
    let started = script.stdout(Stdio::piped()).stderr(stderr).spawn();
    let failed = |error: io::Error| ProfileError::Failed(error.to_string());
    let mut script = started.map_err(failed)?;
    let stacks = script.stdout.take().map(|printed| Stacks::read(BufReader::new(printed)));
    let status = script.wait().map_err(failed)?;
    succeeded(status, &fs::read_to_string(&complaints).unwrap_or_default())?;
    stacks.unwrap_or_else(|| Ok(Stacks::default())).map_err(failed)
}

impl Stacks {
    /// From the output of `perf script -F period,ip,sym,dso`: a line with the period, then a line
    /// for each function, the innermost first, then an empty line. A sample without a stack has all
    /// of it in its first line.
    pub fn read(mut printed: impl BufRead) -> io::Result<Stacks> {
        let mut stacks = Stacks::default();
        let mut open: Option<(u64, Vec<String>)> = None;
        let mut bytes = Vec::new();
        while printed.read_until(b'\n', &mut bytes)? > 0 {
            // Names of functions may contain anything.
            let line = String::from_utf8_lossy(&bytes);
            let is_frame = line.starts_with('\t');
            let words = line.trim();
            match (&mut open, is_frame) {
                (Some((_, frames)), true) => frames.extend(symbol::name(words)),
                _ => {
                    stacks.add(open.take());
                    let (period, frame) = words.split_once(' ').unwrap_or((words, ""));
                    // Anything else is not a sample.
                    open = period
                        .parse()
                        .ok()
                        .map(|period| (period, symbol::name(frame.trim()).into_iter().collect()));
                }
            }
            bytes.clear();
        }
        stacks.add(open);
        Ok(stacks)
    }

    fn add(&mut self, sample: Option<(u64, Vec<String>)>) {
        let Some((period, mut frames)) = sample else { return };
        if frames.is_empty() {
            frames.push(symbol::NAMELESS.to_string());
        }
        frames.reverse();
        *self.nanos.entry(frames.join(";")).or_default() += period;
        self.samples += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::{Script, burn};

    /// Shortened output of perf for Postgres 17.6 and MySQL 8.0.33 on a virtual machine.
    const RECORDED: &str = include_str!("recorded/perf-script.txt");

    #[test]
    fn recorded_samples_become_stacks() {
        let stacks = Stacks::read(RECORDED.as_bytes()).unwrap();
        assert_eq!(stacks.samples, 6);
        assert_eq!(stacks.nanos.values().sum::<u64>(), 6 * 1_001_001);
        let of = |begin: &str, end: &str| {
            let mut all = stacks.nanos.iter();
            let found = all.find(|(stack, _)| stack.starts_with(begin) && stack.ends_with(end));
            *found.unwrap_or_else(|| panic!("no {begin} … {end} in {stacks:#?}")).1
        };
        let postgres = "_start;__libc_start_main;__libc_start_call_main;main;PostmasterMain;";
        assert_eq!(
            of(
                postgres,
                "ExecInitNode;ExecInitIndexScan;ExecAssignProjectionInfo;\
            ExecBuildProjectionInfo;ExecCreateExprSetupSteps;ExecPushExprSetupSteps;\
            ExprEvalPushStep"
            ),
            2 * 1_001_001,
            "the same stack twice"
        );
        assert_eq!(of(postgres, "schedule_[k];__schedule_[k];finish_task_switch_[k]"), 1_001_001);
        assert_eq!(
            of("[deeper];dispatch_command;mysqld_stmt_execute;", ";my_net_write"),
            1_001_001
        );
        assert_eq!(of("clone3;start_thread;", ";clock_gettime;__vdso_clock_gettime"), 1_001_001);
        assert_eq!(of("AllocSetAlloc", "AllocSetAlloc"), 1_001_001, "a sample without a stack");
    }

    #[test]
    fn what_perf_complains_of_is_told_with_what_to_do() {
        let no = "Error:\nAccess to performance monitoring and observability operations is limited.\n\
                  Consider adjusting /proc/sys/kernel/perf_event_paranoid setting";
        let text = refusal(no).to_string();
        assert!(
            text.contains("kernel.perf_event_paranoid is ") && text.contains("sysctl"),
            "{text}"
        );
        assert!(text.contains("is limited"), "its own words: {text}");
        let text = refusal("failed to open x: No space left on device\n").to_string();
        assert_eq!(text, "perf failed: failed to open x: No space left on device");
    }

    /// Needs perf and a machine where it may sample; fails with what is missing.
    #[test]
    fn only_what_is_done_between_start_and_stop_is_sampled() {
        let directory = tempfile::tempdir().unwrap();
        probe().unwrap_or_else(|error| panic!("profiles cannot be tested: {error}"));
        // Processes that start after perf has attached are sampled as well.
        let script = Script::new(&format!("read go; {}; read go; {}", burn(30), burn(60)));
        let mut profiler = Profiler::attach(script.pid(), directory.path()).unwrap();
        profiler.start().unwrap();
        script.go();
        while script.reaped_cpu() < 300_000 || !script.is_asleep() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let used = script.reaped_cpu() * 1_000;
        profiler.stop().unwrap();
        script.go();
        while script.reaped_cpu() < 850_000 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let stacks = profiler.finish().unwrap();
        let seen = stacks.nanos.values().sum::<u64>();
        // The kernel also counts its work before the first instruction, and a stalled machine is
        // not sampled meanwhile; the CPU of the whole script would be three times as much.
        assert!((used / 2..used * 3 / 2).contains(&seen), "{seen} ns seen, {used} used");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "no file is left");
    }
}
