//! Hosts that are reached by ssh: one worker for each, which gives it one cell after another. A
//! connection that is lost ends nothing: the cell goes on, and its lease tells when it has ended.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rqps_system::{Cancel, Cancelled};

use crate::cell::CellSpec;
use crate::client::{SchedulerClient, failure};
use crate::collect::pack;
use crate::error::{FleetError, io};
use crate::file::SshOptions;
use crate::quote::{shell, shell_line};

/// Without a terminal, a question or an unknown key of a host, which are errors.
const OPTIONS: [&str; 5] = [
    "-oBatchMode=yes",
    "-oStrictHostKeyChecking=yes",
    "-oConnectTimeout=30",
    "-oServerAliveInterval=30",
    "-T",
];

/// The variable with the place of builds and data.
const HOME: &str = "RQPS_HOME";

/// What ssh answers where it could not reach a host, or lost it (ssh(1), EXIT STATUS).
const LOST: i32 = 255;
const BUSY: i32 = 75;

/// Files of a fleet that a host needs for a cell.
const OF_FLEET: [&str; 3] = ["fleet.json", "fleet.toml", "plan.toml"];

/// How a host has dealt with a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnHost {
    Measured,
    /// It is busy, or cannot be reached: in words.
    Later(String),
    /// In words.
    Failed(String),
}

/// The hosts of a fleet.
#[derive(Debug)]
pub struct Ssh {
    /// The folder of the fleet here, and its hash.
    fleet: PathBuf,
    hash: String,
    options: SshOptions,
    client: SchedulerClient,
}

impl Ssh {
    /// `config` of the options is relative to `near`.
    pub fn new(fleet: &Path, hash: &str, options: &SshOptions, near: &Path) -> Self {
        let config = options.config.as_ref().map(|config| near.join(config));
        Ssh {
            fleet: fleet.to_path_buf(),
            hash: hash.to_string(),
            options: SshOptions { config, ..options.clone() },
            client: SchedulerClient {
                scheduler: "a host by ssh",
                hint: "Install an OpenSSH client",
                environment: &["HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK"],
            },
        }
    }

    /// The words of ssh for a command on a host.
    fn words(&self, host: &str, command: &str) -> Vec<String> {
        let config = self
            .options
            .config
            .iter()
            .flat_map(|path| ["-F".to_string(), path.to_string_lossy().into_owned()]);
        let options = OPTIONS.map(str::to_string).into_iter().chain(config);
        options.chain(["--", host, command].map(str::to_string)).collect()
    }

    /// The folder of the fleet on a host.
    fn folder(&self) -> String {
        let shared = || self.fleet.to_string_lossy().into_owned();
        self.options.folder.clone().unwrap_or_else(shared)
    }

    /// What a host is to do for a cell, in the language of its shell.
    fn command(&self, cell: &CellSpec) -> Result<String, FleetError> {
        let folder = self.folder();
        let cell = ["fleet", "cell", &folder, &cell.id, "--fleet", &self.hash];
        let line = shell_line([&*self.options.rqps].into_iter().chain(cell))?;
        Ok(format!("{HOME}={} exec {line}", shell(&self.options.home)?))
    }

    /// What is done for a cell, to be shown before.
    pub fn shown(&self, host: &str, cell: &CellSpec) -> Result<String, FleetError> {
        let words = self.words(host, &self.command(cell)?);
        shell_line(["ssh".to_string()].into_iter().chain(words))
    }

    /// Sends a cell to a host and waits until it is measured there, or the connection is lost.
    pub fn measure(&self, host: &str, cell: &CellSpec, cancel: &Cancel) -> OnHost {
        let measured = self.send(host, cell).and_then(|()| {
            let words = self.words(host, &self.command(cell)?);
            // An attempt that takes longer is looked for again by its lease.
            let limit = cell.limit.0 + Duration::from_secs(600);
            let mut go_on = || if cancel.is_requested() { Err(Cancelled) } else { Ok(()) };
            self.client.end_of("ssh", &words, None, limit, &mut go_on)
        });
        let end = match measured {
            Ok(end) => end,
            Err(error) => return later_or_failed(&error),
        };
        match end.code {
            Some(0) => OnHost::Measured,
            Some(LOST | BUSY) => later_or_failed(&failure("ssh", &end)),
            _ => OnHost::Failed(failure("ssh", &end).to_string()),
        }
    }

    /// Nothing where the hosts share the folder.
    fn send(&self, host: &str, cell: &CellSpec) -> Result<(), FleetError> {
        let Some(folder) = &self.options.folder else { return Ok(()) };
        let of_cell = PathBuf::from("cells").join(&cell.id).join("cell.toml");
        let names: Vec<PathBuf> = OF_FLEET.iter().map(PathBuf::from).chain([of_cell]).collect();
        let archive = pack(&self.fleet, &names)?;
        let folder = shell(folder)?;
        let command = format!("umask 077; mkdir -p {folder} && tar -xf - -C {folder}");
        self.client.run("ssh", &self.words(host, &command), Some(archive)).map(drop)
    }

