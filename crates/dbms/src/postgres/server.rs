//! A Postgres server that rqps started and stops.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rqps_wire::postgres::{Address, Config};
use rqps_wire::{Error, Target, scalar};
use rustix::process::{Pid, Signal, kill_process};

use super::{DATABASE, Postgres, SUPERUSER, control};
use crate::error::DbmsError;
use crate::home::Home;
use crate::lease::{Lease, ProcessId};
use crate::process;
use crate::user::hand_over;
use crate::{Place, Quiesce, Server};

/// A Unix socket's path has room for so many bytes.
const LONGEST_SOCKET_PATH: usize = 107;
/// The longest name that Postgres gives its socket.
const SOCKET_NAME: &str = "/.s.PGSQL.65535";
/// How long a server may take to answer; recovery after a crash can be long.
const START_PATIENCE: Duration = Duration::from_secs(600);
/// How long a server may take to write what it must when it is stopped.
const STOP_PATIENCE: Duration = Duration::from_secs(300);
/// Another program may take the port between our look and the server's.
const PORT_ATTEMPTS: u32 = 3;

pub(super) struct Managed {
    home: Home,
    child: Child,
    ended: Option<ExitStatus>,
    lease: Lease,
    /// How long the log was when this server was started.
    log_start: u64,
    detached: bool,
    target: Target,
    version: String,
}

