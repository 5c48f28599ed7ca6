//! Where any contender can be held against any other: drawn by the script from the numbers of all
//! rounds, so that the reader chooses the base and the measure.

use maud::{Markup, html};

use crate::model::Matrix;

const VERDICTS: &str = "Colour and mark are there only where there is a verdict: ▲ blue is faster, ▼ yellow \
     slower. A dashed edge is inconclusive, hatched did not keep its write rate (SLA), ∅ cannot be \
     believed. The line in a cell is the 95 % interval on the scale above the column.";

const CHOSEN: &str = "Verdicts are about throughput relative to the base of the run. For any other \
     base or measure the page takes the mean of the rounds' log ratios with Student's interval, not \
     adjusted for the number of tests, and says nothing of them. As measured is the mean of the rounds, which a \
     single odd one moves.";

const SINGLE: &str = "The dot is the share of the base on the logarithmic scale above the column. Hatched did \
     not keep its write rate (SLA), ∅ did not end. Each contender ran once, so a difference has no interval \
     and can be chance: rqps compare repeats and judges.";

pub(super) fn section(matrix: &Matrix) -> Markup {
    html! {
        section #relative {
            h2 { "Relative to any contender" }
            form.toolbar #choose {
                label { "base " select name="base" {
                    @for (index, name) in matrix.contenders.iter().enumerate() {
                        option value=(index) selected[Some(index) == matrix.base] { (name) }
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
                    option value="relative" { "relative to the base" }
                    option value="absolute" { "as measured" }
                    @if !matrix.shifts.is_empty() {
                        option value="shift" { "relative to what all tests have in common" }
                    }
                } }
                label { "order " select name="sort" {
                    option value="plan" { "by group" }
                    option value="change" { "biggest change first" }
                } }
            }
            div.scroll #matrix-table tabindex="0" { noscript { "This table is drawn by the script in this page." } }
            p.note {
                @if matrix.is_comparison { (VERDICTS) " " (CHOSEN) } @else { (SINGLE) }
            }
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
