use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use serde_json::Value;

use crate::made::html;
use crate::sample::{self, run};
use crate::{HOSTILE, THREE, fifty};

/// The data in the page, as its script reads them.
pub(crate) fn embedded(page: &str, id: &str) -> String {
    let start = format!("<script type=\"application/zlib+base64\" id=\"{id}\">");
    let data = page.split(&start).nth(1).expect(id).split("</script>").next().unwrap();
    let packed = STANDARD.decode(data).expect("the embedded data are base64");
    let mut text = String::new();
    ZlibDecoder::new(&packed[..]).read_to_string(&mut text).expect("the embedded data are zlib");
    text
}

fn json(page: &str, id: &str) -> Value {
    serde_json::from_str(&embedded(page, id)).expect("the embedded data are JSON")
}

fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = format!("id=\"{id}\"");
    page.split(&start).nth(1).expect(id).split("</section>").next().unwrap()
}

#[test]
fn a_hostile_name_is_only_ever_text() {
    let mut run = run(&[HOSTILE, "sqlite"], 2);
    let step = sample::step(&mut run, HOSTILE, "l.i1");
    step.error = Some("<img src=x onerror=alert(2)>".to_string());
    step.status = rqps_store::Status::Failed;
    let page = html(&run);
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains("<img"));
    assert!(!embedded(&page, "engine").contains("<script"), "it becomes a part of the page");
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    assert_eq!(json(&page, "result")["contenders"][0]["name"], HOSTILE);
    assert!(embedded(&page, "metrics-csv").starts_with("contender,step,ips"));
}

#[test]
fn the_page_names_nothing_to_fetch() {
    let page = html(&run(&THREE, 2));
    for reference in ["src=\"", "@import", "url(", "<link"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn colour_is_never_alone() {
    let mut run = run(&THREE, 12);
    sample::trouble(&mut run);
    let page = html(&run);
    for class in ["good", "bad", "ignored", "faster", "slower"] {
        for cell in page.split(&format!("<td class=\"{class}\"")).skip(1) {
            let cell = cell.split("</td>").next().unwrap();
            assert!(cell.contains("class=\"mark\""), "{class}: {cell}");
        }
    }
    assert!(page.contains("<td class=\"ignored\">"), "qp1000 missed its target");
    assert!(page.contains("<td class=\"slower\">"));
}

#[test]
fn a_step_has_all_its_parts() {
    let page = html(&run(&THREE, 12));
    let step = section(&page, "step-qr500");
    for part in [
        "qr500: range queries while each client inserts and deletes 500 rows/s",
        "queries per second",
        "data-step=\"qr500\"",
        "Insert service time",
        "Insert response time",
        "Delete service time",
        "Query service time",
        "p99.9",
        "cpupq",
        "client CPU",
        "Counters of the DBMS",
        "data-engine=\"qr500\"",
    ] {
        assert!(step.contains(part), "{part}");
    }
    let engine = json(&page, "engine");
    assert!(engine["qr500"].as_str().unwrap().contains("pg_stat_wal.wal_bytes"));
    assert!(!step.contains("Query response time"), "queries are not paced");
    assert!(!section(&page, "step-l.x").contains("data-step"), "an index has no seconds");
}

#[test]
fn steps_without_data_are_left_out() {
    let mut run = run(&THREE, 2);
    run.rounds.retain(|round| round.test.starts_with('l'));
    let page = html(&run);
    assert!(page.contains("id=\"step-l.i2\""));
    assert!(!page.contains("qr100"));
    assert!(!page.contains("Insert rate while queries ran"));
}

#[test]
fn only_settings_that_differ_are_listed_and_no_places() {
    let page = html(&run(&THREE, 2));
    let environment = section(&page, "environment");
    assert!(environment.contains("work_mem"));
    for value in ["4MB (default)", "16MB (default)", "16MB"] {
        assert!(environment.contains(&format!("\">{value}</td>")), "{value}: {environment}");
    }
    assert!(!environment.contains("shared_buffers"));
    assert!(!environment.contains("data_directory"));
    let alone = html(&run_of_one());
    assert!(!section(&alone, "environment").contains("Settings"));
}

fn run_of_one() -> rqps_store::Run {
    run(&["sqlite"], 1)
}

#[test]
fn builds_of_different_packagers_are_pointed_out() {
    let mut run = run(&THREE, 2);
    assert!(!html(&run).contains("builds of one DBMS differ"));
    run.contenders[1].source = "maven".to_string();
    assert!(html(&run).contains("builds of one DBMS differ"));
}

#[test]
fn extremes_make_a_page() {
    let mut silent = run(&["sqlite", "postgres@17.6"], 1);
    sample::silence(&mut silent);
    let mut nothing = run_of_one();
    nothing.rounds.clear();
    nothing.contenders.clear();
    let contenders = fifty();
    let contenders: Vec<&str> = contenders.iter().map(String::as_str).collect();
    for run in [silent, nothing, run_of_one(), run(&contenders, 1)] {
        let page = html(&run);
        assert!(page.ends_with("</html>"));
        let shown = page.split("<main>").nth(1).unwrap().split("<script").next().unwrap();
        for nonsense in ["NaN", ">inf<", ">-0"] {
            assert!(!shown.contains(nonsense), "{nonsense}");
        }
    }
}

#[test]
fn the_lines_of_a_chart_are_the_seconds_that_were_stored() {
    let run = run(&THREE, 12);
    let charts = json(&html(&run), "charts");
    let of = |chart: &&Value| chart["step"] == "qr100" && chart["operation"] == "query";
    let chart = charts.as_array().unwrap().iter().find(of).unwrap();
    assert_eq!(chart["lines"].as_array().unwrap().len(), 3);
    let stored = run.rounds.iter().find(|round| round.test == "qr100").unwrap();
    let seconds = &stored.arms[THREE[0]].work.last().unwrap().seconds;
    for (index, second) in seconds.iter().enumerate() {
        let line = &chart["lines"][0];
        assert_eq!(line["rates"][index].as_f64(), Some(second.operations as f64));
        let milliseconds = line["longest"][index].as_f64().unwrap();
        assert!((milliseconds - second.max_service as f64 / 1e6).abs() < 0.001);
    }
    assert!(charts.as_array().unwrap().iter().all(|chart| chart["step"] != "l.x"));
}

#[test]
fn a_long_step_has_few_points_and_keeps_its_worst_second() {
    let mut run = run(&["postgres@17.6"], 1_000);
    let step = sample::step(&mut run, "postgres@17.6", "qp100");
    step.work.last_mut().unwrap().seconds[777].max_service = 59_000_000_000;
    let charts = json(&html(&run), "charts");
    let of = |chart: &&Value| chart["step"] == "qp100" && chart["operation"] == "query";
    let chart = charts.as_array().unwrap().iter().find(of).unwrap();
    let longest = chart["lines"][0]["longest"].as_array().unwrap();
    assert!(longest.len() <= 300 && longest.len() == chart["at"].as_array().unwrap().len());
    let at = longest.iter().position(|value| value.as_f64() == Some(59_000.0)).expect("the worst");
    let at = chart["at"][at].as_f64().unwrap();
    assert!((at - 778.0).abs() < chart["stretch"].as_f64().unwrap(), "{at}");
}
