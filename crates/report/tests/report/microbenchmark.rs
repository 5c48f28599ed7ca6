use rqps_report::Colour;
use rqps_store::{Run, Status};
use serde_json::Value;

use crate::json::schema;
use crate::made::{csv, html, post, result_json, suite_files, summary_markdown, text};
use crate::suite::{self, run};
use crate::{HOSTILE, THREE, sample};

fn json(run: &Run) -> Value {
    serde_json::from_str(&result_json(run)).expect("it is JSON")
}

/// The rows of one of the files, by the names of their columns.
fn file(run: &Run, name: &str) -> Vec<std::collections::HashMap<String, String>> {
    let files = suite_files(run);
    let (_, content) = files.iter().find(|(file, _)| *file == name).expect(name);
    let mut reader = ::csv::Reader::from_reader(content.as_bytes());
    reader.deserialize().map(|row| row.expect("all rows have as many cells")).collect()
}

fn number(cell: &str) -> Option<f64> {
    (!cell.is_empty()).then(|| cell.parse().expect(cell))
}

#[test]
fn a_run_reads_as_it_should() {
    let mut run = run(&THREE, &[1]);
    run.rounds.retain(|round| !round.test.starts_with("update-z"));
    let failed = sample::step(&mut run, THREE[1], "insert");
    failed.status = Status::Failed;
    failed.error = Some("the server is gone".to_string());
    insta::assert_snapshot!("micro_text", text(&run, Colour::Never));
    insta::assert_snapshot!("micro_markdown", summary_markdown(&run));
    let files = suite_files(&run);
    let published = files.iter().find(|(name, _)| *name == "relative.txt").unwrap();
    insta::assert_snapshot!("micro_relative", published.1);
}

#[test]
fn a_scale_up_reads_as_it_should() {
    let run = run(&["postgres@17.6"], &[4, 1, 2, 8]);
    insta::assert_snapshot!("scaleup_text", text(&run, Colour::Never));
    insta::assert_snapshot!("scaleup_markdown", summary_markdown(&run));
}

#[test]
fn writes_have_the_tables_of_the_io_bound_posts_when_debt_is_paid_after_each() {
    let mut run = run(&["postgres@17.6"], &[1]);
    let title = "iostat, vmstat normalized by operation rate";
    assert!(!post(&run, Colour::Never).contains(title));
    suite::vacuum_each_write(&mut run);
    let text = post(&run, Colour::Never);
    assert_eq!(text.matches(title).count(), 10, "there are ten tests that write");
    let lines: Vec<&str> = text.split("update-index: iostat").nth(1).unwrap().lines().collect();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(lines[1]), "r/s rMB/s w/s wMB/s r/o rKB/o wKB/o o/s dbms");
    // 420 writes of 32 KiB a second for 5000 updates.
    assert_eq!(words(lines[2]), "3.0 0.0 420.0 13.1 0.001 0.005 2.688 5000 postgres@17.6");
    assert_eq!(words(lines[4]), "cs/s cpu/s cs/o cpu/o dbms");
    assert_eq!(words(lines[5]), "10000 60.0 2.000 0.012000 postgres@17.6");
}

#[test]
fn whoever_is_bound_by_the_client_is_told() {
    let text = text_of(&run(&["postgres@17.6", "postgres@18.0"], &[1]));
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "- the client is the bottleneck; share of the time in which it was busy: \
                postgres@17.6 point-query 60%; postgres@18.0 point-query 60% -";
    assert!(unwrapped.contains(told), "{unwrapped}");
    let embedded = text_of(&run(&["sqlite"], &[1]));
    assert!(!embedded.contains("bottleneck; share"), "its CPU is counted as one");
}

fn text_of(run: &Run) -> String {
    text(run, Colour::Never)
}

#[test]
fn deletes_that_find_nothing_are_told() {
    let run = run(&["postgres@17.6", "postgres@18.0"], &[1]);
    let told = "- share of the statements that found a row to change: postgres@17.6 delete 50%
";
    assert!(text_of(&run).contains(told));
    let tests = file(&run, "tests.csv");
    let delete = tests.iter().find(|row| row["test"] == "delete").unwrap();
    assert_eq!(delete["queries_per_second"], "12000");
    assert_eq!(delete["effective_writes_per_second"], "6000");
}

