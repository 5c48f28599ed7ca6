//! A comparison every night against a fixed anchor: from runs to points, and from all points to
//! levels, changes and what must be told.

mod changes;
mod night;
mod series;
mod state;

pub use changes::{ChangeGroup, ChangeState, TestChange};
pub use night::{night_tests, pair_ratios, series_line, short_hash, tracked_build, tracked_epoch};
pub use series::{NightSeries, SeriesStretch, SeriesValue, epoch_changes};
pub use state::{LineHistory, SlowDrift, Suspicion, TestState, TrackHistory};

/// The version of the method from points to changes. Raise it whenever the same points would give
/// other changes.
pub const TRACK_METHOD: u32 = 1;
