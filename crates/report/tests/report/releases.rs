//! A comparison of several releases: history, curves, and statements.

use rqps_observe::{Kind, Metric};
use rqps_plan::{Design, Method};
use rqps_store::{Measurement, Operation, Second, WorkRecord};
use serde_json::{Value, json};

use crate::html::embedded;
use crate::made::html;
use crate::{sample, suite};

fn data(page: &str, id: &str) -> Value {
    serde_json::from_str(&embedded(page, id)).unwrap()
}

#[test]
fn releases_have_a_history_in_the_order_of_their_versions() {
    let page = html(&suite::released());
    let histories = data(&page, "histories");
    let release =
        |version: &str| json!({"contender": format!("postgres@{version}"), "version": version});
    let releases = ["9.6.24", "16.10", "17.6", "18.0"].map(release);
    assert_eq!(histories, json!([{"name": "postgres", "releases": releases}]));
    assert!(page.contains("id=\"history\"") && page.contains("href=\"#history\""));
}

#[test]
fn two_versions_are_no_history() {
    let of = |contenders: &[&str]| data(&html(&sample::run(contenders, 1)), "histories");
    assert_eq!(
        of(&["postgres@17.6", "postgres@18.0", "sqlite", "a=sqlite", "b=sqlite"]),
        json!([])
    );
    let page = html(&sample::run(&["postgres@17.6", "postgres@18.0"], 1));
    assert!(!page.contains("#history"));
}

#[test]
fn a_version_that_is_there_twice_has_a_history_for_each_of_its_settings() {
    let versions = ["16.10", "17.6", "18.0"];
    let plain = versions.map(|version| format!("postgres@{version}"));
    let set = versions.map(|version| format!("postgres@{version}:x10d?work_mem=16MB"));
    let of = |contenders: &[String]| {
        let contenders: Vec<&str> = contenders.iter().map(String::as_str).collect();
        let histories = data(&html(&sample::run(&contenders, 1)), "histories");
        let names = histories.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap());
        names.map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        of(&[plain.clone(), set.clone()].concat()),
        ["postgres", "postgres :x10d?work_mem=16MB"]
    );
    // A config is often made for one version.
    assert_eq!(of(&[&plain[..2], &set[2..]].concat()), ["postgres"]);
}

#[test]
fn slices_have_cycles_and_whole_runs_have_seconds() {
    let curves = data(&html(&suite::released()), "curves");
    let (slices, runs) = (&curves[0], &curves[1]);
    assert_eq!((&slices["test"], &slices["of"]), (&json!("point-query"), &json!("cycle")));
    let line = &slices["lines"][0];
    assert_eq!(line["contender"], "postgres@17.6");
    let rate = line["rate"]["mid"].as_array().unwrap();
    assert_eq!(rate.len(), 10);
    assert!((rate[0].as_f64().unwrap() / 96_500.0 - 1.0).abs() < 0.01, "{rate:?}");
    assert_eq!(slices["times"], json!([]), "slices record no times of statements");
    assert_eq!(slices["lanes"], json!([]), "all arms share their seconds");

    assert_eq!((&runs["test"], &runs["of"]), (&json!("update-index"), &json!("second")));
    let line = &runs["lines"][3]["rate"];
    let [low, mid, high] = ["low", "mid", "high"].map(|name| line[name].as_array().unwrap());
    assert_eq!(mid.len(), 20, "what is left of the last second is no rate");
    assert_eq!((&mid[13], &mid[14]), (&json!(535.0), &json!(2_035.0)));
    assert_eq!((&low[0], &high[0]), (&json!(2_015.0), &json!(2_055.0)));
    let ms = runs["times"][0]["lines"][0]["ms"]["mid"].as_array().unwrap();
    assert!((ms[4].as_f64().unwrap() - 1.8).abs() < 0.01, "90 % of 2 ms: {ms:?}");

    // All arms stall in the second in which a checkpoint writes.
    let lanes = runs["lanes"].as_array().unwrap();
    let kinds: Vec<&Value> = lanes.iter().map(|lane| &lane["kind"]).collect();
    assert_eq!(kinds, [["checkpoint"; 4], ["stall"; 4]].concat());
    for lane in lanes {
        assert!(lane["cells"].as_str().unwrap().starts_with("00000000000009"), "{lane}");
        assert!(lane["counter"].as_str().unwrap().ends_with(", mean of 6 rounds"), "{lane}");
    }
}

