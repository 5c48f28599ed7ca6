use rqps_plan::{Count, InsertBenchmark, Profile, Step};
use rqps_report::Colour;

use crate::made::{post, text};
use crate::sample::{self, run};
use crate::{HOSTILE, THREE, fifty};

#[test]
fn a_run_reads_as_it_should() {
    let mut run = run(&THREE, 12);
    sample::trouble(&mut run);
    insta::assert_snapshot!(text(&run, Colour::Never));
}

#[test]
fn ten_steps_fit_a_terminal_even_with_long_names() {
    for contenders in [THREE.to_vec(), vec![HOSTILE, "postgres@18.0"], vec!["sqlite"]] {
        let text = text(&run(&contenders, 12), Colour::Never);
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
        }
    }
}

#[test]
fn the_older_profile_with_fifteen_steps_is_cut_into_tables_that_fit() {
    let mut run = run(&["sqlite"], 12);
    let benchmark = InsertBenchmark::new(Profile::P2020, Count(200_000));
    let template = run.rounds[0].clone();
    let named = |(order, step): (usize, Step)| {
        let place = order as u32;
        rqps_store::RoundRecord { test: step.name, place, ..template.clone() }
    };
    run.rounds = benchmark.steps().into_iter().enumerate().map(named).collect();
    let text = text(&run, Colour::Never);
    assert!(text.contains("q1000.2"));
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn a_failed_step_has_no_number_and_says_why() {
    let mut run = run(&THREE, 12);
    sample::trouble(&mut run);
    let text = text(&run, Colour::Never);
    assert!(text.contains("postgres@18.0 l.i2: failed: the server is gone: killed by signal 9"));
    assert!(!text.contains("last lines of its log"), "a terminal gets the first line");
    assert!(text.contains("postgres@17.6 l.i1: repeated after 1 interruption"));
    assert!(text.contains("not started: never"));
    assert!(text.contains("wrote less than 95% of the target: qp1000 898 of 1000 rows/s"));
    let post = post(&run, Colour::Never);
    let metrics = post.split("\nl.i2: ").nth(1).unwrap();
    let rows = metrics.lines().skip(2).take_while(|line| !line.is_empty());
    assert_eq!(rows.count(), 2, "the metrics of a step that failed are not compared");
}

#[test]
fn without_the_first_contender_nothing_is_relative() {
    let mut run = run(&THREE, 12);
    run.contenders.remove(0);
    run.rounds.retain(|round| !sample::is_of(round, THREE[0]));
    let text = text(&run, Colour::Never);
    let relative = text.split("relative to the first contender").nth(1).unwrap();
    let row = relative.lines().find(|line| line.starts_with("postgres@18.0 ")).unwrap();
    assert_eq!(row.matches("NA").count(), 10, "{row}");
}

#[test]
fn an_embedded_dbms_has_one_cpu_figure_and_the_reason() {
    let text = text(&run(&["sqlite"], 12), Colour::Never);
    assert!(text.contains("sqlite: client and DBMS share a process"));
    assert!(text.contains("sqlite server and client"));
}

#[test]
fn an_error_cannot_steer_the_terminal() {
    let mut run = run(&["sqlite"], 1);
    let step = sample::step(&mut run, "sqlite", "l.i0");
    step.status = rqps_store::Status::Failed;
    step.error = Some("\u{1b}[31mred\u{7}".to_string());
    assert!(!text(&run, Colour::Never).contains('\u{1b}'));
}

#[test]
fn colours_come_only_when_asked_for() {
    let run = run(&THREE, 12);
    assert!(!text(&run, Colour::Never).contains('\u{1b}'));
    assert!(text(&run, Colour::Always).contains('\u{1b}'));
}

#[test]
fn nothing_done_in_no_time_still_prints() {
    let mut silent = run(&["sqlite", "postgres@17.6"], 1);
    sample::silence(&mut silent);
    assert!(text(&silent, Colour::Never).contains("l.i0"));
    for step in silent.rounds.iter_mut().map(sample::only) {
        step.seconds = 0.0;
        step.work.clear();
        step.samples = Default::default();
    }
    assert!(text(&silent, Colour::Never).contains("NA"));
    silent.rounds.clear();
    assert!(text(&silent, Colour::Never).starts_with("Insert Benchmark: sqlite, postgres@17.6"));
    silent.contenders.clear();
    assert!(text(&silent, Colour::Never).contains("not started: sqlite, postgres@17.6"));
}

#[test]
fn fifty_contenders_have_a_row_each() {
    let contenders = fifty();
    let contenders: Vec<&str> = contenders.iter().map(String::as_str).collect();
    let text = text(&run(&contenders, 1), Colour::Never);
    assert!(text.starts_with("Insert Benchmark: c0, c1, c2 and 47 more"));
    assert!(text.lines().any(|line| line.starts_with("c49 ")));
}
