//! `rqps report`: the formats of other programs, several runs in one report, a page of a folder of
//! runs, and what a browser says of the pages.

// Made by the benchmark, as large as what the goals are about.
#[allow(dead_code)]
#[path = "../../crates/report/examples/large.rs"]
mod large;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::pages::foreign;
use crate::common::result::RunResult;
use crate::common::{Rqps, entries, processes};
use rusqlite::Connection;
use serde_json::Value;

/// A run of a few steps, in a directory of the given name.
fn run(rqps: &Rqps, name: &str, arguments: &str) {
    let out = rqps.path(name).display().to_string();
    let steps = "--rows 1K --rates 100 --query-secs 1 --only l.i0,l.x,l.i1,l.i2,qr100";
    rqps.run(&format!("ibench {arguments} {steps} --out {out}")).ok();
}

fn shown(rqps: &Rqps, name: &str) -> String {
    rqps.path(name).display().to_string()
}

#[test]
fn formats_of_other_programs_go_where_they_are_told_to() {
    let rqps = Rqps::new();
    run(&rqps, "a", "sqlite");
    let a = shown(&rqps, "a");
    let result = RunResult::of(&rqps.path("a"));

    rqps.run(&format!("report {a} --format hdr")).ok();
    let logs = entries(&rqps.path("a/hdr"));
    assert!(logs.contains(&"sqlite.qr100.hlog".to_string()), "{logs:?}");
    assert_eq!(logs.len(), 5);
    let out = shown(&rqps, "tables");
    rqps.run(&format!("report {a} --format parquet --out {out}")).ok();
    let tables = ["histograms.parquet", "seconds.parquet", "steps.parquet"];
    assert_eq!(entries(&rqps.path("tables")), tables);
    assert!(fs::read(rqps.path("tables/steps.parquet")).unwrap().starts_with(b"PAR1"));

    let queries = &result.step("qr100")["work"]["query"]["operations"];
    let text = rqps.run(&format!("report {a} --format sysbench")).ok().stdout;
    let report = text.split("# sqlite qr100 query\n").nth(1).expect(&text);
    assert!(
        report.contains(&format!("transactions:                        {queries} ")),
        "{report}"
    );
    let file = shown(&rqps, "otava.csv");
    let ended = rqps.run(&format!("report {a} --format otava --out {file}")).ok();
    assert_eq!(ended.stdout, "", "it went to the file");
    let otava = fs::read_to_string(file).unwrap();
    assert!(otava.starts_with("time,run,contender,dbms,version,l.i0.throughput"), "{otava}");
    assert_eq!(otava.lines().count(), 2);

    // What the page has for them fits these files.
    let page = include_str!("../../docs/exports.md");
    let config: Value = serde_saphyr::from_str(foreign(page, "yaml")).unwrap();
    let config = &config["tests"]["releases"];
    let columns: Vec<&str> = otava.lines().next().unwrap().split(',').collect();
    let lists = ["attributes", "metrics"].map(|key| config[key].as_array().unwrap().clone());
    for named in lists.concat().iter().chain([&config["time_column"]]) {
        assert!(columns.contains(&named.as_str().unwrap()), "{named} of {columns:?}");
    }
    let results = Connection::open(rqps.path("a/results.sqlite")).unwrap();
    let mut select = results.prepare(foreign(page, "sql")).unwrap();
    let mut rows = select.query([]).unwrap();
    let (mut steps, mut cpu_us) = (BTreeSet::new(), 0);
    while let Some(row) = rows.next().unwrap() {
        steps.insert(row.get::<_, String>("test").unwrap());
        cpu_us += row.get::<_, i64>("cpu_us").unwrap();
    }
    assert_eq!(steps.len(), 5, "{steps:?}");
    assert!(cpu_us > 0);
}

