//! Profiles in the reports.

use rqps_report::Colour;
use rqps_store::Run;
use serde_json::Value;

use crate::html::embedded;
use crate::json::schema;
use crate::made::{html, result_json, text};
use crate::suite;

#[test]
fn a_terminal_has_the_functions_that_surely_changed_and_what_the_profile_lacks() {
    insta::assert_snapshot!("profile_text", {
        let text = text(&suite::profiled(), Colour::Never);
        let begin = text.find("Profile of scan").expect("the profile is told");
        let end = text.find("\nreport.html has").expect("it is last");
        text[begin..end].to_string()
    });
}

#[test]
fn programs_have_every_function_with_its_interval() {
    let result: Value = serde_json::from_str(&result_json(&suite::profiled())).unwrap();
    let errors: Vec<String> = schema()
        .iter_errors(&result)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let profile = &result["comparison"]["contenders"][0]["profiles"][0];
    let named = |list: &str, name: &str| {
        let all = profile[list].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    let decode = named("functions", "decode<a&b>");
    // 600 ms, and 610 in every second run, for 100,000 statements.
    assert!((decode["baseline"].as_f64().unwrap() - 6.05).abs() < 1e-9, "{decode}");
    assert!((decode["change"].as_f64().unwrap() - 8.0).abs() < 1e-9, "{decode}");
    assert!(decode["low"].as_f64().unwrap() > 0.0 && decode["p"].as_f64().unwrap() < 0.05);
    assert_eq!(named("functions", "send")["kernel"], true);
    assert!(named("inclusive", "scan")["baseline"].as_f64().unwrap() > 19.0);
    let share = |key: &str| profile["contender"][key].as_f64().unwrap();
    assert!((share("unnamed") - 0.0386).abs() < 0.001 && (share("cut") - 0.0386).abs() < 0.001);
}

#[test]
fn a_longer_code_path_names_the_functions_that_grew() {
    let run = Run { profiles: suite::profiled().profiles, ..suite::judged() };
    let result: Value = serde_json::from_str(&result_json(&run)).unwrap();
    let findings = result["comparison"]["contenders"][0]["findings"].as_array().unwrap();
    let of_scan = |one: &&Value| one["rule"] == "R1" && one["tests"][0] == "scan";
    let longer = findings.iter().find(of_scan).unwrap_or_else(|| panic!("{findings:#?}"));
    let statement = longer["statement"].as_str().unwrap();
    assert!(statement.contains(". Top growth: `decode<a&b>` +8.0 us"), "{statement}");
    assert_eq!(longer["next"], "the flame graphs in report.html");
}

#[test]
fn the_page_draws_both_sides_and_the_difference_both_ways() {
    let page = html(&suite::profiled());
    assert!(page.contains("<section id=\"profiles\">") && page.contains("href=\"#profiles\""));
    assert!(page.contains("Stacks start at <code>Main</code>"));
    let flames: Vec<String> =
        (0..4).map(|number| embedded(&page, &format!("flame-0-0-{number}"))).collect();
    for (flame, gone, new) in
        [(&flames[0], true, false), (&flames[1], false, true), (&flames[2], false, true)]
    {
        assert!(flame.contains("<svg") && flame.contains("decode&lt;a&amp;b&gt;"), "escaped");
        assert_eq!(flame.contains(">copy ("), gone);
        assert_eq!(flame.contains("[libx.so]"), new);
    }
    assert!(flames[3].contains(">copy ("), "removed functions are as wide as in the baseline");
    assert!(html(&suite::profiled()) == page, "it is drawn the same every time");
    assert!(!html(&suite::comparison()).contains("flame-"), "nothing without a profile");
}
