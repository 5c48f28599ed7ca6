//! A server of any DBMS that rqps starts, watches and stops.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rqps_system::{Cancel, User, program};
use rqps_wire::{Error, Target};
use rustix::process::Signal;

use crate::control::{Arrange, Control};
use crate::error::DbmsError;
use crate::files;
use crate::home::Home;
use crate::in_force::InForce;
use crate::lease::Lease;
use crate::linked;
use crate::meter::EngineMeter;
use crate::process;
use crate::process_id::{Numbers, ProcessId};
use crate::process_settings::ProcessSettings;
use crate::server_folder::{self, ServerFolder};
use crate::{Place, Quiesce, Server};

/// How long a server may take to answer; recovery after a crash can be long.
const START_PATIENCE: Duration = Duration::from_secs(600);
/// How long a server may take for its writes on an orderly stop.
const STOP_PATIENCE: Duration = Duration::from_secs(300);
/// How long a responsive server may take to accept a login.
const LOGIN_PATIENCE: Duration = Duration::from_secs(30);
/// How long a server may take for an immediate stop.
const QUIT_PATIENCE: Duration = Duration::from_secs(10);
/// How long a server may take to end, or to log a process's death, after a connection has closed.
const DEATH_PATIENCE: Duration = Duration::from_secs(5);
/// The name of the server's libraries among its settings.
const LINKED: &str = "linked libraries";
/// The log text of Postgres when one of its processes has died.
const DEATH: &str = " was terminated by signal ";
/// Another program may take the port between rqps's check and the server's start.
const PORT_ATTEMPTS: u32 = 3;

/// The signals of a DBMS's servers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signals {
    /// Closes connections, writes everything, ends.
    pub(crate) stop: Signal,
    /// Ends immediately; the next start recovers.
    pub(crate) quit: Signal,
}

/// What is needed to start a server.
pub(crate) struct Launch<'a> {
    /// The DBMS, in errors.
    pub(crate) what: &'static str,
    /// The contender as written.
    pub(crate) spec: &'a str,
    pub(crate) home: &'a Home,
    pub(crate) place: &'a Place,
    pub(crate) signals: Signals,
    pub(crate) control: &'static dyn Control,
    /// The server's user, if not rqps's own.
    pub(crate) user: Option<User>,
    pub(crate) process: &'a ProcessSettings,
    /// Creates the benchmark's database if it does not exist.
    pub(crate) create_database: Arrange,
    /// Sets the password of the only user over loopback.
    pub(crate) set_password: fn(&Target, &str) -> Result<(), DbmsError>,
}

/// The inputs for the settings of one start.
pub(crate) struct Start<'a> {
    pub(crate) folder: &'a ServerFolder,
    /// The port on loopback, if the server listens there.
    pub(crate) port: Option<u16>,
    /// Cancels waits for its answers.
    pub(crate) cancel: &'a Cancel,
}

/// The DBMS-specific part of a start: the command, and how to reach the server.
pub(crate) struct Prepared {
    pub(crate) command: Command,
    /// Can be used as soon as the server answers, before the benchmark's database exists.
    pub(crate) first: Target,
    /// The benchmark's database.
    pub(crate) target: Target,
    /// Its URL for users.
    pub(crate) url: String,
}

pub(crate) struct Managed {
    child: Child,
    ended: Option<ExitStatus>,
    lease: Lease,
    /// Its lock shows that this rqps lives.
    _folder: ServerFolder,
    /// The length of the log when this server was started.
    log_start: u64,
    detached: bool,
    port: Option<u16>,
    signals: Signals,
    control: &'static dyn Control,
    target: Target,
    version: String,
    process: ProcessSettings,
}

