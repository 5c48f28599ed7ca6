//! Programs beside the server, and the files that they wrote into its data directory, as the
//! server's user.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, Stdio};

use rqps_system::program::{self, Surroundings};
use rustix::process::Signal;

use crate::error::DbmsError;
use crate::theirs;

/// Starts a program with the rights of the server's user, silently. Its words are its path and its
/// arguments.
pub fn start_beside(data: &Path, words: &[OsString]) -> Result<Child, DbmsError> {
    let start = || {
        let Some((program, words)) = words.split_first() else {
            return Err(io::Error::other("no program"));
        };
        let around = Surroundings {
            folder: Path::new("/"),
            user: theirs::owner(data)?,
            environment: &[],
            at_end: Some(Signal::KILL),
        };
        let mut command = program::command(Path::new(program), &around);
        command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
        program::start(command)
    };
    start().map_err(DbmsError::file("use", data))
}

/// Opens the files whose names begin with `prefix`, in the order of their names. They are opened
/// with the rights of the server's user, so that a link there leads nowhere else.
pub fn outputs(data: &Path, prefix: &str) -> Result<Vec<(String, File)>, DbmsError> {
    let open = || {
        let mut files = Vec::new();
        for entry in fs::read_dir(data)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.starts_with(prefix) {
                let file = theirs::open(&data.join(&name))?;
                files.push((name, file));
            }
        }
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(files)
    };
    theirs::work_in(data, open).map_err(DbmsError::file("read", data))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_are_opened_by_the_beginning_of_their_names_and_links_are_not() {
        let data = tempfile::tempdir().unwrap();
        for name in ["out.2", "out.1", "postmaster.pid"] {
            fs::write(data.path().join(name), name).unwrap();
        }
        let mut found = outputs(data.path(), "out.").unwrap();
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["out.1", "out.2"]);
        let mut text = String::new();
        found[0].1.read_to_string(&mut text).unwrap();
        assert_eq!(text, "out.1");
        symlink("/etc/passwd", data.path().join("out.3")).unwrap();
        assert!(outputs(data.path(), "out.").is_err());
    }
}
