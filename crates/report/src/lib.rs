//! Reports of a run: text, Markdown, HTML, JSON, CSV and the formats of other programs.
//!
//! All formats come from one [`Report`], which analyses the run, so a number is the same
//! everywhere. Nothing here measures, reads a file or can fail.

mod bisect;
mod build;
mod comparison;
mod csv;
mod export;
mod fleet;
mod html;
mod index;
mod joint;
mod json;
mod model;
mod report;
mod track;

use build::Extent;
use rqps_document::{markdown, terminal};

pub use crate::csv::{
    csv, has_metrics, has_times, latency_csv, metrics_csv, seconds_csv, suite_files, verdicts_csv,
    write_seconds_csv,
};
pub use bisect::{BisectReport, SearchPlace};
pub use comparison::junit;
pub use export::{File, db_bench, hdr, otava, parquet, sysbench};
pub use fleet::{FLEET_SCHEMA, FleetReport};
pub use html::html;
pub use index::{Entry, Found, Summary, index_html, index_json};
pub use joint::JointReport;
pub use json::{SCHEMA, result_json, write_result_json};
pub use report::Report;
pub use rqps_document::{Colour, Terminal};
pub use rqps_stats::verdict::ESTIMATOR;
pub use track::{
    ExportFormat, SiteOptions, TrackExport, alert_json, track_export, track_nights, track_site,
    track_status, track_status_json,
};

/// What a terminal shows after a run: the result, its causes and how certain it is.
pub fn text(report: &Report<'_>, terminal: Terminal) -> String {
    terminal::render(&build::document(report, Extent::Screen), terminal)
}

/// The whole result as text, with sizes, response times and the other tables of a post.
pub fn post(report: &Report<'_>, terminal: Terminal) -> String {
    terminal::render(&build::document(report, Extent::Post), terminal)
}

/// The result in Markdown for a pull request: at most sixty lines.
pub fn summary_markdown(report: &Report<'_>) -> String {
    markdown::render(&build::document(report, Extent::Comment))
}
