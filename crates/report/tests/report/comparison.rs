//! The result of a comparison, format by format.

use jsonschema::Validator;
use rqps_analysis::comparison::{FailOn, Gate, interim};
use rqps_plan::{Class, Counts, Design, Flags, Method, StoredBaseline};
use rqps_report::Colour;
use rqps_store::{RoundRecord, Run, SliceRecord};
use serde_json::Value;

use crate::json::schema;
use crate::made::{gate, html, junit, result_json, summary_markdown, text};
use crate::suite;

/// Tests with the change of the second contender, in percent.
const TESTS: [(&str, f64); 8] = [
    ("point-query", -4.0),
    ("hot-points", -1.0),
    ("points-covered-pk", 0.0),
    ("range-covered-pk", 0.0),
    ("range-notcovered-si", 6.0),
    ("scan", 0.0),
    ("read-only-sum", 0.0),
    ("read-only-count", 0.0),
];

/// Up to a tenth of a percent, by what is measured (Steele, Lea and Flood 2014: SplitMix).
fn noise(of: [u32; 3]) -> f64 {
    let mixed = of.iter().fold(7, |state: u64, part| {
        let state = (state ^ u64::from(*part)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^ (state >> 31)
    });
    (mixed >> 11) as f64 / (1_u64 << 53) as f64 * 0.002 - 0.001
}

/// A round of a test by slices: three cycles of a baseline, its A/A control and the contenders with
/// their changes in percent. All are a little faster or slower than in other rounds.
fn pass(round: u32, place: usize, name: &str, changes: &[(&str, f64)]) -> RoundRecord {
    let mut slices = Vec::new();
    let arms: Vec<(&str, f64)> =
        [("base", 0.0), ("A/A control", 0.0)].iter().chain(changes).copied().collect();
    for cycle in 0..3 {
        for (turn, (side, change)) in (0..).zip(&arms) {
            let speed = 1.0 + change / 100.0 + noise([round, place as u32, turn]);
            slices.push(SliceRecord {
                place: cycle * arms.len() as u32 + turn,
                client: 1,
                arm: side.to_string(),
                nanos: 10_000_000,
                operations: (100_000.0 * speed) as u64,
                reads: (100_000.0 * speed) as u64,
                server_cpu: (6_000_000.0 * (2.0 - speed)) as u64,
                client_cpu: 2_000_000,
                ..SliceRecord::default()
            });
        }
    }
    RoundRecord {
        round,
        test: name.to_string(),
        place: place as u32,
        group: Some("Point queries".to_string()),
        load: 1 + round % 2,
        attempt: 1,
        started: "2026-11-21T20:16:00Z".to_string(),
        seconds: 0.15,
        cpus: vec![1],
        slices,
        ..RoundRecord::new(Class::Point, Counts::Statements)
    }
}

/// Rounds of eight tests; a guard discarded the first attempt of one of them.
pub(crate) fn comparison(contenders: &[&str], rounds: u32, confirm: Option<u32>) -> Run {
    let names: Vec<String> = contenders.iter().map(|name| format!("{name}=sqlite")).collect();
    let mut specs = vec!["base=sqlite"];
    specs.extend(names.iter().map(String::as_str));
    let mut run = suite::run(&specs, &[1]);
    run.rounds.clear();
    let mut plan = suite::comparison_plan(&run);
    (plan.method, plan.rounds, plan.confirm) = (Method::Slices, rounds, confirm);
    run.plan.design = Design::Comparison(plan);
    for round in 1..=rounds {
        for (place, (name, percent)) in TESTS.iter().enumerate() {
            let changes: Vec<(&str, f64)> = contenders.iter().map(|one| (*one, *percent)).collect();
            let mut pass = pass(round, place, name, &changes);
            if (round, place) == (2, 3) {
                let why = "the hypervisor gave 2.0 % of the CPUs to others (at most 1 %)";
                run.rounds.push(RoundRecord { discarded: Some(why.to_string()), ..pass.clone() });
                pass.attempt = 2;
            }
            run.rounds.push(pass);
        }
    }
    run
}

fn parsed(run: &Run) -> Value {
    serde_json::from_str(&result_json(run)).unwrap()
}

/// Whole runs without guards of a contender that is faster by `percent`. `reference_loop` has the
/// milliseconds of the loop next to the runs of baseline, A/A control and contender.
fn disturbed(percent: f64, reference_loop: [u64; 3]) -> Run {
    let mut run = comparison(&["new"], 6, None);
    let Design::Comparison(plan) = &mut run.plan.design else { unreachable!() };
    (plan.method, plan.guards) = (Method::Runs, false);
    let round = |round| {
        let mut pass = pass(round, 0, "point-query", &[("new", percent)]);
        pass.slices.truncate(3);
        pass.reference_loop =
            reference_loop.iter().flat_map(|millis| [millis * 1_000_000; 2]).collect();
        pass
    };
    run.rounds = (1..=6).map(round).collect();
    run
}

#[test]
fn a_comparison_reads_as_it_should() {
    let run = comparison(&["new"], 6, None);
    insta::assert_snapshot!("comparison_text", text(&run, Colour::Never));
    insta::assert_snapshot!("comparison_markdown", summary_markdown(&run));
    insta::assert_snapshot!("comparison_junit", junit(&run).unwrap());
}

/// Builds of one Postgres with different flags, like those of npm and Debian.
fn built(versions: [&str; 2], levels: [&str; 2]) -> Run {
    let mut run = comparison(&["new"], 6, None);
    for (record, (version, level)) in run.contenders.iter_mut().zip(versions.iter().zip(levels)) {
        record.version = version.to_string();
        record.flags = Some(Flags { level: Some(level.to_string()), ..Flags::default() });
    }
    run
}

#[test]
fn what_people_do_not_run_is_told_at_the_top_and_in_each_label() {
    let run = built(["17.6", "18.0"], ["-Os"; 2]);
    let line = "base, new: built for size (-Os). Distributions ship other builds, so differences \
                between releases may not be those of your servers";
    let unwrapped = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [text(&run, Colour::Never), html(&run), summary_markdown(&run)] {
        let told = unwrapped(told);
        assert!(told.contains(line), "{told}");
        let first = told.find(line).unwrap();
        assert!(told.find("point-query").is_none_or(|row| first < row), "at the top: {told}");
        assert!(told.contains("built -Os"), "{told}");
    }
    let result = parsed(&run);
    assert_eq!(result["builds"], serde_json::json!([line]));
    assert_eq!(result["contenders"][0]["flags"]["level"], "-Os");
    assert_eq!(result["comparison"]["contenders"][0]["built"], "built -Os");
    let errors: Vec<String> =
        schema().iter_errors(&result).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let xml = junit(&run).unwrap();
    assert_eq!(xml.matches("; built -Os").count(), TESTS.len(), "{xml}");

    let usual = built(["17.6", "18.0"], ["-O2"; 2]);
    for told in [text(&usual, Colour::Never), html(&usual), junit(&usual).unwrap()] {
        assert!(!told.contains("built -O") && !told.contains("Distributions ship"), "{told}");
    }
    assert_eq!(parsed(&usual)["builds"], serde_json::json!([]));
}

#[test]
fn builds_that_were_compiled_otherwise_are_no_releases() {
    for (versions, levels, cause) in [
        (["15.18"; 2], ["-Os", "-O2"], "another build of the same source"),
        (["15.18", "18.0"], ["-Os", "-O2"], "other code or another build"),
        (["15.18", "18.0"], ["-O2"; 2], "more server CPU per operation:"),
    ] {
        let run = built(versions, levels);
        let told = text(&run, Colour::Never).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(cause), "{told}");
        let line = "differences in results are between";
        assert_eq!(told.contains(line), levels[0] != levels[1], "{told}");
    }
}

