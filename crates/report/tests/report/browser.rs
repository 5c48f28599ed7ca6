//! The pages in Debian's chromium, used as a reader would use them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rqps_report::{Entry, Found, html, index_html, result_json};
use rqps_store::{Run, Second, WorkerRecord, merge};
use serde_json::{Value, json};

use crate::comparison::comparison;
use crate::merged::named;
use crate::sample::{self, run};
use crate::{HOSTILE, THREE, fifty, suite, whole_runs};

const LIGHT: &[&str] = &[];
const DARK: &[&str] = &["--blink-settings=preferredColorScheme=0"];
const NARROW: &[&str] = &["--window-size=500,900"];

/// As wide as a phone, which no window of chromium is.
fn narrow(page: &str) -> String {
    page.replacen("</head>", "<style>body { width: 400px }</style></head>", 1)
}

/// Runs chromium on a page with some more arguments; none where it is not installed.
fn chromium(directory: &Path, page: &str, arguments: &[&str]) -> Option<(String, String)> {
    let mut chromium = Command::new("chromium");
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    chromium.args(["--no-first-run", "--disable-background-networking", "--hide-scrollbars"]);
    chromium.args(["--enable-logging=stderr", "--virtual-time-budget=300000"]);
    // Chromium refuses to change the address as often as a test does, which no reader could.
    chromium.arg("--disable-ipc-flooding-protection");
    chromium.arg(format!("--user-data-dir={}", directory.join("profile").display()));
    chromium.args(arguments).arg(format!("file://{}/{page}", directory.display()));
    let output = match chromium.stdin(Stdio::null()).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("not checked: chromium is not installed");
            return None;
        }
        output => output.unwrap(),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((text(&output.stdout), text(&output.stderr)))
}

/// Uses every link, choice, button and key of a page, and returns what `page.js` saw; none without a
/// browser. Whatever the browser complains of is a fault.
fn used(page: &str, place: &str, arguments: &[&str]) -> Option<Value> {
    let directory = tempfile::tempdir().unwrap();
    let script = format!("<script>{}</script></body>", include_str!("page.js"));
    let copy = page.replacen("</body>", &script, 1);
    fs::write(directory.path().join("page.html"), copy).unwrap();
    let arguments = [&["--dump-dom"], arguments].concat();
    let (document, said) = chromium(directory.path(), &format!("page.html{place}"), &arguments)?;
    let complaints: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert_eq!(complaints, [""; 0]);
    let seen = document.split("id=\"seen\">").nth(1).unwrap_or_else(|| panic!("{said}"));
    let seen: Value = serde_json::from_str(seen.split("</script>").next().unwrap()).unwrap();
    assert_eq!(seen["faults"], Value::Array(Vec::new()));
    Some(seen)
}

fn parsed(run: &Run) -> Value {
    serde_json::from_str(&result_json(run)).unwrap()
}

/// A printed number is that of the result, as far as it has digits.
#[track_caller]
fn agrees(printed: &str, value: &Value, what: &str) {
    let digits = printed.trim_end_matches(['▲', '▼', '✕']);
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let Some(value) = value.as_f64() else {
        assert!(["NA", "-"].contains(&printed), "{what}: {printed} is {value}");
        return;
    };
    let printed: f64 = digits.parse().unwrap_or_else(|_| panic!("{what}: {printed} is {value}"));
    let rounded = 0.500_001 * 10f64.powi(-(decimals as i32));
    assert!((printed - value).abs() <= rounded, "{what}: {printed} is {value}");
}

fn rows(table: &Value) -> Vec<Vec<&str>> {
    fn list(value: &Value) -> &Vec<Value> {
        value.as_array().expect("a table")
    }
    list(table)
        .iter()
        .map(|row| list(row).iter().map(|cell| cell.as_str().unwrap()).collect())
        .collect()
}

