//! Shared parts of the tests: rqps with a home of its own, running in the foreground or in the
//! background, and checks of what it leaves.
// Each file of tests uses a part of it.
#![allow(dead_code)]

pub(crate) mod fleets;
pub(crate) mod history;
pub(crate) mod pages;
pub(crate) mod processes;
pub(crate) mod result;
pub(crate) mod server_log;

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use result::{Finished, RunResult};

/// The time limit for expected events: a build may have to be fetched first.
const PATIENCE: Duration = Duration::from_secs(300);

/// Far less than the 300 s that an orderly stop waits for a frozen server, and far more than a busy
/// machine needs for an immediate stop.
const AT_ONCE: Duration = Duration::from_secs(100);

/// At most this many tests use the machine at a time: four for each CPU of the smallest machine,
/// since they mostly wait. `.cargo/config.toml` has as many threads.
pub(crate) const TURNS: usize = 8;
static TAKEN: Mutex<usize> = Mutex::new(0);
static GIVEN_BACK: Condvar = Condvar::new();

/// The contents of a file of the user's, beside the run directory and rqps's home.
const THEIRS: &str = "not rqps's";

/// The right to use the machine, released on drop.
pub(crate) struct Turn(usize);

impl Turn {
    fn take(share: usize) -> Turn {
        let mut taken = lock(&TAKEN);
        while *taken + share > TURNS {
            taken = GIVEN_BACK.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += share;
        Turn(share)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *lock(&TAKEN) -= self.0;
        GIVEN_BACK.notify_all();
    }
}

/// A test that fails while it holds the lock does not affect the others.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Builds stay in `$RQPS_TEST_HOME` between runs of the tests, so each is fetched once.
fn store() -> PathBuf {
    std::env::var_os("RQPS_TEST_HOME").map_or("/var/tmp/rqps-tests".into(), PathBuf::from)
}

/// A directory that an unprivileged server can reach.
pub(crate) fn directory() -> TempDir {
    let store = store();
    fs::create_dir_all(&store).unwrap();
    open_to_all(&store);
    // Tests make and remove thousands of files side by side.
    rqps_dbms::spread_data(&store);
    let directory = tempfile::Builder::new().prefix("t").tempdir_in(&store).unwrap();
    open_to_all(directory.path());
    directory
}

fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A command that starts the program of its arguments with mounts that only that program sees.
fn with_mounts(mounts: &str) -> Command {
    let mut command = Command::new("unshare");
    let script = format!(r#"{mounts} && exec "$0" "$@""#);
    command.args(["--mount", "bash", "-c", &script]);
    command
}

/// rqps with a home and a working directory that nothing else uses; only the builds are shared.
pub(crate) struct Rqps {
    root: TempDir,
    /// Commands that mount what only the test sees.
    mounts: Option<String>,
    _turn: Turn,
}

impl Rqps {
    pub(crate) fn new() -> Rqps {
        Rqps::with(Turn::take(1))
    }

    /// For tests of times: no other test of the file runs meanwhile.
    pub(crate) fn alone() -> Rqps {
        Rqps::with(Turn::take(TURNS))
    }

    /// For comparisons whose times do not matter. A lock allows one measurement on a machine at a
    /// time, but half of the time one of two CPUs waits for the other. Where this machine does not
    /// allow mounts, no other test of the file runs meanwhile.
    pub(crate) fn with_own_locks() -> Rqps {
        let mut rqps = Rqps::new();
        let mounts = rqps.own_locks();
        let tried = with_mounts(&mounts).arg("true").output();
        if !tried.is_ok_and(|it| it.status.success()) {
            drop(rqps);
            return Rqps::alone();
        }
        rqps.mounts = Some(mounts);
        rqps
    }

    /// A command that puts a folder of the test's in the place of the machine's locks.
    fn own_locks(&self) -> String {
        let locks = self.path("locks");
        fs::create_dir(&locks).unwrap();
        format!("mount --bind {} /run/lock", locks.display())
    }

    /// On a machine on which programs can allocate this many KiB, whatever other programs use, and
    /// with own locks. Only root can do that.
    pub(crate) fn with_memory(kib: u64) -> Rqps {
        let mut rqps = Rqps::new();
        let memory = fs::read_to_string("/proc/meminfo").unwrap();
        let lines = memory.lines().map(|line| match line.split_once(':') {
            Some((name @ "MemAvailable", _)) => format!("{name}: {kib} kB\n"),
            _ => format!("{line}\n"),
        });
        let file = rqps.path("meminfo");
        fs::write(&file, lines.collect::<String>()).unwrap();
        let bind = format!("mount --bind {} /proc/meminfo", file.display());
        rqps.mounts = Some(format!("{} && {bind}", rqps.own_locks()));
        rqps
    }

    fn with(turn: Turn) -> Rqps {
        let rqps = Rqps { root: directory(), mounts: None, _turn: turn };
        fs::create_dir(rqps.home()).unwrap();
        open_to_all(&rqps.home());
        rqps.share_builds(&rqps.home());
        fs::create_dir(rqps.work()).unwrap();
        fs::write(rqps.path("theirs"), THEIRS).unwrap();
        rqps
    }

    /// Gives a home the builds that all tests share.
    pub(crate) fn share_builds(&self, home: &Path) {
        let builds = store().join("builds");
        fs::create_dir_all(&builds).unwrap();
        open_to_all(&builds);
        symlink(&builds, home.join("builds")).unwrap();
    }

    /// Where all files of the test are.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// A place for files of the test.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// The working directory, which stays empty unless rqps creates something in it.
    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// The run directory of [`Rqps::ibench`] and the like.
    pub(crate) fn out(&self) -> PathBuf {
        self.path("out")
    }

    /// The data directory of the only run, by the place of its contender.
    pub(crate) fn data(&self, contender: usize) -> PathBuf {
        let mut runs = entries(&self.home().join("data"));
        assert_eq!(runs.len(), 1, "one run has data: {runs:?}");
        self.home().join("data").join(runs.remove(0)).join(contender.to_string())
    }

    pub(crate) fn command<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_rqps"));
        command.args(arguments);
        for name in ["RQPS_USER", "PGPASSWORD", "PGUSER", "NO_COLOR"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Any program, run like rqps.
    pub(crate) fn program(&self, program: &str) -> Command {
        let mut command = match &self.mounts {
            Some(mounts) => with_mounts(mounts),
            None => Command::new(program),
        };
        command.args(self.mounts.is_some().then_some(program));
        command.env("RQPS_HOME", self.home()).current_dir(self.work());
        command
    }

    /// Runs to the end, with words separated by spaces.
    pub(crate) fn run(&self, arguments: &str) -> Finished {
        Running::start(self.command(arguments.split_whitespace())).finish()
    }

    /// Runs `rqps ibench` into [`Rqps::out`] to the end.
    pub(crate) fn ibench(&self, arguments: &str) -> Finished {
        self.start_ibench(arguments).finish()
    }

    pub(crate) fn start_ibench(&self, arguments: &str) -> Running {
        self.start("ibench", arguments)
    }

    /// Starts a verb that measures into [`Rqps::out`].
    pub(crate) fn start(&self, verb: &str, arguments: &str) -> Running {
        let out = self.out().display().to_string();
        let words = [verb, "--out", &out].into_iter().chain(arguments.split_whitespace());
        Running::start(self.command(words))
    }

    /// Runs `rqps micro` into [`Rqps::out`] to the end.
    pub(crate) fn micro(&self, arguments: &str) -> Finished {
        self.start("micro", arguments).finish()
    }

    /// Resumes the run in [`Rqps::out`].
    pub(crate) fn resume(&self) -> Finished {
        self.ibench("--resume")
    }

    /// The results of the run in [`Rqps::out`] so far, also if its rqps was killed.
    pub(crate) fn so_far(&self) -> RunResult {
        let report = self.run(&format!("report {} --format json", self.out().display())).ok();
        RunResult(serde_json::from_str(&report.stdout).unwrap())
    }

    /// Asserts that no process, lease, socket or data of this home is left, and that the user's
    /// file is.
    pub(crate) fn assert_nothing_is_left(&self) {
        self.assert_no_server_is_left();
        assert_eq!(fs::read_to_string(self.path("theirs")).unwrap(), THEIRS);
        let data = self.home().join("data");
        let of = |run: String| (entries(&data.join(&run)), run);
        let left: Vec<(Vec<String>, String)> = entries(&data).into_iter().map(of).collect();
        assert!(left.is_empty(), "data are left: {left:?}");
    }

    /// The state after an interruption: data may stay, servers and their leases may not.
    pub(crate) fn assert_no_server_is_left(&self) {
        let processes = processes::below(self.root.path());
        assert!(processes.is_empty(), "processes are left: {processes:?}");
        let run = entries(&self.home().join("run"));
        assert!(run.is_empty(), "{} holds {run:?}", self.home().join("run").display());
    }

    /// Waits until no process of this home is left, as when its rqps was killed.
    pub(crate) fn await_no_process(&self) {
        await_that("all processes have ended", || processes::below(self.root.path()).is_empty());
    }
}

impl Drop for Rqps {
    fn drop(&mut self) {
        // A failed test may leave servers.
        processes::below(self.root.path()).into_iter().for_each(processes::kill);
    }
}

/// Whether this machine lets rqps limit the memory of servers; if not, prints that the test is
/// skipped.
pub(crate) fn can_limit_memory() -> bool {
    let limited = |group: rqps_observe::Group| group.limit_memory(1 << 30).is_ok();
    let can = rqps_observe::Group::create("probe").is_some_and(limited);
    if !can {
        eprintln!("skipped: this machine does not let rqps limit memory by a control group");
    }
    can
}

/// Names in a directory; none if it does not exist.
pub(crate) fn entries(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Waits for an expected event.
pub(crate) fn await_that(what: &str, happened: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !happened() {
        assert!(Instant::now() < deadline, "in {PATIENCE:?} it did not happen that {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The output from a pipe so far.
#[derive(Default)]
struct Heard {
    state: Mutex<Pipe>,
    more: Condvar,
}

#[derive(Default)]
struct Pipe {
    bytes: Vec<u8>,
    has_ended: bool,
}

impl Pipe {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Heard {
    fn listen(mut pipe: impl Read + Send + 'static) -> (Arc<Heard>, JoinHandle<()>) {
        let heard = Arc::new(Heard::default());
        let mine = heard.clone();
        let listener = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                let count = pipe.read(&mut bytes).unwrap_or(0);
                let mut state = lock(&mine.state);
                state.bytes.extend_from_slice(&bytes[..count]);
                state.has_ended = count == 0;
                mine.more.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        (heard, listener)
    }
}

/// rqps at work.
pub(crate) struct Running {
    child: Child,
    stdout: Option<(Arc<Heard>, JoinHandle<()>)>,
    stderr: Option<(Arc<Heard>, JoinHandle<()>)>,
}

impl Running {
    /// Interrupts twice, which ends it at once without an orderly stop.
    #[track_caller]
    pub(crate) fn interrupted_twice(self) -> Finished {
        processes::signal(self.pid(), Signal::INT);
        await_that("the first is taken", || !processes::is_taking(self.pid(), Signal::INT));
        let second = Instant::now();
        processes::signal(self.pid(), Signal::INT);
        let finished = self.finish().expect_code(130);
        assert!(second.elapsed() < AT_ONCE, "it took {:?}", second.elapsed());
        finished
    }

    pub(crate) fn start(mut command: Command) -> Running {
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().map(Heard::listen);
        let stderr = child.stderr.take().map(Heard::listen);
        Running { child, stdout, stderr }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits until a text has appeared on stderr.
    pub(crate) fn wait_for(&self, text: &str) {
        let found = self.wait_for_one_of(&[text]);
        assert!(found.is_some(), "rqps ended and did not say '{text}':\n{}", self.heard());
    }

    /// Waits until one of several texts has appeared on stderr; none if rqps ends without. Returns
    /// the index of the first text that appeared.
    pub(crate) fn wait_for_one_of(&self, texts: &[&str]) -> Option<usize> {
        let heard = &self.stderr.as_ref().expect("stderr is read").0;
        let deadline = Instant::now() + PATIENCE;
        let mut state = lock(&heard.state);
        loop {
            let said = state.text();
            let found = texts.iter().position(|text| said.contains(text));
            if found.is_some() || state.has_ended {
                return found;
            }
            assert!(Instant::now() < deadline, "rqps did not say one of {texts:?}:\n{said}");
            let left = deadline.saturating_duration_since(Instant::now());
            let woken = heard.more.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The server's main process, which is rqps's child.
    pub(crate) fn server(&self) -> i32 {
        let servers = processes::children(self.pid(), "postgres");
        assert_eq!(servers.len(), 1, "one server: {servers:?}");
        servers[0]
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        let stdin = self.child.stdin.as_mut().expect("stdin is a pipe");
        stdin.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for the end.
    pub(crate) fn finish(self) -> Finished {
        self.finish_within(PATIENCE)
    }

    /// Waits for the end of what takes minutes by itself.
    pub(crate) fn finish_within(mut self, patience: Duration) -> Finished {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + patience;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "rqps has not ended; it said\n{}", self.heard());
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = |pipe: Option<(Arc<Heard>, JoinHandle<()>)>| {
            pipe.map_or_else(String::new, |(heard, listener)| {
                listener.join().unwrap();
                lock(&heard.state).text()
            })
        };
        let (stdout, stderr) = (text(self.stdout.take()), text(self.stderr.take()));
        Finished { status, stdout, stderr }
    }

    pub(crate) fn heard(&self) -> String {
        self.stderr.as_ref().map_or_else(String::new, |(heard, _)| lock(&heard.state).text())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only a test that fails leaves it running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
