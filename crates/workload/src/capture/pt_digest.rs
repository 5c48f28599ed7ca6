//! What pt-query-digest has written with `--output json`.
//!
//! Source: JSONReportFormatter.pm of percona-toolkit: a list of classes with `class` and
//! `attributes` at first, later an object with `classes`.

use serde_json::Value;

use super::CaptureError;
use super::digest::counted;
use super::executions::{CapturedExecutions, Collector};
use super::log_lines::LogLines;
use super::told::Told;

/// What every class has, in both forms.
const FINGERPRINT: &str = "\"fingerprint\"";

/// Whether a text begins such a file.
pub(super) fn is_report(head: &str) -> bool {
    head.trim_start().starts_with(['{', '[']) && head.contains(FINGERPRINT)
}

pub(super) fn read(
    lines: &mut LogLines<'_>,
    collector: &mut Collector,
) -> Result<Vec<Told>, CaptureError> {
    let mut text = String::new();
    while let Some(line) = lines.next()? {
        text += &line;
    }
    let wrong = |what: String| CaptureError::Refused(format!("it is no report as JSON: {what}"));
    let report: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let classes = report.get("classes").unwrap_or(&report).as_array();
    let classes = classes.ok_or_else(|| wrong("it has no classes".to_string()))?;
    let mut without = 0;
    for class in classes {
        let about = class.get("class").unwrap_or(class);
        let measured = class.get("attributes").or_else(|| class.get("metrics"));
        let sum = |name: &str| number(measured?.get(name)?.get("sum")?);
        let calls = ["query_count", "cnt"].iter().find_map(|name| number(about.get(*name)?));
        let calls = calls.unwrap_or(1.0);
        let example = about.get("example").and_then(|example| example.get("query"));
        let Some(example) = example.or_else(|| about.get("sample")).and_then(Value::as_str) else {
            without += 1;
            continue;
        };
        let database = measured.and_then(|all| all.get("db")?.get("value")?.as_str());
        for at in ["ts_min", "ts_max"].iter().filter_map(|name| about.get(*name)?.as_str()) {
            collector.note_civil_time(at);
        }
        let one = CapturedExecutions {
            calls: calls as u64,
            seconds: sum("Query_time").unwrap_or_default(),
            rows: sum("Rows_sent").map(|rows| rows as u64),
            database: database.map(str::to_string),
            ..CapturedExecutions::one(String::new())
        };
        collector.add(&counted(collector.dialect, one, String::new(), Some(example.to_string())));
    }
    if without == classes.len() {
        let what = "the report has no examples of statements, which --output json-anon leaves out. \
                    Use --output json";
        return Err(CaptureError::Refused(what.to_string()));
    }
    let limit =
        "pt-query-digest keeps the statements of --limit alone: shares leave out the others";
    Ok(vec![limit.to_string()])
}

/// Numbers are written as such or as text.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}
