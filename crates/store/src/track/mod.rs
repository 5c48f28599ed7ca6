//! The folder of `rqps track`: nights of a comparison against an anchor, in files that are written
//! once, so that folders of several machines are merged by copying, rsync or git.
//!
//! Only `track.toml` is written by people. Everything else that is known of a series is computed
//! from these files when it is asked for.

mod check;
mod error;
mod folder;
mod import;
mod record;
mod settings;
mod words;

pub use check::check_track;
pub use error::TrackError;
pub use folder::{Track, TrackContents};
pub use import::{ImportError, ImportFormat, Imported, track_import};
pub use record::{
    AnchorChange, ImportedPoint, ImportedValues, NightOutcome, PairPoint, StoredRatio, TrackAlert,
    TrackPoint, TrackedBuild, TrackedTest,
};
pub use settings::TrackSettings;
pub use words::{AckKind, CutChange, TrackAck, TrackNote};

use serde::de::DeserializeOwned;

/// The version of all files in the folder.
pub const TRACK_SCHEMA: &str = "track/1";
const VERSION: u32 = 1;

/// A file that is written once, named after its id.
pub trait WriteOnce: DeserializeOwned {
    /// Where its files are, below the root.
    const FOLDER: &'static str;
    /// `json`, or `toml` for what a person may also write by hand.
    const ENDING: &'static str;

    fn id(&self) -> &str;

    /// Why it cannot be used, if its numbers or names make no sense.
    fn fault(&self) -> Option<String>;
}