impl Launch<'_> {
    /// Starts the server and waits until it answers. `prepare` writes its settings.
    pub(crate) fn start(
        &self,
        prepare: &dyn Fn(&Start<'_>) -> Result<Prepared, DbmsError>,
        cancel: &Cancel,
    ) -> Result<Managed, DbmsError> {
        let mut attempt = 1;
        loop {
            match self.try_start(prepare, cancel) {
                Err(DbmsError::Start { reason, .. })
                    if reason.contains("Address already in use") && attempt < PORT_ATTEMPTS =>
                {
                    attempt += 1;
                    tracing::info!("{}: the port was taken: attempt {attempt}", self.spec);
                }
                result => return result,
            }
        }
    }

    fn try_start(
        &self,
        prepare: &dyn Fn(&Start<'_>) -> Result<Prepared, DbmsError>,
        cancel: &Cancel,
    ) -> Result<Managed, DbmsError> {
        let place = self.place;
        let folder = Kept(Some(ServerFolder::make(self.home, self.user)?));
        let port = place.password.as_ref().map(|_| self.free_port()).transpose()?;
        let Prepared { mut command, first, target, url } =
            prepare(&Start { folder: folder.get(), port, cancel })?;
        let log_start = process::length(&place.log);
        self.process.apply(&mut command).map_err(|why| self.failed(why))?;
        process::log_to(&mut command, &place.log)?;
        folder.get().lend_lock(&mut command)?;
        tracing::info!("{}: starts {}", self.spec, program::shown(&command));
        // From then on only the server holds the lock.
        let mut child = program::start(command)
            .map_err(|error| self.failed(format!("cannot start its process: {error}")))?;
        let pid = child.id() as i32;
        let lease = Lease {
            spec: self.spec.to_string(),
            url,
            data: place.data.clone(),
            log: place.log.clone(),
            server: ProcessId::of(pid)
                .ok_or_else(|| self.failed(why_ended(&mut child, &place.log, log_start)))?,
            stop_signal: self.signals.stop.as_raw(),
            is_owned: true,
            numbers: Numbers::here(),
            folder: folder.get().path().to_path_buf(),
        };
        let mut server = Managed {
            child,
            ended: None,
            lease,
            _folder: folder.take(),
            log_start,
            // Until it is up, since its caller cannot end it before.
            detached: false,
            port,
            signals: self.signals,
            control: self.control,
            target,
            version: String::new(),
            process: self.process.clone(),
        };
        server.lease.sign()?;
        self.await_answer(&mut server, &first, cancel)?;
        if let Some(missing) = self.process.missing(server.child.id()) {
            return Err(self.failed(missing));
        }
        server.version = self.control.version(&first)?;
        (self.create_database)(&first)?;
        if let Some(password) = &place.password {
            (self.set_password)(&first, password)?;
        }
        if place.detached {
            server.lease.is_owned = false;
            server.lease.sign()?;
            server.detached = true;
        }
        Ok(server)
    }

    /// Waits until the server takes connections; an error if it ends instead.
    fn await_answer(
        &self,
        server: &mut Managed,
        first: &Target,
        cancel: &Cancel,
    ) -> Result<(), DbmsError> {
        let deadline = Instant::now() + START_PATIENCE;
        loop {
            cancel.check()?;
            if server.has_ended() {
                return Err(self.failed(why_ended(
                    &mut server.child,
                    &server.lease.log,
                    server.log_start,
                )));
            }
            match first.connect() {
                Ok(_) => return Ok(()),
                // Not listening yet, or still recovering.
                Err(error) if error.is_disconnect() || matches!(error, Error::Login { .. }) => {
                    if Instant::now() > deadline {
                        let log = server.tail();
                        return Err(
                            self.failed(format!("no answer within {START_PATIENCE:?}\n{log}"))
                        );
                    }
                }
                Err(error) => return Err(error.into()),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn free_port(&self) -> Result<u16, DbmsError> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr());
        let none = |error| self.failed(format!("no free port on the loopback interface: {error}"));
        listener.map(|address| address.port()).map_err(none)
    }

    fn failed(&self, reason: String) -> DbmsError {
        DbmsError::Start { what: self.what, reason }.with_shortage(&self.place.data)
    }
}

/// Why a server ended: what it wrote last, if it wrote anything.
fn why_ended(child: &mut Child, log: &Path, log_start: u64) -> String {
    let tail = process::tail(log, log_start);
    match child.try_wait() {
        Ok(Some(status)) if tail.is_empty() => {
            format!("it ended with {status} and wrote nothing to its log")
        }
        _ => tail,
    }
}

impl Managed {
    fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended.is_some()
    }

    fn tail(&self) -> String {
        process::tail(&self.lease.log, self.log_start)
    }

    /// Whether a login succeeds now. A frozen server does not even answer.
    fn lets_in(&self) -> bool {
        let (tell, told) = mpsc::channel();
        let target = self.target.clone();
        std::thread::spawn(move || {
            // The receiver is gone if the answer is too late.
            let _ = tell.send(target.connect().is_ok());
        });
        told.recv_timeout(LOGIN_PATIENCE).unwrap_or(false)
    }

    fn end(&mut self, signal: Signal, patience: Duration) -> Result<(), DbmsError> {
        if !self.has_ended() {
            self.lease.server.end(signal, patience)?;
            self.ended = self.child.wait().ok();
        }
        self.lease.end();
        Ok(())
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

    fn port(&self) -> Option<u16> {
        self.port
    }

    fn data(&self) -> Option<&Path> {
        Some(&self.lease.data)
    }

    fn database_path(&self) -> Result<Option<PathBuf>, DbmsError> {
        self.control.database_path(&self.target, &self.lease.data).map(Some)
    }

    fn settings(&self) -> Result<InForce, DbmsError> {
        let mut settings = self.control.settings(&self.target)?;
        let linked = linked::libraries(self.child.id());
        settings.values.extend(linked.map(|names| (LINKED.to_string(), names)));
        settings.values.extend(self.process.in_force(&self.lease.data));
        Ok(settings)
    }

    fn database_bytes(&self) -> Result<u64, DbmsError> {
        self.control.database_bytes(&self.target, Some(&self.lease.data))
    }

    fn log_bytes(&self) -> Option<u64> {
        Some(files::bytes(&self.lease.data, self.control.logs()))
    }

    fn meter(&self) -> Result<Option<EngineMeter>, DbmsError> {
        self.control.meter(&self.target).map(Some)
    }

    fn drop_logs(&self) -> Result<(), DbmsError> {
        self.control.drop_logs(&self.target)
    }

    fn quiesce(&self, what: Quiesce, tables: &[String]) -> Result<Option<String>, DbmsError> {
        self.control.quiesce(&self.target, what, tables)
    }

    fn settle(&self) -> Result<(), DbmsError> {
        self.control.settle(&self.target)
    }

    fn last_words(&mut self) -> Option<String> {
        // A connection may close a moment before its server has ended or logged why.
        let deadline = Instant::now() + DEATH_PATIENCE;
        while !self.has_ended() && !self.tail().contains(DEATH) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let state = match self.ended {
            Some(status) => format!("the server ended with {status}"),
            None => "the server is still running".to_string(),
        };
        // The log is on lines of its own: where there is room for one line, only the first is
        // shown.
        Some(format!("{state}\nits log ends with\n{}", self.tail()))
    }

    fn stop(&mut self) -> Result<(), DbmsError> {
        // A server that accepts no login has nothing to write that recovery would not restore. And
        // while Postgres 17 recovers from the death of a backend, an orderly stop never ends.
        match self.lets_in() {
            true => self.end(self.signals.stop, STOP_PATIENCE),
            false => self.end(self.signals.quit, QUIT_PATIENCE),
        }
    }

    fn discard(&mut self) -> Result<(), DbmsError> {
        self.end(self.signals.quit, QUIT_PATIENCE)?;
        let data = &self.lease.data;
        fs::remove_dir_all(data).map_err(DbmsError::file("remove", data))
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        if self.has_ended() {
            self.lease.end();
        } else if !self.detached {
            // A server that cannot be ended now is ended when the leases are next checked.
            let _ = self.end(self.signals.quit, QUIT_PATIENCE);
        }
    }
}

/// A server's folder, removed on drop unless a server has taken it.
struct Kept(Option<ServerFolder>);

impl Kept {
    fn get(&self) -> &ServerFolder {
        self.0.as_ref().expect("it is taken last")
    }

    fn take(mut self) -> ServerFolder {
        self.0.take().expect("it is taken once")
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            server_folder::remove(folder.path());
        }
    }
}
