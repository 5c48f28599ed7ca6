//! A comparison by whole runs of the Insert Benchmark, whose steps count different things.

use hdrhistogram::Histogram;
use rqps_observe::{Metric, Reading};
use rqps_plan::{Compared, Comparison, Workload};
use rqps_report::{Colour, csv, html, result_json, text};
use rqps_store::{PackedHistogram, PassRecord, Run, SideRecord, SideSecond, SliceRecord};
use serde_json::{Value, json};

use crate::html::embedded;
use crate::json::schema;
use crate::{sample, suite};

/// Steps by class, with what they count and what all clients do per second.
const STEPS: [(&str, &str, u64, u64); 3] =
    [("l.i0", "insert", 40_000, 400), ("l.x", "load", 80_000, 0), ("qr100", "range", 3_000, 3_004)];

const SECONDS: u64 = 20;

/// Six rounds of three steps of 20 seconds: the second contender does a fifth less, and everybody does
/// nothing in the second in which a checkpoint writes.
pub(crate) fn compared() -> Run {
    let names = ["base", "slow"];
    let mut run = sample::run(&["base=postgres@17.6", "slow=postgres@17.6?work_mem=64kB"], 1);
    let Workload::InsertBenchmark(benchmark) = run.plan.workload.clone() else { unreachable!() };
    let plan = Comparison::new(Compared::InsertBenchmark(benchmark));
    run.plan.workload = Workload::Comparison(Comparison { twin: false, ..plan });
    run.steps.clear();
    for round in 1..=6 {
        for (place, (step, class, counted, done)) in (0..).zip(STEPS) {
            let mut pass = PassRecord {
                round,
                test: step.to_string(),
                place,
                class: class.to_string(),
                group: "Insert Benchmark".to_string(),
                part: 1,
                attempt: 1,
                load: 1,
                seconds: 2.0 * SECONDS as f64,
                ..PassRecord::default()
            };
            for (slot, name) in (0..).zip(names) {
                let usual = if name == "slow" { 800 } else { 1_000 };
                let share = usual + u64::from((round * 7 + slot) % 5);
                let micros = SECONDS * 700_000;
                pass.slices.push(SliceRecord {
                    place: slot,
                    client: 1,
                    contender: name.to_string(),
                    nanos: SECONDS * 1_000_000_000 + 300_000_000,
                    operations: SECONDS * done,
                    reads: SECONDS * counted * share / 1_000,
                    server_cpu: micros * 1_000,
                    client_cpu: micros * 100,
                    ..SliceRecord::default()
                });
                pass.sides.insert(name.to_string(), side(done * share / 1_000));
                let cost = Reading::from_iter([
                    (Metric::ServerCpuUser, micros),
                    (Metric::ServerWriteBytes, SECONDS << 24),
                ]);
                pass.cost.insert(name.to_string(), cost);
            }
            run.passes.push(pass);
        }
    }
    run
}

/// The last second is not a whole one.
fn side(done: u64) -> SideRecord {
    let second =
        |at: u64| SideSecond { operations: if at == 4 { 0 } else { done }, server_cpu: 700_000 };
    SideRecord {
        seconds: (0..=SECONDS).map(second).collect(),
        engine_samples: suite::checkpoint_at(5),
        ..SideRecord::default()
    }
}

/// With times, reads and sizes, as they are kept: an operation of `slow` took long in the third round, in
/// each round more was read and the data were larger than in the one before it, and a run was refused.
fn complete() -> Run {
    let mut run = compared();
    for pass in &mut run.passes {
        let round = u64::from(pass.round);
        for (name, side) in &mut pass.sides {
            if pass.test == "l.x" {
                continue;
            }
            let mut service = Histogram::<u64>::new(3).unwrap();
            service.record_n(200_000, 50_000).unwrap();
            if name == "slow" && round == 3 {
                service.record(3_000_000).unwrap();
            }
            side.service = Some(PackedHistogram::of(&service));
        }
        for (name, cost) in &mut pass.cost {
            let directory = if name == "slow" { 150 } else { 100 };
            cost.set(Metric::DeviceReads, 203 * round);
            cost.set(Metric::DatabaseBytes, (50 + round) << 20);
            cost.set(Metric::DirectoryBytes, directory << 20);
        }
    }
    let refused = PassRecord { invalid: Some("busy".to_string()), ..run.passes[0].clone() };
    run.passes.push(refused);
    run
}

/// A test of a page.
fn part<'p>(page: &'p str, test: &str) -> &'p str {
    let part = page.split(&format!("id=\"test-{test}\"")).nth(1).expect(test);
    part.split("<details class=\"test\"").next().unwrap().split("</section>").next().unwrap()
}

fn data(run: &Run, id: &str) -> Value {
    serde_json::from_str(&embedded(&html(run), id)).unwrap()
}

fn units(run: &Run) -> Vec<String> {
    let matrix = data(run, "matrix");
    let measures = matrix["measures"].as_array().unwrap().iter();
    let named = |measure: &Value| {
        format!("{} {}", measure["name"].as_str().unwrap(), measure["unit"].as_str().unwrap())
    };
    measures.map(named).collect()
}

