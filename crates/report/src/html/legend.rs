//! The meaning of columns and words, also in print.

use maud::{Markup, html};
use rqps_stats::normalised::{IOSTAT, VMSTAT};
use rqps_stats::{COSTS, Column, METRICS};

use super::why;
use crate::comparison::Verdicts;
use crate::model::{MEASURES, Matrix};
use crate::render::html::terms;

/// The content of the page, which the legend explains.
pub(super) struct Legend<'a> {
    /// Microbenchmarks; the Insert Benchmark otherwise.
    pub(super) is_suite: bool,
    /// Verdicts of a comparison, which has measures of its own.
    pub(super) verdicts: Option<&'a Verdicts<'a>>,
    /// The page has tests by whole runs, which also have the columns of steps.
    pub(super) has_runs: bool,
    pub(super) matrix: Option<&'a Matrix>,
}

pub(super) fn section(page: &Legend<'_>) -> Markup {
    html! {
        section #legend {
            h2 { "Legend" }
            @match (page.verdicts, page.matrix) {
                (Some(verdicts), Some(matrix)) => {
                    (comparison(verdicts, matrix))
                    @if page.has_runs { (together(verdicts)) }
                },
                _ if page.is_suite => (suite()),
                _ => (steps()),
            }
            h3 { "Keys" }
            dl.legend {
                @for (key, what, is_of_matrix) in KEYS {
                    @if page.matrix.is_some() || !is_of_matrix {
                        div { dt { kbd { (key) } } dd { (what) } }
                    }
                }
                @for (key, what) in CHART_KEYS { div { dt { kbd.chart { (key) } } dd { (what) } } }
            }
        }
    }
}

/// Keys, their effect, and whether they need the relative table.
const KEYS: [(&str, &str, bool); 6] = [
    ("j, k", "go to the next or previous section", false),
    ("e", "unfold or fold everything", false),
    ("x", "draw charts over time or over progress", false),
    ("b", "make the next contender the baseline", true),
    ("m", "show the next measure", true),
    ("v", "show values relative or as measured", true),
];

/// Keys in a chart with the focus.
const CHART_KEYS: [(&str, &str); 3] = [
    ("←, →", "show the values before or after (press Tab to focus a chart)"),
    ("+, -, 0", "zoom in, zoom out, or show the whole axis of the focused chart"),
    ("Enter", "hide or show the line of the focused name below a chart"),
];

/// Verdicts in the order of severity; docs/verdicts.md has the rules.
const LABELS: [(&str, &str); 7] = [
    ("regression", "slower: the interval excludes 0, and the change is at least the margin"),
    ("small regression", "slower: the interval excludes 0, but the change is below the margin"),
    ("improvement, small improvement", "the same for faster"),
    (
        "efficiency regression",
        "same throughput, but an operation costs significantly more CPU or writes, by at least the margin",
    ),
    ("no change", "the 90 % interval lies within ± the margin"),
    ("inconclusive", "none of the above can be concluded"),
    (
        "invalid",
        "discarded by a guard, failed, or undecided beside an A/A control that is off by more than the margin",
    ),
];

/// Words in the tables of a comparison.
const WORDS: [(&str, &str); 6] = [
    ("rQPS", "operations per second as a share of the baseline's: 0.97 is 3 % slower"),
    ("MDE", "minimum detectable effect: the true change that is found with 80 % power at 5 %"),
    (
        "round",
        "one restart of all servers and one measurement of each test; intervals are over rounds",
    ),
    (
        "A/A control",
        "the baseline measured a second time, from data of its own; its difference is noise",
    ),
    ("suite shift", "the change that all tests share; to suite is the change of a test without it"),
    ("margin", "the smallest change that matters in practice: the band in the plots"),
];

fn comparison(verdicts: &Verdicts<'_>, matrix: &Matrix) -> Markup {
    let counted = verdicts.counted();
    let operation = ("operation", counted.what.as_str());
    html! {
        h3 { "Verdicts" }
        (terms(LABELS.into_iter()))
        h3 { "Words" }
        (terms([operation].into_iter().chain(WORDS)))
        h3 { "Measures" }
        dl.legend {
            @for measure in &matrix.measures {
                div { dt { (measure.name) } dd { (measure.legend) " (" (measure.unit) ")" } }
            }
        }
        @if why::is_known(verdicts) {
            h3 { "What else changed per " (counted.one) }
            (terms(why::METRICS.into_iter().map(|(_, name, legend)| (name, legend))))
        }
    }
}

/// The columns of tables that are pooled over rounds.
fn together(verdicts: &Verdicts<'_>) -> Markup {
    html! {
        h3 { "Metrics pooled over rounds" }
        @if verdicts.plan.of.is_chain() {
            (definitions(&METRICS))
        } @else {
            (definitions(&IOSTAT)) (definitions(&VMSTAT))
        }
        h3 { "Costs of server and client" }
        (definitions(&COSTS))
    }
}

fn steps() -> Markup {
    html! {
            h3 { "Metrics, with the names of the Insert Benchmark posts" }
            (definitions(&METRICS))
            h3 { "Costs of server and client" }
            (definitions(&COSTS))
            p.note {
                "An operation is a row inserted in l.i0, l.i1 and l.i2, a row indexed in l.x, and "
                "a query in the other steps. NA means not measured or not applicable."
            }
    }
}

fn suite() -> Markup {
    html! {
            h3 { "Tests" }
            (terms(MEASURES.iter().map(|measure| (measure.name, measure.legend))))
            h3 { "iostat, vmstat normalized by operation rate" }
            (definitions(&IOSTAT))
            (definitions(&VMSTAT))
            h3 { "Costs of server and client" }
            (definitions(&COSTS))
            p.note {
                "An operation is a statement, BEGIN and COMMIT included; a row in scan, and an inserted "
                "row in load. NA means not measured or not applicable."
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
