//! A history of nights: its state as text, its site, and the formats of other programs.

mod change;
mod chart;
mod commands;
mod exchange;
mod feed;
mod imported;
mod page;
mod sheet;
mod site;
mod start;
mod status;
mod words;

pub use exchange::{ExportFormat, TrackExport, track_export};
pub use site::{SiteOptions, track_site};
pub use status::{alert_json, track_nights, track_status, track_status_json};
