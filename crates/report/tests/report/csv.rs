use crate::made::{csv, seconds_csv};
use crate::sample::{self, run};
use crate::{HOSTILE, THREE};

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
