use rqps_store::{Run, merge};
use serde_json::{Value, json};

use crate::json::schema;
use crate::made::{html, result_json, text};
use crate::sample::run;
use crate::suite;

/// A run with enough seconds for charts.
pub(crate) fn named(name: &str, contenders: &[&str]) -> (String, Run) {
    let mut run = run(contenders, 3);
    run.manifest.id = name.to_string();
    (name.to_string(), run)
}

#[test]
fn of_two_workloads_it_is_said_that_they_are_two() {
    let mut micro = suite::run(&["sqlite"], &[1]);
    micro.manifest.id = "micro".to_string();
    let error = merge(vec![named("a", &["sqlite"]), ("micro".to_string(), micro)], false);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("differ: workload (insert benchmark, microbenchmark)."), "{error}");
}

#[test]
fn runs_of_two_machines_become_one_report() {
    let (a, mut b) = (named("a", &["postgres@17.6"]), named("b", &["postgres@17.6", "sqlite"]));
    b.1.manifest.cpus = 64;
    b.1.manifest.machine[1].1 = "Ampere".to_string();
    let merged = merge(vec![a, b], false).unwrap();
    let text = text(&merged, rqps_report::Colour::Never);
    assert!(text.contains("postgres@17.6 (a), postgres@17.6 (b), sqlite"), "{text}");
    assert!(text.contains("made on different machines"), "{text}");
    let page = html(&merged);
    assert!(page.contains("hosts with 2, 64 CPUs"));
    let machines = page.split("<h3>Machine</h3>").nth(1).unwrap();
    for cell in ["scope=\"col\">a</th>", "scope=\"col\">b</th>", "AMD EPYC", "Ampere"] {
        assert!(machines.contains(cell), "{cell}");
    }
    let json: Value = serde_json::from_str(&result_json(&merged)).unwrap();
    assert!(schema().is_valid(&json));
    assert_eq!(json["baseline"], "postgres@17.6 (a)");
    let parts = json["parts"].as_array().unwrap();
    let told: Vec<_> =
        parts.iter().map(|part| (&part["name"], &part["manifest"]["cpus"])).collect();
    assert_eq!(told, [(&json!("a"), &json!(2)), (&json!("b"), &json!(64))]);
    assert_eq!(parts[1]["contenders"], json!(["postgres@17.6 (b)", "sqlite"]));
    assert!(json.get("differences").is_none());
    assert_eq!(json["steps"][0]["results"].as_array().unwrap().len(), 3);
    // The same work on 64 CPUs is a smaller share of them.
    let share = |index: usize| json["steps"][0]["results"][index]["metrics"]["cpups"].as_f64();
    assert!(
        (share(0).unwrap() / share(1).unwrap() - 32.0).abs() < 0.5,
        "{:?}",
        (share(0), share(1))
    );
}

#[test]
fn what_was_forced_together_is_labelled() {
    let (a, mut b) = (named("a", &["postgres@17.6"]), named("b", &["sqlite"]));
    b.1.plan.seed = 7;
    let merged = merge(vec![a, b], true).unwrap();
    let text = text(&merged, rqps_report::Colour::Never);
    assert!(text.contains("NOT COMPARABLE") && text.contains("seed (42, 7)"), "{text}");
    assert!(html(&merged).contains("NOT COMPARABLE"));
    let json: Value = serde_json::from_str(&result_json(&merged)).unwrap();
    assert!(schema().is_valid(&json));
    assert_eq!(json["differences"], json!([{ "what": "seed", "values": ["42", "7"] }]));
}
