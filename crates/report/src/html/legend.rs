//! What the columns mean, in print too.

use maud::{Markup, html};
use rqps_stats::normalised::{IOSTAT, VMSTAT};
use rqps_stats::{COSTS, Column, METRICS};

use crate::model::MEASURES;

/// Of the microbenchmarks, or of the Insert Benchmark.
pub(super) fn section(is_suite: bool) -> Markup {
    if is_suite {
        return suite();
    }
    html! {
        section #legend {
            h2 { "Legend" }
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
}

fn suite() -> Markup {
    html! {
        section #legend {
            h2 { "Legend" }
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