#[test]
fn a_large_comparison_makes_a_page_below_three_megabytes() {
    let seven: Vec<String> = (0..7).map(|index| format!("c{index}=postgres@17.{index}")).collect();
    let page = html(&suite::crowd(&seven, 38, 3, 400));
    assert!(page.len() < 3 << 20, "{} bytes", page.len());
    let curves = data(&page, "curves");
    assert_eq!((&curves[37]["stretch"], curves.as_array().unwrap().len()), (&json!(2), 38));
}

#[test]
#[ignore = "nightly: makes thousands of records that compress badly"]
fn a_large_comparison_of_whole_runs_makes_one_too() {
    let seven: Vec<String> = (0..7).map(|index| format!("c{index}=postgres@17.{index}")).collect();
    let mut run = suite::crowd(&seven, 38, 3, 1);
    let Design::Comparison(plan) = &mut run.plan.design else { unreachable!() };
    plan.method = Method::Runs;
    // What compresses badly: no two seconds and no two counters are alike.
    let mut noise = 7_u64;
    let mut about = |usual: u64| {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usual + (noise >> 40) * usual / (1 << 26)
    };
    for pass in &mut run.rounds {
        for slice in &mut pass.slices {
            slice.nanos = 600_400_000_000;
            let mut second =
                || Second { operations: about(9_000), rows: 0, max_service: about(4_000_000) };
            let seconds = (0..600).map(|_| second()).collect();
            let work = WorkRecord { seconds, ..WorkRecord::of_several(Operation::Transaction) };
            let mut side = Measurement {
                work: vec![work.packed()],
                watched: 5_400_000,
                ..Measurement::default()
            };
            for counter in 0..120 {
                side.engine.set(format!("pg_stat_of_{counter}"), Kind::Counter, about(50_000_000));
            }
            side.engine_samples = suite::checkpoint_at(5);
            side.samples = suite::each_second(&[(Metric::ServerCpuUser, about(700_000))]);
            pass.arms.insert(slice.arm.clone(), side);
        }
    }
    let page = html(&run);
    assert!(page.len() < 3 << 20, "{} bytes", page.len());
    let curves = data(&page, "curves");
    let line = &curves[37]["lines"][0];
    assert_eq!(
        line["rounds"]
            .as_array()
            .unwrap()
            .iter()
            .map(|of| of.as_array().unwrap().len())
            .collect::<Vec<_>>(),
        [100; 3]
    );
}

#[test]
fn every_measure_of_every_round_can_be_saved() {
    let page = html(&suite::released());
    let rounds = embedded(&page, "rounds-csv");
    let mut lines = rounds.lines();
    assert_eq!(
        lines.next().unwrap(),
        "test,group,operation,contender,round,throughput (statements/s),cpu/o (us/statement),client cpu/o (us/statement),\
         p50 (ms),p95 (ms),p99 (ms)"
    );
    assert!(
        lines.next().unwrap().starts_with("point-query,Point queries,statement,postgres@17.6,1,9")
    );
    assert_eq!(rounds.lines().count(), 1 + 2 * 4 * 6);
    // One of the two tests has whole runs, and only it has the posts' columns.
    let metrics = embedded(&page, "metrics-csv");
    assert!(metrics.starts_with("contender,step,r/s,"), "{metrics}");
    let tests = metrics.lines().skip(1).map(|line| line.split(',').nth(1).unwrap());
    assert!(
        tests.clone().count() == 4 && tests.into_iter().all(|test| test == "update-index"),
        "{metrics}"
    );
}

#[test]
fn statements_are_told_once_and_plans_with_those_who_have_them() {
    let page = html(&suite::released());
    let test =
        page.split("id=\"test-point-query\"").nth(1).unwrap().split("id=\"test-").next().unwrap();
    let text = "SELECT c FROM sbtest1 WHERE id=? AND c&lt;'&lt;b&gt;'";
    assert_eq!(test.matches(text).count(), 1);
    assert!(test.contains("× 10 in each operation"));
    let plan = |plan: &str| test.split(plan).nth(1).unwrap().split("</span>").next().unwrap();
    assert!(plan("Seq Scan on sbtest1").contains("postgres@9.6.24"));
    let others = plan("Index Scan using sbtest1_pkey on sbtest1");
    assert!(others.contains("postgres@17.6, postgres@18.0, postgres@16.10"), "{others}");
}

#[test]
fn the_legend_of_a_comparison_explains_what_a_comparison_has() {
    let page = html(&suite::judged());
    let legend = page.split("id=\"legend\"").nth(1).unwrap().split("</section>").next().unwrap();
    for word in ["regression", "inconclusive", "rQPS", "suite shift", "cpu/o", "cs vol."] {
        assert!(legend.contains(&format!("<dt>{word}</dt>")), "{word}");
    }
    assert!(!legend.contains("Insert Benchmark posts"));
}