impl Managed {
    pub(super) fn start(
        postgres: &Postgres,
        home: &Home,
        place: &Place,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, DbmsError> {
        let mut attempt = 1;
        loop {
            match Self::try_start(postgres, home, place, cancelled) {
                Err(DbmsError::Start { reason, .. })
                    if reason.contains("Address already in use") && attempt < PORT_ATTEMPTS =>
                {
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    fn try_start(
        postgres: &Postgres,
        home: &Home,
        place: &Place,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, DbmsError> {
        let socket = SocketDirectory::make(home)?;
        hand_over(&socket.0, postgres.user)?;
        let port = free_port()?;
        postgres.configure(place, &socket.0, port)?;

        let program = postgres.installed.root.join("bin/postgres");
        let mut command =
            process::command(&program, postgres.user, &place.data, &place.log, place.detached)?;
        command.arg("-D").arg(&place.data);
        let log_start = process::length(&place.log);
        let failed = |reason: String| DbmsError::Start { what: "postgres", reason };
        let child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let pid = child.id() as i32;
        let address = Address::Unix { directory: socket.0.clone(), port };
        let config = |database: &str| Config {
            address: address.clone(),
            user: SUPERUSER.to_string(),
            password: None,
            database: database.to_string(),
            parameters: Vec::new(),
        };
        let url = format!("postgres://{SUPERUSER}@localhost:{port}/{DATABASE}");
        let lease = Lease {
            spec: postgres.spec.clone(),
            url: format!("{url}?host={}", socket.0.display()),
            data: place.data.clone(),
            log: place.log.clone(),
            socket_directory: socket.0.clone(),
            server: ProcessId::of(pid)
                .ok_or_else(|| failed(process::tail(&place.log, log_start)))?,
            owner: if place.detached { None } else { ProcessId::of(std::process::id() as i32) },
        };
        lease.sign(home)?;
        socket.keep();
        let mut server = Managed {
            home: home.clone(),
            child,
            ended: None,
            lease,
            log_start,
            detached: place.detached,
            target: Target::Postgres(config(DATABASE)),
            version: String::new(),
        };
        let control = Target::Postgres(config("postgres"));
        server.await_answer(&control, &failed, cancelled)?;
        let mut connection = control.connect()?;
        server.version = control::version(&mut *connection)?;
        let sql = format!("select 1 from pg_database where datname = '{DATABASE}'");
        if scalar(&mut *connection, &sql)?.is_none() {
            connection.run(&format!("create database {DATABASE}"))?;
        }
        Ok(server)
    }

    /// Waits until the server takes connections; an error if it ends instead.
    fn await_answer(
        &mut self,
        control: &Target,
        failed: &dyn Fn(String) -> DbmsError,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), DbmsError> {
        let deadline = Instant::now() + START_PATIENCE;
        loop {
            if cancelled() {
                return Err(DbmsError::Cancelled);
            }
            if self.has_ended() {
                return Err(failed(process::tail(&self.lease.log, self.log_start)));
            }
            match control.connect() {
                Ok(_) => return Ok(()),
                // Not listening yet, or still recovering.
                Err(error) if error.is_disconnect() || matches!(error, Error::Login { .. }) => {
                    if Instant::now() > deadline {
                        let log = process::tail(&self.lease.log, self.log_start);
                        return Err(failed(format!("no answer in {START_PATIENCE:?}\n{log}")));
                    }
                }
                Err(error) => return Err(error.into()),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended.is_some()
    }

    fn end(&mut self, signal: Signal, patience: Duration) {
        let deadline = Instant::now() + patience;
        if let Some(pid) = Pid::from_raw(self.child.id() as i32).filter(|_| !self.has_ended()) {
            // It may have ended since we looked.
            let _ = kill_process(pid, signal);
        }
        while !self.has_ended() {
            if Instant::now() > deadline {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.lease.end(&self.home);
    }
}

impl Server for Managed {
    fn target(&self) -> &Target {
        &self.target
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn process(&self) -> Option<u32> {
        Some(self.child.id())
    }

    fn data(&self) -> Option<&Path> {
        Some(&self.lease.data)
    }

    fn settings(&self) -> Result<BTreeMap<String, String>, DbmsError> {
        control::settings(&self.target)
    }

    fn database_bytes(&self) -> Result<u64, DbmsError> {
        control::database_bytes(&self.target)
    }

    fn quiesce(&self, what: Quiesce, tables: &[String]) -> Result<(), DbmsError> {
        control::quiesce(&self.target, what, tables)
    }

    fn settle(&self) -> Result<(), DbmsError> {
        control::settle(&self.target)
    }

    fn last_words(&mut self) -> Option<String> {
        // A connection can be seen to close a moment before its server has ended.
        let deadline = Instant::now() + Duration::from_millis(500);
        while !self.has_ended() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let state = match self.ended {
            Some(status) => format!("the server ended with {status}"),
            None => "the server is still running".to_string(),
        };
        Some(format!(
            "{state}; its log ends with\n{}",
            process::tail(&self.lease.log, self.log_start)
        ))
    }

    fn stop(&mut self) -> Result<(), DbmsError> {
        // SIGINT is the fast shutdown: connections are closed and a checkpoint is written.
        self.end(Signal::INT, STOP_PATIENCE);
        Ok(())
    }

    fn discard(&mut self) -> Result<(), DbmsError> {
        self.end(Signal::QUIT, Duration::from_secs(10));
        let data = &self.lease.data;
        fs::remove_dir_all(data).map_err(DbmsError::file("remove", data))
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        if self.has_ended() {
            self.lease.end(&self.home);
        } else if !self.detached {
            self.end(Signal::QUIT, Duration::from_secs(10));
        }
    }
}

/// A directory for the server's socket whose path is short enough for one. It goes with this value
/// until a lease takes care of it.
struct SocketDirectory(PathBuf);

impl SocketDirectory {
    fn make(home: &Home) -> Result<Self, DbmsError> {
        static SERVERS: AtomicU32 = AtomicU32::new(0);
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("rqps-{}-{number}", std::process::id());
        let mut path = home.run()?.join(&name);
        if path.as_os_str().len() + SOCKET_NAME.len() > LONGEST_SOCKET_PATH {
            path = std::env::temp_dir().join(&name);
        }
        fs::create_dir_all(&path).map_err(DbmsError::file("make", &path))?;
        Ok(SocketDirectory(path))
    }

    /// The lease that names it removes it from now on.
    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for SocketDirectory {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            // An empty directory of our own; if it is gone already, all the better.
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

fn free_port() -> Result<u16, DbmsError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr());
    listener.map(|address| address.port()).map_err(|error| DbmsError::Start {
        what: "postgres",
        reason: format!("no free port on the loopback interface: {error}"),
    })
}
