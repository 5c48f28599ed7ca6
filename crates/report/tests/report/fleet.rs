//! Comparisons on several machines: verdicts over them, and each machine by itself.

use rqps_observe::MachineIdentity;
use rqps_report::{Colour, FleetReport, Terminal};
use rqps_store::{MergeError, Run, are_of_machines, by_machine};
use serde_json::Value;

use crate::HOSTILE;
use crate::comparison::comparison;

/// A comparison on a machine of its own. `changes` are factors of the contender's rate in tests.
fn on(name: &str, cpu: &str, changes: &[(&str, f64)]) -> (String, Run) {
    let mut run = comparison(&["new"], 6, None);
    run.manifest.id = name.to_string();
    run.manifest.identity = Some(MachineIdentity {
        boot: format!("boot-{name}"),
        installation: Some(format!("installation-{name}")),
        host: format!("host-{name}"),
    });
    for (fact, value) in &mut run.manifest.machine {
        if fact == "CPU" {
            *value = cpu.to_string();
        }
    }
    // Machines do not agree to the last digit.
    let own = 1.0 + 0.0003 * (name.bytes().map(f64::from).sum::<f64>() % 7.0 - 3.0);
    for round in &mut run.rounds {
        let change = changes.iter().find(|(test, _)| *test == round.test);
        let factor = own * change.map_or(1.0, |(_, factor)| *factor);
        for slice in round.slices.iter_mut().filter(|slice| slice.arm == "new") {
            slice.operations = (slice.operations as f64 * factor) as u64;
            slice.reads = slice.operations;
        }
    }
    (name.to_string(), run)
}

/// In one test only those of one vendor are slower; in another, a single one is not.
fn fleet() -> Vec<(String, Run)> {
    let (amd, intel) = ("AMD EPYC 7B13", "Intel(R) Xeon(R) Platinum 8480");
    vec![
        on("epyc-1", amd, &[("scan", 0.95)]),
        on("epyc-2", amd, &[("scan", 0.95)]),
        on("xeon-1", intel, &[]),
        on("xeon-2", intel, &[]),
    ]
}

/// What is made of the report on these runs.
fn with<T>(runs: Vec<(String, Run)>, missing: &[&str], make: impl Fn(&FleetReport<'_>) -> T) -> T {
    let machines = by_machine(runs, false).unwrap();
    let missing = missing.iter().map(|one| one.to_string()).collect();
    make(&FleetReport::new(&machines, missing))
}

fn json(runs: Vec<(String, Run)>) -> Value {
    serde_json::from_str(&with(runs, &[], |report| report.formats().json().to_string())).unwrap()
}

fn test<'v>(json: &'v Value, name: &str) -> &'v Value {
    let tests = json["contenders"][0]["tests"].as_array().unwrap();
    tests.iter().find(|test| test["test"] == name).unwrap()
}

fn text(report: &FleetReport<'_>) -> String {
    report.formats().text(Terminal { colour: Colour::Never, ..Terminal::PLAIN })
}

#[test]
fn a_fleet_reads_as_it_should() {
    let missing = ["cell 0123456789ab, compare-x on arm: failed: no disk (attempt 3)"];
    insta::assert_snapshot!("fleet_text", with(fleet(), &missing, text));
    insta::assert_snapshot!(
        "fleet_markdown",
        with(fleet(), &missing, |report| report.formats().markdown())
    );
}

