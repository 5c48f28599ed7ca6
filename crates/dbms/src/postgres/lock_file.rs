//! The lock file by which Postgres detects another server in its data directory.

use std::path::Path;

use procfs::process::Process;

use crate::error::DbmsError;
use crate::process_id::is_zombie;
use crate::theirs;

const NAME: &str = "postmaster.pid";
/// No process has this pid: Linux assigns pids up to 2^22 (man 5 proc, pid_max).
const NOBODY: i32 = i32::MAX;

/// Rewrites the lock of a zombie server so that no process owns it. Postgres checks with signal 0,
/// for which a zombie lives, and below an init that does not reap, as in many containers, it stays
/// a zombie. The file itself stays: Postgres uses it to find processes of that server that still
/// hold its shared memory.
pub(super) fn release_from_zombie(data: &Path) -> Result<(), DbmsError> {
    let Ok(Some(text)) = theirs::read(data, NAME) else { return Ok(()) };
    let Some((pid, rest)) = text.split_once('\n') else { return Ok(()) };
    let stat = |pid| Process::new(pid).and_then(|process| process.stat()).ok();
    if !pid.parse().ok().and_then(stat).is_some_and(|stat| is_zombie(&stat)) {
        return Ok(());
    }
    let written = theirs::write(data, NAME, &format!("{NOBODY}\n{rest}"));
    written.map_err(DbmsError::file("write", &data.join(NAME)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;
    use crate::process_id::ProcessId;

    #[test]
    fn the_lock_of_a_zombie_is_nobodys_and_that_of_a_living_server_stays() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(NAME);
        release_from_zombie(data.path()).unwrap();
        assert!(!path.exists());

        let mut server = Command::new("sleep").arg("60").spawn().unwrap();
        let text = format!("{}\nthe rest\n", server.id());
        fs::write(&path, &text).unwrap();
        release_from_zombie(data.path()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);

        server.kill().unwrap();
        while ProcessId::of(server.id() as i32).is_some() {
            std::thread::yield_now();
        }
        release_from_zombie(data.path()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{NOBODY}\nthe rest\n"));
        server.wait().unwrap();
    }
}
