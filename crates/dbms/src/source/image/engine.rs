//! Images that docker or podman have. They are saved into a file; nothing of them is run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rqps_plan::Source;

use super::ImageError;
use crate::source::client::{Client, DOWNLOAD, LOOK_UP};
use crate::source::error::{SourceError, client_failed};
use crate::source::machine::Machine;
use crate::source::progress::{Progress, Tell};

const DOCKER: Client = Client {
    source: Source::Image,
    program: "docker",
    install: "'apt-get install docker.io'",
    environment: &["DOCKER_*", "XDG_RUNTIME_DIR"],
};

const PODMAN: Client = Client {
    source: Source::Image,
    program: "podman",
    install: "'apt-get install podman'",
    environment: &["CONTAINER*", "DBUS_SESSION_BUS_ADDRESS", "STORAGE_*", "XDG_*"],
};

/// The first engine that has an image, and its identity there: mostly the hash of the image's
/// configuration.
pub(super) fn find(
    machine: &Machine,
    image: &str,
    folder: &Path,
    tell: &mut Tell,
) -> Result<(Client, String), SourceError> {
    let mut reasons = Vec::new();
    let mut is_any_there = false;
    let looking = Progress::Looking { source: Source::Image };
    for engine in [DOCKER, PODMAN] {
        let args = ["image", "inspect", "--format", "{{.Id}}", image].map(OsString::from);
        let said = match engine.run(machine, &args, folder, LOOK_UP, &looking, tell) {
            Err(SourceError::MissingClient { program, .. }) => {
                reasons.push(format!("{program} is not on PATH"));
                continue;
            }
            Err(error) if error.is_of_one_source() => Err(error.to_string()),
            said => Ok(said?),
        };
        is_any_there = true;
        let reason = match said {
            Ok(said) if said.status.success() => {
                let id = said.stdout.trim();
                return Ok((engine, id.strip_prefix("sha256:").unwrap_or(id).to_string()));
            }
            Ok(said) => match said.stderr.lines().find(|line| !line.is_empty()) {
                Some(line) => line.trim_end_matches('.').to_string(),
                None => said.status.to_string(),
            },
            Err(reason) => reason,
        };
        reasons.push(format!("{}: {reason}", engine.program));
    }
    let image = image.to_string();
    Err(match is_any_there {
        true => ImageError::NotThere { image, reasons }.into(),
        false => ImageError::NoEngine(image).into(),
    })
}

/// Saves an image into a folder.
pub(super) fn save(
    machine: &Machine,
    image: &str,
    folder: &Path,
    tell: &mut Tell,
) -> Result<PathBuf, SourceError> {
    let (engine, _) = find(machine, image, folder, tell)?;
    let file = folder.join("image.tar");
    let args = ["save".into(), "--output".into(), OsString::from(&file), image.into()];
    let fetching = Progress::Fetching { what: format!("image {image}") };
    let said = engine.run(machine, &args, folder, DOWNLOAD, &fetching, tell)?;
    if said.status.success() {
        return Ok(file);
    }
    let reason = said.stderr.lines().last().map_or(said.status.to_string(), str::to_string);
    Err(client_failed(format!("{} save", engine.program), reason, folder))
}
