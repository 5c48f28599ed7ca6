//! Query plans of two releases: what is called changed has changed, and nothing else. The pairs and
//! their changes are in docs/verdicts.md; all were read by a person, in both forms.

use rqps_analysis::comparison::plan_differences;
use rqps_plan::QueryPlan;
use serde_json::Value;

use crate::common::Rqps;

/// The differences between the query plans of two releases, by statement, over all microbenchmarks.
/// Plans are of 20,000 rows: of fewer, a whole table may be as cheap as an index.
fn changes(releases: &str) -> Vec<(String, Vec<String>)> {
    let rqps = Rqps::new();
    let arguments = format!("micro {releases} --rows 20K --secs 0.1 --no-check --json");
    let result: Value = serde_json::from_str(&rqps.run(&arguments).ok().stdout).unwrap();
    let mut seen: Vec<String> = Vec::new();
    let mut changed = Vec::new();
    for step in result["steps"].as_array().unwrap() {
        let of = |at: usize| step["results"][at]["statements"].as_array().into_iter().flatten();
        for (old, new) in of(0).zip(of(1)) {
            let text = old["text"].as_str().unwrap();
            assert_eq!(new["text"], text, "{}", step["name"]);
            let (old, new) = match (tree(old), tree(new)) {
                (Some(old), Some(new)) => (old, new),
                (old, new) => {
                    let planned =
                        !["INSERT", "BEGIN", "COMMIT"].iter().any(|w| text.starts_with(w));
                    assert!(!planned && old.is_none() && new.is_none(), "{text} is not known");
                    continue;
                }
            };
            let found = plan_differences(&old, &new);
            if !found.is_empty() && !seen.contains(&text.to_string()) {
                changed.push((text.to_string(), found));
            }
            seen.push(text.to_string());
        }
    }
    assert!(seen.len() > 60, "{} plans of {releases}", seen.len());
    changed
}

fn tree(statement: &Value) -> Option<QueryPlan> {
    serde_json::from_value(statement["tree"].clone()).unwrap()
}

/// The changes as they are listed in docs/verdicts.md.
fn assert_changes(releases: &str, expected: &[(&str, &str)]) {
    let found = changes(releases);
    let found: Vec<(&str, String)> =
        found.iter().map(|(text, changes)| (text.as_str(), changes.join("; "))).collect();
    let found: Vec<(&str, &str)> =
        found.iter().map(|(text, told)| (*text, told.as_str())).collect();
    assert_eq!(found, expected, "{releases}");
}

#[test]
fn mysql_8_and_9() {
    assert_changes("mysql@8.0.33 mysql@9.7", &[]);
}

#[test]
fn postgres_17_and_18() {
    assert_changes("postgres@17.6 postgres@18.0", &[]);
}

#[test]
fn postgres_16_and_17() {
    assert_changes("postgres@16.10 postgres@17.6", &[]);
}

#[test]
fn mariadb_10_and_11() {
    assert_changes("mariadb@10.11 mariadb@11.8", &[]);
}