#[test]
fn a_pull_request_has_sixty_lines_however_much_was_compared() {
    let many: Vec<String> = (0..12).map(|index| format!("c{index}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut run = comparison(&many, 6, None);
    for pass in &mut run.rounds {
        if pass.place == 5 {
            pass.discarded = Some("the machine was busy".to_string());
        }
    }
    let markdown = summary_markdown(&run);
    assert!(markdown.lines().count() <= 60, "{} lines", markdown.lines().count());
    assert!(markdown.contains("… and 6 more"), "contenders are counted: {markdown}");
    let rows = markdown.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    let rows: Vec<&str> = rows.collect();
    assert_eq!(
        rows[1..4],
        ["range-notcovered-si", "point-query", "hot-points"],
        "the largest changes come first: {markdown}"
    );
    let place = |test: &str| rows.iter().position(|row| *row == test).unwrap();
    assert!(place("scan") < place("range-covered-pk"), "then what is not known: {markdown}");
    let row = markdown.lines().find(|line| line.starts_with("| point-query |")).unwrap();
    assert_eq!(row.matches("**regression**").count(), 12, "every contender has a cell: {row}");
}

#[test]
fn a_comparison_has_the_stated_shape() {
    let validator: Validator = schema();
    for run in [comparison(&["new"], 6, None), comparison(&["new"], 3, Some(3)), {
        let mut nothing = comparison(&["new"], 6, None);
        nothing.rounds.clear();
        nothing
    }] {
        let result = parsed(&run);
        let errors: Vec<String> =
            validator.iter_errors(&result).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

#[test]
fn the_suite_shift_is_told_and_what_each_test_is_without_it() {
    let run = comparison(&["new"], 6, None);
    let found = &parsed(&run)["comparison"]["contenders"][0];
    let shift = found["suite_shift"]["ratio"]["value"].as_f64().unwrap();
    assert!((shift - 1.0).abs() < 0.003, "{shift}");
    let first = &found["tests"][0];
    let relative = first["relative_to_suite"]["value"].as_f64().unwrap();
    assert!((relative - first["ratio"]["value"].as_f64().unwrap() / shift).abs() < 1e-3);
    assert!(found["summary"].as_str().unwrap().contains("suite shift"), "{found}");
    let page = html(&run);
    let (_, strip) = page.split_once("<p class=\"strip\">").unwrap();
    let (strip, _) = strip.split_once("</p>").unwrap();
    assert!(strip.contains("suite shift"), "{strip}");
}

#[test]
fn a_gate_fails_by_the_margin_and_never_for_what_got_faster() {
    let mut run = comparison(&["new"], 6, None);
    assert_eq!(gate(&run, FailOn::Regression), Some(Gate::Regression));
    run.rounds.retain(|pass| pass.test != "point-query");
    assert_eq!(
        gate(&run, FailOn::Regression),
        Some(Gate::Passed),
        "1 % slower is below the margin of 2 %"
    );
    let Design::Comparison(plan) = &mut run.plan.design else { unreachable!() };
    plan.margin = Some(0.005);
    assert_eq!(gate(&run, FailOn::Regression), Some(Gate::Regression));
    run.rounds.retain(|pass| pass.test == "scan");
    for pass in &mut run.rounds {
        pass.discarded = Some("the machine was busy".to_string());
    }
    assert_eq!(gate(&run, FailOn::Regression), Some(Gate::Undecided));
    assert_eq!(gate(&suite::run(&["sqlite"], &[1]), FailOn::Regression), None, "no comparison");
}

/// Intervals and guards decide the label. Without guards, the machine is another possible cause.
#[test]
fn a_machine_that_was_slower_is_told_and_takes_no_label_back() {
    let run = disturbed(-4.0, [100, 100, 108]);
    assert_eq!(gate(&run, FailOn::Regression), Some(Gate::Regression));
    let found = &parsed(&run)["comparison"]["contenders"][0];
    assert_eq!(found["tests"][0]["label"], "regression");
    assert_eq!(found["findings"][0]["rule"], "R0", "{found}");
    let xml = junit(&run).unwrap();
    assert!(xml.contains(r#"failures="1""#), "{xml}");
    let unwrapped = text(&run, Colour::Never).split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [unwrapped, summary_markdown(&run), html(&run), xml] {
        let why = "Possible cause: the reference loop was slower, too";
        assert!(told.contains(why) && told.contains("regression"), "{told}");
    }
}

#[test]
fn a_stored_base_is_in_doubt_where_the_machine_was_faster_then_and_not_slower() {
    for (then, now, is_in_doubt) in [(100, 110, true), (110, 100, false)] {
        let mut run = disturbed(-14.0, [now; 3]);
        let Design::Comparison(plan) = &mut run.plan.design else { unreachable!() };
        plan.baseline_from = Some(Box::new(StoredBaseline {
            path: "out/base".into(),
            run: "1".to_string(),
            created: "2026-11-22T06:00:00Z".to_string(),
            reference_loop: then * 1_000_000,
            reference_loop_rounds: 60,
        }));
        let found = &parsed(&run)["comparison"]["contenders"][0];
        assert_eq!(found["tests"][0]["label"], "regression", "beyond the drift: {found}");
        let mut findings = found["findings"].as_array().unwrap().iter();
        assert_eq!(findings.any(|one| one["rule"] == "R0"), is_in_doubt, "{found}");
    }
}

/// The screen of this run finds −4 %, and the fresh rounds find no change.
#[test]
fn what_the_screen_flags_is_decided_by_fresh_rounds_alone() {
    let mut run = comparison(&["new"], 6, Some(6));
    let open = interim(&run.plan, &run.rounds);
    assert!(!open.confirmed.contains(&"point-query".to_string()), "{open:?}");
    assert!(open.confirmed.contains(&"scan".to_string()), "nothing was seen there: {open:?}");
    let of = |run: &Run, name: &str| {
        let found = parsed(run);
        let tests = found["comparison"]["contenders"][0]["tests"].as_array().unwrap().clone();
        tests.into_iter().find(|test| test["name"] == name).unwrap()
    };
    let before = of(&run, "point-query");
    assert_eq!((&before["label"], &before["stage"]), (&"inconclusive".into(), &"screen".into()));
    assert_eq!(of(&run, "scan")["label"], "no_change");

    for round in 7..=12 {
        run.rounds.push(pass(round, 0, "point-query", &[("new", 0.0)]));
    }
    let after = of(&run, "point-query");
    assert_eq!((&after["label"], &after["stage"]), (&"no_change".into(), &"fresh".into()));
    assert!((after["ratio"]["value"].as_f64().unwrap() - 1.0).abs() < 0.002, "{after}");
    let stages: Vec<&Value> =
        after["rounds"].as_array().unwrap().iter().map(|round| &round["stage"]).collect();
    assert_eq!(stages.iter().filter(|stage| **stage == "screen").count(), 6, "all are told");
    assert!(interim(&run.plan, &run.rounds).confirmed.contains(&"point-query".to_string()));
}

#[test]
fn a_machine_on_which_nothing_can_be_seen_says_what_could_have_been() {
    let mut run = comparison(&["new"], 6, None);
    for pass in &mut run.rounds {
        let swing = if pass.round % 2 == 0 { 1.2 } else { 0.8 };
        for slice in pass.slices.iter_mut().filter(|slice| slice.arm == "new") {
            slice.reads = (slice.reads as f64 * swing) as u64;
        }
    }
    let told = text(&run, Colour::Never).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("8 of 8 tests are inconclusive, with a median MDE of"), "{told}");
    assert!(told.contains("Use more rounds"), "{told}");
    assert_eq!(gate(&run, FailOn::Regression), Some(Gate::Undecided));
}

#[test]
fn a_round_without_its_baseline_is_named_and_does_not_count() {
    let rounds = |run: &Run| {
        let tests = &parsed(run)["comparison"]["contenders"][0]["tests"];
        let has_ratio = |round: &&Value| round["ratio"].is_number();
        let rounds = |place: usize| tests[place]["rounds"].as_array().unwrap();
        [0, 1].map(|place| rounds(place).iter().filter(has_ratio).count())
    };
    let mut run = comparison(&["new"], 6, None);
    assert_eq!(rounds(&run), [6, 6]);
    let third = run.rounds.iter_mut().find(|pass| (pass.round, pass.place) == (3, 0)).unwrap();
    third.slices.retain(|slice| slice.arm != "base");
    assert_eq!(rounds(&run), [5, 6]);
    let remark =
        format!("{}: round 3 has no measurement of the baseline and does not count.", TESTS[0].0);
    assert!(text(&run, Colour::Never).contains(&remark), "{}", text(&run, Colour::Never));
}
