//! Whole runs pooled over rounds, as if each test were a single step, with everything that is known
//! of a step.

use rqps_document::Table;
use rqps_plan::Counts;
use rqps_stats::normalised::{IOSTAT, VMSTAT};
use rqps_stats::{Column, METRICS};
use rqps_store::RoundRecord;

use super::Verdicts;
use crate::model::{Model, StepModel, by_known_column};

impl Verdicts<'_> {
    /// A step for each test with runs that count; none for slices.
    pub(crate) fn together(&self) -> Model<'_> {
        self.model(self.together.get_or_init(|| self.pooled()))
    }

    /// These records arranged for printing.
    pub(crate) fn model<'m>(&'m self, together: &'m [RoundRecord]) -> Model<'m> {
        Model::of(self.run, self.names(), together)
    }
}

/// The columns of the posts on the benchmark with these counts, a list for each of their tables.
pub(crate) fn columns(counts: Counts) -> &'static [&'static [Column]] {
    match counts {
        Counts::Statements | Counts::Transactions | Counts::RowsScanned => &[&IOSTAT, &VMSTAT],
        Counts::RowsInserted | Counts::RowsIndexed | Counts::Queries => &[&METRICS],
    }
}

/// The same, without unknown columns.
pub(crate) fn metrics(model: &Model, step: &StepModel) -> Vec<Table> {
    let tables = columns(step.counts).iter().map(|&of| by_known_column(model, step, of));
    tables.filter(|table| !table.is_empty()).collect()
}