#[test]
fn a_scan_is_in_rows_and_in_the_unit_of_the_posts() {
    let run = run(&["postgres@17.6"], &[1, 2]);
    let tests = file(&run, "tests.csv");
    let scan: Vec<_> = tests.iter().filter(|row| row["test"] == "scan").collect();
    // Four scans a second of 50000 rows.
    assert_eq!(scan[0]["queries_per_second"], "200000");
    assert_eq!(scan[0]["scan_krows_per_second_and_client"], "200");
    let rate: f64 = scan[1]["queries_per_second"].parse().unwrap();
    let each: f64 = scan[1]["scan_krows_per_second_and_client"].parse().unwrap();
    assert!((each - rate / 2000.0).abs() < 1e-9);
    assert_eq!(scan[0]["coefficient_of_variation"], "");
}

#[test]
fn cells_of_the_files_are_those_of_the_json() {
    let run = run(&THREE, &[1, 4]);
    let json = json(&run);
    let steps = json["steps"].as_array().unwrap();
    let of = |test: &str, clients: &str, contender: &str| {
        let name = [test.to_string(), format!("{test}@{clients}")];
        let is_it = |step: &&Value| name.iter().any(|name| step["name"] == name.as_str());
        let results = steps.iter().find(is_it).unwrap()["results"].as_array().unwrap();
        results.iter().find(|result| result["contender"] == contender).unwrap().clone()
    };
    let tests = file(&run, "tests.csv");
    assert_eq!(tests.len(), 3 * (1 + 38 * 2));
    for row in &tests {
        let result = of(&row["test"], &row["clients"], &row["contender"]);
        let measures = result["test"]["measures"].as_object().unwrap();
        for (key, value) in measures {
            assert_eq!(number(&row[key]), value.as_f64(), "{key} of {row:?}");
        }
        assert_eq!(number(&row["relative"]), result["relative"].as_f64());
        for (name, value) in result["test"]["normalised"].as_object().unwrap() {
            let (cell, value) = (number(&row[name]).unwrap(), value.as_f64().unwrap());
            assert!((cell - value).abs() <= 0.5, "{name}: {cell} is not {value}");
        }
    }
    let relative = file(&run, "relative.csv");
    assert_eq!(relative.len(), 32 * 2);
    for row in &relative {
        for name in THREE {
            let share = of(&row["test"], &row["clients"], name)["relative"].as_f64().unwrap();
            assert_eq!(row[name], format!("{share:.2}"));
        }
    }
    let scaleup = file(&run, "scaleup.csv");
    assert_eq!(scaleup.len(), 3 * 32);
    for (row, value) in scaleup.iter().zip(json["scaleup"].as_array().unwrap()) {
        assert_eq!(row["test"], value["test"].as_str().unwrap());
        assert_eq!(number(&row["4"]), value["relative"][1].as_f64());
        assert!(value["law"].is_null(), "two numbers of clients fit any law");
    }
}

#[test]
fn the_law_that_the_rates_follow_is_found() {
    let result = json(&run(&["postgres@17.6"], &[1, 2, 4, 8, 16]));
    let growths = result["scaleup"].as_array().unwrap();
    let growth = growths.iter().find(|growth| growth["test"] == "point-query").unwrap();
    let law = &growth["law"];
    assert!((law["contention"].as_f64().unwrap() - 0.05).abs() < 1e-3, "{law}");
    assert!((law["coherency"].as_f64().unwrap() - 0.004).abs() < 1e-4, "{law}");
    // sqrt(0.95 / 0.004)
    assert!((law["knee"].as_f64().unwrap() - 15.4).abs() < 0.3, "{law}");
}

