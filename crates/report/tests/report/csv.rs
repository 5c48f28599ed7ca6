use crate::evidence;
use crate::made::{csv, latency_csv, seconds_csv, suite_files, verdicts_csv};
use crate::sample::{self, run};
use crate::{HOSTILE, THREE, suite};

fn rows(text: &str) -> Vec<Vec<String>> {
    let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let rows = reader.records().map(|row| row.unwrap().iter().map(str::to_string).collect());
    rows.collect()
}

#[test]
fn metrics_have_the_published_columns() {
    let rows = rows(&csv(&run(&THREE, 12)));
    assert_eq!(
        rows[0].join(" "),
        "contender step ips qps rps rmbps wps wmbps rpq rkbpq wpi wkbpi csps cpups cspq cpupq \
         dbgb1 dbgb2 rss maxop p50 p99 tag"
    );
    assert_eq!(rows.len(), 1 + 3 * 10);
    assert_eq!(rows[1][..2], ["postgres@17.6", "l.i0"]);
    assert_eq!(rows[1][22], "postgres@17.6");
}

#[test]
fn names_with_commas_and_quotes_survive() {
    assert_eq!(rows(&csv(&run(&[HOSTILE], 1)))[1][0], HOSTILE);
}

#[test]
fn a_failed_step_has_seconds_but_no_metrics() {
    let mut run = run(&THREE, 12);
    sample::trouble(&mut run);
    let of_failed = |row: &&Vec<String>| row[..2] == ["postgres@18.0", "l.i2"];
    assert_eq!(rows(&csv(&run)).iter().filter(of_failed).count(), 0);
    assert_eq!(rows(&seconds_csv(&run)).iter().filter(of_failed).count(), 12);
}

#[test]
fn seconds_hold_the_work_of_all_connections_and_its_cost() {
    let mut run = run(&["postgres@17.6"], 3);
    let step = sample::step(&mut run, "postgres@17.6", "qp100");
    let mut second = step.work.last().unwrap().clone();
    second.client = 2;
    let queries = second.seconds[1].operations;
    step.work.push(second);
    let rows = rows(&seconds_csv(&run));
    let column = |name: &str| rows[0].iter().position(|heading| heading == name).expect(name);
    let row = rows.iter().find(|row| row[1] == "qp100" && row[2] == "2").unwrap();
    assert_eq!(row[column("query_operations")], (2 * queries).to_string());
    assert_eq!(row[column("server_rss")], (180u64 << 20).to_string());
    let load = rows.iter().find(|row| row[1] == "l.i0").unwrap();
    assert_eq!(load[column("query_operations")], "", "l.i0 has no queries");
}

/// The columns that docs/exports.md has for a file: the words in code of the first column of its
/// table.
fn described(file: &str) -> Vec<String> {
    let page = include_str!("../../../../docs/exports.md");
    let from = page.find(&format!("**`{file}`**")).expect("the page has it");
    let lines = page[from..].lines().skip_while(|line| !line.starts_with("|---"));
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').nth(1).unwrap_or_default());
    let words = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    words.map(str::to_string).collect()
}

#[test]
fn the_columns_of_files_are_those_that_the_documentation_has() {
    let of_verdicts = verdicts_csv(&suite::judged());
    let of_suite = suite_files(&suite::run(&["sqlite"], &[1]));
    let header = |text: &str| rows(text).swap_remove(0);
    let text = |name: &str| of_suite.iter().find(|(of, _)| *of == name).map(|(_, text)| text);
    assert_eq!(described("verdicts.csv"), header(&of_verdicts));
    let percentiles = ["p50", "p95", "p99", "p99.9", "max"];
    let columns: Vec<String> = described("latency.csv")
        .into_iter()
        .filter(|word| !percentiles.contains(&word.as_str()))
        .collect();
    assert_eq!(columns, header(&latency_csv(&evidence::timed())));
    let described = described("tests.csv");
    let header = header(text("tests.csv").unwrap());
    let from = described.iter().position(|word| word == "r/s").unwrap();
    assert_eq!(described[..from], header[..from]);
}