/// What the result has of a step of a contender.
fn result_of<'r>(result: &'r Value, step: &str, contender: &str) -> Option<&'r Value> {
    let steps = result["steps"].as_array().unwrap();
    let step = steps.iter().find(|found| found["name"] == step).unwrap();
    let mut results = step["results"].as_array().unwrap().iter();
    results.find(|found| found["contender"] == contender)
}

/// The table of any against any is relative to the first and by its first measure, until a reader
/// chooses. Returns how many cells agree.
#[track_caller]
fn matrix_agrees(seen: &Value, result: &Value) -> usize {
    let mut compared = 0;
    for row in rows(&seen["shown"]) {
        for (contender, printed) in seen["heads"].as_array().unwrap().iter().zip(&row[1..]) {
            let Some(found) = result_of(result, row[0], contender.as_str().unwrap()) else {
                continue;
            };
            if found["relative"].is_f64() {
                agrees(printed, &found["relative"], &format!("relative {contender} {}", row[0]));
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn a_page_of_steps_works_and_its_tables_are_the_result() {
    let mut run = run(&THREE, 12);
    sample::trouble(&mut run);
    let result = parsed(&run);
    let Some(seen) = used(&html(&run), "", LIGHT) else { return };
    let find = |step: &str, contender: &str| result_of(&result, step, contender);
    let mut compared = 0;
    // The tables of the posts: a row for each contender, a column for each step.
    for (title, key) in [("Throughput", "throughput"), ("Relative to the first", "relative")] {
        let table = rows(&seen["tables"][format!("summary {title}")]);
        for row in &table[1..] {
            for (step, printed) in table[0].iter().zip(row).skip(1) {
                let found = find(step, row[0]).filter(|found| found["status"] == "done");
                let Some(found) = found else { continue };
                agrees(printed, &found[key], &format!("{title} {} {step}", row[0]));
                compared += 1;
            }
        }
    }
    // The metrics and costs of each step.
    for step in result["steps"].as_array().unwrap() {
        let name = step["name"].as_str().unwrap();
        for (key, title) in [("metrics", "Metrics"), ("costs", "Cost by side")] {
            let tables = seen["tables"].as_object().unwrap();
            let title = format!("step-{name} {title}");
            let (_, table) = tables.iter().find(|(key, _)| key.starts_with(&title)).unwrap();
            let table = rows(table);
            for row in &table[1..] {
                for (column, printed) in table[0].iter().zip(row).skip(1) {
                    let found = find(name, row[0]).expect("it was measured");
                    agrees(printed, &found[key][column], &format!("{title} {} {column}", row[0]));
                    compared += 1;
                }
            }
        }
    }
    // Response times by bucket, in percent.
    for step in result["steps"].as_array().unwrap() {
        let name = step["name"].as_str().unwrap();
        for (title, operation, clock) in [
            ("Insert service time, from when it was sent", "insert", "service"),
            ("Insert response time, from when it was due", "insert", "response"),
            ("Query service time, from when it was sent", "query", "service"),
        ] {
            let table = &seen["tables"][format!("step-{name} {title}")];
            if table.is_null() {
                continue;
            }
            let table = rows(table);
            for row in &table[1..] {
                let times = &find(name, row[0]).unwrap()["work"][operation][clock];
                for (column, printed) in table[0].iter().zip(row).skip(1) {
                    let Some(count) = times["buckets"][column].as_f64() else { continue };
                    let percent = 100.0 * count / times["count"].as_f64().unwrap();
                    match *printed {
                        "" => assert_eq!(count, 0.0, "{name} {title} {column}"),
                        "nonzero" => assert!(percent > 0.0 && percent < 0.000_5, "{percent}"),
                        _ => agrees(printed, &Value::from(percent), &format!("{title} {column}")),
                    }
                    compared += 1;
                }
            }
        }
    }
    // Rates that were promised, and what came of them.
    let table = rows(&seen["tables"]["summary Insert rate beside the queries"]);
    for row in &table[1..] {
        for (step, printed) in table[0].iter().zip(row).skip(1) {
            let contender = if row[0] == "target" { THREE[0] } else { row[0] };
            let key = if row[0] == "target" { "target" } else { "achieved" };
            let found = find(step, contender).filter(|found| found["status"] == "done");
            let Some(found) = found else { continue };
            agrees(printed, &found["sla"][key], &format!("{} {step}", row[0]));
            assert_eq!(printed.contains('✕'), row[0] != "target" && found["sla"]["met"] == false);
            compared += 1;
        }
    }
    compared += matrix_agrees(&seen, &result);
    assert!(compared > 1_500, "{compared} cells");
    let saved = seen["saved"].to_string();
    for file in ["plan.toml", "result-summary.json", "metrics.csv", "relative.csv"] {
        assert!(saved.contains(file), "{file}: {saved}");
    }
}

/// Tables of a test: how their titles begin, where the result has their values, and the first column
/// that it has under the same name.
const OF_TESTS: [(&str, &[&str], usize); 2] =
    [("Cost by side", &["costs"], 1), ("How the rate varies", &["test", "seconds"], 2)];

#[test]
fn a_page_of_tests_works_and_its_tables_are_the_result() {
    let releases = ["postgres@16.10", "postgres@17.6", "postgres@18.0"];
    let run = suite::run(&releases, &[1]);
    let result = parsed(&run);
    let Some(seen) = used(&html(&run), "", LIGHT) else { return };
    // The published tables: a row for each test in its group, a column for each contender.
    let mut compared = 0;
    for (title, key, contenders) in [
        ("Queries per second", "throughput", &releases[..]),
        ("Relative queries per second", "relative", &releases[1..]),
    ] {
        let table = rows(&seen["tables"][format!("summary {title}")]);
        for row in table[1..].iter().filter(|row| row.len() > 1) {
            for (contender, printed) in contenders.iter().zip(&row[1..]) {
                let found = result_of(&result, row[0], contender).expect("it was measured");
                agrees(printed, &found[key], &format!("{title} {contender} {}", row[0]));
                compared += 1;
            }
        }
    }
    for (place, table) in seen["tables"].as_object().unwrap() {
        let (id, title) = place.split_once(' ').unwrap();
        let Some(test) = id.strip_prefix("test-") else { continue };
        let of = OF_TESTS.iter().find(|(start, _, _)| title.starts_with(*start));
        let Some((_, path, first)) = of else { continue };
        let table = rows(table);
        for row in &table[1..] {
            let found = result_of(&result, test, row[0]).expect("it was measured");
            let values = path.iter().fold(found, |values, key| &values[*key]);
            for (column, printed) in table[0].iter().zip(row).skip(*first) {
                agrees(printed, &values[*column], &format!("{place} {} {column}", row[0]));
                compared += 1;
            }
        }
    }
    compared += matrix_agrees(&seen, &result);
    assert!(compared > 800, "{compared} cells");
    let saved = seen["saved"].to_string();
    for file in ["plan.toml", "result-summary.json", "tests.csv", "relative.txt"] {
        assert!(saved.contains(file), "{file}: {saved}");
    }
    // Once each, without repeats: a line and no ribbon.
    assert!(seen["histories"].as_u64() > Some(30), "{}", seen["histories"]);
    assert_eq!(seen["ribbons"], 0);
    assert_eq!(seen["changes"], json!([]));
}

/// Of the whole suite few tests: each has tables and charts of its own.
fn few(mut run: Run) -> Run {
    let tests = ["load", "scan", "point-query", "insert"];
    run.steps.retain(|step| tests.contains(&step.step.split('@').next().unwrap()));
    run
}

#[test]
fn a_page_of_a_scale_up_works_and_its_tables_are_the_result() {
    let run = few(suite::run(&["postgres@17.6", HOSTILE], &[1, 2, 4]));
    let result = parsed(&run);
    let Some(seen) = used(&html(&run), "", LIGHT) else { return };
    let mut compared = 0;
    for growth in result["scaleup"].as_array().unwrap() {
        let contender = growth["contender"].as_str().unwrap();
        let table = rows(&seen["tables"][format!("summary {contender}")]);
        let row = table.iter().find(|row| growth["test"] == row[0]).expect("it is in the table");
        // Growth begins with that of the fewest clients over themselves.
        let more = growth["relative"].as_array().unwrap()[1..].iter();
        for (value, printed) in more.chain([&growth["switches_growth"]]).zip(&row[1..]) {
            agrees(printed, value, &format!("{contender} {}", row[0]));
            compared += 1;
        }
    }
    compared += matrix_agrees(&seen, &result);
    assert!(compared > 30, "{compared} cells");
}

#[test]
fn a_page_of_merged_runs_works_and_its_tables_are_the_result() {
    let (a, mut b) = (named("a", &["postgres@17.6"]), named("b", &["postgres@17.6", "sqlite"]));
    b.1.plan.seed = 7;
    let run = merge(vec![a, b], true).unwrap();
    let Some(seen) = used(&html(&run), "", LIGHT) else { return };
    assert_eq!(seen["heads"], json!(["postgres@17.6 (a)", "postgres@17.6 (b)", "sqlite"]));
    let compared = matrix_agrees(&seen, &parsed(&run));
    assert!(compared > 20, "{compared} cells");
}

#[test]
fn a_page_of_profiles_works_and_its_functions_are_the_result() {
    let run = suite::profiled();
    let Some(seen) = used(&html(&run), "", LIGHT) else { return };
    assert_eq!(seen["flames"], 4, "both sides and the difference both ways");
    let result = parsed(&run);
    let profile = &result["comparison"]["contenders"][0]["profiles"][0];
    let functions = profile["functions"].as_array().unwrap();
    let table = rows(&seen["tables"]["profiles scan: sqlite → slow"]);
    let mut compared = 0;
    for row in table[1..].iter().filter(|row| row.len() > 1) {
        let name = row[0].trim_end_matches(" (kernel)");
        let found = functions.iter().find(|one| one["name"] == name).expect(name);
        let interval = row[4].split(" – ");
        let printed = row[1..4].iter().copied().chain(interval);
        for (key, printed) in ["base", "contender", "change", "low", "high"].iter().zip(printed) {
            agrees(printed, &found[key], &format!("{key} of {name}"));
            compared += 1;
        }
    }
    assert_eq!(compared, 15, "of the three functions that surely changed");
}

#[test]
fn a_page_of_a_comparison_works_and_its_tables_are_the_result() {
    let run = suite::judged();
    let result = parsed(&run);
    let Some(seen) = used(&html(&run), "", LIGHT) else { return };
    let tests = |contender: usize| result["comparison"]["contenders"][contender]["tests"].clone();
    let test = |contender: usize, name: &str| {
        let tests = tests(contender);
        tests.as_array().unwrap().iter().find(|test| test["name"] == name).unwrap().clone()
    };
    let mut compared = 0;
    for row in rows(&seen["shown"]) {
        for (contender, printed) in row[2..4].iter().enumerate() {
            agrees(printed, &test(contender, row[0])["ratio"]["value"], row[0]);
            compared += 1;
        }
    }
    let saved = seen["csv"].as_str().unwrap();
    let head = r#""test","group","contender","view","base","measure","unit","value","low","high","verdict""#;
    assert!(saved.starts_with(head), "{saved}");
    let of_slow =
        saved.lines().find(|line| line.contains(r#""slow","relative","sqlite""#)).unwrap();
    assert!(of_slow.contains(r#""throughput","ratio","0."#), "{of_slow}");
    for (contender, name) in ["slow", "like"].into_iter().enumerate() {
        let table = rows(&seen["tables"][format!("forest {name} relative to sqlite")]);
        let tests = |row: &&Vec<&str>| row.len() == table[0].len() && row[0] != "suite shift";
        let end = table[0].len() - 2;
        for row in table[1..].iter().filter(tests) {
            let found = test(contender, row[0]);
            agrees(row[1], &found["ratio"]["value"], row[0]);
            let shown = rows(&seen["shown"]).into_iter().find(|shown| shown[0] == row[0]).unwrap();
            let drawn = shown[2 + contender].trim_end_matches(['▲', '▼', '✕']);
            assert_eq!(drawn, row[1], "the script prints as many digits");
            let (low, high) = row[2].split_once(" – ").unwrap();
            agrees(low, &found["ratio"]["low"], row[0]);
            agrees(high, &found["ratio"]["high"], row[0]);
            agrees(row[end - 1], &Value::from(found["rounds"].as_array().unwrap().len()), row[0]);
            assert_eq!(row[end], found["verdict"].as_str().unwrap().replace(['(', ')'], ""));
            compared += 5;
        }
    }
    // All rounds of all tests, as numbers and as dots.
    let mut dots = 0;
    for found in tests(0).as_array().unwrap() {
        let name = found["name"].as_str().unwrap();
        let table = rows(&seen["tables"][format!("test-{name} By round, statements per second")]);
        for (at, round) in found["rounds"].as_array().unwrap().iter().enumerate() {
            for row in table[1..].iter().filter(|row| row[0] != "like") {
                agrees(row[at + 1], &round["rates"][row[0]], name);
                compared += 1;
            }
            dots += 4;
        }
    }
    assert_eq!(seen["dots"], dots);
    assert!(compared > 100, "{compared} cells");
    // Another base turns the ratio over.
    let of = |view: &str| {
        let rows = rows(&seen["views"][view]).into_iter().find(|row| row[0] == "scan").unwrap();
        rows[1].parse::<f64>().unwrap()
    };
    assert!((of("base 1") - 1.2).abs() < 0.01 && of("base 0") == 1.0, "{}", seen["views"]);
}

#[test]
fn releases_and_rounds_are_drawn() {
    let Some(seen) = used(&html(&suite::released()), "", LIGHT) else { return };
    assert_eq!((&seen["histories"], &seen["ribbons"]), (&2.into(), &2.into()));
    // Each release is 2 % slower than the one before it; in rounds the oldest has none before it.
    let changes: Vec<&str> =
        seen["changes"].as_array().unwrap().iter().flat_map(Value::as_str).collect();
    assert_eq!(changes.len(), 6, "{changes:?}");
    for (release, before) in [("16.10", "9.6.24"), ("17.6", "16.10"), ("18.0", "17.6")] {
        let is_it = |change: &&&str| {
            change.contains(&format!("({release}):"))
                && change.contains(&format!("from {before}, "))
        };
        assert_eq!(changes.iter().filter(is_it).count(), 2, "{changes:?}");
    }
    // Rates and CPU of both tests, and the longest times and the percentiles of the one that was run whole.
    assert_eq!(seen["canvases"], 6);
    assert_eq!(seen["lanes"], json!(["checkpoint", "stall"]), "of whole runs only");
}

#[test]
fn what_all_tests_have_in_common_can_be_left_out() {
    let Some(seen) = used(&html(&comparison(&["new"], 6, None)), "", LIGHT) else { return };
    assert!(seen["views"]["view shift"].is_array(), "{}", seen["views"]);
}

#[test]
fn whole_runs_have_their_seconds_with_lanes_and_say_what_they_count() {
    let Some(seen) = used(&html(&whole_runs::compared()), "", LIGHT) else { return };
    // Rates, longest times, CPU and writes of both steps that have seconds.
    assert_eq!(seen["canvases"], 8);
    assert_eq!(seen["lanes"], json!(["checkpoint", "stall", "checkpoint", "stall"]));
    let titles = seen["titles"].to_string();
    for title in ["an operation is a row indexed", "an operation is a query", "CPUs that"] {
        assert!(titles.contains(title), "{title}: {titles}");
    }
    let page = html(&whole_runs::compared());
    let seen = used(&page, "#test-l.i0&x=progress", LIGHT).unwrap();
    assert!(seen["hash"].as_str().unwrap().starts_with("#test-l.i0&x=progress"), "{seen}");
}

#[test]
fn an_address_is_a_view() {
    let page = html(&run(&THREE, 3));
    let place = "#step-l.x&base=1&view=absolute&hide=2&sort=change&measure=99&nonsense=1&hide=a";
    let Some(seen) = used(&page, "#step-l.x&base=1&view=absolute&hide=2&sort=change", LIGHT) else {
        return;
    };
    assert_eq!(seen["heads"], json!(&THREE[..2]));
    assert_eq!(rows(&seen["shown"])[0].len(), 3);
    // What cannot be is left out.
    used(&page, place, LIGHT).unwrap();
    used(&page, "#l.x&base=-1&hide=0.1.2&open=none&open=%", LIGHT).unwrap();
}

/// A contender of a comparison gets another name.
fn rename(run: &mut Run, from: &str, to: &str) {
    let place = run.contenders.iter().position(|one| one.name == from).unwrap();
    run.plan.contenders[place] = to.parse().unwrap();
    run.contenders[place].name = to.to_string();
    for pass in &mut run.passes {
        let side = pass.sides.remove(from).unwrap();
        pass.sides.insert(to.to_string(), side);
        for slice in pass.slices.iter_mut().filter(|slice| slice.contender == from) {
            slice.contender = to.to_string();
        }
    }
}

#[test]
fn whatever_the_names_and_numbers_the_page_works() {
    let mut silent = run(&["sqlite", "postgres@17.6"], 1);
    sample::silence(&mut silent);
    let mut nothing = run(&["sqlite"], 1);
    (nothing.steps, nothing.contenders) = (Vec::new(), Vec::new());
    let contenders = fifty();
    let mut many = run(&contenders.iter().map(String::as_str).collect::<Vec<_>>(), 3);
    many.steps.retain(|step| step.step == "l.i0");
    let mut early = suite::judged();
    early.passes.clear();
    let (mut idle, mut hostile) = (suite::released(), suite::released());
    for pass in &mut idle.passes {
        for slice in &mut pass.slices {
            (slice.operations, slice.reads, slice.server_cpu, slice.client_cpu) = (0, 0, 0, 0);
        }
        for work in pass.sides.values_mut().flat_map(|side| &mut side.work) {
            let nothing = WorkerRecord::of_several(work.operation);
            *work = WorkerRecord { seconds: vec![Second::default(); 20], ..nothing }.packed();
        }
    }
    rename(&mut hostile, "postgres@18.0", HOSTILE);
    let crowd = suite::crowd(&contenders, 2, 3, 3);
    let steps = run(&[HOSTILE, "sqlite"], 1);
    let mut silent_tests = few(suite::run(&["sqlite", "postgres@17.6"], &[1]));
    let mut brief_tests = silent_tests.clone();
    sample::silence(&mut silent_tests);
    for step in &mut brief_tests.steps {
        step.seconds = 1.0;
        step.workers.iter_mut().for_each(|worker| worker.seconds.truncate(1));
    }
    let mut brief = whole_runs::compared();
    for pass in &mut brief.passes {
        pass.slices.iter_mut().for_each(|slice| slice.nanos = 1_000_000_000);
        let work = pass.sides.values_mut().flat_map(|side| &mut side.work);
        work.for_each(|work| work.seconds.truncate(1));
    }
    let of_steps = [silent, nothing, many, steps, silent_tests, brief_tests];
    let compared = [early, suite::comparison(), idle, hostile, crowd, brief];
    for run in of_steps.into_iter().chain(compared) {
        if used(&html(&run), "", LIGHT).is_none() {
            return;
        }
    }
}

/// A contender was never started.
fn without(mut run: Run, contender: &str) -> Run {
    run.contenders.retain(|one| one.name != contender);
    run.steps.retain(|step| step.contender != contender);
    for pass in &mut run.passes {
        pass.slices.retain(|slice| slice.contender != contender);
        pass.sides.remove(contender);
        pass.cost.remove(contender);
    }
    run
}

#[test]
fn whoever_is_missing_and_however_many_there_are_a_narrow_page_works() {
    let contenders = fifty();
    let many = suite::run(&contenders.iter().map(String::as_str).collect::<Vec<_>>(), &[1]);
    // The base is missing, and another contender of a suite ended early.
    let steps = without(run(&THREE, 3), THREE[0]);
    let mut tests = without(few(suite::run(&THREE, &[1])), THREE[0]);
    tests.steps.retain(|step| step.contender != THREE[1] || step.step == "load");
    // In half of the rounds two are missing.
    let mut rounds = without(suite::judged(), "like");
    for pass in rounds.passes.iter_mut().filter(|pass| pass.round <= 4) {
        pass.slices.retain(|slice| slice.contender != "slow");
    }
    for run in [few(many), steps, tests, rounds] {
        if used(&narrow(&html(&run)), "", NARROW).is_none() {
            return;
        }
    }
}

/// Nothing that a link can hold as it is.
const ODD: &str = "#1? 50% <b>&\"'";

#[test]
fn the_index_finds_runs_by_dbms_and_version_and_leads_to_their_reports() {
    let directory = tempfile::tempdir().unwrap();
    let entry = |path: &str, contenders: &[&str]| {
        let run = run(contenders, 1);
        fs::create_dir(directory.path().join(path)).unwrap();
        fs::write(directory.path().join(path).join("report.html"), html(&run)).unwrap();
        Entry { path: path.to_string(), found: Found::of(&run, true) }
    };
    let page = index_html(&[entry("old", &["postgres@12.22"]), entry(ODD, &THREE)]);
    if used(&page, "", LIGHT).is_none() {
        return;
    }
    let links = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let links: Vec<&str> = links.collect();
    assert_eq!(links.len(), 2, "{links:?}");
    // Runs of the same time are in the order of their names.
    for (link, contender) in links.into_iter().zip([THREE[0], "postgres@12.22"]) {
        let (document, said) = chromium(directory.path(), link, &["--dump-dom"]).unwrap();
        assert!(document.contains("id=\"summary\"") && document.contains(contender), "{said}");
    }
    let search = "<script>
        const field = document.getElementById('search');
        field.value = 'POSTGRES 12.2';
        field.dispatchEvent(new Event('input'));
        </script></body>";
    fs::write(directory.path().join("page.html"), page.replacen("</body>", search, 1)).unwrap();
    let (document, said) = chromium(directory.path(), "page.html", &["--dump-dom"]).unwrap();
    assert!(!said.contains("CONSOLE"), "{said}");
    assert!(document.contains("1 of 2"), "{document}");
    assert_eq!(document.matches("class=\"run\" hidden").count(), 1);
}

#[test]
fn pictures_of_the_pages_can_be_taken() {
    let pages = [("steps", html(&run(&THREE, 12))), ("comparison", html(&suite::judged()))];
    for (name, page) in pages {
        let Some(light) = used(&page, "#&", LIGHT) else { return };
        let dark = used(&page, "#&", DARK).unwrap();
        assert_eq!(
            (&light["back"], &dark["back"]),
            (&"rgb(255, 255, 255)".into(), &"rgb(21, 24, 28)".into())
        );
        used(&narrow(&page), "#&", NARROW).unwrap();
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("page.html"), page).unwrap();
        let shots: [(&str, &[&str]); 4] = [
            ("light.png", &["--window-size=1200,2000"]),
            ("dark.png", &["--window-size=1200,2000", DARK[0]]),
            ("narrow.png", &["--window-size=500,2000"]),
            ("print.pdf", &[]),
        ];
        for (file, arguments) in shots {
            let path = directory.path().join(file);
            let way = if file.ends_with("pdf") { "print-to-pdf" } else { "screenshot" };
            let way = format!("--{way}={}", path.display());
            chromium(directory.path(), "page.html", &[arguments, &[way.as_str()]].concat())
                .unwrap();
            let taken = fs::read(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(taken.len() > 20_000, "{name} {file}: {} bytes", taken.len());
        }
    }
}
