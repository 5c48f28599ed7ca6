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
            None => Ok(Callgrind { program }),
        }
    }

    /// The words before the command of a server. Each of its processes writes its counts to a file
    /// in `folder` when it ends.
    pub fn words(&self, folder: &Path) -> Vec<OsString> {
        let mut output = OsString::from("--callgrind-out-file=");
        // A percent sign begins a variable there.
        output.push(folder.to_string_lossy().replace('%', "%%"));
        output.push(format!("/{COUNTS}%p"));
        let mut words = vec![self.program.clone().into_os_string(), "--tool=callgrind".into()];
        words.push(output);
        // A build with libraries of its own is started by `env` or by its own loader. Pipes for
        // gdb would stay in a folder of temporary files.
        words.extend(["--trace-children=yes", "--vgdb=no", "-q"].map(OsString::from));
        words
    }
}

/// The process that wrote an output file, by the file's name.
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
        assert_eq!(counted_process("callgrind.out.4711.1"), None, "a part of a count");
        assert_eq!(counted_process("postmaster.pid"), None);
    }
}