#[test]
fn every_result_has_the_stated_shape() {
    let mut silent = run(&["sqlite", "postgres@17.6"], &[1]);
    sample::silence(&mut silent);
    let mut nothing = run(&["sqlite"], &[1, 2]);
    nothing.rounds.clear();
    nothing.contenders.clear();
    for run in [run(&THREE, &[1]), run(&[HOSTILE], &[1, 2, 4]), silent, nothing] {
        let result = json(&run);
        let validator = schema();
        let errors: Vec<String> = validator
            .iter_errors(&result)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
    let mut result = json(&run(&["sqlite"], &[1, 2]));
    result["scaleup"][0]["relative"] = Value::from("fast");
    assert!(!schema().is_valid(&result), "the schema would notice");
}

#[test]
fn a_summary_of_the_whole_suite_stays_below_sixty_lines() {
    let many: Vec<String> = (0..12).map(|index| format!("c{index}=postgres@17.{index}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for clients in [&[1][..], &[1, 2, 3]] {
        for contenders in [&many[..], &THREE, &["sqlite"]] {
            let markdown = summary_markdown(&run(contenders, clients));
            assert!(markdown.contains("random-points_range=1000"));
            assert!(markdown.lines().count() <= 60, "{} lines", markdown.lines().count());
        }
    }
}

#[test]
fn tables_fit_a_terminal_and_steps_are_not_printed_one_by_one() {
    let many: Vec<String> = (0..12).map(|index| format!("c{index}=postgres@17.{index}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let clients: Vec<u32> = (1..=11).collect();
    for run in [run(&many, &[1]), run(&["sqlite"], &clients), run(&[HOSTILE, "sqlite"], &[1])] {
        let text = text_of(&run);
        for line in text.lines().filter(|line| !line.contains("alert")) {
            assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
        }
        assert!(!text.contains("dbgb1"), "metrics of every step are in metrics.csv");
        assert!(csv(&run).contains("dbgb1"));
    }
}

#[test]
fn the_page_folds_tests_by_group() {
    let page = html(&run(&THREE, &[1]));
    let nav = page.split("<nav").nth(1).unwrap().split("</nav>").next().unwrap();
    assert_eq!(nav.matches("<a ").count(), 11, "{nav}");
    assert_eq!(page.matches("<details class=\"test\"").count(), 39);
    let scan =
        page.split("id=\"test-scan\"").nth(1).unwrap().split("class=\"test\"").next().unwrap();
    for part in ["data-step=\"scan\"", "rKB/o", "cpu/o", "p99.9", "client CPU"] {
        assert!(scan.contains(part), "{part}");
    }
    assert!(page.contains("<td class=\"slower\"") && page.contains("<td class=\"faster\""));
    assert!(!page.contains("id=\"scaleup\""));
}

#[test]
fn a_page_of_scale_up_has_its_curves() {
    let page = html(&run(&["postgres@17.6", HOSTILE], &[1, 2, 4]));
    assert!(page.contains("id=\"scaleup\""));
    assert_eq!(page.matches("class=\"curve\"").count(), 2 * 32);
    assert!(!page.contains("<script>alert"));
    for nonsense in ["NaN", "inf,", ",inf"] {
        assert!(
            !page
                .split("<main>")
                .nth(1)
                .unwrap()
                .split("<script")
                .next()
                .unwrap()
                .contains(nonsense)
        );
    }
}

#[test]
fn short_steps_have_no_chart() {
    let mut run = run(&["sqlite"], &[1]);
    for worker in &mut sample::step(&mut run, "sqlite", "scan").work {
        worker.seconds.truncate(2);
    }
    let page = html(&run);
    assert!(!page.contains("data-step=\"scan\""));
    assert!(page.contains("data-step=\"insert\""));
}

#[test]
fn seven_contenders_make_a_page_below_three_megabytes() {
    let seven: Vec<String> = (0..7).map(|index| format!("c{index}=postgres@17.{index}")).collect();
    let seven: Vec<&str> = seven.iter().map(String::as_str).collect();
    let page = html(&run(&seven, &[1]));
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
}

#[test]
fn nothing_done_in_no_time_still_prints() {
    let mut silent = run(&["sqlite", "postgres@17.6"], &[1, 2, 4]);
    sample::silence(&mut silent);
    for step in silent.rounds.iter_mut().map(sample::only) {
        step.seconds = 0.0;
    }
    assert!(text_of(&silent).contains("point-query"));
    assert!(summary_markdown(&silent).contains("point-query"));
    assert!(html(&silent).ends_with("</html>"));
    let mut begun = run(&THREE, &[1]);
    begun.rounds.truncate(1);
    begun.contenders.truncate(1);
    assert!(text_of(&begun).contains("load"));
    begun.rounds.clear();
    begun.contenders.clear();
    assert!(text_of(&begun).starts_with("Microbenchmarks: nothing was started"));
    assert!(html(&begun).ends_with("</html>"));
}

#[test]
fn other_benchmarks_have_none_of_these_files() {
    assert_eq!(suite_files(&sample::run(&THREE, 2)), []);
    let names = |run: &Run| suite_files(run).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(&run(&["sqlite"], &[1])), ["tests.csv"]);
    assert_eq!(names(&run(&THREE, &[1])), ["tests.csv", "relative.csv", "relative.txt"]);
    assert_eq!(names(&run(&["sqlite"], &[1, 2])), ["tests.csv", "scaleup.csv"]);
}
