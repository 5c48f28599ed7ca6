use hdrhistogram::Histogram;
use rqps_plan::{Class, Counts};
use rqps_stats::label::Label;
use rqps_store::{Measurement, Operation, SliceRecord, WorkRecord};

use super::super::{fixture, observed};
use super::*;

const SECONDS: u64 = 30;

/// What an arm did in a round: operations of this many microseconds, one in fifty as long as the
/// second number says.
struct Did {
    operations: u64,
    usual: u64,
    tail: u64,
    /// Nanoseconds.
    late: u64,
}

/// Eight rounds of old, its control and new, each 30 s long.
fn rounds(method: Method, did: impl Fn(&str) -> Did) -> Vec<RoundRecord> {
    let round = |round: u32| {
        let mut pass = RoundRecord {
            round,
            test: "point-query".to_string(),
            ..RoundRecord::new(Class::Point, Counts::Statements)
        };
        for (place, arm) in ["old", "new", CONTROL].into_iter().enumerate() {
            let Did { operations, usual, tail, late } = did(arm);
            let mut times = Histogram::<u64>::new(3).unwrap();
            // A percent of difference between rounds and arms, none of them twice.
            let noise = 1_000 + (u64::from(round) * 5 + place as u64 * 3) % 7;
            times.record_n(usual * noise, operations - operations / 50).unwrap();
            times.record_n(tail * noise, operations / 50).unwrap();
            let mut work = WorkRecord::of_several(Operation::Transaction);
            work.response = (method == Method::Runs).then(|| times.clone());
            work.service = times;
            let mut side = Measurement { work: vec![work.packed()], ..Measurement::default() };
            side.cost.set(Metric::ClientLateness, late);
            pass.arms.insert(arm.to_string(), side);
            pass.slices.push(SliceRecord {
                place: place as u32,
                client: 1,
                arm: arm.to_string(),
                nanos: SECONDS * 1_000_000_000,
                operations,
                reads: operations,
                ..SliceRecord::default()
            });
        }
        pass
    };
    (1..=8).map(round).collect()
}

fn usual() -> Did {
    Did { operations: 15_000, usual: 100, tail: 1_000, late: 2_000 }
}

fn times(method: Method, did: impl Fn(&str) -> Did) -> Vec<Time> {
    let rate = (method == Method::Runs).then_some(500.0);
    let plan = Comparison { method, rate, ..fixture::plan() };
    let rounds = rounds(method, did);
    let tests: Vec<Observed<'_>> =
        observed::tests(&rounds).into_iter().map(|test| test.with_times(&plan)).collect();
    let pair = fixture::pair(&plan, None);
    let verdicts = pair.judge(&tests).verdicts;
    pair.times(&tests, &verdicts).remove(0)
}

fn named<'t>(times: &'t [Time], name: &str) -> &'t Time {
    times.iter().find(|time| time.name == name).unwrap_or_else(|| panic!("{name}: {times:?}"))
}

fn why_not(time: &Time) -> &str {
    time.verdict.as_ref().unwrap_err()
}

#[test]
fn a_slower_tail_is_a_regression_of_the_tail_alone() {
    let slower = |arm: &str| match arm {
        "new" => Did { tail: 1_300, ..usual() },
        _ => usual(),
    };
    let times = times(Method::Runs, slower);
    let names: Vec<&str> = times.iter().map(|time| time.name).collect();
    assert_eq!(names, ["p50", "p95", "p99", "p99.9", LONGEST]);
    let label = |name: &str| named(&times, name).verdict.clone().unwrap().label;
    assert!(matches!(label("p50"), Label::NoChange { .. }), "{times:?}");
    assert!(matches!(label("p95"), Label::NoChange { .. }), "{times:?}");
    assert!(matches!(label("p99"), Label::Regression { .. }), "{times:?}");
    let p99 = named(&times, "p99");
    let ratio = p99.ratio.unwrap();
    assert!((ratio.ratio() - 1.3).abs() < 0.02 && ratio.interval.low > 0.2, "{ratio:?}");
    assert!((p99.base / 1e6 - 1.0).abs() < 0.02 && (p99.contender / 1e6 - 1.3).abs() < 0.02);
    assert!(why_not(named(&times, "p99.9")).contains("needs 100000 operations"), "{times:?}");
    assert_eq!(named(&times, LONGEST).ratio, None);
}

#[test]
fn slices_judge_what_is_usual_and_show_the_tail() {
    let slower = |arm: &str| match arm {
        "new" => Did { usual: 110, tail: 1_300, ..usual() },
        _ => usual(),
    };
    let times = times(Method::Slices, slower);
    let p50 = named(&times, "p50").verdict.clone().unwrap();
    assert!(matches!(p50.label, Label::Regression { .. }), "{p50:?}");
    let p99 = named(&times, "p99");
    assert!(why_not(p99).contains("--method runs"));
    assert!((p99.ratio.unwrap().ratio() - 1.3).abs() < 0.02, "it is shown");
}

#[test]
fn operations_that_are_held_back_leave_times_to_be_judged() {
    let slower = |arm: &str| match arm {
        "new" => Did { usual: 110, ..usual() },
        _ => usual(),
    };
    let plan = Comparison { max_rate: Some(500.0), method: Method::Slices, ..fixture::plan() };
    let pair = fixture::pair(&plan, None);
    let label = |held: u64| {
        let mut rounds = rounds(Method::Slices, slower);
        let sides = rounds.iter_mut().flat_map(|pass| pass.arms.values_mut());
        sides.for_each(|side| side.cost.set(Metric::HeldBack, held));
        let tests: Vec<Observed<'_>> =
            observed::tests(&rounds).into_iter().map(|test| test.with_times(&plan)).collect();
        let verdicts = pair.judge(&tests).verdicts;
        let times = pair.times(&tests, &verdicts).remove(0);
        let p50 = named(&times, "p50").verdict.clone().unwrap();
        assert!(matches!(p50.label, Label::Regression { .. }), "{p50:?}");
        verdicts[0].label.clone()
    };
    assert_eq!(label(SECONDS * 500_000_000), Label::Capped { rate: 500.0 });
    // A ten-thousandth of the time.
    assert!(!matches!(label(SECONDS * 100_000), Label::Capped { .. }));
}

#[test]
fn who_does_not_keep_up_with_the_rate_has_no_verdict_but_what_it_reached() {
    let slower = |arm: &str| match arm {
        "new" => Did { operations: 12_000, tail: 900_000, ..usual() },
        _ => usual(),
    };
    let times = times(Method::Runs, slower);
    let expected = "new does not sustain 500 operations per second: it reached 400";
    assert_eq!(why_not(named(&times, "p50")), expected);
    assert_eq!(why_not(named(&times, "p99")), expected);
}

#[test]
fn a_client_that_is_late_spoils_short_times_and_not_long_ones() {
    let late = |_: &str| Did { late: 20_000, ..usual() };
    let times = times(Method::Runs, late);
    assert!(why_not(named(&times, "p50")).contains("up to 20 us late"), "{times:?}");
    assert!(named(&times, "p99").verdict.is_ok(), "{times:?}");
}
