//! Instructions of a server by function: it runs under Valgrind's tool Callgrind, which counts each
//! instruction in user space. Unlike time, the count does not depend on the machine's load, nor on
//! where code and data lie in memory.

mod format;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rqps_system::others_can_change;
use rqps_system::program::find;

pub use format::{CountedFunction, read_counts};

/// The beginning of the names of its output files; the process id follows.
pub const COUNTS: &str = "callgrind.out.";
/// The program of Valgrind that talks to a process under it.
const ASKS: &str = "vgdb";

#[derive(Debug, thiserror::Error)]
pub enum CallgrindError {
    #[error(
        "valgrind is not installed. Install it (Debian, Ubuntu: apt-get install valgrind, Fedora: \
         dnf install valgrind)"
    )]
    NoValgrind,
    #[error(
        "'{}' is not run: '{}' {how}, so others could change it. Install valgrind from a package",
        program.display(), changed.display()
    )]
    Unsafe { program: PathBuf, changed: PathBuf, how: String },
    #[error("'{}' is missing. Install valgrind again, as a whole", .0.display())]
    Missing(PathBuf),
}

/// A file of counts, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountsFile {
    pub process: u32,
    /// From 1, each time that the process was asked; none for what it wrote when it ended.
    pub part: Option<u32>,
    /// Threads are numbered from 1, and a number is used again. None if it has no counts.
    pub thread: Option<u32>,
}

/// Valgrind as it is installed on this machine.
#[derive(Clone, Debug)]
pub struct Callgrind {
    program: PathBuf,
}

impl Callgrind {
    /// The first one in `PATH`, if only trusted users can change it.
    pub fn find() -> Result<Callgrind, CallgrindError> {
        let path = env::var_os("PATH").unwrap_or_default();
        let program = find("valgrind", &path).ok_or(CallgrindError::NoValgrind)?;
        match others_can_change(&program) {
            Some(found) => {
                let (changed, how) = (found.place, found.how);
                Err(CallgrindError::Unsafe { program, changed, how })
            }
            None => match program.with_file_name(ASKS) {
                asks if asks.is_file() => Ok(Callgrind { program }),
                asks => Err(CallgrindError::Missing(asks)),
            },
        }
    }

    /// The words before the command of a server. Each of its processes writes its counts to a file
    /// in `folder` when it ends, and when it is asked to.
    pub fn words(&self, folder: &Path) -> Vec<OsString> {
        let mut output = OsString::from("--callgrind-out-file=");
        // A percent sign begins a variable there.
        output.push(folder.to_string_lossy().replace('%', "%%"));
        output.push(format!("/{COUNTS}%p"));
        let mut words = vec![self.program.clone().into_os_string(), "--tool=callgrind".into()];
        words.push(output);
        words.push("--separate-threads=yes".into());
        // A build with libraries of its own is started by `env` or by its own loader.
        words.extend(["--trace-children=yes", "-q"].map(OsString::from));
        // Questions are looked for at each system call, and so where a server has waited.
        words.extend(["--vgdb=yes", "--vgdb-poll=1"].map(OsString::from));
        words.push(pipes(folder));
        words
    }

    /// The command that asks a process whose counts go to `folder` to write them when it runs
    /// again, and to begin at zero. It ends when that has answered, and does not touch the process
    /// meanwhile (`--max-invoke-ms=0`): where it waits, it goes on waiting.
    pub fn question(&self, folder: &Path, process: u32) -> Vec<OsString> {
        vec![
            self.program.with_file_name(ASKS).into_os_string(),
            format!("--pid={process}").into(),
            pipes(folder),
            "--max-invoke-ms=0".into(),
            "dump".into(),
        ]
    }
}

/// Where the pipes are by which a process is asked: with its counts, so that they go with these.
fn pipes(folder: &Path) -> OsString {
    let mut prefix = OsString::from("--vgdb-prefix=");
    prefix.push(folder.join(ASKS));
    prefix
}

/// None if the name is not that of counts.
pub fn counts_file(name: &str) -> Option<CountsFile> {
    let name = name.strip_prefix(COUNTS)?;
    let (name, thread) = match name.split_once('-') {
        Some((name, thread)) => (name, Some(thread.parse().ok()?)),
        None => (name, None),
    };
    let (process, part) = match name.split_once('.') {
        Some((process, part)) => (process, Some(part.parse().ok()?)),
        None => (name, None),
    };
    Some(CountsFile { process: process.parse().ok()?, part, thread })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_counts_names_its_process_and_thread() {
        let words = Callgrind { program: "/usr/bin/valgrind".into() }.words(Path::new("/a 50%/b"));
        assert_eq!(words[0], "/usr/bin/valgrind");
        assert!(words.contains(&"--callgrind-out-file=/a 50%%/b/callgrind.out.%p".into()));
        let of = |part, thread| Some(CountsFile { process: 4711, part, thread });
        assert_eq!(counts_file("callgrind.out.4711"), of(None, None));
        assert_eq!(counts_file("callgrind.out.4711-01"), of(None, Some(1)));
        assert_eq!(counts_file("callgrind.out.4711.2-12"), of(Some(2), Some(12)));
        for name in ["postmaster.pid", "callgrind.out.", "callgrind.out.1.x", "vgdb-4711"] {
            assert_eq!(counts_file(name), None, "{name}");
        }
    }

    #[test]
    fn a_process_is_asked_by_the_pipes_that_it_was_started_with() {
        let callgrind = Callgrind { program: "/opt/v/bin/valgrind".into() };
        let question = callgrind.question(Path::new("/data"), 4711);
        assert_eq!((&question[0], &question[1]), (&"/opt/v/bin/vgdb".into(), &"--pid=4711".into()));
        assert_eq!(question.last(), Some(&"dump".into()));
        assert!(callgrind.words(Path::new("/data")).contains(&question[2]));
    }
}
