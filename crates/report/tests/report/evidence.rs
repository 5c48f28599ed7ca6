//! The evidence for the verdicts of a comparison: in the page, as text and as JSON.

use hdrhistogram::Histogram;
use rqps_analysis::comparison::{FailOn, Gate};
use rqps_observe::{Kind, Metric};
use rqps_plan::{Class, Counts, Design, Method};
use rqps_report::Colour;
use rqps_store::{
    Measurement, Operation, PackedHistogram, RoundRecord, Run, Second, SliceRecord, WorkRecord,
};
use serde_json::{Value, json};

use crate::html::embedded;
use crate::json::schema;
use crate::made::{gate, html, junit, latency_csv, post, result_json, summary_markdown, text};
use crate::suite;
use crate::whole_runs::{compared, part};

/// The result, which has the stated shape.
#[track_caller]
fn parsed(run: &Run) -> Value {
    let result: Value = serde_json::from_str(&result_json(run)).unwrap();
    let errors: Vec<String> =
        schema().iter_errors(&result).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    result
}

/// The first contender.
fn judged(run: &Run) -> Value {
    parsed(run)["comparison"]["contenders"][0].clone()
}

fn test<'r>(judged: &'r Value, name: &str) -> &'r Value {
    let mut tests = judged["tests"].as_array().unwrap().iter();
    tests.find(|test| test["name"] == name).expect(name)
}

fn keys(of: &Value) -> Vec<&str> {
    of.as_object().unwrap().keys().map(String::as_str).collect()
}

fn about(value: &Value, expected: f64) -> bool {
    (value.as_f64().unwrap() / expected - 1.0).abs() < 0.01
}

/// Changes what is kept of each contender in each round.
fn each_side(run: &mut Run, change: impl Fn(&str, u32, &mut Measurement)) {
    for pass in &mut run.rounds {
        for (name, side) in &mut pass.arms {
            change(name, pass.round, side);
        }
    }
}

/// Whole runs whose queries take 200 us, half as long again at `slow`, and a little more in some
/// rounds.
pub(crate) fn timed() -> Run {
    let mut run = compared();
    each_side(&mut run, |name, round, side| {
        let micros = if name == "slow" { 300 } else { 200 } + u64::from(round % 3);
        let queries = side.work.iter_mut().filter(|work| work.operation == Operation::Query);
        for work in queries {
            let mut times = Histogram::<u64>::new(3).unwrap();
            times.record_n(micros * 1_000, 2_000).unwrap();
            work.service = PackedHistogram::of(&times);
        }
    });
    run
}

#[test]
fn whole_runs_have_percentiles_of_times_with_intervals_over_rounds() {
    let run = timed();
    let found = judged(&run);
    let times = &test(&found, "qr100")["times"];
    assert_eq!(keys(times), ["max", "p50", "p95", "p99"], "2,000 are too few for p99.9");
    for name in ["p50", "p95", "p99"] {
        let (time, ratio) = (&times[name], &times[name]["ratio"]);
        assert!(about(&time["baseline_ns"], 201_000.0), "{time}");
        assert!(about(&time["contender_ns"], 301_000.0), "{time}");
        assert!(about(&ratio["value"], 1.5), "{time}");
        let [low, high] = ["low", "high"].map(|end| ratio[end].as_f64().unwrap());
        assert!(1.45 < low && low < high && high < 1.55, "{time}");
    }
    assert_eq!(times["p95"]["label"], "regression", "{times}");
    let why = times["p99"]["verdict"].as_str().unwrap();
    assert_eq!(why, "no verdict: p99 needs 10000 operations in each round, and there are 2000");
    assert!(times["p99"]["label"].is_null() && times["max"]["ratio"].is_null(), "{times}");
    assert_eq!(test(&found, "qr100")["clock"], "service");
    assert_eq!(test(&found, "l.x")["times"], json!({}), "indexes are no operations");

    let told = post(&run, Colour::Never);
    let row = told.split("p99 of service times").nth(1).expect(&told);
    let row = row.lines().find(|line| line.starts_with("qr100")).expect(&told);
    assert!(row.contains("201us") && row.contains("301us"), "{row}");
    assert!(row.contains("no verdict: p99 needs 10000 operations"), "{row}");
    let table = latency_csv(&run);
    assert_eq!(table.lines().count(), 1 + 4, "{table}");
    let row = table.lines().find(|row| row.starts_with("qr100,query,service,slow,base,p95,201"));
    assert!(row.is_some_and(|row| row.contains(",regression,")), "{table}");

    let page = html(&run);
    let title = "Service time by percentile, over rounds";
    assert!(part(&page, "qr100").contains(title) && !part(&page, "l.x").contains(title));
    let matrix: Value = serde_json::from_str(&embedded(&page, "matrix")).unwrap();
    let measures: Vec<String> = matrix["measures"].as_array().unwrap().iter().map(named).collect();
    assert!(measures.ends_with(&["p50 ms".into(), "p95 ms".into(), "p99 ms".into()]));
    assert!(page.split("id=\"forest\"").nth(1).unwrap().contains(">p99</abbr>"));
}

