use std::time::Duration;

use rqps_plan::{Count, Design, Microbenchmark, Span, Workload};

use super::*;
use crate::estimate;

const TESTS: [&str; 2] = ["point-query", "hot-points"];

fn microbenchmark() -> Microbenchmark {
    Microbenchmark {
        tables: 1,
        rows: Count(1_000_000),
        clients: vec![1],
        read_time: Span(Duration::from_secs(10)),
        write_time: Span(Duration::from_secs(10)),
        tests: TESTS.map(str::to_string).to_vec(),
        fair_writes: true,
        pause: Span(Duration::ZERO),
        quiesce_after_each_write: false,
        check: false,
    }
}

fn remaining(design: Design) -> (Remaining, f64) {
    let contenders = ["a=sqlite", "b=sqlite"].map(|one| one.parse().unwrap()).to_vec();
    let plan = Plan { contenders, seed: 1, cache: None, memory: None, design };
    let estimate = estimate(&plan, 2, 16 << 30).unwrap();
    let mut remaining = Remaining::new([(&plan, &estimate)]);
    remaining.begin(0, 0.0);
    (remaining, estimate.time.total().as_secs_f64())
}

fn step(contender: &str, step: &str) -> Event {
    let (contender, step) = (contender.to_string(), step.to_string());
    Event::StepBegun { contender, step, number: 1, steps: 3 }
}

fn is_about(seconds: f64, expected: f64) -> bool {
    (seconds - expected).abs() < 0.1
}

#[test]
fn at_first_it_is_the_estimate_and_time_goes() {
    let (mut remaining, total) =
        remaining(Design::Single(Workload::Microbenchmark(microbenchmark())));
    assert!(is_about(remaining.seconds(0.0), total));
    remaining.event(&step("a", "load"), 0.0);
    assert!(is_about(remaining.seconds(3.0), total - 3.0));
}

#[test]
fn what_one_contender_took_another_is_taken_to_take() {
    let (mut remaining, _) = remaining(Design::Single(Workload::Microbenchmark(microbenchmark())));
    let load = "load".to_string();
    remaining.event(&step("a", "load"), 0.0);
    remaining.event(&Event::Indexing { contender: "a".to_string(), step: load }, 40.0);
    remaining.event(&step("a", "point-query"), 60.0);
    remaining.event(&step("a", "hot-points"), 73.0);
    remaining.event(&Event::ContenderDone { contender: "a".to_string() }, 86.0);
    remaining.event(&Event::Starting { contender: "b".to_string() }, 86.0);
    assert!(is_about(remaining.seconds(86.0), 86.0), "{}", remaining.seconds(86.0));
    // Loaded twice as fast: that says nothing about the indexes.
    remaining.event(&step("b", "load"), 86.0);
    let indexing = Event::Indexing { contender: "b".to_string(), step: "load".to_string() };
    remaining.event(&indexing, 106.0);
    assert!(is_about(remaining.seconds(106.0), 46.0), "{}", remaining.seconds(106.0));
}

#[test]
fn a_step_is_told_by_its_own_pace_when_a_fifth_is_done() {
    let (mut remaining, _) = remaining(Design::Single(Workload::Microbenchmark(microbenchmark())));
    let (contender, load) = ("a".to_string(), "load".to_string());
    remaining.event(&step("a", "load"), 0.0);
    let before = remaining.seconds(1.0);
    let pace = crate::Pace::default();
    for second in 1..=4 {
        let (contender, step) = (contender.clone(), load.clone());
        let done = 0.05 * f64::from(second);
        remaining.event(&Event::Progress { contender, step, pace, done }, f64::from(second));
    }
    // One million rows at 100K per second were expected to take 10 s.
    assert!(is_about(remaining.seconds(4.0) - before, 16.0 - 9.0));
}

#[test]
fn what_was_done_before_or_will_not_be_done_is_not_left() {
    let (mut remaining, total) =
        remaining(Design::Single(Workload::Microbenchmark(microbenchmark())));
    remaining.event(&Event::Resumed { contender: "a".to_string(), steps: 3 }, 0.0);
    assert!(is_about(remaining.seconds(0.0), total / 2.0));
    let failed = Event::Failed { contender: "b".to_string(), error: String::new() };
    remaining.event(&failed, 1.0);
    assert!(is_about(remaining.seconds(1.0), 0.0));
}