#[test]
fn runs_become_one_report_if_they_are_comparable() {
    let rqps = Rqps::new();
    run(&rqps, "a", "sqlite");
    run(&rqps, "b", "sqlite --seed 7");
    run(&rqps, "c", "sqlite c=sqlite?cache_size=-20000");
    let [a, b, c, all] = ["a", "b", "c", "all"].map(|name| shown(&rqps, name));

    let refused = rqps.run(&format!("report {a} {b}"));
    refused.refuses(2, &["not comparable", "seed (1, 7)", "--force"]);
    rqps.run(&format!("report {a} {a}")).refuses(2, &["are the same run"]);
    let several = rqps.run(&format!("report {a} {c} --format hdr"));
    several.refuses(2, &["several files", "--out DIR"]);

    let ended = rqps.run(&format!("report {a} {c} --out {all}")).ok();
    let result = RunResult::of(&rqps.path("all"));
    let names = result.0["contenders"].as_array().unwrap().iter().map(|found| &found["name"]);
    assert_eq!(names.collect::<Vec<_>>(), ["sqlite (a)", "sqlite (c)", "c"]);
    assert!(ended.stdout.contains("sqlite (c)"), "{}", ended.stdout);
    let files = ["metrics.csv", "report.html", "result.json", "seconds.csv", "summary.md"];
    assert_eq!(entries(&rqps.path("all")), files);

    let forced = rqps.run(&format!("report {a} {b} --force")).ok();
    assert!(forced.stdout.contains("NOT COMPARABLE"), "{}", forced.stdout);
}

/// A comparison of so many rounds, in a directory of the given name.
fn compare(rqps: &Rqps, name: &str, rounds: u32, arguments: &str) {
    let out = rqps.path(name).display().to_string();
    let small = "--workload micro:point-query --rows 2K --loads 1 --no-control --no-guards";
    let ended = rqps.run(&format!("compare {arguments} {small} --rounds {rounds} --out {out}"));
    // Its exit code is a verdict.
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
}

#[test]
fn comparisons_of_the_same_contenders_become_one() {
    let rqps = Rqps::with_own_locks();
    compare(&rqps, "a", 3, "sqlite again=sqlite --secs 0.2");
    compare(&rqps, "b", 4, "sqlite again=sqlite --secs 0.2");
    compare(&rqps, "other", 3, "sqlite other=sqlite?cache_size=-4000 --secs 0.2");
    compare(&rqps, "seed", 3, "sqlite again=sqlite --secs 0.2 --seed 7");
    let [a, b, other, seed, all] =
        ["a", "b", "other", "seed", "all"].map(|name| shown(&rqps, name));

    rqps.run(&format!("report {a} {b} --out {all}")).ok();
    let result = RunResult::of(&rqps.path("all"));
    let comparison = &result.0["comparison"];
    let rounds = comparison["contenders"][0]["tests"][0]["rounds"].as_array().unwrap().iter();
    let rounds: Vec<(u64, u64)> = rounds
        .map(|round| (round["round"].as_u64().unwrap(), round["load"].as_u64().unwrap()))
        .collect();
    assert_eq!(rounds, [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (6, 2), (7, 2)]);
    let mut remarks = comparison["remarks"].as_array().unwrap().iter();
    let is_told = remarks.any(|remark| remark.as_str().unwrap().contains("1 to 3 of 'a'"));
    assert!(is_told, "{comparison}");

    let refused = rqps.run(&format!("report {a} {other} --force"));
    refused.refuses(2, &["the contenders differ", "in one run", "rqps report --index"]);
    rqps.run(&format!("report {a} {seed}")).refuses(2, &["seed (1, 7)", "--force"]);
    let forced = rqps.run(&format!("report {a} {seed} --force")).ok();
    assert!(forced.stdout.contains("NOT COMPARABLE"), "{}", forced.stdout);
}