fn named(measure: &Value) -> String {
    format!("{} {}", measure["name"].as_str().unwrap(), measure["unit"].as_str().unwrap())
}

#[test]
fn runs_of_an_earlier_rqps_have_no_times_of_slices() {
    let run = suite::judged();
    assert_eq!(test(&judged(&run), "point-query")["times"], json!({}));
    assert!(!post(&run, Colour::Never).contains("service times"));
    let page = html(&run);
    assert!(!page.contains("Service time by percentile") && !page.contains(">p99</abbr>"));
}

/// Slices have their own: what is usual is judged, and the tail is shown.
#[test]
fn slices_have_times_with_verdicts_on_what_is_usual() {
    let mut run = suite::judged();
    for pass in &mut run.rounds {
        for name in ["sqlite", "A/A control", "slow", "like"] {
            let micros = if name == "slow" { 120 } else { 100 };
            let mut times = Histogram::<u64>::new(3).unwrap();
            times.record_n(micros * (1_000 + u64::from(pass.round % 3)), 20_000).unwrap();
            let work =
                WorkRecord { service: times, ..WorkRecord::of_several(Operation::Transaction) };
            pass.arms.entry(name.to_string()).or_default().work = vec![work.packed()];
        }
    }
    let found = judged(&run);
    let times = &test(&found, "point-query")["times"];
    assert_eq!(times["p50"]["label"], "regression", "{times}");
    assert!(times["p99"]["label"].is_null(), "{times}");
    assert!(times["p99"]["verdict"].as_str().unwrap().contains("slices"), "{times}");
    assert!(about(&times["p99"]["ratio"]["value"], 1.2), "it is shown: {times}");
    let page = html(&run);
    assert!(part(&page, "point-query").contains("Service time by percentile, over rounds"));
}

/// A rate: times are from when operations were due, and are in every format.
#[test]
fn response_times_at_a_rate_are_in_every_format() {
    let run = at_a_rate(|name| if name == "slow" { 1_500 } else { 1_000 });
    let found = judged(&run);
    let test = test(&found, "point-query");
    assert_eq!((&test["label"], &test["clock"]), (&"no_change".into(), &"response".into()));
    assert_eq!(test["times"]["p50"]["label"], "no_change", "{test}");
    assert_eq!(test["times"]["p99"]["label"], "regression", "{test}");
    assert_eq!(gate(&run, FailOn::Regression), Some(Gate::Passed));
    assert_eq!(gate(&run, FailOn::Latency), Some(Gate::Regression));
    for text in [text(&run, Colour::Never), post(&run, Colour::Never), summary_markdown(&run)] {
        assert!(text.contains("Response times of slow"), "{text}");
        let row = text.lines().find(|line| line.contains("p99") && line.contains("1.50"));
        assert!(row.is_some_and(|row| row.contains("regression")), "{text}");
        assert!(text.contains("p99 +49.9 %"), "it is in the line of the contender: {text}");
        assert!(text.contains("500 operations per second were due"), "{text}");
    }
    let xml = junit(&run).unwrap();
    for (case, label) in [("p50", None), ("p99", Some("regression"))] {
        let of = xml.split(&format!("name=\"point-query {case}\"")).nth(1).expect(&xml);
        let failure = of.find("<failure").filter(|at| *at < of.find("</testcase>").unwrap());
        assert_eq!(failure.is_some(), label.is_some(), "{case}: {xml}");
    }
    assert!(!xml.contains("p99.9") && !xml.contains("point-query max"), "no verdict: {xml}");
    let same = at_a_rate(|_| 1_000);
    assert_eq!(gate(&same, FailOn::Latency), Some(Gate::Passed));
}