    /// What a host has of a cell's folder, as an archive; none if it has nothing there.
    pub fn fetch(
        &self,
        host: &str,
        cell: &CellSpec,
        name: &str,
    ) -> Result<Option<File>, FleetError> {
        let Some(folder) = &self.options.folder else { return Ok(None) };
        let of_cell = format!("{folder}/cells/{}", cell.id);
        let (of_cell, name) = (shell(&of_cell)?, shell(name)?);
        let command =
            format!("test ! -d {of_cell}/{name} || exec tar -cf - -C {of_cell} {name} | base64");
        let said = self.client.run("ssh", &self.words(host, &command), None)?;
        let text: String = said.split_whitespace().collect();
        match text.is_empty() {
            true => Ok(None),
            false => decoded(&text, host).map(Some),
        }
    }

    /// Asks a host to end the cells that it measures.
    pub fn cancel(&self, host: &str) -> Result<String, FleetError> {
        let folder = self.folder();
        let line = shell_line([&*self.options.rqps, "fleet", "cancel", &folder, "--here"])?;
        self.client.run("ssh", &self.words(host, &line), None)
    }
}

fn decoded(text: &str, host: &str) -> Result<File, FleetError> {
    let failed = |error: base64::DecodeError| FleetError::Transfer {
        host: host.to_string(),
        reason: error.to_string(),
    };
    let bytes = STANDARD.decode(text).map_err(failed)?;
    let place = Path::new("a temporary file");
    let mut file = tempfile::tempfile().map_err(io("create", place))?;
    file.write_all(&bytes).map_err(io("write", place))?;
    file.seek(SeekFrom::Start(0)).map_err(io("read", place))?;
    Ok(file)
}

/// What no patience changes, in the words of ssh.
const HOPELESS: [&str; 4] = [
    "Host key verification failed",
    "Permission denied",
    "Could not resolve hostname",
    "Can't open user config file",
];

fn later_or_failed(error: &FleetError) -> OnHost {
    let told = error.to_string();
    match error {
        FleetError::Client { .. } if !HOPELESS.iter().any(|words| told.contains(words)) => {
            OnHost::Later(told)
        }
        _ => OnHost::Failed(told),
    }
}

/// How patiently a host is asked again.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    pub first: Duration,
    pub longest: Duration,
    /// In all, for one cell.
    pub most: Duration,
}

impl Patience {
    pub const USUAL: Patience = Patience {
        first: Duration::from_secs(30),
        longest: Duration::from_secs(600),
        most: Duration::from_secs(24 * 3600),
    };
}

/// What became of a cell, where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driven {
    pub cell: String,
    pub host: String,
    pub outcome: OnHost,
}

/// Gives the hosts of a machine entry its cells, one at a time each. A cell stays with the host
/// that has begun it. `tell` hears what becomes of each, also while a host is busy.
pub fn drive(
    hosts: &[String],
    cells: &[CellSpec],
    patience: Patience,
    cancel: &Cancel,
    measure: &(dyn Fn(&str, &CellSpec) -> OnHost + Sync),
    tell: &(dyn Fn(&Driven) + Sync),
) -> Vec<Driven> {
    let left: Mutex<VecDeque<&CellSpec>> = Mutex::new(cells.iter().collect());
    let next = || left.lock().unwrap_or_else(|error| error.into_inner()).pop_front();
    let work = |host: &String| {
        let mut driven = Vec::new();
        while let Some(cell) = next().filter(|_| !cancel.is_requested()) {
            let mut pause = patience.first;
            let begun = Instant::now();
            let end = loop {
                let outcome = measure(host, cell);
                let one = Driven { cell: cell.id.clone(), host: host.clone(), outcome };
                tell(&one);
                let is_over = !matches!(one.outcome, OnHost::Later(_))
                    || begun.elapsed() + pause > patience.most;
                if is_over || !slept(pause, cancel) {
                    break one;
                }
                pause = (2 * pause).min(patience.longest);
            };
            driven.push(end);
        }
        driven
    };
    thread::scope(|scope| {
        let workers: Vec<_> = hosts.iter().map(|host| scope.spawn(|| work(host))).collect();
        let ended = workers.into_iter().flat_map(|worker| match worker.join() {
            Ok(driven) => driven,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    })
}

/// Whether the whole time has passed.
fn slept(time: Duration, cancel: &Cancel) -> bool {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if cancel.is_requested() {
            return false;
        }
        thread::sleep(Duration::from_millis(100).min(time));
    }
    !cancel.is_requested()
}

#[cfg(test)]
mod tests;