#[test]
fn whole_runs_have_seconds_and_times_and_slices_say_why_they_have_none() {
    let rqps = Rqps::with_own_locks();
    compare(&rqps, "runs", 3, "sqlite again=sqlite --secs 2 --method runs");
    compare(&rqps, "slices", 3, "sqlite again=sqlite --secs 0.2");
    let [runs, slices] = ["runs", "slices"].map(|name| shown(&rqps, name));
    let sysbench = rqps.run(&format!("report {runs} --format sysbench")).ok().stdout;
    for (contender, round) in [("sqlite", 1), ("again", 3)] {
        let head = format!("# {contender} point-query transaction round {round}\n");
        let report = sysbench.split(&head).nth(1).expect(&sysbench);
        assert!(report.contains("[ 1s ] thds: 1 tps: ") && report.contains("95th percentile"));
    }
    let seconds = rqps.run(&format!("report {runs} --format seconds-csv")).ok().stdout;
    assert!(seconds.starts_with("contender,step,round,second,insert_operations"), "{seconds}");
    assert!(seconds.contains("\nagain,point-query,3,1,"), "{seconds}");
    for format in ["sysbench", "seconds-csv", "hdr"] {
        let refused = rqps.run(&format!("report {slices} --format {format}"));
        refused.refuses(2, &["slices, which keep neither times of single operations nor seconds"]);
    }
}

#[test]
fn a_damaged_run_is_told_by_its_file_and_ends_with_2() {
    let rqps = Rqps::new();
    run(&rqps, "a", "sqlite");
    let a = shown(&rqps, "a");
    let results = rqps.path("a/results.sqlite");
    let whole = fs::read(&results).unwrap();
    fs::write(&results, &whole[..whole.len() / 2]).unwrap();
    rqps.run(&format!("report {a}")).refuses(2, &["results.sqlite' is damaged"]);
    for (version, other) in [(99_u32, "has schema 99;"), (6, "has schema 6;")] {
        let mut changed = whole.clone();
        changed[60..64].copy_from_slice(&version.to_be_bytes());
        fs::write(&results, changed).unwrap();
        rqps.run(&format!("report {a}"))
            .refuses(2, &[other, "this rqps reads schema 7", "measure again"]);
    }
    fs::write(&results, whole).unwrap();
    fs::write(rqps.path("a/manifest.json"), "{").unwrap();
    rqps.run(&format!("report {a}")).refuses(2, &["manifest.json' is damaged"]);
}

/// Seven contenders, 38 tests, 600 seconds. How long that takes is in docs/performance.md: no
/// test knows how busy its machine is.
#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn a_long_run_is_reported_in_little_memory() {
    const MIB: u64 = 1 << 20;
    let rqps = Rqps::new();
    let run = rqps.path("large");
    large::make(&run).unwrap();
    let mut command = rqps.command([OsStr::new("report"), run.as_os_str()]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = child.id() as i32;
    let mut most = 0;
    // Its high-water mark only rises.
    while let Some(memory) = processes::most_memory(pid) {
        most = memory.max(most);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().unwrap().success());
    assert!(most > 0 && most < 200 * MIB, "{} MiB", most / MIB);
    let page = fs::metadata(run.join("report.html")).unwrap().len();
    assert!(page < 3 * MIB, "{page} bytes");
}

#[test]
fn a_folder_of_runs_becomes_a_page() {
    let rqps = Rqps::new();
    fs::create_dir_all(rqps.path("all/host")).unwrap();
    fs::create_dir_all(rqps.path("all/thesis")).unwrap();
    run(&rqps, "all/first", "sqlite");
    run(&rqps, "all/host/second", "sqlite");
    run(&rqps, "all/cut", "sqlite");
    fs::write(rqps.path("all/cut/results.sqlite"), "cut").unwrap();
    let all = shown(&rqps, "all");
    rqps.run(&format!("report --index {all}")).ok().says(&["index.html", "index.json"]);
    let index = fs::read_to_string(rqps.path("all/index.json")).unwrap();
    let index: Value = serde_json::from_str(&index).unwrap();
    let found = |entry: &Value| format!("{} {}", entry["path"], entry["kind"]).replace('"', "");
    let found: Vec<String> = index["entries"].as_array().unwrap().iter().map(found).collect();
    assert_eq!(found, ["host/second run", "first run", "cut damaged", "thesis foreign"]);
    let reason = index["entries"][2]["reason"].as_str().unwrap();
    assert!(reason.contains("cut/results.sqlite"), "{reason}");
    let page = fs::read_to_string(rqps.path("all/index.html")).unwrap();
    assert!(page.contains("./host/second/report.html"));
    rqps.run(&format!("report --index {all}/none")).refuses(3, &["none'"]);
}