/// Slices whose operations are held back: only times have verdicts, which decide.
#[test]
fn a_capped_test_has_verdicts_on_its_times_and_none_on_its_rate() {
    let capped = |usual: fn(&str) -> u64| {
        let mut run = at_a_rate(|_| 1_000);
        let Design::Comparison(plan) = &mut run.plan.design else { panic!("it is a comparison") };
        (plan.rate, plan.max_rate, plan.method) = (None, Some(500.0), Method::Slices);
        for pass in &mut run.rounds {
            for (name, side) in &mut pass.arms {
                let mut times = Histogram::<u64>::new(3).unwrap();
                let noise = 1_000 + u64::from(pass.round % 3);
                times.record_n(usual(name) * noise, 15_000).unwrap();
                let work =
                    WorkRecord { service: times, ..WorkRecord::of_several(Operation::Transaction) };
                side.work = vec![work.packed()];
                side.cost.set(Metric::HeldBack, 25_000_000_000);
            }
        }
        run
    };
    let run = capped(|name| if name == "slow" { 240 } else { 200 });
    let found = judged(&run);
    let test = test(&found, "point-query");
    assert_eq!(test["label"], "capped", "{test}");
    assert_eq!(test["times"]["p50"]["label"], "regression", "{test}");
    assert_eq!(gate(&run, FailOn::Regression), Some(Gate::Regression));
    let xml = junit(&run).unwrap();
    assert!(xml.contains("capped (at most 500 operations per second)"), "{xml}");
    assert!(xml.contains(r#"failures="2""#) && xml.contains("point-query p95"), "{xml}");
    let told = text(&run, Colour::Never);
    for text in ["Service times of slow", "1 capped", "held back to at most 500 per second"] {
        let unwrapped = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(unwrapped.contains(text), "{told}");
    }
    assert_eq!(gate(&capped(|_| 200), FailOn::Regression), Some(Gate::Passed));
}

/// Eight rounds of 30 s at 500 operations per second; two in a hundred take this many microseconds.
fn at_a_rate(tail: impl Fn(&str) -> u64) -> Run {
    let mut run = suite::judged();
    run.plan.contenders = ["base=postgres@17.6", "slow=postgres@17.6?work_mem=64kB"]
        .map(|one| one.parse().unwrap())
        .to_vec();
    let Design::Comparison(plan) = &mut run.plan.design else { panic!("it is a comparison") };
    (plan.rate, plan.method, plan.control) = (Some(500.0), Method::Runs, false);
    plan.choices.clear();
    run.rounds.clear();
    for round in 1..=8_u32 {
        let mut pass = RoundRecord {
            round,
            test: "point-query".to_string(),
            group: Some("point queries".to_string()),
            seconds: 60.0,
            ..RoundRecord::new(Class::Point, Counts::Statements)
        };
        for (place, name) in (0..).zip(["base", "slow"]) {
            let noise = 1_000 + u64::from((round * 3 + place * 2) % 5);
            let mut times = Histogram::<u64>::new(3).unwrap();
            times.record_n(200 * noise, 14_700).unwrap();
            times.record_n(tail(name) * noise, 300).unwrap();
            let work = WorkRecord {
                operations: 15_000,
                response: Some(times.clone()),
                service: times,
                seconds: vec![Second { operations: 500, ..Second::default() }; 30],
                ..WorkRecord::of_several(Operation::Transaction)
            };
            let side = Measurement { work: vec![work.packed()], ..Measurement::default() };
            pass.arms.insert(name.to_string(), side);
            pass.slices.push(SliceRecord {
                place,
                client: 1,
                arm: name.to_string(),
                nanos: 30_000_000_000,
                operations: 15_000,
                reads: 15_000,
                ..SliceRecord::default()
            });
        }
        run.rounds.push(pass);
    }
    run
}

/// No label is about times: those of a test whose rate has not changed may take twice as long.
#[test]
fn times_have_no_part_in_a_label() {
    let mut run = timed();
    for pass in &mut run.rounds {
        let reads = 60_000 + 50 * u64::from(pass.round % 4);
        pass.slices.iter_mut().for_each(|slice| slice.reads = reads);
    }
    let found = judged(&run);
    let queries = test(&found, "qr100");
    assert_eq!(queries["label"], "no_change", "{queries}");
    assert!(queries["times"]["p99"]["ratio"]["low"].as_f64().unwrap() > 1.4);
}

/// What their DBMS counted as well.
pub(crate) fn counted() -> Run {
    let mut run = timed();
    each_side(&mut run, |name, _, side| {
        let more = if name == "slow" { 3 } else { 2 };
        side.watched = 10_000;
        side.engine.set("pg_stat_wal.wal_bytes", Kind::Counter, 500_000 * more);
        side.engine.set("pg_stat_database.tup_fetched", Kind::Counter, 10_000 * more);
        side.engine.set("pg_stat_database.tup_returned", Kind::Counter, 70_000);
        side.engine.set("pg_stat_database.blks_hit", Kind::Counter, 80_000);
        side.engine.set("pg_stat_database.blks_read", Kind::Counter, 80_000 + more);
        side.engine.set("pg_stat_user_tables.n_dead_tup", Kind::Gauge, 9 * more);
    });
    run
}

#[test]
fn what_the_dbms_counted_is_told_where_it_differs_or_a_rule_looks_at_it() {
    let run = counted();
    let found = judged(&run);
    let counters = &test(&found, "qr100")["counters"];
    let expected =
        ["pg_stat_database.blks_hit", "pg_stat_database.tup_fetched", "pg_stat_wal.wal_bytes"];
    assert_eq!(keys(counters), expected, "neither what is the same nor what does not matter");
    let log = json!({
        "baseline": 100.0, "contender": 150.0, "ratio": 1.5, "low": 1.5, "high": 1.5, "control": 0.0,
        "is_sure": true,
    });
    assert_eq!(counters["pg_stat_wal.wal_bytes"], log);
    assert_eq!(counters["pg_stat_database.blks_hit"]["is_sure"], false);

    let page = html(&run);
    assert!(part(&page, "qr100").contains("<div data-engine=\"qr100\">"));
    let tables: Value = serde_json::from_str(&embedded(&page, "engine")).unwrap();
    let table = tables["qr100"].as_str().unwrap();
    let row = table.split("pg_stat_wal.wal_bytes</th>").nth(1).unwrap();
    assert!(row.starts_with("<td>100</td><td>150</td>") && row.contains(">1.50</td>"), "{row}");
    assert!(!table.contains("tup_returned"), "{table}");
    let none = html(&compared());
    assert!(!part(&none, "qr100").contains("data-engine"), "what was not counted is left out");
}

#[test]
fn what_the_operating_system_counted_is_told_for_each_side() {
    let found = judged(&compared());
    let user = &test(&found, "qr100")["metrics"]["server_cpu_user"];
    // 700 ms a second, for 3,000 queries and for 2,400.
    assert!(about(&user["baseline"], 233.0) && about(&user["contender"], 291.0), "{user}");
    assert_eq!(user["is_sure"], true, "{user}");
    assert!(user["low"].as_f64() < user["ratio"].as_f64(), "{user}");
}

#[test]
fn parts_of_the_time_and_its_change_have_their_intervals() {
    let run = suite::judged();
    let found = judged(&run);
    let budget = &test(&found, "scan")["time_budget"];
    let is_within = |of: &Value| {
        let [low, value, high] = ["low", "change", "high"].map(|key| of[key].as_f64().unwrap());
        low < value && value < high
    };
    assert!(is_within(budget), "{budget}");
    for part in budget["parts"].as_array().unwrap() {
        match part["name"].is_null() {
            true => assert_eq!((&part["low"], &part["high"]), (&Value::Null, &Value::Null)),
            false => assert!(is_within(part) || part["change"] == 0.0, "{part}"),
        }
    }
    let page = html(&run);
    let why = page.split("id=\"why\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(why.contains(" ± ") && why.contains(" µs</title>"), "{why}");
}

#[test]
fn a_finding_has_its_numbers_for_programs() {
    let found = judged(&suite::judged());
    let findings = found["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for finding in findings {
        let tests = finding["tests"].as_array().unwrap();
        for number in finding["numbers"].as_array().unwrap() {
            assert!(number["test"].is_null() || tests.contains(&number["test"]), "{finding}");
        }
    }
    let of_scan = |one: &&Value| one["rule"] == "R1" && one["tests"] == json!(["scan"]);
    let longer = findings.iter().find(of_scan).unwrap_or_else(|| panic!("{findings:#?}"));
    let cpu = &longer["numbers"][0];
    assert_eq!((&cpu["what"], &cpu["unit"]), (&json!("server CPU"), &json!("us")), "{longer}");
    // A fifth of the 510 us of an operation, all of it CPU.
    assert!((cpu["value"].as_f64().unwrap() - 102.0).abs() < 5.0, "{longer}");
    assert!(cpu["low"].as_f64() < cpu["value"].as_f64(), "{longer}");
}

#[test]
fn the_most_that_others_used_of_the_cpus_is_told_with_the_verdicts() {
    let run = compared();
    let certainty = |run: &Run| {
        let page = html(run);
        let verdicts = page.split("<section id=\"verdicts\">").nth(1).unwrap();
        verdicts.split("</section>").next().unwrap().to_string()
    };
    assert!(!certainty(&run).contains("Other processes"), "it is not known");
    assert_eq!(parsed(&run)["comparison"]["most_other_cpu"], Value::Null);

    let mut busy = run;
    for (index, pass) in busy.rounds.iter_mut().enumerate() {
        for cost in pass.arms.values_mut().map(|arm| &mut arm.cost) {
            let server = cost.get(Metric::ServerCpuUser).unwrap();
            // Of two CPUs for 20.3 seconds 1 %, and 3 % once.
            let others = if index == 4 { 1_218_000 } else { 406_000 };
            cost.set(Metric::HostCpuBusy, server + others);
        }
    }
    let told = certainty(&busy);
    assert!(told.contains("Other processes used at most 3.0 % of the CPUs"), "{told}");
    let share = &parsed(&busy)["comparison"]["most_other_cpu"];
    assert!(about(share, 3.0), "{share}");
}
