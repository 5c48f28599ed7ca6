//! A comparison by whole runs of the Insert Benchmark, whose steps count different things.

use hdrhistogram::Histogram;
use rqps_observe::{Metric, Reading};
use rqps_plan::{Class, Comparison, Counts, Design, Workload};
use rqps_report::Colour;
use rqps_store::{
    Measurement, Operation, PackedHistogram, RoundRecord, Run, Second, SliceRecord, WorkRecord,
};
use serde_json::{Value, json};

use crate::html::embedded;
use crate::json::schema;
use crate::made::{
    csv, has_metrics, html, metrics_csv, post, result_json, summary_markdown, text, verdicts_csv,
};
use crate::{sample, suite};

/// Steps by class, with what they count and what all clients do per second.
const STEPS: [(&str, Class, u64, u64); 3] = [
    ("l.i0", Class::Insert, 40_000, 400),
    ("l.x", Class::Load, 80_000, 0),
    ("qr100", Class::Range, 3_000, 3_004),
];

const SECONDS: u64 = 20;

/// Six rounds of three steps of 20 seconds: the second contender does a fifth less, and both are
/// idle in the second in which a checkpoint writes. The target is to insert 100 rows a second while
/// queries run: the second contender inserts 90.
pub(crate) fn compared() -> Run {
    let names = ["base", "slow"];
    let mut run = sample::run(&["base=postgres@17.6", "slow=postgres@17.6?work_mem=64kB"], 1);
    let Design::Single(Workload::InsertBenchmark(benchmark)) = run.plan.design.clone() else {
        unreachable!()
    };
    let plan = Comparison::new(Workload::InsertBenchmark(benchmark));
    run.plan.design = Design::Comparison(Comparison { control: false, ..plan });
    run.rounds.clear();
    for round in 1..=6 {
        for (place, (step, class, counted, done)) in (0..).zip(STEPS) {
            let mut pass = RoundRecord {
                round,
                test: step.to_string(),
                place,
                group: Some("Insert Benchmark".to_string()),
                part: 1,
                attempt: 1,
                load: 1,
                seconds: 2.0 * SECONDS as f64,
                ..RoundRecord::new(class, Counts::Statements)
            };
            for (slot, name) in (0..).zip(names) {
                let usual = if name == "slow" { 800 } else { 1_000 };
                let share = usual + u64::from((round * 7 + slot) % 5);
                let micros = SECONDS * 700_000;
                pass.slices.push(SliceRecord {
                    place: slot,
                    client: 1,
                    arm: name.to_string(),
                    nanos: SECONDS * 1_000_000_000 + 300_000_000,
                    operations: SECONDS * done,
                    reads: SECONDS * counted * share / 1_000,
                    server_cpu: micros * 1_000,
                    client_cpu: micros * 100,
                    ..SliceRecord::default()
                });
                let of_second = [counted * share / 1_000, done * share / 1_000];
                let cost = Reading::from_iter([
                    (Metric::ServerCpuUser, micros),
                    (Metric::ServerWriteBytes, SECONDS << 24),
                ]);
                let arm = Measurement { cost, ..side(step, name, of_second) };
                pass.arms.insert(name.to_string(), arm);
            }
            run.rounds.push(pass);
        }
    }
    run
}

fn side(step: &str, name: &str, [counted, done]: [u64; 2]) -> Measurement {
    let work = match step {
        "l.i0" => vec![work(Operation::Insert, done, counted)],
        "l.x" => Vec::new(),
        _ => {
            let (rows, max_lag) = if name == "slow" { (90, 2_000_000_000) } else { (100, 40_000) };
            let inserts = WorkRecord { max_lag, ..work(Operation::Insert, 2, rows) };
            vec![inserts, work(Operation::Query, counted, 0)]
        }
    };
    let cost = [(Metric::ServerCpuUser, 700_000), (Metric::ServerWriteBytes, 1 << 24)];
    Measurement {
        target_rate: (step == "qr100").then_some(100.0),
        work: work.into_iter().map(|work| work.packed()).collect(),
        samples: suite::each_second(&cost),
        engine_samples: suite::checkpoint_at(5),
        ..Measurement::default()
    }
}

