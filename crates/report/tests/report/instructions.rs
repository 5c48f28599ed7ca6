//! Instructions per operation in the reports.

use rqps_analysis::comparison::{FailOn, Gate};
use rqps_plan::{Instructions, Profiled};
use rqps_report::Colour;
use rqps_store::{CountRecord, FunctionCount, Run};
use serde_json::Value;

use crate::json::schema;
use crate::made::{gate, html, junit, result_json, summary_markdown, text};
use crate::suite;

/// An operation of `scan` in both arms, with its instructions in `decode`.
fn counted(baseline: f64, contender: f64) -> Run {
    let run = suite::judged();
    let names: Vec<String> = run.plan.contenders.iter().map(|one| one.name()).collect();
    let record = |(name, decode): (&String, f64)| {
        let function = |(name, instructions, file): (&str, f64, Option<&str>)| FunctionCount {
            name: name.to_string(),
            library: "mysqld".to_string(),
            file: file.map(str::to_string),
            instructions: [instructions; 2],
        };
        let functions = [("decode", decode, Some("/src/a/decode.cc")), ("copy", 4_000.0, None)];
        CountRecord {
            test: "scan".to_string(),
            contender: name.clone(),
            operations: 100,
            functions: functions.map(function).to_vec(),
            ..CountRecord::default()
        }
    };
    let counts = names.iter().take(2).zip([baseline, contender]).map(record).collect();
    Run { counts, ..run }
}

fn told(run: &Run) -> String {
    let text = text(run, Colour::Never);
    let begin = text.find("Instructions in user space").expect("the count is told");
    text[begin..].split("\n\n").next().unwrap().to_string()
}

fn first_contender(run: &Run) -> Value {
    let result: Value = serde_json::from_str(&result_json(run)).unwrap();
    let errors: Vec<String> = schema()
        .iter_errors(&result)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    result["comparison"]["contenders"][0].clone()
}

fn scan(contender: &Value) -> Value {
    let tests = contender["tests"].as_array().unwrap();
    tests.iter().find(|test| test["name"] == "scan").unwrap().clone()
}

#[test]
fn the_functions_with_more_instructions_are_named() {
    let run = counted(50_000.0, 80_500.0);
    let text = told(&run);
    assert!(
        text.contains("scan: 54,000 -> 84,500 instructions per operation (+56.48 %)\n"),
        "{text}"
    );
    assert!(text.contains("  +30,500 decode (50,000 -> 80,500; mysqld, decode.cc)"), "{text}");
    assert!(!text.contains("copy"), "it is the same: {text}");
    let page = html(&run);
    let section = page.split("<section id=\"instructions\">").nth(1).expect("it has a section");
    let section = section.split("</section>").next().unwrap();
    for cell in ["decode", "50,000", "80,500", "+30,500", "mysqld, decode.cc"] {
        assert!(section.contains(cell), "{cell}: {section}");
    }
    let contender = first_contender(&run);
    let count = &contender["instructions"][0];
    assert_eq!(
        (&count["verdict"], &count["functions"][0]["name"]),
        (&"more".into(), &"decode".into())
    );
    assert_eq!(scan(&contender)["kind"], "code-path");
}

#[test]
fn a_comment_names_the_contender_of_a_count_where_there_are_several() {
    let lines = |run: &Run| {
        let text = summary_markdown(run);
        let line = |line: &str| line.contains("instructions per operation");
        text.lines().filter(|it| line(it)).map(str::to_string).collect::<Vec<_>>()
    };
    let mut run = counted(50_000.0, 80_500.0);
    assert!(lines(&run)[0].starts_with("- scan: 54,000"), "{:?}", lines(&run));
    let names: Vec<String> = run.plan.contenders.iter().map(|one| one.name()).collect();
    let other = CountRecord { contender: names[2].clone(), ..run.counts[1].clone() };
    run.counts.push(other);
    let told = lines(&run);
    for (line, name) in told.iter().zip(&names[1..]) {
        assert!(line.starts_with(&format!("- {name}, scan: 54,000")), "{told:?}");
    }
    assert_eq!(told.len(), 2);
}

#[test]
fn the_same_instructions_are_a_kind_of_their_own_that_need_not_fail() {
    let run = counted(50_000.0, 50_010.0);
    let contender = first_contender(&run);
    assert_eq!(scan(&contender)["kind"], "layout");
    let verdict = scan(&contender)["label"].as_str().unwrap().to_string();
    assert_eq!(verdict, "regression");
    assert!(junit(&run).unwrap().contains("; layout"));
    assert!(text(&run, Colour::Never).contains("the same instructions, slower"));
    let mut alone = run;
    alone.rounds.retain(|round| round.test == "scan");
    assert_eq!(gate(&alone, FailOn::Regression), Some(Gate::Regression));
    assert_eq!(gate(&alone, FailOn::CodePath), Some(Gate::Passed));
    alone.counts.clear();
    assert_eq!(gate(&alone, FailOn::CodePath), Some(Gate::Regression), "nothing is known");
}

#[test]
fn it_is_said_why_there_are_none() {
    let mut run = counted(50_000.0, 50_000.0);
    run.counts[1].functions.clear();
    run.counts[1].why = Some("valgrind is not installed".to_string());
    let text = told(&run);
    let name = run.plan.contenders[1].name();
    let line = format!("scan: no instructions of {name}: valgrind is not installed");
    assert!(text.contains(&line), "{text}");
    assert_eq!(scan(&first_contender(&run))["kind"], Value::Null);
}

#[test]
fn instructions_alone_have_a_verdict_by_their_threshold() {
    let only = |baseline: f64, contender: f64, threshold: f64| {
        let mut run = counted(baseline, contender);
        run.rounds.clear();
        let plan = run.plan.comparison_mut().unwrap();
        plan.instructions = Some(Instructions { of: Profiled::All, only: Some(threshold) });
        run
    };
    let more = only(50_000.0, 50_300.0, 0.003);
    assert_eq!(gate(&more, FailOn::Regression), Some(Gate::Regression));
    assert!(text(&more, Colour::Never).contains("(+0.56 %): more instructions"));
    let same = only(50_000.0, 50_300.0, 0.01);
    assert_eq!(gate(&same, FailOn::Regression), Some(Gate::Passed));
    assert!(text(&same, Colour::Never).contains("(+0.56 %): no change"));
    let fewer = only(50_000.0, 40_000.0, 0.003);
    assert_eq!(gate(&fewer, FailOn::Regression), Some(Gate::Passed));
    let mut failed = fewer;
    failed.counts[1].why = Some("it fell".to_string());
    assert_eq!(gate(&failed, FailOn::Regression), Some(Gate::Undecided));
}