#[test]
fn a_comparison_has_the_rounds_that_its_tests_need_and_that_fit() {
    let mut comparison = Comparison::new(Workload::Microbenchmark(microbenchmark()));
    (comparison.rounds, comparison.fewest_rounds, comparison.control) = (10, 2, false);
    let after_a_round = |comparison: &Comparison, interim: Interim| {
        let (mut remaining, _) = remaining(Design::Comparison(comparison.clone()));
        remaining.event(&Event::RoundBegun { round: 1, rounds: 10, tests: 2 }, 0.0);
        for (test, at) in TESTS.into_iter().zip([1.0, 11.0]) {
            let (test, paces) = (test.to_string(), Vec::new());
            let event = Event::Measuring { round: 1, test, contender: None, done: 0.0, paces };
            remaining.event(&event, at);
        }
        remaining.event(&Event::RoundDone { round: 1, seconds: 21.0, interim }, 21.0);
        remaining.seconds(21.0)
    };
    let nothing = after_a_round(&comparison, Interim::default());
    assert!(is_about(nothing, 9.0 * 21.0), "{nothing}");
    let standing = TESTS.map(|test| rqps_analysis::comparison::Standing {
        contender: "b".to_string(),
        test: test.to_string(),
        text: String::new(),
        rounds_needed: Some(3),
    });
    let interim = Interim { standing: standing.to_vec(), ..Interim::default() };
    let three = after_a_round(&comparison, interim.clone());
    assert!(is_about(three, 2.0 * 21.0), "{three}");
    let settled = vec![TESTS[0].to_string()];
    let one_settled = after_a_round(&comparison, Interim { settled, ..interim });
    assert!(is_about(one_settled, 2.0 * 11.0), "{one_settled}");
    comparison.budget = Some(Span(Duration::from_secs(70)));
    let fitting = after_a_round(&comparison, Interim::default());
    assert!(is_about(fitting, 2.0 * 21.0), "{fitting}");
}

#[test]
fn loads_side_by_side_take_the_time_of_all_once() {
    let mut comparison = Comparison::new(Workload::Microbenchmark(microbenchmark()));
    (comparison.loads, comparison.control) = (Some(2), false);
    let (mut remaining, _) = remaining(Design::Comparison(comparison));
    let mut load = |ends: [(&str, f64); 2]| {
        for (contender, _) in ends {
            remaining.event(&Event::Loading { contender: contender.to_string() }, ends[0].1 - 4.0);
        }
        for (contender, at) in ends {
            let (contender, version) = (contender.to_string(), String::new());
            remaining.event(&Event::Loaded { contender, version, seconds: at }, at);
        }
        remaining.seconds(ends[1].1)
    };
    let after_one = load([("b", 4.0), ("a", 6.0)]);
    let after_two = load([("b", 10.0), ("a", 12.0)]);
    // Starts of servers are forecast by them, too.
    assert!((after_one - after_two - 6.0).abs() < 0.5, "{after_one} {after_two}");
}

#[test]
fn a_test_with_long_operations_takes_as_long_as_it_is_told_to() {
    let benchmark = Microbenchmark {
        tests: vec!["point-query".to_string()],
        read_time: Span(Duration::from_secs(1)),
        ..microbenchmark()
    };
    let mut comparison = Comparison::new(Workload::Microbenchmark(benchmark));
    (comparison.rounds, comparison.fewest_rounds, comparison.budget) = (6, 6, None);
    let (mut remaining, _) = remaining(Design::Comparison(comparison));
    remaining.event(&Event::RoundBegun { round: 1, rounds: 6, tests: 1 }, 0.0);
    let measuring = |done: f64| {
        let (test, paces) = ("point-query".to_string(), Vec::new());
        Event::Measuring { round: 1, test, contender: None, done, paces }
    };
    remaining.event(&measuring(0.0), 10.0);
    let before = remaining.seconds(10.0);
    remaining.event(&Event::Lasts { test: "point-query".to_string(), seconds: 100.0 }, 12.0);
    // This round, and five others.
    let told = remaining.seconds(12.0);
    assert!(told > before + 500.0 && told < before + 600.0, "{before} {told}");
}
