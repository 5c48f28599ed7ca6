use rqps_plan::{Compared, Comparison, Method, Workload};
use rqps_report::{Entry, Found, index_html, index_json};
use rqps_store::{PassRecord, Run, SliceRecord, Status};
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

/// Two tests in six rounds: `scan`, where the second contender takes twice as long, and `delete`, which
/// a guard refused each time.
fn comparison() -> Run {
    let mut run = suite::run(&["sqlite", "slow=sqlite?cache_size=1"], &[1]);
    let Workload::Microbenchmark(benchmark) = run.plan.workload else { unreachable!() };
    let plan = Comparison::new(Compared::Microbenchmark(benchmark));
    run.plan.workload = Workload::Comparison(Comparison { method: Method::Runs, ..plan });
    run.steps.clear();
    let slice = |round: u32, contender: &str, millis: u64| SliceRecord {
        client: 1,
        contender: contender.to_string(),
        nanos: (millis + u64::from(round) % 3) * 1_000_000,
        reads: 1_000,
        ..SliceRecord::default()
    };
    let pass = |round: u32, place: u32, test: &str, invalid: Option<&str>| PassRecord {
        round,
        test: test.to_string(),
        place,
        class: test.to_string(),
        attempt: 1,
        invalid: invalid.map(str::to_string),
        slices: vec![slice(round, "sqlite", 500), slice(round + 1, "slow", 1_000)],
        ..PassRecord::default()
    };
    let rounds = (1..=6).flat_map(|round| {
        [pass(round, 0, "scan", None), pass(round, 1, "delete", Some("the machine was busy"))]
    });
    run.passes = rounds.collect();
    run
}

#[test]
fn a_comparison_is_listed_with_how_many_tests_have_each_label() {
    let entries = [entry("compared", Found::of(&comparison(), true))];
    let json: Value = serde_json::from_str(&index_json(&entries)).unwrap();
    let found = &json["entries"][0];
    assert_eq!(found["verdicts"][0]["contender"], "slow");
    let labels = json!([{ "label": "regression", "tests": 1 }, { "label": "invalid", "tests": 1 }]);
    assert_eq!(found["verdicts"][0]["labels"], labels);
    assert_eq!(found["status"], Value::Null, "nothing is kept of how it ended");
    let page = index_html(&entries);
    assert!(page.contains("<span class=\"chip slower\">1 regression</span>"), "{page}");
}
