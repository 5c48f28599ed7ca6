//! The numbers behind the page, in the page: for its charts and for saving. They are compressed as
//! a browser can decode it: zlib, then base64.

use std::collections::BTreeMap;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use maud::{Markup, html};
use rqps_analysis::course::{charts, machine, percentiles};
use rqps_analysis::history::History;
use rqps_document::Terminal;
use rqps_document::html::table;
use serde::Serialize;

use super::counters;
use crate::comparison::Verdicts;
use crate::csv::{
    csv, has_metrics, has_times, latency_csv, metrics_csv, suite_files, verdicts_csv,
};
use crate::json::summary_json;
use crate::model::{Matrix, Model, engine};
use crate::{Report, post};

/// A file to save: the id of the script element, the name of the file, and its description.
type File = (&'static str, &'static str, &'static str);

const FILES: [File; 3] = [
    ("plan", "plan.toml", "the plan, to repeat the run"),
    ("result", "result-summary.json", "all results as JSON, without the series of seconds"),
    ("text", "report.txt", "the tables as text, for a post or an email"),
];
const METRICS: File = ("metrics-csv", "metrics.csv", "the posts' columns as CSV");
const VERDICTS: File = ("verdicts-csv", "verdicts.csv", "all verdicts with intervals as CSV");
const LATENCY: File = ("latency-csv", "latency.csv", "percentiles of times with verdicts as CSV");
const ROUNDS: File = ("rounds-csv", "rounds.csv", "all measures of all rounds as CSV");

pub(super) fn body(report: &Report<'_>, matrix: Option<&Matrix>, histories: &[History]) -> Markup {
    let Report { run, model, verdicts } = report;
    let of_suite = suite_files(report);
    let mut tables: Vec<(File, String)> = Vec::new();
    if verdicts.is_some() {
        tables.push((VERDICTS, verdicts_csv(report)));
        tables.push((ROUNDS, csv(report)));
    }
    if has_times(report) {
        tables.push((LATENCY, latency_csv(report)));
    }
    if has_metrics(report) {
        tables.push((METRICS, metrics_csv(report)));
    }
    html! {
        ul.files {
            @for (id, file, what) in FILES.iter().chain(tables.iter().map(|(file, _)| file)) {
                li { button type="button" data-source=(id) data-file=(file) { (file) } " " (what) }
            }
            @for (file, _) in &of_suite {
                li { button type="button" data-source=(file) data-file=(file) { (file) } }
            }
        }
        p.note {
            "The page would be too large with the series of seconds. They are in "
            @if verdicts.is_none() { "result.json, seconds.csv and " } "results.sqlite."
        }
        (json("charts", &charts(model)))
        (json("machine", &machine(model)))
        (json("percentiles", &percentiles(model)))
        (json("matrix", &matrix))
        (json("histories", &histories))
        (json("curves", &verdicts.as_ref().map(Verdicts::curves)))
        (json("engine", &verdicts.as_ref().map_or_else(|| engine_tables(model), counters::tables)))
        (embedded("plan", &run.plan.to_toml()))
        (embedded("result", &summary_json(report)))
        (embedded("text", &post(report, Terminal::PLAIN)))
        @for ((id, _, _), content) in &tables { (embedded(id, content)) }
        @for (file, content) in &of_suite { (embedded(file, content)) }
    }
}

fn json(id: &str, data: &impl Serialize) -> Markup {
    embedded(id, &serde_json::to_string(data).expect("it holds only numbers and text"))
}

/// The tables of the DBMS's own counters as HTML, by step.
fn engine_tables<'m>(model: &'m Model<'_>) -> BTreeMap<&'m str, String> {
    let tables = model.steps.iter().map(|step| (step.name, engine(model, step)));
    tables
        .filter(|(_, cells)| !cells.is_empty())
        .map(|(step, cells)| (step, table(&cells).into_string()))
        .collect()
}

/// Nothing in base64 can end the element.
pub(super) fn embedded(id: &str, text: &str) -> Markup {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory takes all bytes");
    let packed = encoder.finish().expect("memory takes all bytes");
    html! {
        script type="application/zlib+base64" id=(id) { (STANDARD.encode(packed)) }
    }
}