/// What a browser made of a page: the document after its scripts, what it said, and every address
/// that it asked for.
struct Seen {
    document: String,
    said: String,
    asked: Vec<String>,
}

/// Opens a page, a place in it behind `#`, from its file in Debian's chromium; none where that is
/// not installed.
fn browse(rqps: &Rqps, page: &str) -> Option<Seen> {
    let log = rqps.path("net.json");
    let mut chromium = Command::new("chromium");
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    chromium.args([
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
    ]);
    chromium.args(["--disable-sync", "--disable-default-apps", "--window-size=1200,900"]);
    chromium.args(["--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom"]);
    chromium.arg("--host-resolver-rules=MAP * ~NOTFOUND");
    chromium.arg(format!("--user-data-dir={}", rqps.path("profile").display()));
    chromium.arg(format!("--log-net-log={}", log.display()));
    chromium.arg(format!("file://{}", shown(rqps, page)));
    let output = match chromium.stdin(Stdio::null()).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("not checked: chromium is not installed");
            return None;
        }
        output => output.unwrap(),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // An event a line. What chromium asks for itself has no origin.
    let log = fs::read_to_string(log).unwrap_or_default();
    let of_page = |line: &&str| {
        line.contains("\"initiator\":") && !line.contains("\"initiator\":\"not an origin\"")
    };
    let address =
        |line: &str| Some(line.split("\"url\":\"").nth(1)?.split('"').next()?.to_string());
    let asked = log.lines().filter(of_page).filter_map(address);
    Some(Seen {
        document: text(&output.stdout),
        said: text(&output.stderr),
        asked: asked.collect(),
    })
}

#[test]
fn a_browser_draws_the_pages_without_a_complaint_or_a_request() {
    let rqps = Rqps::new();
    fs::create_dir(rqps.path("all")).unwrap();
    let ibench = "--rates 100 --query-secs 4 --only l.i0,l.x,l.i1,l.i2,qr100";
    let micro = "--secs 4 --tests point-query,hot-points";
    for (verb, arguments) in [("ibench", ibench), ("micro", micro)] {
        let out = shown(&rqps, &format!("all/{verb}"));
        rqps.run(&format!("{verb} sqlite --rows 1K {arguments} --out {out}")).ok();
    }
    rqps.run(&format!("report --index {}", shown(&rqps, "all"))).ok();
    // Each page with the steps whose charts are drawn: those with seconds enough, and of tests,
    // which are folded, those that the address leads to.
    for (page, steps) in [
        ("all/ibench/report.html", 1),
        ("all/micro/report.html", 0),
        ("all/micro/report.html#test-hot-points", 1),
        ("all/index.html", 0),
    ] {
        let Some(seen) = browse(&rqps, page) else { return };
        let complaints: Vec<&str> =
            seen.said.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert_eq!(complaints, [""; 0], "{page}");
        let outside =
            |address: &&String| !address.starts_with("file:") && !address.starts_with("data:");
        let outside: Vec<&String> = seen.asked.iter().filter(outside).collect();
        assert_eq!(outside, [""; 0], "{page}");
        assert!(seen.document.contains("</html>"), "{page}: {}", seen.said);
        // Charts from the compressed data: at least of the rate and of the longest times.
        let charts = seen.document.matches("<canvas").count();
        assert!(charts >= 2 * steps && (steps > 0) == (charts > 0), "{page}: {charts}");
    }
}

#[test]
fn the_check_of_pages_would_notice() {
    let rqps = Rqps::new();
    let script = "fetch('http://rqps.invalid/asked').catch(() => console.error('refused'))";
    let page = rqps.path("page.html");
    fs::write(page, format!("<!DOCTYPE html><title>t</title><script>{script}</script>")).unwrap();
    let Some(seen) = browse(&rqps, "page.html") else { return };
    assert!(
        seen.asked.iter().any(|address| address == "http://rqps.invalid/asked"),
        "{:?}",
        seen.asked
    );
    assert!(seen.said.lines().any(|line| line.contains("CONSOLE")), "{}", seen.said);
}
