use jsonschema::Validator;
use rqps_report::SCHEMA;
use rqps_store::{Operation, Run, Status};
use serde_json::Value;

use crate::made::{html, result_json};
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
    begun.rounds.truncate(1);
    let only = sample::only(&mut begun.rounds[0]);
    (only.status, only.seconds) = (Status::Running, 0.0);
    let mut nothing = run(&["sqlite"], 1);
    nothing.rounds.clear();
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
    assert_eq!(result["baseline"], "postgres@17.6");
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

#[test]
fn levels_and_stalls_of_a_step_are_told() {
    let mut run = run(&["sqlite", "postgres@17.6"], 60);
    let queries = |run: &mut Run, contender: &str, change: fn(usize, &mut u64)| {
        let step = sample::step(run, contender, "qr100");
        for worker in step.work.iter_mut().filter(|one| one.operation == Operation::Query) {
            for (second, done) in worker.seconds.iter_mut().enumerate() {
                change(second, &mut done.operations);
            }
        }
    };
    queries(&mut run, "sqlite", |second, done| {
        if second % 10 == 9 {
            *done = 0;
        }
    });
    queries(&mut run, "postgres@17.6", |second, done| {
        if second >= 30 {
            *done /= 2;
        }
    });
    let result = parsed(&run);
    let of = |step: &str, contender: usize| {
        let steps = result["steps"].as_array().unwrap();
        let step = steps.iter().find(|found| found["name"] == step).unwrap();
        step["results"][contender]["steadiness"].clone()
    };
    let stalled = of("qr100", 0);
    assert_eq!(stalled["longest_stall_seconds"], 1, "{stalled}");
    assert_eq!(stalled["stall_period_seconds"], 10, "{stalled}");
    let slower = of("qr100", 1);
    assert_eq!(slower["class"], "slow_down", "{slower}");
    let change = slower["changes"][0].as_u64().unwrap();
    assert!(change.abs_diff(30) <= 5, "{slower}");
    let untouched = of("qp100", 0);
    assert_eq!(
        (&untouched["class"], &untouched["remarks"]),
        (&"flat".into(), &Value::Array(vec![]))
    );
    assert_eq!(of("l.i1", 0)["class"], Value::Null, "its work is fixed, not its time");
    let page = html(&run);
    assert!(page.contains("slow-down: slower at the end than before"));
    assert!(page.contains("the longest 1 s, every 10 s"));
    let short = parsed(&crate::sample::run(&["sqlite"], 12));
    assert_eq!(short["steps"][4]["results"][0]["steadiness"], Value::Null);
}
