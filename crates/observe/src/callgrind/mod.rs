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

/// What a process under Callgrind is asked to do when it runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToCallgrind {
    /// Begin at zero.
    Forget,
    /// Write its counts to a file, and begin at zero.
    Write,
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
        // A build with libraries of its own is started by `env` or by its own loader.
        words.extend(["--trace-children=yes", "-q"].map(OsString::from));
        // Questions are looked for at each system call, and so where a server has waited.
        words.extend(["--vgdb=yes", "--vgdb-poll=1"].map(OsString::from));
        words.push(pipes(folder));
        words
    }

    /// The command that asks a process whose counts go to `folder`. It ends when that has answered,
    /// and does not touch the process meanwhile (`--max-invoke-ms=0`): where it waits, it goes on
    /// waiting.
    pub fn question(&self, folder: &Path, process: u32, what: ToCallgrind) -> Vec<OsString> {
        let word = match what {
            ToCallgrind::Forget => "zero",
            ToCallgrind::Write => "dump",
        };
        vec![
            self.program.with_file_name(ASKS).into_os_string(),
            format!("--pid={process}").into(),
            pipes(folder),
            "--max-invoke-ms=0".into(),
            word.into(),
        ]
    }
}

/// Where the pipes are by which a process is asked: with its counts, so that they go with these.
fn pipes(folder: &Path) -> OsString {
    let mut prefix = OsString::from("--vgdb-prefix=");
    prefix.push(folder.join(ASKS));
    prefix
}

/// The file into which a process writes the part of its counts that it is asked for, from 1.
pub fn written_part(process: u32, part: u32) -> String {
    format!("{COUNTS}{process}.{part}")
}

/// The process that wrote an output file when it ended, by the file's name.
pub fn counted_process(name: &str) -> Option<u32> {
    name.strip_prefix(COUNTS)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_file_names_its_process() {
        let words = Callgrind { program: "/usr/bin/valgrind".into() }.words(Path::new("/a 50%/b"));
        assert_eq!(words[0], "/usr/bin/valgrind");
        assert!(words.contains(&"--callgrind-out-file=/a 50%%/b/callgrind.out.%p".into()));
        assert_eq!(counted_process("callgrind.out.4711"), Some(4711));
        assert_eq!(counted_process(&written_part(4711, 1)), None, "it has not ended");
        assert_eq!(counted_process("postmaster.pid"), None);
    }

    #[test]
    fn a_process_is_asked_by_the_pipes_that_it_was_started_with() {
        let callgrind = Callgrind { program: "/opt/v/bin/valgrind".into() };
        let question = callgrind.question(Path::new("/data"), 4711, ToCallgrind::Write);
        assert_eq!((&question[0], &question[1]), (&"/opt/v/bin/vgdb".into(), &"--pid=4711".into()));
        assert_eq!(question.last(), Some(&"dump".into()));
        assert!(callgrind.words(Path::new("/data")).contains(&question[2]));
    }
}
