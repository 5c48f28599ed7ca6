//! Running the ordinary clients of package registries, which honour the user's registries,
//! proxies and credentials, and obey files of nobody else.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rqps_plan::Source;
use rqps_system::program::{self, RunError, Said, Surroundings};
use rustix::process::Signal;

use super::error::{SourceError, at};
use super::machine::Machine;
use super::progress::{Progress, Tell, report};

/// How long a client may take to answer which versions there are.
pub(super) const LOOK_UP: Duration = Duration::from_secs(2 * 60);
/// How long it may take to download what it is told to: half a gigabyte over a slow line.
pub(super) const DOWNLOAD: Duration = Duration::from_secs(60 * 60);

/// What every client finds the user's own files, proxies and certificates by.
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
    source: Source,
    pub(super) program: &'static str,
    install: &'static str,
    /// What it is given of rqps's environment beside what all are.
    environment: &'static [&'static str],
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
    /// Runs it to its end in a folder that only rqps's user may enter, telling `progress` again and
    /// again. It ends with rqps, when the caller cancels, and after `limit`.
    pub(super) fn run(
        &self,
        machine: &Machine,
        args: &[OsString],
        folder: &Path,
        limit: Duration,
        progress: &Progress,
        tell: &mut Tell,
    ) -> Result<Said, SourceError> {
        report(tell, progress.clone())?;
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
            RunError::Cancelled => SourceError::Cancelled,
        })
    }

    /// Its program, which nobody may change who could not do rqps's user harm without it.
    fn find(&self, machine: &Machine) -> Result<PathBuf, SourceError> {
        let found = program::find(self.program, &machine.path);
        let program = found.ok_or(SourceError::MissingClient {
            source_name: self.source,
            program: self.program,
            install: self.install,
        })?;
        match foreign(&program) {
            Some(place) => Err(SourceError::ForeignClient { program, place }),
            None => Ok(program),
        }
    }
}

/// What on the way to a file, by the names in its path or by the links behind them, others than
/// root and this user may change.
fn foreign(file: &Path) -> Option<PathBuf> {
    let real = file.canonicalize().ok();
    let mut way = file.ancestors().chain(real.iter().flat_map(|real| real.ancestors()));
    way.find(|place| is_foreign(place)).map(Path::to_path_buf)
}

/// Whether others than root and this user may change a file, or replace what is in a folder.
pub(super) fn is_foreign(place: &Path) -> bool {
    const STICKY: u32 = 0o1000;
    const OTHERS_WRITE: u32 = 0o002;
    place.metadata().is_ok_and(|found| {
        let own = [0, rustix::process::geteuid().as_raw()];
        // In a sticky folder only the owner of a file may replace it.
        let is_open = found.mode() & (OTHERS_WRITE | STICKY) == OTHERS_WRITE;
        is_open || !own.contains(&found.uid())
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn a_program_that_others_may_change_is_found_by_every_way_to_it() {
        let outer = tempfile::tempdir().unwrap();
        let (own, open) = (outer.path().join("own"), outer.path().join("open"));
        for folder in [&own, &open] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("npm"), "").unwrap();
        }
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
        mode(&own, 0o755).unwrap();
        assert_eq!(foreign(&own.join("npm")), None);

        mode(&open, 0o777).unwrap();
        assert_eq!(foreign(&open.join("npm")), Some(open.clone()));
        symlink(open.join("npm"), own.join("link")).unwrap();
        assert_eq!(foreign(&own.join("link")), Some(open.canonicalize().unwrap()));
        mode(&open, 0o1777).unwrap();
        assert_eq!(foreign(&open.join("npm")), None, "nobody may replace what is in it");
        mode(&open.join("npm"), 0o777).unwrap();
        assert_eq!(foreign(&open.join("npm")), Some(open.join("npm")));
        if rustix::process::geteuid().is_root() {
            chown(own.join("npm"), Some(65533), None).unwrap();
            assert_eq!(foreign(&own.join("npm")), Some(own.join("npm")));
        }
    }
}