/// The same in every second but one. The last is not a whole one.
fn work(operation: Operation, operations: u64, rows: u64) -> WorkRecord<Histogram<u64>> {
    let second = |at: u64| match at {
        4 => Second::default(),
        _ => Second { operations, rows, max_service: 5_000_000 },
    };
    WorkRecord {
        operations: SECONDS * operations,
        rows: SECONDS * rows,
        seconds: (0..=SECONDS).map(second).collect(),
        ..WorkRecord::of_several(operation)
    }
}

/// The same with times, reads and sizes: a query of `slow` took long in the third round, reads and
/// data grow from round to round, and a run was discarded.
pub(crate) fn complete() -> Run {
    let mut run = compared();
    for pass in &mut run.rounds {
        let round = u64::from(pass.round);
        for (name, side) in &mut pass.arms {
            for work in &mut side.work {
                let mut times = Histogram::<u64>::new(3).unwrap();
                times.record_n(200_000, 50_000).unwrap();
                if name == "slow" && round == 3 && work.operation == Operation::Query {
                    times.record(3_000_000).unwrap();
                }
                work.service = PackedHistogram::of(&times);
                let is_due = pass.test == "qr100" && work.operation == Operation::Insert;
                work.response = is_due.then(|| PackedHistogram::of(&times));
            }
        }
        for (name, arm) in &mut pass.arms {
            let cost = &mut arm.cost;
            let directory = if name == "slow" { 150 } else { 100 };
            cost.set(Metric::DeviceReads, 203 * round);
            cost.set(Metric::DatabaseBytes, (50 + round) << 20);
            cost.set(Metric::DirectoryBytes, directory << 20);
        }
    }
    let discarded = RoundRecord { discarded: Some("busy".to_string()), ..run.rounds[0].clone() };
    run.rounds.push(discarded);
    run
}

/// A test of a page.
pub(crate) fn part<'p>(page: &'p str, test: &str) -> &'p str {
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
fn three_rounds_leave_no_interval_and_all_estimates_are_where_they_belong() {
    let mut run = compared();
    run.rounds.retain(|pass| pass.round <= 3);
    for pass in &mut run.rounds {
        let base = pass.slices[0].clone();
        pass.slices.push(SliceRecord { place: 2, arm: "A/A control".to_string(), ..base });
        let control = pass.arms["base"].clone();
        pass.arms.insert("A/A control".to_string(), control);
    }
    let Design::Comparison(plan) = &mut run.plan.design else { unreachable!() };
    (plan.control, plan.guards, plan.rounds, plan.fewest_rounds) = (true, false, 3, 3);
    let page = html(&run);
    assert!(page.contains("<span>-21 %</span>"), "slow has 0.8 of the baseline's rate");
    let told = text(&run, Colour::Never).split_whitespace().collect::<Vec<_>>().join(" ");
    for remark in [
        "There are too few rounds to compare the A/A control with the baseline.",
        "Guards were off: measurements on a busy machine count.",
    ] {
        assert!(told.contains(remark) && summary_markdown(&run).contains(remark), "{told}");
        assert!(page.contains(remark), "{remark}");
    }
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
    assert!(told.contains("rQPS is operations per second as a share of the baseline's."), "{told}");
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
    run.rounds.retain(|pass| pass.test.starts_with("l."));
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
    assert_eq!(of("title"), ["Rows inserted per second", "Queries per second"]);
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
    for line in curves[0]["lines"].as_array().unwrap() {
        let rate = line["rate"]["mid"].as_array().unwrap();
        let usual = if line["contender"] == "slow" { 32_000.0 } else { 40_000.0 };
        assert!(rate.len() == 20 && (rate[7].as_f64().unwrap() / usual - 1.0).abs() < 0.01);
        let of = |key: &str| line[key]["mid"][7].as_f64();
        let costs = ["longest", "cpu", "read", "written"].map(of);
        assert_eq!(costs, [Some(5.0), Some(0.7), None, Some(16.0)]);
        assert_eq!(line["longest"]["mid"][4], json!(0.0), "nothing ended");
    }
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
        assert!(!told.contains(">wps</abbr>"), "the writes are not known: {told}");
    }
    assert!(loaded.contains(">ips</abbr>") && queried.contains(">ips</abbr>"));
    assert!(queried.contains("Insert service time, from when it was sent"));
    assert!(queried.contains("Insert response time, from when it was due"));
    assert!(!loaded.contains("response time, from when it was due"), "nothing is due");
    assert!(page.contains("href=\"#sizes\""));
    let sizes = page.split("<section id=\"sizes\">").nth(1).unwrap();
    let sizes = sizes.split("</section>").next().unwrap();
    assert_eq!(sizes.matches(">56.0</td>").count(), 6, "of the last round: {sizes}");
    let relative = r#"<td data-of="base">1.00</td><td data-of="slow">1.50</td>"#;
    assert!(sizes.contains(relative), "columns are hidden with their contender: {sizes}");
    assert!(!sizes.contains("binary logs"), "the logs are not known: {sizes}");
    assert!(page.contains("Metrics pooled over rounds"), "the legend is printed, too");
}

