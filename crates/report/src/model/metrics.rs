//! The posts' metrics table of one step.

use rqps_document::Table;
use rqps_stats::METRICS;

use super::columns::by_column;
use super::{Model, StepModel};

pub(crate) const METRICS_NOTE: &str = "The columns of the Insert Benchmark posts, under their \
     names. Some are per second, some per operation: a row inserted or indexed in the l. steps, a \
     query in the others. CPU is that of the whole host.";

/// One row for each contender that finished the step, named by the posts' last column, `tag`.
pub(crate) fn metrics(model: &Model, step: &StepModel) -> Table {
    by_column(model, step, &METRICS)
}
