//! Leases: notes of the servers that rqps has started, so that those of a killed rqps can be ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::error::DbmsError;
use crate::home::Home;
use crate::process_id::{Numbers, ProcessId};
use crate::server_folder::{self, Whose, alone_in, is_held};

/// The note in a server's folder.
const NAME: &str = "lease.json";
/// How long a server whose rqps has ended may take for an immediate stop.
const ORPHANS_END: Duration = Duration::from_secs(5);

/// A server that rqps has started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The contender as written.
    pub spec: String,
    /// How to reach it by its socket.
    pub url: String,
    pub data: PathBuf,
    pub log: PathBuf,
    pub(crate) server: ProcessId,
    /// The signal for an orderly shutdown.
    pub(crate) stop_signal: i32,
    /// Whether it must end with the rqps that holds the owner's lock; not so if detached.
    pub(crate) is_owned: bool,
    /// Where the pid is valid.
    pub(crate) numbers: Numbers,
    /// The server's folder: where the note was read.
    #[serde(skip)]
    pub(crate) folder: PathBuf,
}

impl Lease {
    pub(crate) fn sign(&self) -> Result<(), DbmsError> {
        let path = self.folder.join(NAME);
        let text = serde_json::to_vec_pretty(self).expect("a lease is plain data");
        // Only rqps's user can write there.
        fs::write(&path, text).map_err(DbmsError::file("write", &path))
    }

    fn read(folder: &Path) -> Option<Lease> {
        let text = fs::read(folder.join(NAME)).ok()?;
        let lease: Lease = serde_json::from_slice(&text).ok()?;
        Some(Lease { folder: folder.to_path_buf(), ..lease })
    }

    /// The server has ended: removes its folder.
    pub(crate) fn end(&self) {
        server_folder::remove(&self.folder);
    }

    /// Whether the server lives, by its lock, which works from anywhere; its pid is valid only
    /// here.
    pub fn is_alive(&self) -> bool {
        is_held(&self.folder, Whose::Server)
            .unwrap_or_else(|| !self.numbers.are_here() || self.server.is_alive())
    }

    /// Whether the server runs without an rqps.
    pub fn is_detached(&self) -> bool {
        !self.is_owned
    }

    pub fn pid(&self) -> i32 {
        self.server.pid
    }

    /// Stops a server that is not this process's child.
    pub fn stop(&self, patience: Duration) -> Result<(), DbmsError> {
        if self.is_alive() && !self.numbers.are_here() {
            return Err(DbmsError::Elsewhere { spec: self.spec.clone(), url: self.url.clone() });
        }
        let signal = Signal::from_named_raw(self.stop_signal).unwrap_or(Signal::TERM);
        self.server.end(signal, patience)?;
        self.end();
        Ok(())
    }

    /// All leases in the store.
    pub fn all(home: &Home) -> Result<Vec<Lease>, DbmsError> {
        let folders = server_folder::all(&home.run()?)?;
        Ok(folders.iter().filter_map(|folder| Lease::read(folder)).collect())
    }
}

/// Ends servers whose rqps has ended, and removes the folders of servers that have ended.
pub fn reap(home: &Home) -> Result<(), DbmsError> {
    let run = home.run()?;
    let _clearing = alone_in(&run)?;
    for folder in server_folder::all(&run)? {
        // Servers of unknown state are left alone.
        if is_held(&folder, Whose::Owner) != Some(false) {
            continue;
        }
        let Some(lease) = Lease::read(&folder) else {
            // Its rqps was killed before it started a server.
            server_folder::remove(&folder);
            continue;
        };
        if lease.is_owned && lease.is_alive() && lease.numbers.are_here() {
            // A server that cannot be ended is tried again the next time.
            let _ = lease.server.end(Signal::QUIT, ORPHANS_END);
        }
        if !lease.is_alive() {
            lease.end();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::Instant;

    use super::*;
    use crate::server_folder::ServerFolder;

    struct Store {
        _directory: tempfile::TempDir,
        home: Home,
    }

    impl Store {
        fn new() -> Store {
            let directory = tempfile::tempdir().unwrap();
            let home = Home::at(directory.path()).unwrap();
            Store { _directory: directory, home }
        }

        /// A server that sleeps, its folder and its note.
        fn server(&self, numbers: Numbers) -> (Child, ServerFolder, Lease) {
            let folder = ServerFolder::make(&self.home, None).unwrap();
            let mut command = Command::new("sleep");
            folder.lend_lock(command.arg("60")).unwrap();
            let server = command.spawn().unwrap();
            let lease = Lease {
                spec: "postgres".into(),
                url: String::new(),
                data: "/data".into(),
                log: "/log".into(),
                server: ProcessId::of(server.id() as i32).unwrap(),
                stop_signal: 15,
                is_owned: true,
                numbers,
                folder: folder.path().to_path_buf(),
            };
            lease.sign().unwrap();
            (server, folder, lease)
        }
    }

    /// A lock is free when its last holder has ended, which may be a child that another test is
    /// just creating.
    fn reap_until(store: &Store, is_reaped: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_reaped() {
            assert!(Instant::now() < deadline);
            reap(&store.home).unwrap();
        }
    }

    #[test]
    fn a_server_whose_rqps_is_gone_is_ended() {
        let store = Store::new();
        let (mut server, folder, lease) = store.server(Numbers::here());
        drop(folder);
        reap_until(&store, || !lease.folder.exists());
        assert!(!server.wait().unwrap().success());
        assert!(!lease.folder.exists());
    }

    #[test]
    fn a_server_whose_rqps_lives_is_left_alone() {
        let store = Store::new();
        let (mut server, _folder, lease) = store.server(Numbers::here());
        reap(&store.home).unwrap();
        assert!(lease.is_alive());
        assert_eq!(Lease::all(&store.home).unwrap(), [lease]);
        server.kill().unwrap();
        server.wait().unwrap();
    }

    #[test]
    fn a_server_of_another_container_is_neither_signalled_nor_judged_dead_by_its_number() {
        let store = Store::new();
        let (mut server, folder, lease) = store.server(Numbers::elsewhere());
        drop(folder);
        reap(&store.home).unwrap();
        assert!(lease.is_alive() && server.try_wait().unwrap().is_none());
        assert!(lease.stop(Duration::ZERO).unwrap_err().to_string().contains("container"));
        server.kill().unwrap();
        server.wait().unwrap();
        reap_until(&store, || !lease.folder.exists());
        assert!(!lease.is_alive(), "its lock is free");
    }

    #[test]
    fn what_a_killed_rqps_had_begun_is_removed_and_what_others_put_there_is_not() {
        let store = Store::new();
        let run = store.home.run().unwrap();
        let begun = ServerFolder::make(&store.home, None).unwrap();
        let living = ServerFolder::make(&store.home, None).unwrap();
        let (begun_path, living_path) = (begun.path().to_path_buf(), living.path().to_path_buf());
        fs::create_dir(run.join("mine")).unwrap();
        drop(begun);
        reap_until(&store, || !begun_path.exists());
        assert!(living_path.exists() && run.join("mine").exists());
    }
}
