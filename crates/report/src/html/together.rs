//! All rounds of whole runs together, in the tables that a step has.

use maud::{Markup, html};

use super::step::{cost_table, histogram_tables};
use super::summary::{drawn, promises};
use super::table::table;
use crate::comparison::metrics_together;
use crate::model::{Model, StepModel};

const NOTE: &str = "The tables below take the runs of all rounds that count as one.";

const METRICS_NOTE: &str = "Under the names that the posts have for them; CPU, switches and IO are those of the \
     whole host, sizes and memory are as of the last round.";

/// Nothing of a test in slices, or of one whose runs were all refused.
pub(super) fn test(together: &Model, name: &str) -> Markup {
    let step = together.steps.iter().find(|step| step.name == name);
    html! {
        @if let Some(step) = step {
            h3 { "All rounds together" }
            p.note { (NOTE) }
            (histogram_tables(together, step))
            @let metrics = metrics_together(together, step);
            @if !metrics.is_empty() {
                h3 { "Metrics" }
                @for cells in &metrics { (table("contender", cells)) }
                p.note {
                    "Per second or per " (step.counts.operation()) ". " (METRICS_NOTE) " "
                    a href="#legend" { "Legend" }
                }
            }
            (cost_table(together, step))
        }
    }
}

const PROMISES_NOTE: &str = "The runs of all rounds that count, one after the other: the end of one and the \
     beginning of the next can be one stretch of seconds. Where none counts, as if the rate was never kept, \
     it is all that were made.";

/// How the runs kept the write rates that they promise; nothing where none does.
pub(super) fn promises_section(together: &Model) -> Markup {
    html! {
        @if has_promises(together) {
            section #sla {
                h2 { "Promised write rates, all rounds together" }
                p.note { (PROMISES_NOTE) }
                @for noted in &promises(together) { (drawn(noted)) }
            }
        }
    }
}

pub(super) fn has_promises(together: &Model) -> bool {
    together.steps.iter().any(StepModel::is_promising)
}
