//! What people say of a series: acknowledged changes, and notes.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::WriteOnce;

/// How a change is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AckKind {
    /// Somebody looks into it.
    Known,
    /// The new level is the normal one.
    Accepted,
    /// It is no change: the levels are joined.
    Noise,
    /// It comes from elsewhere, such as a compiler.
    NotOurs,
}

impl AckKind {
    pub const ALL: [AckKind; 4] =
        [AckKind::Known, AckKind::Accepted, AckKind::Noise, AckKind::NotOurs];

    pub fn name(self) -> &'static str {
        match self {
            AckKind::Known => "known",
            AckKind::Accepted => "accepted",
            AckKind::Noise => "noise",
            AckKind::NotOurs => "not-ours",
        }
    }
}

impl fmt::Display for AckKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for AckKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        AckKind::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let names = AckKind::ALL.map(AckKind::name).join(", ");
            format!("'{text}' is no kind of acknowledgement: there are: {names}")
        })
    }
}

/// A change that somebody has acknowledged. The latest of a change counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackAck {
    pub schema: String,
    pub id: String,
    /// The id of the change.
    pub change: String,
    #[serde(rename = "as")]
    pub kind: AckKind,
    pub who: String,
    pub when: Timestamp,
    pub why: String,
    /// A date or a build from which on it no longer holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// How a person changes the steps of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CutChange {
    Add,
    Remove,
}

/// A note on a build of a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackNote {
    pub schema: String,
    pub id: String,
    pub who: String,
    pub when: Timestamp,
    pub text: String,
    /// The build, as a person names it.
    pub at: String,
    /// None: of all tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// The build is a release.
    #[serde(default)]
    pub release: bool,
    /// A step is set before this build, or one that was found there is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_point: Option<CutChange>,
}

impl WriteOnce for TrackAck {
    const FOLDER: &'static str = "acks";
    const ENDING: &'static str = "toml";

    fn id(&self) -> &str {
        &self.id
    }

    fn fault(&self) -> Option<String> {
        None
    }
}

impl WriteOnce for TrackNote {
    const FOLDER: &'static str = "notes";
    const ENDING: &'static str = "toml";

    fn id(&self) -> &str {
        &self.id
    }

    fn fault(&self) -> Option<String> {
        None
    }
}
