//! Dumps that only Postgres's own pg_restore reads. Their text is held in memory.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rqps_system::User;
use rqps_system::program::{self, MOST_OUTPUT, Surroundings};
use rustix::process::Signal;

/// How long pg_restore may take.
const LONGEST: Duration = Duration::from_secs(3600);

/// Whether a folder is one that pg_dump has made.
pub(super) fn is_dump_folder(path: &Path) -> bool {
    path.join("toc.dat").is_file()
}

/// The SQL of a dump in a format of pg_dump's own. Its owners and grants are left out, since the
/// roles that they name are those of another server.
pub(super) fn restored(dump: &Path) -> Result<String, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = program::find("pg_restore", &path).ok_or_else(|| {
        "it is for pg_restore, which is not in PATH. Install Postgres's client programs, or write \
         a plain dump"
            .to_string()
    })?;
    let around = Surroundings {
        folder: Path::new("/"),
        // It reads a file that somebody else may have made.
        user: User::of_servers().map_err(|error| error.to_string())?,
        environment: &[],
        at_end: Some(Signal::KILL),
    };
    let mut command = program::command(&program, &around);
    command.args(["--no-owner", "--no-privileges", "--file", "-"]);
    let unread = |error: std::io::Error| format!("cannot read it: {error}");
    // A file is opened here, so that the other user need not be able to reach it.
    match dump.is_dir() {
        true => command.arg(dump.canonicalize().map_err(unread)?),
        false => command.stdin(File::open(dump).map_err(unread)?),
    };
    let said = program::run(&mut command, LONGEST, &mut || Ok(()));
    let said = said.map_err(|error| format!("cannot run pg_restore: {error}"))?;
    if !said.status.success() {
        return Err(format!("pg_restore: {}", said.stderr.trim()));
    }
    if said.stdout.contains(char::REPLACEMENT_CHARACTER) {
        return Err("its text is not UTF-8. Dump it with --encoding=UTF8".to_string());
    }
    match (said.stdout.len() as u64) < MOST_OUTPUT {
        true => Ok(said.stdout),
        false => Err("its text is too long. Write a plain dump in place of it".to_string()),
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
        let refused = restored(&file).unwrap_err();
        let expected = ["pg_restore: ", "it is for pg_restore, which is not in PATH"];
        assert!(expected.iter().any(|one| refused.starts_with(one)), "{refused}");
    }
}
