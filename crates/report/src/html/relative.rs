//! The table that compares any two contenders: the script draws it from the numbers of all rounds,
//! and the reader chooses the baseline and the measure.

use maud::{Markup, html};

use crate::model::Matrix;

const VERDICTS: &str = "Only verdicts have a colour and a mark: ▲ blue is faster, ▼ yellow is slower. A dashed \
     edge means inconclusive, hatching a missed write rate (SLA), ∅ invalid. The line in a cell is the 95 % \
     interval on the scale above the column.";

const CHOSEN: &str = "Verdicts are about throughput relative to the baseline of the run. For another \
     baseline or measure, the page shows the mean of the rounds' log ratios with Student's interval, not \
     adjusted for the number of tests and without a verdict. As measured is the mean of the rounds, which \
     is sensitive to outliers.";

const SINGLE: &str = "The dot is the share of the baseline on the logarithmic scale above the column. Hatching \
     means a missed write rate (SLA), ∅ an unfinished step. Each contender ran once, so a difference has no \
     interval and may be noise. Use rqps compare for repeated rounds with verdicts.";

pub(super) fn body(matrix: &Matrix) -> Markup {
    html! {
        form.toolbar #choose {
            label { "baseline " select name="base" {
                @for (index, name) in matrix.contenders.iter().enumerate() {
                    option value=(index) selected[Some(index) == matrix.baseline] { (name) }
                }
            } }
            label { "measure " select name="measure" {
                @for (index, measure) in matrix.measures.iter().enumerate() {
                    option value=(index) title=(measure.legend) {
                        (measure.name) " (" (measure.unit) ")"
                    }
                }
            } }
            label { "show " select name="view" {
                option value="relative" { "relative to the baseline" }
                option value="absolute" { "as measured" }
                @if !matrix.shifts.is_empty() {
                    option value="shift" { "relative to the suite shift" }
                }
            } }
            label { "order " select name="sort" {
                option value="plan" { "by group" }
                option value="change" { "largest change first" }
            } }
        }
        div.scroll #matrix-table tabindex="0" { noscript { "Enable JavaScript for this table." } }
        p.note {
            @if matrix.is_comparison { (VERDICTS) " " (CHOSEN) } @else { (SINGLE) }
        }
    }
}

/// Buttons that hide and show a contender in every chart and table of the page.
pub(super) fn contenders(names: &[String]) -> Markup {
    html! {
        @if names.len() > 1 {
            div.contenders role="group" aria-label="Contenders shown" {
                @for (index, name) in names.iter().enumerate() {
                    button type="button" data-contender=(index) aria-pressed="true"
                        title="shown; click to hide it everywhere" {
                        span.swatch {} (name)
                    }
                }
            }
        }
    }
}
