//! Runs the ordinary clients of package registries. They honour the user's registries, proxies and
//! credentials, and no files of other users.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rqps_plan::Source;
use rqps_system::others_can_change;
use rqps_system::program::{self, RunError, Said, Surroundings};
use rustix::process::Signal;

use super::error::{SourceError, at};
use super::machine::Machine;
use super::progress::{Progress, Tell};

/// How long a client may take to list versions.
pub(super) const LOOK_UP: Duration = Duration::from_secs(2 * 60);
/// How long it may take for a download: half a gigabyte over a slow line.
pub(super) const DOWNLOAD: Duration = Duration::from_secs(60 * 60);

/// Variables by which every client finds the user's files, proxies and certificates.
const OF_ALL: [&str; 17] = [
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "all_proxy",
    "ALL_PROXY",
    "ftp_proxy",
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// A client of a source.
pub(super) struct Client {
    pub(super) source: Source,
    pub(super) program: &'static str,
    pub(super) install: &'static str,
    /// Further variables of rqps's environment that it gets.
    pub(super) environment: &'static [&'static str],
}

pub(super) const NPM: Client = Client {
    source: Source::Npm,
    program: "npm",
    install: "'apt-get install npm'",
    environment: &["npm_config_*", "NPM_*", "NODE_AUTH_TOKEN", "NODE_EXTRA_CA_CERTS"],
};

pub(super) const MAVEN: Client = Client {
    source: Source::Maven,
    program: "mvn",
    install: "'apt-get install maven'",
    environment: &["MAVEN_*", "M2_HOME", "JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"],
};

pub(super) const APT_GET: Client = Client {
    source: Source::Debian,
    program: "apt-get",
    install: "'dnf install apt'",
    environment: &["APT_CONFIG"],
};

pub(super) const APT_CACHE: Client = Client { program: "apt-cache", ..APT_GET };

impl Client {
    /// Runs it to its end in a folder that only rqps's user may enter, and reports `progress`
    /// repeatedly. It ends with rqps, on cancellation, and after `limit`.
    pub(super) fn run(
        &self,
        machine: &Machine,
        args: &[OsString],
        folder: &Path,
        limit: Duration,
        progress: &Progress,
        tell: &mut Tell,
    ) -> Result<Said, SourceError> {
        tell(progress.clone())?;
        let program = self.find(machine)?;
        let environment = [&OF_ALL, self.environment].concat();
        let around = Surroundings {
            folder,
            user: None,
            environment: &environment,
            at_end: Some(Signal::KILL),
        };
        let mut command = program::command(&program, &around);
        let go_on = &mut || tell(progress.clone());
        program::run(command.args(args), limit, go_on).map_err(|error| match error {
            RunError::Start(error) => at(&program)(error),
            RunError::TooLong(limit) => {
                SourceError::ClientTooLong { program: self.program, minutes: limit.as_secs() / 60 }
            }
            RunError::Cancelled(wish) => wish.into(),
        })
    }

    /// Its program, which no user may be able to change who could not harm rqps's user otherwise.
    fn find(&self, machine: &Machine) -> Result<PathBuf, SourceError> {
        let found = program::find(self.program, &machine.path);
        let program = found.ok_or(SourceError::MissingClient {
            source_name: self.source.clone(),
            program: self.program,
            install: self.install,
        })?;
        match others_can_change(&program) {
            Some(found) => Err(SourceError::ForeignClient { program, found }),
            None => Ok(program),
        }
    }
}
