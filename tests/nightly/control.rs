//! Comparisons of one test of a build with itself, over and over: how many the A/A control makes
//! invalid, and how many find a difference. `RQPS_SAME=400` makes four times as many, and
//! `RQPS_SAME_OF=postgres@17.6` compares another build than SQLite.

use std::fs;

use crate::common::Rqps;
use rqps_stats::binomial::Share;
use serde_json::Value;

const SAME: &str = "--workload micro:point-query --rows 2K --secs 0.2 --rounds 6";

/// The chance that a sound comparison fails this test.
const ALPHA: f64 = 0.001;

#[test]
fn of_many_comparisons_of_a_build_with_itself_hardly_any_is_void() {
    let rqps = Rqps::alone();
    let times = std::env::var("RQPS_SAME").map_or(100, |times| times.parse().unwrap());
    let of = std::env::var("RQPS_SAME_OF").unwrap_or_else(|_| "sqlite".to_string());
    let (mut labels, mut widened) = (Vec::new(), Vec::new());
    for time in 0..times {
        let out = rqps.out().join(time.to_string());
        let each = format!("compare {of} again={of} {SAME} --seed {time} --out {}", out.display());
        let ended = rqps.run(&each);
        assert!([Some(0), Some(1)].contains(&ended.status.code()), "{}", ended.stderr);
        let result = fs::read_to_string(out.join("result.json")).unwrap();
        let result: Value = serde_json::from_str(&result).unwrap();
        let test = &result["comparison"]["contenders"][0]["tests"][0];
        let told = |key: &str| test[key].as_str().unwrap().to_string();
        println!("{time}: {}, intervals {} times as wide", told("verdict"), test["widened"]);
        labels.push((told("label"), told("verdict")));
        widened.push(test["widened"].as_f64().unwrap() > 1.0);
        fs::remove_dir_all(out).unwrap();
    }
    let is_void = |(label, why): &(String, String)| label == "invalid" && why.contains("A/A");
    let is_found = |(label, _): &(String, String)| {
        !["no_change", "inconclusive", "invalid"].contains(&label.as_str())
    };
    let void = Share::count(labels.iter().map(is_void));
    let found = Share::count(labels.iter().map(is_found));
    let wider = Share::count(widened);
    println!("of {times}: {} void, {} found, {} wider", void.hits, found.hits, wider.hits);
    assert!(void.interval(ALPHA).low <= 0.01, "{void:?}: {labels:?}");
    assert!(found.interval(ALPHA).low <= 0.05, "{found:?}: {labels:?}");
}
