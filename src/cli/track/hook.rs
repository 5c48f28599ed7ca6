//! The program that passes an alert on.

use std::io::{Seek, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use rqps_store::track::Track;
use rqps_system::others_can_change;
use rqps_system::program::{Surroundings, command, find, run};

use super::super::output;

const LIMIT: Duration = Duration::from_secs(60);

/// Calls the program of `track.toml`, if it has one. That it fails is told, and fails nothing.
pub(super) fn call(track: &Track, alert: &str) {
    if track.settings.on_alert.is_empty() {
        return;
    }
    if let Err(error) = started(track, alert) {
        output::note(&format!("warning: the alert was not passed on: {}", output::told(&error)));
    }
}

fn started(track: &Track, alert: &str) -> anyhow::Result<()> {
    let [program, words @ ..] = &track.settings.on_alert[..] else { return Ok(()) };
    let folder = track.path().canonicalize()?;
    // Who can change the file would choose what runs here.
    for place in [folder.join("track.toml"), folder.clone()] {
        if let Some(found) = others_can_change(&place) {
            bail!("'{}' {}, so on-alert is not obeyed", found.place.display(), found.how);
        }
    }
    let path = match program.contains('/') {
        true => folder.join(program),
        false => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            find(program, &path).with_context(|| format!("there is no program '{program}'"))?
        }
    };
    if let Some(found) = others_can_change(Path::new(&path)) {
        bail!("'{}' {}, so it is not started", found.place.display(), found.how);
    }
    let mut input = tempfile::tempfile()?;
    input.write_all(alert.as_bytes())?;
    input.rewind()?;
    let around =
        Surroundings { folder: &folder, user: None, environment: &["HOME", "USER"], at_end: None };
    let mut command = command(&path, &around);
    command.args(words).stdin(input);
    let said = run(&mut command, LIMIT, &mut || Ok(()))?;
    if !said.status.success() {
        bail!("'{program}' ended with {}: {}", said.status, said.stderr.trim());
    }
    Ok(())
}
