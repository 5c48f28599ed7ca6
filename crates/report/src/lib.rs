//! Reports of a run: text, Markdown, HTML, JSON, CSV and the formats of other programs.
//!
//! All formats come from one [`Report`], which analyses the run, so a number is the same
//! everywhere. Nothing here measures, reads a file or can fail.

mod comparison;
mod csv;
mod export;
mod html;
mod index;
mod json;
mod markdown;
mod model;
mod report;
mod text;

pub use crate::csv::{
    csv, has_metrics, metrics_csv, seconds_csv, suite_files, verdicts_csv, write_seconds_csv,
};
pub use comparison::junit;
pub use export::{File, hdr, otava, parquet, sysbench};
pub use html::html;
pub use index::{Entry, Found, Summary, index_html, index_json};
pub use json::{SCHEMA, result_json, write_result_json};
pub use markdown::summary_markdown;
pub use report::Report;
pub use rqps_stats::verdict::ESTIMATOR;
pub use text::{Colour, post, text};