#[test]
fn times_by_percentile_are_of_every_operation_by_both_clocks() {
    let curves = data(&complete(), "curves");
    let titles = |test: usize| -> Vec<&str> {
        let times = curves[test]["times"].as_array().unwrap().iter();
        times.map(|times| times["title"].as_str().unwrap()).collect()
    };
    let sent = "Insert service time, from when it was sent";
    assert_eq!(titles(0), [sent]);
    let queries = "Query service time, from when it was sent";
    let due = "Insert response time, from when it was due";
    assert_eq!(titles(1), [queries, sent, due], "what the test counts is first");
    let line = &curves[1]["times"][2]["lines"][1];
    assert_eq!((&line["contender"], &line["ms"]["mid"][4]), (&json!("slow"), &json!(0.2)));
}

#[test]
fn promised_write_rates_are_told_of_all_rounds_together() {
    let page = html(&compared());
    assert!(page.contains("href=\"#sla\""));
    let promises = page.split("<section id=\"sla\">").nth(1).unwrap();
    let promises = promises.split("</section>").next().unwrap();
    // 2,000 and 1,800 rows in 20.3 seconds of each round, and a target of 100.
    for told in ["<td>99</td>", "<td class=\"bad\">89", "<td class=\"reference\">100</td>"] {
        assert!(promises.contains(told), "{told}: {promises}");
    }
    // In each round one second without anything; `slow` is below the target in all of them.
    for told in ["<td>6 (1)</td>", "<td>120 (120)</td>", "<td>40.0us</td>", "<td>2.00s</td>"] {
        assert!(promises.contains(told), "{told}: {promises}");
    }
}

