//! Processes of the DBMS: as another user, in a group of their own, and never outliving rqps.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::error::DbmsError;
use crate::user::ServerUser;

/// How much of a log an error shows.
const TAIL_LINES: usize = 8;

/// A command that runs as the server's user with its output appended to `log`. Unless `detached`,
/// it is sent SIGQUIT when the thread that spawned it ends.
pub(crate) fn command(
    program: &Path,
    user: Option<ServerUser>,
    directory: &Path,
    log: &Path,
    detached: bool,
) -> Result<Command, DbmsError> {
    let file = OpenOptions::new().create(true).append(true).open(log);
    let file = file.map_err(DbmsError::file("write", log))?;
    let copy = file.try_clone().map_err(DbmsError::file("write", log))?;
    let mut command = Command::new(program);
    command.current_dir(directory).stdin(Stdio::null()).stdout(file).stderr(copy);
    // The caller's own PGDATA, PGHOST, … are about other servers.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    command.env("HOME", directory).env("LC_ALL", "C");
    as_user(&mut command, user);
    command.process_group(0);
    let parent = rustix::process::getpid();
    // SAFETY: only system calls that are safe between fork and exec.
    unsafe {
        command.pre_exec(move || {
            if !detached {
                set_parent_process_death_signal(Some(Signal::QUIT))?;
                // The parent may have ended before the signal was asked for.
                if rustix::process::getppid() != Some(parent) {
                    return Err(io::Error::other("rqps has ended"));
                }
            }
            Ok(())
        });
    }
    Ok(command)
}

/// Has a command run as the server's user, if that is another.
pub(crate) fn as_user(command: &mut Command, user: Option<ServerUser>) {
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
}

/// Runs a command to its end; an error has the tail of what it printed.
pub(crate) fn run(command: &mut Command, what: &'static str, log: &Path) -> Result<(), DbmsError> {
    let start = |reason: String| DbmsError::Start { what, reason };
    let since = length(log);
    let status = command.status().map_err(|error| start(error.to_string()))?;
    if status.success() { Ok(()) } else { Err(start(format!("{status}\n{}", tail(log, since)))) }
}

/// How long a log is now.
pub(crate) fn length(log: &Path) -> u64 {
    fs::metadata(log).map_or(0, |metadata| metadata.len())
}

/// What servers write when one of their processes dies.
const DEATHS: [&str; 2] = ["PANIC:", " was terminated by signal "];

/// The last lines of what was written to a log after its first `since` bytes. Ahead of them stands
/// the last death, if recovery has already written more lines than that.
pub(crate) fn tail(log: &Path, since: u64) -> String {
    let text = bytes_after(log, since.max(length(log).saturating_sub(64 << 10)));
    let text = text.unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let (earlier, last) = lines.split_at(lines.len().saturating_sub(TAIL_LINES));
    let is_death = |line: &&&str| DEATHS.iter().any(|death| line.contains(death));
    let death = match last.iter().any(|line| is_death(&line)) {
        true => None,
        false => earlier.iter().rev().find(is_death),
    };
    death.into_iter().chain(last).copied().collect::<Vec<_>>().join("\n")
}

fn bytes_after(path: &Path, start: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
