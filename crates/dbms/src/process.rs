//! Processes of the DBMS: they run as another user, in a group of their own, and never outlive
//! rqps.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

use rqps_system::{User, program};
use rustix::fs::OFlags;
use rustix::process::Signal;

use crate::error::DbmsError;
use crate::shortage;
use crate::source::installed::Installed;

/// How much of a log an error shows.
const TAIL_LINES: usize = 8;

/// Variables of rqps's environment that a user's own build gets: the place of its libraries, and
/// options of its sanitizers.
const OF_OWN_BUILDS: [&str; 5] =
    ["ASAN_OPTIONS", "LD_LIBRARY_PATH", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"];

/// How a program of a build runs.
#[derive(Clone, Copy)]
pub(crate) struct Runs<'a> {
    pub(crate) user: Option<User>,
    /// Its working directory, which is its home, too.
    pub(crate) folder: &'a Path,
    /// The build is the user's own directory.
    pub(crate) is_own_build: bool,
    pub(crate) detached: bool,
    /// The signal that it gets when the thread that started it ends, unless it is detached.
    pub(crate) at_end: Signal,
    /// The words before its command: the program that runs it, and its arguments.
    pub(crate) under: &'a [OsString],
}

impl<'a> Runs<'a> {
    /// A program of a build, which ends with rqps.
    pub(crate) fn of(installed: &Installed, user: Option<User>, folder: &'a Path) -> Runs<'a> {
        Runs {
            user,
            folder,
            is_own_build: installed.source.is_none(),
            detached: false,
            at_end: Signal::QUIT,
            under: &[],
        }
    }
}

/// A command that runs as the server's user.
pub(crate) fn command(program: &Path, runs: Runs<'_>) -> Command {
    let around = program::Surroundings {
        folder: runs.folder,
        user: runs.user,
        environment: if runs.is_own_build { &OF_OWN_BUILDS } else { &[] },
        at_end: (!runs.detached).then_some(runs.at_end),
    };
    let mut command = match runs.under {
        [runner, words @ ..] => {
            let mut command = program::command(Path::new(runner), &around);
            command.args(words).arg(program);
            command
        }
        [] => program::command(program, &around),
    };
    command.env("HOME", runs.folder).env("LC_ALL", "C");
    command
}

/// Appends all output of a command to a log.
pub(crate) fn log_to(command: &mut Command, log: &Path) -> Result<(), DbmsError> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    let opened = options.open(log).and_then(|file| Ok((file.try_clone()?, file)));
    let (copy, file) = opened.map_err(DbmsError::file("write", log))?;
    command.stdout(file).stderr(copy);
    Ok(())
}

/// Runs a command to its end; an error has the tail of its output.
pub(crate) fn run(command: &mut Command, what: &'static str, log: &Path) -> Result<(), DbmsError> {
    let start = |reason: String| DbmsError::Start { what, reason };
    let since = length(log);
    tracing::debug!("runs {}", program::shown(command));
    let status = command.status();
    let status = status.map_err(|error| start(format!("cannot start its process: {error}")))?;
    if status.success() { Ok(()) } else { Err(start(format!("{status}\n{}", tail(log, since)))) }
}

/// The length of a log now.
pub(crate) fn length(log: &Path) -> u64 {
    fs::metadata(log).map_or(0, |metadata| metadata.len())
}

/// Log texts of servers when one of their processes dies.
const DEATHS: [&str; 2] = ["PANIC:", " was terminated by signal "];

fn is_death(line: &str) -> bool {
    DEATHS.iter().any(|death| line.contains(death))
}

/// The last lines of a log after its first `since` bytes. The last death and the last shortage
/// precede them, if recovery or a stack trace has more lines than that.
pub(crate) fn tail(log: &Path, since: u64) -> String {
    let text = bytes_after(log, since.max(length(log).saturating_sub(64 << 10)));
    let text = text.unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let (earlier, last) = lines.split_at(lines.len().saturating_sub(TAIL_LINES));
    let kinds: [fn(&str) -> bool; 2] = [is_death, shortage::is_told];
    let told_earlier = |is: fn(&str) -> bool| match last.iter().any(|line| is(line)) {
        true => None,
        false => earlier.iter().rposition(|line| is(line)),
    };
    let places: BTreeSet<usize> = kinds.into_iter().filter_map(told_earlier).collect();
    let causes = places.into_iter().map(|place| earlier[place]);
    causes.chain(last.iter().copied()).collect::<Vec<_>>().join("\n")
}

fn bytes_after(path: &Path, start: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_died_of_is_told_however_long_its_stack_is() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let stack = |number| format!("mysqld(+0x{number:x})");
        let written = |cause: &str| {
            let stack = (0..20).map(stack).collect::<Vec<_>>().join("\n");
            fs::write(log.path(), format!("starting\n{cause}\nmysqld got signal 6\n{stack}\n"))
                .unwrap();
            tail(log.path(), 0)
        };
        for cause in [
            "[ERROR] [InnoDB] Error number 24 means 'Too many open files'",
            "could not write: No space left on device",
            "PANIC: could not locate a valid checkpoint record",
        ] {
            let told = written(cause);
            let lines: Vec<&str> = told.lines().collect();
            assert_eq!((lines[0], lines.len()), (cause, 1 + TAIL_LINES), "{told}");
        }
        assert_eq!(written("[Note] all is well").lines().count(), TAIL_LINES);
    }
}