/// A guard discards such runs, but a reader must know that writes fell behind.
#[test]
fn a_rate_that_was_never_kept_is_told_although_no_such_run_counts() {
    let mut run = compared();
    let fell_behind = |pass: &RoundRecord| pass.test == "qr100" && pass.arms.contains_key("slow");
    run.rounds.iter_mut().filter(|pass| fell_behind(pass)).for_each(|pass| {
        pass.discarded = Some("inserts fell behind".to_string());
    });
    let page = html(&run);
    let promises = page.split("<section id=\"sla\">").nth(1).unwrap();
    let promises = promises.split("</section>").next().unwrap();
    assert!(promises.contains("<td>99</td>") && promises.contains("<td class=\"bad\">89"));
    let row = &data(&run, "matrix")["rows"][2];
    assert_eq!(row["name"], "qr100");
    let mark = &row["marks"][1];
    assert_eq!(mark["class"], "missed");
    assert_eq!(mark["text"], "SLA missed: 89 of 100 rows/s");
    assert_eq!(row["marks"][0], Value::Null, "the baseline kept it");
    let mark = &data(&compared(), "matrix")["rows"][2]["marks"][1];
    let said = mark["text"].as_str().unwrap();
    assert!(said.starts_with("SLA missed: 89 of 100 rows/s; "), "counted without guards: {said}");
    assert!(mark["ratio"].is_number());
    // In the other formats, too.
    let told = "SLA missed: 89 of 100 rows/s";
    let post = text(&run, Colour::Never);
    assert!(post.contains(&format!("{told}; invalid (")), "{post}");
    let markdown = summary_markdown(&run);
    assert!(markdown.contains(&format!("{told}; invalid ")));
    assert!(markdown.contains("; SLA missed in 1"), "{markdown}");
    assert!(page.contains("SLA missed in 1</span>"));
    let forest = page.split("<section id=\"forest\">").nth(1).unwrap();
    assert!(forest.split("</section>").next().unwrap().contains(told));
    let result: Value = serde_json::from_str(&result_json(&run)).unwrap();
    let tests = result["comparison"]["contenders"][0]["tests"].as_array().unwrap();
    let test = tests.iter().find(|test| test["name"] == "qr100").unwrap();
    assert_eq!(test["missed_rate"]["promised"], 100.0);
    assert!(test["missed_rate"]["reached"].as_f64().unwrap() < 90.0, "{test}");
    assert!(verdicts_csv(&run).contains(&format!("{told}; invalid")));
}

/// Each round also has `new`, which is like the baseline, and a guard discarded the run of `slow`
/// only.
#[test]
fn a_run_that_was_refused_is_out_by_itself() {
    let names = ["base=postgres@17.6", "slow=postgres@17.6?work_mem=64kB", "new=postgres@18.0"];
    let mut run = sample::run(&names, 1);
    let two = compared();
    run.plan.design = two.plan.design;
    run.rounds.clear();
    for mut pass in two.rounds {
        let like_base =
            |slice: &SliceRecord| SliceRecord { place: 2, arm: "new".to_string(), ..slice.clone() };
        let new = pass.slices.iter().find(|slice| slice.arm == "base").map(like_base);
        pass.slices.extend(new);
        let side = pass.arms["base"].clone();
        pass.arms.insert("new".to_string(), side);
        if pass.test == "qr100" {
            let mut discarded = pass.clone();
            discarded.attempt = 2;
            discarded.discarded = Some("slow: inserts fell behind".to_string());
            discarded.slices.retain(|slice| slice.arm == "slow");
            discarded.arms.retain(|name, _| name == "slow");
            pass.slices.retain(|slice| slice.arm != "slow");
            pass.arms.remove("slow");
            run.rounds.push(discarded);
        }
        run.rounds.push(pass);
    }
    let found: Value = serde_json::from_str(&result_json(&run)).unwrap();
    let of = |name: &str| -> Value {
        let all = found["comparison"]["contenders"].as_array().unwrap();
        let one = all.iter().find(|one| one["name"] == name).unwrap();
        let tests = one["tests"].as_array().unwrap();
        tests.iter().find(|test| test["name"] == "qr100").unwrap().clone()
    };
    assert_eq!(of("new")["label"], "no_change", "{}", of("new"));
    assert_eq!(of("slow")["verdict"], "invalid (slow: inserts fell behind)");
    let told = "SLA missed: 89 of 100 rows/s; invalid (slow";
    assert!(post(&run, Colour::Never).contains(told), "{}", post(&run, Colour::Never));
}

