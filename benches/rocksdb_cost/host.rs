//! The process that loads RocksDB, started as rqps starts it: this program again, as a user without
//! rights, which serves until it is told to end.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, bail};
use rqps_wire::rocksdb::{HEAD, framed, length};
use rqps_worker::{Service, serve};
use tempfile::TempDir;

/// The argument by which this program is that process.
pub(crate) const BE_THE_HOST: &str = "be-the-host";
/// The user and group nobody of most systems.
const NOBODY: u32 = 65_534;
/// More than all data have, for both programs.
pub(crate) const CACHE: &str = "268435456";
/// How long the process may take to open a database, also under valgrind.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn run(arguments: &[OsString]) -> anyhow::Result<()> {
    let [library, data, socket] = arguments else {
        bail!("{BE_THE_HOST} needs a library, a folder and a socket");
    };
    let settings = [("cache", "lru"), ("cache_size", CACHE)];
    let settings = settings.map(|(name, value)| (name.to_string(), value.to_string())).to_vec();
    let [library, data, socket] = [library, data, socket].map(PathBuf::from);
    Ok(serve(Service { library, settings, data, socket })?)
}

/// A folder of the user who runs the process, in one that only root changes.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> anyhow::Result<Place> {
        let folder = tempfile::Builder::new().prefix("rqps-cost-").tempdir_in("/var/tmp")?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711))?;
        let place = Place { folder };
        fs::create_dir(place.data())?;
        give_to_user(&place.data())?;
        Ok(place)
    }

    /// For files that the process only reads.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }
}

/// Gives a folder, which is in one that only root changes, to the user of the process.
pub(crate) fn give_to_user(folder: &Path) -> anyhow::Result<()> {
    if rustix::process::geteuid().is_root() {
        chown(folder, Some(NOBODY), Some(NOBODY))?;
    }
    Ok(())
}

/// A command as the user of the process, in the folder of the data.
pub(crate) fn as_user(program: &Path, place: &Place) -> Command {
    let mut command = Command::new(program);
    command.current_dir(place.data()).stdin(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// The process at work. It ends with this.
pub(crate) struct Host {
    process: HostProcess,
    stream: UnixStream,
}

impl Host {
    /// Opens the database in the place's folder; `before` is a program that runs the process, with
    /// its arguments.
    pub(crate) fn start(
        library: &Path,
        place: &Place,
        before: &[OsString],
    ) -> anyhow::Result<Host> {
        let socket = place.data().join("socket");
        let _ = fs::remove_file(&socket);
        let itself = std::env::current_exe()?;
        let mut command = match before.split_first() {
            None => as_user(&itself, place),
            Some((program, arguments)) => {
                let mut command = as_user(Path::new(program), place);
                command.args(arguments).arg(&itself);
                command
            }
        };
        command.arg(BE_THE_HOST).args([library, &place.data(), &socket]);
        let child = command.stderr(Stdio::piped()).spawn().context("cannot start the process")?;
        let mut process = HostProcess(Some(child));
        let began = Instant::now();
        loop {
            match UnixStream::connect(&socket) {
                Ok(stream) => return Ok(Host { process, stream }),
                Err(_) if process.has_ended()? || began.elapsed() > PATIENCE => {
                    bail!("the process does not open a database: {}", process.end()?);
                }
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// The fields of the first row of an answer.
    pub(crate) fn ask(&mut self, request: &str) -> anyhow::Result<Vec<String>> {
        self.stream.write_all(&framed(request))?;
        let mut head = [0; HEAD];
        self.stream.read_exact(&mut head)?;
        let mut answer = vec![0; length(head).context("an answer that is too long")?];
        self.stream.read_exact(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        match answer.strip_prefix('=') {
            Some(rows) => {
                let row = rows.lines().next().unwrap_or_default();
                Ok(row.split('\t').map(str::to_string).collect())
            }
            None => bail!("{request}: {answer}"),
        }
    }

    /// Performs calls of the chosen test: nanoseconds of a call, and of its CPU.
    pub(crate) fn perform(&mut self, calls: u64) -> anyhow::Result<(f64, f64)> {
        let row = self.ask(&format!("count {calls} 0"))?;
        let [_, nanos, _, cpu, ..] = &row[..] else { bail!("an answer without figures: {row:?}") };
        let each = |text: &str| text.parse::<f64>().map(|all| all / calls as f64);
        Ok((each(nanos)?, each(cpu)?))
    }

    /// Ends the process, and returns what it has said.
    pub(crate) fn end(mut self) -> anyhow::Result<String> {
        self.process.end()
    }
}

/// A process that is ended when this is dropped.
struct HostProcess(Option<Child>);

impl HostProcess {
    fn has_ended(&mut self) -> anyhow::Result<bool> {
        let child = self.0.as_mut().context("it has been taken")?;
        Ok(child.try_wait()?.is_some())
    }

    fn end(&mut self) -> anyhow::Result<String> {
        let child = self.0.take().context("it has been taken")?;
        if let Some(pid) = rustix::process::Pid::from_raw(child.id() as i32) {
            // It may have ended by itself.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let output = child.wait_with_output()?;
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        if self.0.is_some() {
            let _ = self.end();
        }
    }
}
