//! What the columns mean, in print too.

use maud::{Markup, html};
use rqps_stats::normalised::{IOSTAT, VMSTAT};
use rqps_stats::{COSTS, Column, METRICS};

use super::why;
use crate::comparison::Verdicts;
use crate::model::{MEASURES, Matrix};

/// What the page has, and so must be explained.
pub(super) struct Legend<'a> {
    /// Microbenchmarks; the Insert Benchmark otherwise.
    pub(super) is_suite: bool,
    /// Of a comparison, which has measures of its own.
    pub(super) verdicts: Option<&'a Verdicts<'a>>,
    /// It has tests by whole runs, which have the columns of steps as well.
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

/// What a key does, and whether it is about the table of any contender against any.
const KEYS: [(&str, &str, bool); 6] = [
    ("j, k", "the next or the previous part of the page", false),
    ("e", "unfold everything, or fold it again", false),
    ("x", "charts over time or over progress", false),
    ("b", "the next contender is the base", true),
    ("m", "the next measure", true),
    ("v", "relative or as measured", true),
];

/// In a chart that the Tab key has led to.
const CHART_KEYS: [(&str, &str); 3] = [
    ("←, →", "in a chart, which Tab leads to: the values before or after these"),
    ("+, -, 0", "in a chart: less of the axis, more of it, all of it"),
    ("Enter", "on a name below a chart: takes its line away, or brings it back"),
];

/// Verdicts, in the order of their worth; docs/verdicts.md has the rules.
const LABELS: [(&str, &str); 7] = [
    ("regression", "slower beyond doubt, and by the margin or more"),
    ("small regression", "slower beyond doubt, by less than the margin"),
    ("improvement, small improvement", "the same of what is faster"),
    (
        "efficiency regression",
        "as fast, but an operation costs more CPU, or writes more, beyond doubt and by the margin or more",
    ),
    ("no change", "beyond doubt no further than the margin to either side"),
    ("inconclusive", "none of these can be said"),
    ("invalid", "a guard refused it, or the base differs from its twin"),
];

/// Words that the tables of a comparison have.
const WORDS: [(&str, &str); 6] = [
    ("rQPS", "operations per second as a share of the base's: 0.97 is 3 % slower"),
    ("could have seen", "a true change of that size is found with a chance of 80 %"),
    ("round", "all servers are started anew; what is between rounds is what intervals are made of"),
    (
        "twin",
        "the base once more, from data of its own: how much it differs is how much is nothing",
    ),
    ("suite shift", "what all tests have in common; to suite is what is left of a test without it"),
    ("margin", "a change that does not matter in practice, the band in the plots"),
];

fn comparison(verdicts: &Verdicts<'_>, matrix: &Matrix) -> Markup {
    let counted = verdicts.counted();
    let operation = ("operation", counted.what.as_str());
    html! {
        h3 { "Verdicts" }
        (words(LABELS.into_iter()))
        h3 { "Words" }
        (words([operation].into_iter().chain(WORDS)))
        h3 { "Measures" }
        dl.legend {
            @for measure in &matrix.measures {
                div { dt { (measure.name) } dd { (measure.legend) " (" (measure.unit) ")" } }
            }
        }
        @if why::is_known(verdicts) {
            h3 { "What else changed per " (counted.one) }
            (words(why::METRICS.into_iter().map(|(_, name, legend)| (name, legend))))
        }
    }
}

/// What the tables of all rounds together have.
fn together(verdicts: &Verdicts<'_>) -> Markup {
    html! {
        h3 { "Metrics of all rounds together" }
        @if verdicts.plan.of.is_chain() {
            (definitions(&METRICS))
        } @else {
            (definitions(&IOSTAT)) (definitions(&VMSTAT))
        }
        h3 { "Cost by side" }
        (definitions(&COSTS))
    }
}

fn words<'w>(words: impl Iterator<Item = (&'w str, &'w str)>) -> Markup {
    html! { dl.legend { @for (word, what) in words { div { dt { (word) } dd { (what) } } } } }
}

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
            (words(MEASURES.iter().map(|measure| (measure.name, measure.legend))))
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