#[test]
fn spreadsheets_have_the_posts_columns_of_all_rounds_together() {
    let run = complete();
    assert!(has_metrics(&run) && !has_metrics(&suite::judged()), "slices have none");
    let table = metrics_csv(&run);
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heads = lines.next().unwrap();
    assert_eq!(heads[..4], ["contender", "step", "ips", "qps"]);
    let lines: Vec<Vec<&str>> = lines.collect();
    let result: Value = serde_json::from_str(&result_json(&run)).unwrap();
    let together = result["together"].as_array().unwrap();
    let results = together.iter().flat_map(|test| {
        test["results"].as_array().unwrap().iter().map(|result| (&test["name"], result))
    });
    let results: Vec<(&Value, &Value)> = results.collect();
    assert_eq!(lines.len(), results.len());
    let mut compared = 0;
    for (line, (test, result)) in lines.iter().zip(results) {
        assert_eq!(
            (line[0], line[1]),
            (result["contender"].as_str().unwrap(), test.as_str().unwrap())
        );
        for (head, cell) in heads.iter().zip(line).skip(2) {
            let (Ok(printed), Some(found)) =
                (cell.parse::<f64>(), result["metrics"][*head].as_f64())
            else {
                continue;
            };
            assert!(
                (printed - found).abs() <= 0.5 || (printed / found - 1.0).abs() < 0.01,
                "{head}"
            );
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared} cells");
    let page = html(&run);
    assert!(page.contains("metrics.csv") && page.contains("rounds.csv"));
}

#[test]
fn programs_have_all_rounds_together() {
    let result: Value = serde_json::from_str(&result_json(&complete())).unwrap();
    let errors: Vec<String> =
        schema().iter_errors(&result).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let together = result["together"].as_array().unwrap();
    let names: Vec<&Value> = together.iter().map(|test| &test["name"]).collect();
    assert_eq!(names, ["l.i0", "l.x", "qr100"]);
    let slow = &together[2]["results"][1];
    assert_eq!((&slow["contender"], &slow["sla"]["met"]), (&json!("slow"), &json!(false)));
    let work = &slow["work"];
    assert_eq!(work["query"]["service"]["count"], 6 * 50_000 + 1);
    assert_eq!(work["insert"]["response"]["count"], 6 * 50_000);
    assert_eq!(work["insert"]["rows"], 6 * 1_800);
    assert_eq!(work["insert"]["max_lag_ns"], 2_000_000_000_u64);
    assert_eq!(slow["metrics"]["ips"], slow["sla"]["achieved"]);
    let slices: Value = serde_json::from_str(&result_json(&suite::judged())).unwrap();
    assert!(slices.get("together").is_none(), "slices have no such thing");
}

#[test]
fn what_is_not_known_of_rounds_together_is_left_out() {
    let page = html(&compared());
    assert!(!page.contains("href=\"#sizes\"") && !page.contains("id=\"sizes\""));
    assert!(!part(&page, "qr100").contains("service time"));
    assert!(!html(&suite::judged()).contains("Metrics pooled over rounds"));
    let page = html(&suite::released());
    assert!(!page.contains("href=\"#sla\"") && !page.contains("id=\"sla\""));
    let (slices, runs) = (part(&page, "point-query"), part(&page, "update-index"));
    assert!(runs.contains("Pooled over rounds") && runs.contains("Transaction service time"));
    assert!(runs.contains(">o/s</abbr>") && !runs.contains(">r/s</abbr>"), "{runs}");
    assert!(!slices.contains("Pooled over rounds"), "{slices}");
}

#[test]
fn what_a_reader_must_know_of_runs_is_told_with_their_rounds() {
    let mut run = compared();
    for (round, note) in [(1, "vacuum was given up"), (2, "vacuum was given up"), (4, "it slept")] {
        let pass = run.rounds.iter_mut().find(|pass| pass.round == round).unwrap();
        pass.arms.get_mut("slow").unwrap().note = Some(note.to_string());
    }
    let pass = run.rounds.iter_mut().find(|pass| pass.round == 3).unwrap();
    pass.arms.values_mut().for_each(|arm| arm.note = Some("all slept".to_string()));
    let arms: Vec<&str> = pass.arms.keys().map(String::as_str).collect();
    let said_once = format!("{}: all slept (round 3).", arms.join(", "));
    let told = text(&run, Colour::Never);
    assert!(told.contains(&said_once), "{told}");
    assert!(told.contains("slow: vacuum was given up (rounds 1 to 2)."), "{told}");
    assert!(told.contains("slow: it slept (round 4)."), "{told}");
}
