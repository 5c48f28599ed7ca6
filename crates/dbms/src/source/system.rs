//! Builds that the operating system has installed.

use std::fs;
use std::path::{Path, PathBuf};

use rqps_plan::{Dbms, Source};
use rqps_system::program;

use super::error::SourceError;
use super::machine::Machine;
use super::progress::{Progress, Tell};
use super::{layout, probe, version};
use crate::descriptor::Installs;
use crate::registry::descriptor;

/// A build of the system, not examined yet.
pub(super) struct Found {
    pub(super) version: String,
    pub(super) root: PathBuf,
}

/// All builds of a DBMS on the system, newest first. One that does not run is skipped, since it may
/// be the rest of a removed package. In a search for MySQL, MariaDB is skipped, since it is
/// installed under MySQL's name, too.
pub(super) fn builds(
    dbms: Dbms,
    machine: &Machine,
    tell: &mut Tell,
) -> Result<Vec<Found>, SourceError> {
    let mut found: Vec<Found> = Vec::new();
    for root in roots(dbms, machine, tell)? {
        let Ok(root) = root.canonicalize() else { continue };
        let Ok(server) = layout::server(dbms, &root) else { continue };
        if found.iter().any(|other| other.root == root) {
            continue;
        }
        match probe::version(dbms, &server, (server.clone(), Vec::new()), tell) {
            Ok(version) => found.push(Found { version, root }),
            Err(
                SourceError::DoesNotRun { .. }
                | SourceError::NoLibrary { .. }
                | SourceError::ForeignLibrary { .. }
                | SourceError::MissingLibrary { .. }
                | SourceError::OtherDbms { .. },
            ) => {}
            Err(error) => return Err(error),
        }
    }
    found.sort_by(|a, b| version::compare(&b.version, &a.version));
    Ok(found)
}

/// Folders that may contain a build.
fn roots(dbms: Dbms, machine: &Machine, tell: &mut Tell) -> Result<Vec<PathBuf>, SourceError> {
    match descriptor(dbms, None).installed {
        Installs::InPrefixes => Ok(machine.prefixes.clone()),
        Installs::ByVersion => {
            // Debian has a folder per major version; elsewhere pg_config has the path.
            let versioned = fs::read_dir(&machine.postgres).into_iter().flatten().flatten();
            let mut roots: Vec<PathBuf> = versioned.map(|entry| entry.path()).collect();
            if let Some(program) = program::find("pg_config", &machine.path) {
                let looking = Progress::Looking { source: Source::System };
                // A pg_config that does not run is skipped, too.
                match probe::ask(&program, &["--bindir".into()], probe::PATIENCE, looking, tell) {
                    Ok(said) => {
                        roots.extend(Path::new(said.stdout.trim()).parent().map(Path::to_path_buf));
                    }
                    Err(SourceError::DoesNotRun { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(roots)
        }
    }
}
