//! Whole runs pooled over rounds, in the tables of a step.

use maud::{Markup, html};

use super::step::{cost_table, histogram_tables};
use crate::build::{Titled, promises};
use crate::comparison::metrics_together;
use crate::model::{Model, SLA_NOTE, StepModel, sla};
use crate::render::html::{blocks, table};

const NOTE: &str = "The tables below pool the runs of all rounds that count.";

const METRICS_NOTE: &str = "The names are those of the posts. CPU, switches and IO are those of the whole host; \
     sizes and memory are from the last round.";

/// Empty for a test by slices, and for one without a run that counts.
pub(super) fn test(together: &Model, name: &str) -> Markup {
    let step = together.steps.iter().find(|step| step.name == name);
    html! {
        @if let Some(step) = step {
            h3 { "Pooled over rounds" }
            p.note { (NOTE) }
            (histogram_tables(together, step))
            @let metrics = metrics_together(together, step);
            @if !metrics.is_empty() {
                h3 { "Metrics" }
                @for cells in &metrics { (table(cells)) }
                p.note {
                    "Per second or per " (step.counts.operation()) ". " (METRICS_NOTE) " "
                    a href="#legend" { "Legend" }
                }
            }
            (cost_table(together, step))
        }
    }
}

const PROMISES_NOTE: &str = "The tables concatenate the runs of all rounds that count: a stretch of seconds can \
     span the end of one run and the start of the next. If no run counts, for example because all missed the \
     target rate, they use all runs.";

/// Whether the runs met their target write rates; empty without a target.
pub(super) fn promises_section(together: &Model) -> Markup {
    html! {
        @if has_promises(together) {
            section #sla {
                h2 { "Target write rates, pooled over rounds" }
                p.note { (PROMISES_NOTE) }
                @let kept = Titled::new("Insert rate while queries ran", SLA_NOTE, sla(together));
                @let [short, lag] = promises(together);
                @for noted in [kept, short, lag] { (blocks(&noted.blocks())) }
            }
        }
    }
}

pub(super) fn has_promises(together: &Model) -> bool {
    together.steps.iter().any(StepModel::is_promising)
}
