//! What the columns mean, in print too.

use maud::{Markup, html};
use rqps_stats::normalised::{IOSTAT, VMSTAT};
use rqps_stats::{COSTS, Column, METRICS};

use crate::model::MEASURES;

/// Of the microbenchmarks, or of the Insert Benchmark.
pub(super) fn section(is_suite: bool, has_matrix: bool) -> Markup {
    html! {
        section #legend {
            h2 { "Legend" }
            @if is_suite { (suite()) } @else { (steps()) }
            h3 { "Keys" }
            dl.legend {
                @for (key, what, is_of_matrix) in KEYS {
                    @if has_matrix || !is_of_matrix { div { dt { kbd { (key) } } dd { (what) } } }
                }
            }
        }
    }
}

/// What a key does, and whether it is about the table of any contender against any.
const KEYS: [(&str, &str, bool); 6] = [
    ("j, k", "the next or the previous part of the page", false),
    ("e", "unfold everything, or fold it again", false),
    ("x", "charts over time or over progress", false),
    ("b", "the next contender is the base", true),
    ("m", "the next measure", true),
    ("v", "relative or as measured", true),
];

fn steps() -> Markup {
    html! {
            h3 { "Metrics, under the names of the Insert Benchmark posts" }
            (definitions(&METRICS))
            h3 { "Cost by side" }
            (definitions(&COSTS))
            p.note {
                "An operation is a row inserted in l.i0, l.i1 and l.i2, a row indexed in l.x, and "
                "a query in the other steps. NA is what could not be read or has no meaning."
            }
    }
}

fn suite() -> Markup {
    html! {
            h3 { "Tests" }
            dl.legend {
                @for measure in &MEASURES { div { dt { (measure.name) } dd { (measure.legend) } } }
            }
            h3 { "iostat, vmstat normalized by operation rate" }
            (definitions(&IOSTAT))
            (definitions(&VMSTAT))
            h3 { "Cost by side" }
            (definitions(&COSTS))
            p.note {
                "An operation is a statement, BEGIN and COMMIT included; in scan a row, and in load a "
                "row inserted. NA is what could not be read or has no meaning."
            }
    }
}

fn definitions(columns: &[Column]) -> Markup {
    html! {
        dl.legend {
            @for column in columns {
                div { dt { (column.name) } dd { (column.legend) " (" (column.unit) ")" } }
            }
        }
    }
}
