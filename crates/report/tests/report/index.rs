use rqps_report::{Entry, Found, index_html, index_json};
use rqps_store::Status;
use serde_json::{Value, json};

use crate::sample::{self, run};
use crate::{HOSTILE, THREE, suite};

fn entry(path: &str, found: Found) -> Entry {
    Entry { path: path.to_string(), found }
}

#[test]
fn runs_are_listed_newest_first_and_the_rest_after_them() {
    let mut older = run(&THREE, 12);
    older.manifest.created = "2026-11-20T08:00:00Z".to_string();
    sample::step(&mut older, "postgres@18.0", "qp100").status = Status::Failed;
    let newer = run(&["sqlite"], 1);
    let entries = [
        entry("thesis", Found::Foreign),
        entry("cut", Found::Damaged { reason: "'cut/results.sqlite' is damaged".to_string() }),
        entry("older", Found::of(&older, true)),
        entry("newer", Found::of(&newer, false)),
    ];
    let json: Value = serde_json::from_str(&index_json(&entries)).unwrap();
    assert_eq!(json["schema"], "rqps-index/1");
    let found = json["entries"].as_array().unwrap();
    let paths: Vec<&str> = found.iter().map(|entry| entry["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["newer", "older", "cut", "thesis"]);
    let older = &found[1];
    assert_eq!((&older["status"], &older["kind"]), (&"failed".into(), &"run".into()));
    assert_eq!(older["contenders"][1]["version"], "18.0");
    let [best, worst] = ["best", "worst"].map(|end| older[end]["relative"].as_f64().unwrap());
    assert!(worst < best && worst < 0.95, "{worst} to {best}");
    assert_eq!(found[0]["best"], Value::Null, "one contender has nothing to be relative to");

    let page = index_html(&entries);
    assert!(page.contains("href=\"./older/report.html\""));
    assert!(!page.contains("href=\"./newer"), "it has no report");
    for text in ["damaged run: 'cut/results.sqlite' is damaged", "not a run", "thesis", "2 runs"] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn names_of_directories_and_contenders_are_only_ever_text() {
    let run = run(&[HOSTILE, "sqlite"], 1);
    let page = index_html(&[entry("javascript:\"<b>#?%/x", Found::of(&run, true))]);
    assert!(!page.contains("<script>alert") && !page.contains("<b>"));
    assert!(page.contains("href=\"./javascript%3A%22%3Cb%3E%23%3F%25/x/report.html\""));
    assert_eq!(page.matches("<script").count(), 1);
}

#[test]
fn a_comparison_is_listed_with_how_many_tests_have_each_label() {
    let entries = [entry("compared", Found::of(&suite::comparison(), true))];
    let json: Value = serde_json::from_str(&index_json(&entries)).unwrap();
    let found = &json["entries"][0];
    assert_eq!(found["verdicts"][0]["contender"], "slow");
    let labels = json!([{ "label": "regression", "tests": 1 }, { "label": "invalid", "tests": 1 }]);
    assert_eq!(found["verdicts"][0]["labels"], labels);
    assert_eq!(found["status"], Value::Null, "nothing is kept of how it ended");
    let page = index_html(&entries);
    assert!(page.contains("<span class=\"chip slower\">1 regression</span>"), "{page}");
}
