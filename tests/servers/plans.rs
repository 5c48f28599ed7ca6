//! Query plans of two releases: what is called changed has changed, and nothing else. The changes
//! are those of docs/verdicts.md.

use rqps_analysis::comparison::plan_differences;
use rqps_plan::QueryPlan;
use serde_json::Value;

use crate::common::Rqps;

/// Reads before writes, so that all plans are of tables as they were loaded.
const TESTS: &str = "point,range,aggregate,update-inlist,update-index,delete --order given";

/// The query plans of a test that differ between two releases: test, statement and differences.
type Changed = (String, String, Vec<String>);

/// Of 100,000 rows: of fewer, a whole table may be as quick as an index.
fn changes(releases: &str) -> Vec<Changed> {
    let rqps = Rqps::new();
    let size = "--rows 100K --tables 1 --clients 1 --secs 0.1 --no-check --json";
    let told = rqps.run(&format!("micro {releases} --tests {TESTS} {size}")).ok().stdout;
    let result: Value = serde_json::from_str(&told).unwrap();
    let (mut changed, mut planned) = (Vec::new(), 0);
    for step in result["steps"].as_array().unwrap() {
        let test = step["name"].as_str().unwrap();
        let of = |at: usize| step["results"][at]["statements"].as_array().into_iter().flatten();
        assert_eq!(of(0).count(), of(1).count(), "{test}");
        for (old, new) in of(0).zip(of(1)) {
            let text = old["text"].as_str().unwrap();
            assert_eq!(new["text"], text, "{test}");
            let is_planned = old["plan"].is_string();
            let trees = [old, new].map(tree);
            assert_eq!(trees.each_ref().map(Option::is_some), [is_planned; 2], "{test}: {text}");
            if let [Some(old), Some(new)] = trees {
                let found = plan_differences(&old, &new);
                planned += 1;
                if !found.is_empty() {
                    changed.push((test.to_string(), text.to_string(), found));
                }
            }
        }
    }
    assert!(planned >= 40, "{planned} plans of {releases}");
    changed
}

fn tree(statement: &Value) -> Option<QueryPlan> {
    serde_json::from_value(statement["tree"].clone()).unwrap()
}

fn assert_changes(releases: &str, expected: &[(&str, &str, &str)]) {
    let found: Vec<Changed> = changes(releases);
    let joined: Vec<String> = found.iter().map(|(_, _, changes)| changes.join("; ")).collect();
    let found: Vec<(&str, &str, &str)> = found
        .iter()
        .zip(&joined)
        .map(|((test, text, _), told)| (&**test, &**text, &**told))
        .collect();
    assert_eq!(found, expected, "{releases}");
}

#[test]
#[ignore = "nightly: another DBMS or release in the same way"]
fn mysql_8_and_9_have_the_same_plans() {
    assert_changes("mysql@maven-8.0.33 mysql@debian-9.7", &[]);
}

#[test]
#[ignore = "nightly: two servers for one more pair"]
fn postgres_17_and_18_have_the_same_plans() {
    assert_changes("postgres@17.6 postgres@18.0", &[]);
}

#[test]
#[ignore = "nightly: two servers for one more pair"]
fn postgres_16_and_17_have_the_same_plans() {
    assert_changes("postgres@16.10 postgres@17.6", &[]);
}

#[test]
#[ignore = "nightly: two servers for one more pair"]
fn mariadb_10_and_11_differ_in_a_long_list() {
    let text = "SELECT c FROM sbtest1 WHERE id IN (?, … 1000 values)";
    let change = "Table Scan on <subquery> over Materialize is gone";
    let test = "random-points_range=1000";
    assert_changes("mariadb@10.11 mariadb@11.8", &[(test, text, change)]);
}
