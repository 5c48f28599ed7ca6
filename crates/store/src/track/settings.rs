//! `track.toml`: what is measured every night. People write it.

use std::path::Path;

use rqps_plan::Contender;
use serde::Deserialize;

use super::error::TrackError;
use super::{TRACK_SCHEMA, VERSION};

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TrackSettings {
    pub schema: String,
    /// The build that every night is compared with.
    pub anchor: Contender,
    /// Flags of `rqps compare`.
    pub compare: Vec<String>,
    /// Run directories of so many nights are kept, and those at a change.
    #[serde(default = "usual_retention")]
    pub retention: usize,
    /// A program with its arguments, which gets each alert as JSON.
    #[serde(default)]
    pub on_alert: Vec<String>,
}

fn usual_retention() -> usize {
    30
}

impl TrackSettings {
    /// The text of a new file.
    pub fn text(anchor: &Contender, compare: &[String]) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let compare: Vec<String> = compare.iter().map(|flag| quoted(flag)).collect();
        format!(
            "# What rqps track measures. Edit it; rqps itself changes only the anchor.\n\
             schema = \"{TRACK_SCHEMA}\"\n\
             # The build that every night is compared with: rqps track anchor changes it.\n\
             anchor = {}\n\
             # Flags of rqps compare.\n\
             compare = [{}]\n\
             # Nights whose run directories are kept, beside those at a change.\n\
             retention = {}\n\
             # A program that gets each new alert as JSON on its standard input.\n\
             # on-alert = [\"/usr/local/bin/tell\", \"--channel\", \"performance\"]\n",
            quoted(&anchor.to_string()),
            compare.join(", "),
            usual_retention(),
        )
    }

    pub(super) fn parse(path: &Path, text: &str) -> Result<TrackSettings, TrackError> {
        let wrong = |error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
            let reason = error.message().lines().collect::<Vec<_>>().join(" ");
            TrackError::Settings { path: path.to_path_buf(), line, reason }
        };
        // A newer file may have keys that are not known here.
        let table: toml::Table = toml::from_str(text).map_err(wrong)?;
        if let Some(found) = table.get("schema").and_then(toml::Value::as_str) {
            refuse_newer(path, found)?;
        }
        let settings: TrackSettings = toml::from_str(text).map_err(wrong)?;
        if schema_version(&settings.schema).is_none() {
            let reason = format!("schema is not {TRACK_SCHEMA}");
            return Err(TrackError::Settings { path: path.to_path_buf(), line: 1, reason });
        }
        Ok(settings)
    }

    /// The text of a file with another anchor; all else stays as people wrote it.
    pub(super) fn with_anchor(text: &str, anchor: &Contender) -> String {
        let anchor = toml::Value::from(anchor.to_string());
        let is_it =
            |line: &str| line.split_once('=').is_some_and(|(key, _)| key.trim() == "anchor");
        let lines = text.lines().map(|line| match is_it(line) {
            true => format!("anchor = {anchor}\n"),
            false => format!("{line}\n"),
        });
        lines.collect()
    }
}

/// 1 of `track/1`.
pub(super) fn schema_version(schema: &str) -> Option<u32> {
    schema.strip_prefix("track/")?.parse().ok()
}

pub(super) fn refuse_newer(path: &Path, found: &str) -> Result<(), TrackError> {
    match schema_version(found) {
        Some(version) if version > VERSION => Err(TrackError::Newer {
            path: path.to_path_buf(),
            found: found.to_string(),
            known: TRACK_SCHEMA,
        }),
        _ => Ok(()),
    }
}