#[test]
fn steps_that_count_different_things_have_a_neutral_unit_and_say_what_it_is() {
    let run = compared();
    let units = units(&run);
    for unit in ["throughput operations/s", "cpu/o us/operation", "wKB/o KiB/operation"] {
        assert!(units.iter().any(|known| known == unit), "{unit}: {units:?}");
    }
    let what =
        "an operation is a row inserted in l.i0; a row indexed in l.x; a query in the others";
    let told = text(&run, Colour::Never).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("rQPS is operations per second as a share of the base's."), "{told}");
    assert!(told.contains(&format!("Here {what}.")), "{told}");
    assert!(!told.contains("statements per second"), "{told}");
    let page = html(&run);
    assert!(page.contains(&format!("Here {what}.")));
    for unit in ["rows inserted per second", "rows indexed per second", "queries per second"] {
        assert!(page.contains(&format!("<h4>By round, {unit}</h4>")), "{unit}");
    }
    let rounds = csv(&run);
    let head = "test,group,operation,contender,round,throughput (operations/s)";
    assert!(rounds.starts_with(head), "{rounds}");
    assert!(rounds.contains("\nl.x,Insert Benchmark,row indexed,base,1,"), "{rounds}");
}

#[test]
fn steps_that_all_count_rows_are_in_rows() {
    let mut run = compared();
    run.passes.retain(|pass| pass.test.starts_with("l."));
    let units = units(&run);
    for unit in ["throughput rows/s", "cpu/o us/row", "wKB/o KiB/row"] {
        assert!(units.iter().any(|known| known == unit), "{unit}: {units:?}");
    }
    assert!(html(&run).contains("Where the time per row went"));
}

#[test]
fn programs_have_the_unit_of_every_step() {
    let result: Value = serde_json::from_str(&result_json(&compared())).unwrap();
    let errors: Vec<String> =
        schema().iter_errors(&result).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let tests = result["comparison"]["contenders"][0]["tests"].as_array().unwrap();
    let of = |key: &str| tests.iter().map(|test| test[key].clone()).collect::<Vec<_>>();
    let units = ["rows inserted per second", "rows indexed per second", "queries per second"];
    assert_eq!(of("unit"), units);
    assert_eq!(of("operation"), ["row inserted", "row indexed", "query"]);
}

#[test]
fn the_seconds_of_a_step_come_with_what_went_on_in_the_background() {
    let curves = data(&compared(), "curves");
    let of = |key: &str| {
        let curves = curves.as_array().unwrap().iter();
        curves.map(|curve| curve[key].clone()).collect::<Vec<_>>()
    };
    assert_eq!(of("test"), ["l.i0", "qr100"], "an index has no seconds");
    let titles = [
        "Transactions that insert or delete, per second",
        "Queries, and transactions that insert or delete, per second",
    ];
    assert_eq!(of("title"), titles);
    let lanes = curves[0]["lanes"].as_array().unwrap();
    let told: Vec<Value> =
        lanes.iter().map(|lane| json!([lane["kind"], lane["contender"], lane["most"]])).collect();
    let expected = [
        json!(["checkpoint", "base", 900.0]),
        json!(["checkpoint", "slow", 900.0]),
        json!(["stall", "base", 1.0]),
        json!(["stall", "slow", 1.0]),
    ];
    assert_eq!(told, expected);
    for lane in lanes {
        let cells = lane["cells"].as_str().unwrap();
        assert!(cells.len() == 20 && cells.starts_with("000090"), "{lane}");
    }
    let line = &curves[0]["lines"][1];
    assert_eq!(line["rate"]["mid"].as_array().unwrap().len(), 20);
    assert_eq!(line["cpu"]["mid"][7], json!(0.7));
}

#[test]
fn whole_runs_have_the_tables_of_a_step_of_all_rounds_together() {
    let page = html(&complete());
    let [loaded, indexed, queried] = ["l.i0", "l.x", "qr100"].map(|test| part(&page, test));
    assert!(loaded.contains("Insert service time, from when it was sent"));
    assert!(queried.contains("Query service time, from when it was sent"));
    assert!(!indexed.contains("service time"), "indexes are no operations");
    // One of 300,000, and not of the 50,000 of its round.
    assert_eq!(queried.matches(">nonzero</td>").count(), 1, "{queried}");
    // 203, 406, … 1218 reads in 20.3 seconds each.
    for told in [loaded, indexed, queried] {
        assert!(told.contains(">rps</abbr>") && told.contains("<td>35</td>"), "{told}");
        assert!(!told.contains(">wps</abbr>"), "nobody knows the writes: {told}");
    }
    assert!(loaded.contains(">ips</abbr>"));
    assert!(!queried.contains(">ips</abbr>"), "what was inserted beside queries is not kept");
    assert!(page.contains("href=\"#sizes\""));
    let sizes = page.split("<section id=\"sizes\">").nth(1).unwrap();
    let sizes = sizes.split("</section>").next().unwrap();
    assert_eq!(sizes.matches("<td>56.0</td>").count(), 6, "of the last round: {sizes}");
    assert!(sizes.contains("<td>1.00</td><td>1.50</td>"), "{sizes}");
    assert!(!sizes.contains("binary logs"), "nobody knows the logs: {sizes}");
}

#[test]
fn what_is_not_known_of_rounds_together_is_left_out() {
    let page = html(&compared());
    assert!(!page.contains("href=\"#sizes\"") && !page.contains("id=\"sizes\""));
    assert!(!part(&page, "qr100").contains("service time"));
    let page = html(&suite::released());
    let (slices, runs) = (part(&page, "point-query"), part(&page, "update-index"));
    assert!(runs.contains("All rounds together") && runs.contains("Transaction service time"));
    assert!(runs.contains(">o/s</abbr>") && !runs.contains(">r/s</abbr>"), "{runs}");
    assert!(!slices.contains("All rounds together"), "{slices}");
}
