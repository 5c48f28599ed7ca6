//! The keys of the page.

use maud::{Markup, html};

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

pub(super) fn keys(has_matrix: bool) -> Markup {
    html! {
        h3 { "Keys" }
        dl.legend {
            @for (key, what, is_of_matrix) in KEYS {
                @if has_matrix || !is_of_matrix {
                    div { dt { kbd { (key) } } dd { (what) } }
                }
            }
            @for (key, what) in CHART_KEYS { div { dt { kbd.chart { (key) } } dd { (what) } } }
        }
    }
}
