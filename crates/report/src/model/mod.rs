//! What every format prints: tables of the steps of a run.

mod columns;
mod costs;
mod differences;
mod engine;
mod histograms;
mod matrix;
mod measures;
mod metrics;
mod microbenchmark;
pub(crate) mod number;
mod prose;
mod scaleup;
mod shell;
mod sizes;
mod summary;

pub(crate) use columns::{by_column, by_known_column, by_step, step_headings};
pub(crate) use costs::{costs, cpu_split};
pub(crate) use differences::{PLACES, differences};
pub(crate) use engine::{ENGINE_NOTE, engine, has_engine};
pub(crate) use histograms::{HISTOGRAM_NOTE, histograms};
pub(crate) use matrix::{
    Discarded, Mark, Matrix, Measure as MatrixMeasure, Row as MatrixRow, matrix, throughput, time,
};
pub(crate) use measures::{BUSY, MEASURES, Measure, SHARE, normalised, variations};
pub(crate) use metrics::{METRICS_NOTE, metrics};
pub(crate) use microbenchmark::{PUBLISHED_NOTE, Suite, UNREPORTED, share};
pub(crate) use prose::{Prose, loaded, method, printable};
pub(crate) use rqps_analysis::counted::Counted;
pub(crate) use rqps_analysis::measured::{Measured, Totals};
pub(crate) use rqps_analysis::steps::{Model, StepModel};
pub(crate) use rqps_analysis::suite::{Growth, Test};
pub(crate) use scaleup::SCALEUP_NOTE;
pub(crate) use shell::shell_line;
pub(crate) use sizes::all_sizes;
pub(crate) use summary::{
    ABSOLUTE_NOTE, LAG_NOTE, RELATIVE_NOTE, SHORT_NOTE, SLA_NOTE, absolute, lag, relative, shares,
    short_seconds, sla,
};
