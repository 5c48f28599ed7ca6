use jsonschema::Validator;
use rqps_report::{SCHEMA, result_json};
use rqps_store::{Run, Status};
use serde_json::Value;

use crate::sample::{self, run};
use crate::{HOSTILE, THREE};

pub(crate) fn schema() -> Validator {
    let schema = include_str!("../../schema/result.schema.json");
    let schema: Value = serde_json::from_str(schema).expect("the schema is JSON");
    jsonschema::validator_for(&schema).expect("the schema is a schema")
}

fn parsed(run: &Run) -> Value {
    serde_json::from_str(&result_json(run)).expect("it is JSON")
}

#[test]
fn every_result_has_the_stated_shape() {
    let mut troubled = run(&THREE, 12);
    sample::trouble(&mut troubled);
    let mut silent = run(&["sqlite", "postgres@17.6"], 5);
    sample::silence(&mut silent);
    let mut begun = run(&["sqlite"], 1);
    begun.steps.truncate(1);
    begun.steps[0].status = Status::Running;
    begun.steps[0].seconds = 0.0;
    let mut nothing = run(&["sqlite"], 1);
    nothing.steps.clear();
    nothing.contenders.clear();
    let validator = schema();
    for run in [run(&THREE, 12), troubled, silent, run(&[HOSTILE], 1), begun, nothing] {
        let result = parsed(&run);
        let errors: Vec<String> = validator
            .iter_errors(&result)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

#[test]
fn the_schema_would_notice() {
    let mut result = parsed(&run(&["sqlite"], 1));
    result["steps"][0]["results"][0]["throughput"] = Value::from("fast");
    assert!(!schema().is_valid(&result));
    let mut result = parsed(&run(&["sqlite"], 1));
    result["schema"] = Value::from("rqps-result/0");
    assert!(!schema().is_valid(&result));
}

#[test]
fn derived_and_raw_numbers_belong_together() {
    let result = parsed(&run(&THREE, 12));
    assert_eq!(result["schema"], SCHEMA);
    assert_eq!(result["base"], "postgres@17.6");
    let second = &result["steps"][4]["results"][1];
    assert_eq!(second["contender"], "postgres@18.0");
    let queries = &second["work"]["query"];
    let seconds = queries["seconds"]["operations"].as_array().unwrap();
    let sum: u64 = seconds.iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(queries["operations"], sum);
    let rate = sum as f64 / second["seconds"].as_f64().unwrap();
    assert!((second["throughput"].as_f64().unwrap() - rate).abs() < 1e-6);
    assert_eq!(second["metrics"]["qps"], second["throughput"]);
    assert_eq!(second["sla"]["met"], true);
    assert_eq!(second["samples"]["metrics"]["server_rss"].as_array().unwrap().len(), 12);
}

#[test]
fn what_the_dbms_counted_is_told_by_its_names_without_zeros() {
    let result = parsed(&run(&["postgres@17.6", "sqlite"], 12));
    let engine = &result["steps"][0]["results"][0]["engine"];
    let names = |kind: &str| engine[kind].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names("counters"), ["pg_stat_wal.wal_bytes"]);
    assert_eq!(names("gauges"), ["pg_stat_user_tables.n_dead_tup"]);
    let seconds = engine["samples"]["values"]["pg_stat_wal.wal_bytes"].as_array().unwrap();
    assert_eq!(seconds.len(), 12);
    let none = &result["steps"][0]["results"][1]["engine"];
    assert_eq!(none["counters"], serde_json::json!({}));
}
