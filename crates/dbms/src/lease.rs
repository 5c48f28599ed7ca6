//! Notes of the servers that rqps has started, so that what a killed rqps left can be cleared away.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::error::DbmsError;
use crate::home::Home;
use crate::process_id::ProcessId;

/// What is known of a server that rqps has started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The contender as written.
    pub spec: String,
    /// How to reach it.
    pub url: String,
    pub data: PathBuf,
    pub log: PathBuf,
    /// Made for the server's socket, and removed with the lease.
    pub(crate) socket_directory: PathBuf,
    pub(crate) server: ProcessId,
    /// The signal at which it writes everything and ends.
    pub(crate) stop_signal: i32,
    /// The rqps that the server must not outlive; none for a detached server.
    pub(crate) owner: Option<ProcessId>,
}

impl Lease {
    fn path(&self, home: &Home) -> Result<PathBuf, DbmsError> {
        Ok(home.run()?.join(format!("server-{}.json", self.server.pid)))
    }

    pub(crate) fn sign(&self, home: &Home) -> Result<(), DbmsError> {
        let path = self.path(home)?;
        let text = serde_json::to_vec_pretty(self).expect("a lease is plain data");
        fs::write(&path, text).map_err(DbmsError::file("write", &path))
    }

    /// The server has ended: its note and its socket's directory go.
    pub(crate) fn end(&self, home: &Home) {
        // What is gone already need not be removed.
        let _ = fs::remove_dir_all(&self.socket_directory);
        if let Ok(path) = self.path(home) {
            let _ = fs::remove_file(path);
        }
    }

    pub fn is_alive(&self) -> bool {
        self.server.is_alive()
    }

    /// Whether the server goes on without an rqps.
    pub fn is_detached(&self) -> bool {
        self.owner.is_none()
    }

    pub fn pid(&self) -> i32 {
        self.server.pid
    }

    /// Stops a server that is not this process's child.
    pub fn stop(&self, home: &Home, patience: Duration) {
        let signal = Signal::from_named_raw(self.stop_signal).unwrap_or(Signal::TERM);
        self.server.end(signal, patience);
        self.end(home);
    }

    /// All leases in the store.
    pub fn all(home: &Home) -> Result<Vec<Lease>, DbmsError> {
        let directory = home.run()?;
        let entries = fs::read_dir(&directory).map_err(DbmsError::file("read", &directory))?;
        let read = |path: &Path| serde_json::from_slice(&fs::read(path).ok()?).ok();
        Ok(entries.flatten().filter_map(|entry| read(&entry.path())).collect())
    }
}

/// Ends servers whose rqps is gone, and removes the notes of servers that are gone.
pub fn reap(home: &Home) -> Result<(), DbmsError> {
    for lease in Lease::all(home)? {
        let orphaned = lease.owner.is_some_and(|owner| !owner.is_alive());
        if orphaned && lease.is_alive() {
            lease.server.end(Signal::QUIT, Duration::from_secs(5));
        }
        if !lease.is_alive() {
            lease.end(home);
        }
    }
    reap_sockets(home)
}

/// Removes the directories that were made for sockets by an rqps that was killed before it signed
/// the lease.
fn reap_sockets(home: &Home) -> Result<(), DbmsError> {
    let named: Vec<PathBuf> =
        Lease::all(home)?.into_iter().map(|lease| lease.socket_directory).collect();
    let directory = home.run()?;
    let entries = fs::read_dir(&directory).map_err(DbmsError::file("read", &directory))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        let maker = path.file_name().and_then(|name| socket_maker(name.to_str()?));
        if maker.is_some_and(|pid| ProcessId::of(pid).is_none()) && !named.contains(&path) {
            // Another rqps may be doing the same.
            let _ = fs::remove_dir_all(&path);
        }
    }
    Ok(())
}

/// What the directory of a socket is called, by the rqps that makes it.
pub(crate) fn socket_directory(maker: u32, number: u32) -> String {
    format!("rqps-{maker}-{number}")
}

fn socket_maker(name: &str) -> Option<i32> {
    let (maker, number) = name.strip_prefix("rqps-")?.split_once('-')?;
    number.parse::<u32>().ok()?;
    maker.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_server_whose_rqps_is_gone_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path()).unwrap();
        let mut server = Command::new("sleep").arg("60").spawn().unwrap();
        let mut gone = Command::new("sleep").arg("60").spawn().unwrap();
        let owner = ProcessId::of(gone.id() as i32).unwrap();
        gone.kill().unwrap();
        gone.wait().unwrap();
        let lease = Lease {
            spec: "postgres".into(),
            url: String::new(),
            data: directory.path().join("data"),
            log: directory.path().join("log"),
            socket_directory: directory.path().join("socket"),
            server: ProcessId::of(server.id() as i32).unwrap(),
            stop_signal: 15,
            owner: Some(owner),
        };
        lease.sign(&home).unwrap();
        reap(&home).unwrap();
        assert!(!server.wait().unwrap().success());
        assert_eq!(Lease::all(&home).unwrap(), []);
    }

    #[test]
    fn only_the_directories_of_dead_makers_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path()).unwrap();
        // Linux gives no process such a high number.
        let gone = 1 << 22;
        let run = home.run().unwrap();
        let make = |name: String| fs::create_dir(run.join(name)).unwrap();
        make(socket_directory(gone, 0));
        make(socket_directory(std::process::id(), 0));
        make("rqps-mine".to_string());
        reap(&home).unwrap();
        let mut left: Vec<PathBuf> =
            fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path()).collect();
        left.sort();
        assert_eq!(
            left,
            [socket_directory(std::process::id(), 0), "rqps-mine".into()]
                .map(|name| run.join(name))
        );
    }

    #[test]
    fn a_server_whose_rqps_lives_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path()).unwrap();
        let mut server = Command::new("sleep").arg("60").spawn().unwrap();
        let lease = Lease {
            spec: "postgres".into(),
            url: String::new(),
            data: directory.path().join("data"),
            log: directory.path().join("log"),
            socket_directory: directory.path().join("socket"),
            server: ProcessId::of(server.id() as i32).unwrap(),
            stop_signal: 15,
            owner: ProcessId::of(std::process::id() as i32),
        };
        lease.sign(&home).unwrap();
        reap(&home).unwrap();
        assert!(lease.is_alive());
        assert_eq!(Lease::all(&home).unwrap(), [lease]);
        server.kill().unwrap();
        server.wait().unwrap();
    }
}
