use rqps_report::html;
use serde_json::Value;

use crate::sample::{self, run};
use crate::{HOSTILE, THREE, fifty};

/// The data in the page, as its script reads them.
fn embedded(page: &str, id: &str) -> Value {
    let start = format!("<script type=\"application/json\" id=\"{id}\">");
    let data = page.split(&start).nth(1).expect(id).split("</script>").next().unwrap();
    serde_json::from_str(data).expect("the embedded data are JSON")
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
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    assert_eq!(embedded(&page, "result")["contenders"][0]["name"], HOSTILE);
    assert!(embedded(&page, "metrics-csv").as_str().unwrap().starts_with("contender,step,ips"));
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
        "What the DBMS counted itself",
        "pg_stat_wal.wal_bytes",
    ] {
        assert!(step.contains(part), "{part}");
    }
    assert!(!step.contains("Query response time"), "queries are not paced");
    assert!(!section(&page, "step-l.x").contains("data-step"), "an index has no seconds");
}

#[test]
fn steps_without_data_are_left_out() {
    let mut run = run(&THREE, 2);
    run.steps.retain(|step| step.step.starts_with('l'));
    let page = html(&run);
    assert!(page.contains("id=\"step-l.i2\""));
    assert!(!page.contains("qr100"));
    assert!(!page.contains("Insert rate beside the queries"));
}

#[test]
fn only_settings_that_differ_are_listed_and_no_places() {
    let page = html(&run(&THREE, 2));
    let environment = section(&page, "environment");
    assert!(environment.contains("work_mem"));
    assert!(!environment.contains("shared_buffers"));
    assert!(!environment.contains("data_directory"));
    let alone = html(&run_of_one());
    assert!(!section(&alone, "environment").contains("Settings"));
}

fn run_of_one() -> rqps_store::Run {
    run(&["sqlite"], 1)
}

#[test]
fn builds_of_different_makers_are_pointed_out() {
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
    nothing.steps.clear();
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
