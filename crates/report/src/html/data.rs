//! The numbers behind the page, in the page: for its charts and to be saved.

use maud::{Markup, PreEscaped, html};
use rqps_store::Run;

use crate::csv::{csv, suite_files};
use crate::json::result_json;

/// Offered for saving: the id of the script element, the name of the file, and what it is.
const FILES: [(&str, &str, &str); 2] = [
    ("result", "result.json", "everything, with the raw seconds, as JSON"),
    ("metrics-csv", "metrics.csv", "the metrics of all steps as CSV"),
];

pub(super) fn section(run: &Run) -> Markup {
    let of_suite = suite_files(run);
    html! {
        section #data {
            h2 { "Data" }
            ul.files {
                @for (id, file, what) in FILES {
                    li { button type="button" data-source=(id) data-file=(file) { (file) } " " (what) }
                }
                @for (file, _) in &of_suite {
                    li { button type="button" data-source=(file) data-file=(file) { (file) } }
                }
            }
            (embedded("result", &result_json(run)))
            (embedded("metrics-csv", &text(&csv(run))))
            @for (file, content) in &of_suite { (embedded(file, &text(content))) }
        }
    }
}

/// Text as JSON, which can be escaped inside a script element where text cannot.
fn text(text: &str) -> String {
    serde_json::to_string(text).expect("any text is a JSON string")
}

/// In JSON `<` stands only inside strings, so it can be escaped without parsing; then nothing in
/// the data can end the element or open a comment.
fn embedded(id: &str, json: &str) -> Markup {
    html! {
        script type="application/json" id=(id) { (PreEscaped(json.replace('<', "\\u003c"))) }
    }
}
