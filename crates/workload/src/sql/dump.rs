//! Dumps that only Postgres's own pg_restore reads.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use rqps_system::program::{self, Surroundings};
use rqps_system::{User, act_as};
use rustix::process::Signal;

use super::lines::CHUNK;

/// Whether a folder is one that pg_dump has made.
pub(super) fn is_dump_folder(path: &Path) -> bool {
    path.join("toc.dat").is_file()
}

/// The SQL of a dump in a format of pg_dump's own, which is read while pg_restore writes it. Its
/// owners and grants are left out, since the roles that they name are those of another server.
pub(super) fn restored(dump: &Path) -> io::Result<Box<dyn BufRead>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = program::find("pg_restore", &path).ok_or_else(|| {
        io::Error::other(
            "pg_restore is not in PATH. Install Postgres's client programs, or write a plain dump",
        )
    })?;
    // It reads a file that somebody else may have made.
    let user = User::of_servers().map_err(io::Error::other)?;
    let around =
        Surroundings { folder: Path::new("/"), user, environment: &[], at_end: Some(Signal::KILL) };
    let mut command = program::command(&program, &around);
    command.args(["--no-owner", "--no-privileges", "--file", "-"]);
    // A file is opened here, so that the other user need not be able to reach it.
    match dump.is_dir() {
        true => command.arg(readable(dump, user)?),
        false => command.stdin(File::open(dump)?),
    };
    let output = program::output_of(&mut command).map_err(io::Error::other)?;
    Ok(Box::new(BufReader::with_capacity(CHUNK, output)))
}

/// The path of a folder if a user can read what is in it: pg_dump lets its own user alone do so.
fn readable(folder: &Path, user: Option<User>) -> io::Result<PathBuf> {
    let open = || folder.read_dir()?.try_for_each(|entry| File::open(entry?.path()).map(drop));
    match act_as(user, open)? {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(io::Error::other(
            "the user that servers run as, who runs pg_restore, may not. Let everybody read it and \
             pass the folders above it (chmod a+rX), or dump in the custom format, as one file",
        )),
        read => read.and_then(|()| folder.canonicalize()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_dump_is_refused_in_the_words_of_pg_restore() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.dump");
        std::fs::write(&file, "create table t (id int);").unwrap();
        let read = restored(&file).and_then(io::read_to_string);
        let refused = read.unwrap_err().to_string();
        let expected = ["pg_restore: ", "pg_restore is not in PATH"];
        assert!(expected.iter().any(|one| refused.starts_with(one)), "{refused}");
    }
}