#[test]
fn a_change_is_on_all_machines_or_on_those_of_a_vendor() {
    let json = json(fleet());
    let point = test(&json, "point-query");
    assert_eq!((&point["label"], &point["direction"]), (&"all".into(), &"slower".into()));
    let mean = &point["mean"];
    assert!((mean["value"].as_f64().unwrap() - 0.96).abs() < 0.002, "{mean}");
    assert!(mean["high"].as_f64().unwrap() < 0.97, "{mean}");
    let weights = point["machines"].as_array().unwrap().iter();
    let sum: f64 = weights.map(|machine| machine["weight"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    let scan = test(&json, "scan");
    assert_eq!(scan["label"], "only_on");
    assert_eq!((&scan["class"], &scan["direction"]), (&"AMD".into(), &"slower".into()));
    assert_eq!(test(&json, "read-only-sum")["label"], "no_change");
    let machines = json["machines"].as_array().unwrap();
    assert_eq!(machines[0]["class"]["CPU vendor"], "AMD");
    assert_eq!(machines[3]["class"]["CPU vendor"], "Intel");
    assert!(with(fleet(), &[], |report| report.has_regression()));
}

#[test]
fn the_json_has_the_stated_shape_and_no_number_of_one_machine_alone() {
    let schema = include_str!("../../schema/fleet.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for runs in [fleet(), fleet().split_off(3), fleet().split_off(2)] {
        let json = json(runs);
        let errors: Vec<String> = validator
            .iter_errors(&json)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
    let mut wrong = json(fleet());
    wrong["contenders"][0]["tests"][0]["qps"] = Value::from(7);
    assert!(!validator.is_valid(&wrong));
}

#[test]
fn two_machines_have_no_mean() {
    let json = json(fleet().split_off(2));
    let point = test(&json, "point-query");
    assert_eq!((&point["label"], &point["mean"]), (&"too_few_machines".into(), &Value::Null));
    assert!(point["heterogeneity"]["q"].is_number());
    assert!(with(fleet().split_off(2), &[], |report| report.is_open()));
}

#[test]
fn one_machine_has_its_own_verdict() {
    let only = || fleet().split_off(3);
    let json = json(only());
    assert_eq!(test(&json, "point-query")["label"], "one_machine");
    assert_eq!(test(&json, "point-query")["machines"][0]["label"], "regression");
    assert!(with(only(), &[], |report| report.has_regression()));
}

#[test]
fn runs_of_one_machine_are_merged_and_those_of_several_are_not() {
    let mut twice = fleet();
    let (mut name, mut again) = twice[0].clone();
    name += " (2)";
    again.manifest.id = name.clone();
    twice.push((name, again));
    assert!(are_of_machines(&twice));
    let json = json(twice.clone());
    let machines = json["machines"].as_array().unwrap();
    assert_eq!(machines.len(), 4);
    assert_eq!(machines[0]["runs"], serde_json::json!(["epyc-1", "epyc-1 (2)"]));
    let of_one = vec![twice[0].clone(), twice[4].clone()];
    assert!(!are_of_machines(&of_one), "rqps report merges these as before");
    let mut unknown = fleet();
    unknown[1].1.manifest.identity = None;
    assert!(!are_of_machines(&unknown));
}

#[test]
fn machines_that_measured_something_else_are_refused() {
    let mut runs = fleet();
    runs[1].1.plan.seed += 1;
    let error = by_machine(runs.clone(), false).unwrap_err();
    assert!(matches!(error, MergeError::NotComparable(_)), "{error}");
    let machines = by_machine(runs, true).unwrap();
    let text = text(&FleetReport::new(&machines, Vec::new()));
    assert!(text.contains("NOT COMPARABLE") && text.contains("seed (42, 43"), "{text}");

    let mut runs = fleet();
    runs[2].1.contenders[1].version = "9.9".to_string();
    let error = by_machine(runs, false).unwrap_err().to_string();
    assert!(error.contains("version of"), "{error}");

    let mut runs = fleet();
    runs[2].1.contenders[0].settings.insert("cache".to_string(), "as large as memory".to_string());
    assert!(by_machine(runs, false).is_ok(), "settings follow the machine");
}

#[test]
fn copies_of_a_machine_are_told() {
    let mut runs = fleet();
    let installation = runs[0].1.manifest.identity.clone().unwrap().installation;
    runs[1].1.manifest.identity.as_mut().unwrap().installation = installation;
    let text = with(runs, &[], text);
    assert!(text.contains("'epyc-1' and 'epyc-2' have one machine-id"), "{text}");
}

#[test]
fn nothing_of_a_hostile_name_becomes_markup() {
    let mut runs = fleet();
    runs[0].0 = HOSTILE.to_string();
    runs[0].1.manifest.machine[1].1 = HOSTILE.to_string();
    let page = with(runs.clone(), &[HOSTILE], |report| report.formats().html());
    assert_eq!(page.matches("<script").count(), 1, "the page has its own script alone");
    assert!(page.contains("&lt;script&gt;alert(1)"));
    let markdown = with(runs, &[HOSTILE], |report| report.formats().markdown());
    assert!(!markdown.contains("<script>"), "{markdown}");
}
