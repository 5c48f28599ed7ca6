//! The tables of the pages agree with `result.json`, cell by cell.

use rqps_store::{Run, merge};
use serde_json::{Value, json};

use crate::made::{html, result_json};
use crate::merged::named;
use crate::page::{LIGHT, rows, used};
use crate::sample::{self, run};
use crate::{HOSTILE, THREE, evidence, few, suite};

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

/// The same of a time with its unit, of nanoseconds.
#[track_caller]
fn time_agrees(printed: &str, nanos: &Value, what: &str) {
    let units = [("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let found = units.into_iter().find_map(|(unit, of)| Some((printed.strip_suffix(unit)?, of)));
    match (found, nanos.as_f64()) {
        (Some((number, of)), Some(nanos)) => agrees(number, &Value::from(nanos / of), what),
        _ => assert!(
            ["-", "few"].contains(&printed) && nanos.is_null(),
            "{what}: {printed} is {nanos}"
        ),
    }
}

/// The same of a change in percent, of a ratio that has four digits.
#[track_caller]
fn change_agrees(printed: &str, ratio: &Value, what: &str) {
    let Some(percent) = printed.strip_suffix(" %") else {
        assert!(printed == "-", "{what}: {printed} is {ratio}");
        return;
    };
    let ratio = ratio.as_f64().unwrap_or_else(|| panic!("{what}: {printed} is nothing"));
    let decimals = percent.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let difference = percent.parse::<f64>().unwrap() - 100.0 * (ratio - 1.0);
    let rounded = 0.5 * 10f64.powi(-(decimals as i32)) + 0.05 * ratio;
    assert!(difference.abs() <= rounded, "{what}: {printed} is {ratio}");
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

/// Titles of tables, and which of the totals they have.
const SIZES: [(&str, &str); 4] = [
    ("Tables and indexes", "database_bytes"),
    ("Write-ahead, redo, undo and binary logs", "log_bytes"),
    ("Whole data directory with logs", "directory_bytes"),
    ("Resident memory of the largest DBMS process", "server_rss"),
];

#[test]
fn a_page_of_steps_works_and_its_tables_are_the_result() {
    let mut run = run(&THREE, 12);
    sample::trouble(&mut run);
    let result = parsed(&run);
    let Some(seen) = used(&html(&run), "", LIGHT) else { return };
    let find = |step: &str, contender: &str| result_of(&result, step, contender);
    let mut compared = 0;
    // The tables of the posts: a row for each contender, a column for each step.
    for (title, key) in [
        ("Rows inserted (l.x: indexed) or queries per second", "throughput"),
        ("The same, relative to the first contender", "relative"),
    ] {
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
        for (key, title) in [("metrics", "Metrics"), ("costs", "Costs of server and client")] {
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
                    let what = format!("{name} {title} {column}");
                    let Some(count) = times["buckets"][column].as_f64() else {
                        match *column {
                            "max" => {
                                let seconds = times["max_ns"].as_f64().unwrap() / 1e9;
                                agrees(printed, &Value::from(seconds), &what);
                            }
                            _ => time_agrees(printed, &times["percentiles_ns"][column], &what),
                        }
                        compared += 1;
                        continue;
                    };
                    let percent = 100.0 * count / times["count"].as_f64().unwrap();
                    match *printed {
                        "" => assert_eq!(count, 0.0, "{what}"),
                        "nonzero" => assert!(percent > 0.0 && percent < 0.000_5, "{percent}"),
                        _ => agrees(printed, &Value::from(percent), &what),
                    }
                    compared += 1;
                }
            }
        }
    }
    // Target rates, and the rates that were reached.
    let table = rows(&seen["tables"]["summary Rows inserted per second while queries ran"]);
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
    // CPU of server and client, sizes, and the delay of writes.
    let table = rows(&seen["tables"]["summary CPU per row or query, us"]);
    for row in &table[1..] {
        let (contender, side) = row[0].rsplit_once(' ').unwrap();
        for (step, printed) in table[0].iter().zip(row).skip(1) {
            let Some(found) = find(step, contender).filter(|found| found["status"] == "done")
            else {
                continue;
            };
            agrees(printed, &found["costs"][format!("{side} CPU")], &format!("{} {step}", row[0]));
            compared += 1;
        }
    }
    for (title, metric) in SIZES {
        let table = rows(&seen["tables"][format!("sizes {title}, MiB")]);
        for row in &table[1..] {
            for (step, printed) in table[0].iter().zip(row).skip(1) {
                let Some(found) = find(step, row[0]).filter(|found| found["status"] == "done")
                else {
                    continue;
                };
                let mib = found["totals"][metric].as_f64().unwrap() / f64::from(1 << 20);
                agrees(printed, &Value::from(mib), &format!("{title} {} {step}", row[0]));
                compared += 1;
            }
        }
    }
    let title =
        "sizes Written to the device per operation (per row in loads) as a multiple of the least";
    let table = rows(&seen["tables"][title]);
    let written = |step: &str, contender: &str| {
        let found = find(step, contender).filter(|found| found["status"] == "done")?;
        let number = |value: &Value| value.as_f64();
        let operations = number(&found["seconds"])? * number(&found["throughput"])?;
        Some(number(&found["totals"]["device_write_bytes"])? / operations)
    };
    for row in &table[1..] {
        for (step, printed) in table[0].iter().zip(row).skip(1) {
            let least = table[1..].iter().filter_map(|row| written(step, row[0]));
            let least = least.fold(f64::INFINITY, f64::min);
            let Some(written) = written(step, row[0]) else { continue };
            agrees(printed, &Value::from(written / least), &format!("{title} {} {step}", row[0]));
            compared += 1;
        }
    }
    let table = rows(&seen["tables"]["summary Longest delay of a write"]);
    for row in &table[1..] {
        for (step, printed) in table[0].iter().zip(row).skip(1) {
            let Some(found) = find(step, row[0]).filter(|found| found["status"] == "done") else {
                continue;
            };
            let work = found["work"].as_object().unwrap().values();
            let lag = work.filter_map(|work| work["max_lag_ns"].as_u64()).max();
            time_agrees(printed, &Value::from(lag), &format!("late {} {step}", row[0]));
            compared += 1;
        }
    }
    // Counters of the DBMS: totals, and values per operation.
    for (step, tables) in seen["engine"].as_object().unwrap() {
        let table = rows(&tables[0]);
        for row in &table[1..] {
            for (contender, printed) in table[0].iter().zip(row).skip(1).step_by(2) {
                let engine = &find(step, contender).unwrap()["engine"];
                let kinds = ["counters", "gauges"].map(|kind| &engine[kind][row[0]]);
                let value = kinds.into_iter().find(|value| !value.is_null()).unwrap();
                agrees(printed, value, &format!("{contender} {step} {}", row[0]));
                compared += 1;
            }
        }
    }
    compared += matrix_agrees(&seen, &result);
    assert!(compared > 1_900, "{compared} cells");
    let saved = seen["saved"].to_string();
    for file in ["plan.toml", "result-summary.json", "metrics.csv", "relative.csv"] {
        assert!(saved.contains(file), "{file}: {saved}");
    }
}

/// Columns of what else changed, and which metric they have.
const METRICS: [(&str, &str); 9] = [
    ("cpu user", "server_cpu_user"),
    ("cpu sys", "server_cpu_system"),
    ("cs vol.", "server_voluntary_switches"),
    ("cs invol.", "server_involuntary_switches"),
    ("run queue", "server_run_queue_wait"),
    ("rKB", "device_read_bytes"),
    ("wKB", "device_write_bytes"),
    ("faults", "server_minor_faults"),
    ("size", "database_bytes"),
];

/// Tables of a test: how their titles begin, where the result has their values, and the first
/// column that it has under the same name.
const OF_TESTS: [(&str, &[&str], usize); 3] = [
    ("Costs of server and client", &["costs"], 1),
    ("Variation of the rate", &["test", "seconds"], 2),
    ("iostat, vmstat", &["test", "normalised"], 1),
];

#[test]
#[ignore = "nightly: another kind of page in the same way"]
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
    assert!(compared > 1_500, "{compared} cells");
    let saved = seen["saved"].to_string();
    for file in ["plan.toml", "result-summary.json", "tests.csv", "relative.txt"] {
        assert!(saved.contains(file), "{file}: {saved}");
    }
    // Once each, without repeats: a line and no ribbon.
    assert!(seen["histories"].as_u64() > Some(30), "{}", seen["histories"]);
    assert_eq!(seen["ribbons"], 0);
    assert_eq!(seen["changes"], json!([]));
}

#[test]
#[ignore = "nightly: another kind of page in the same way"]
fn a_page_of_a_scale_up_works_and_its_tables_are_the_result() {
    let run = few(suite::run(&["postgres@17.6", HOSTILE], &[1, 2, 4]));
    let result = parsed(&run);
    let Some(seen) = used(&html(&run), "", LIGHT) else { return };
    let mut compared = 0;
    for growth in result["scaleup"].as_array().unwrap() {
        let contender = growth["contender"].as_str().unwrap();
        let table = rows(&seen["tables"][format!("scaleup {contender}")]);
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
#[ignore = "nightly: another kind of page in the same way"]
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
        let interval = row[4].split(" to ");
        let printed = row[1..4].iter().copied().chain(interval);
        let keys = ["baseline", "contender", "change", "low", "high"];
        for (key, printed) in keys.iter().zip(printed) {
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
    let head = r#""test","group","contender","view","baseline","measure","unit","value","low","high","verdict""#;
    assert!(saved.starts_with(head), "{saved}");
    let of_slow =
        saved.lines().find(|line| line.contains(r#""slow","relative","sqlite""#)).unwrap();
    assert!(of_slow.contains(r#""throughput","ratio","0."#), "{of_slow}");
    for (contender, name) in ["slow", "like"].into_iter().enumerate() {
        let table = rows(&seen["tables"][format!("forest {name} relative to sqlite")]);
        let tests = |row: &&Vec<&str>| row.len() == table[0].len() && row[0] != "suite shift";
        let place = |name: &str| table[0].iter().position(|heading| *heading == name).expect(name);
        let [rounds, cpu, verdict] = ["rounds", "cpu/o", "verdict"].map(place);
        for row in table[1..].iter().filter(tests) {
            let found = test(contender, row[0]);
            agrees(row[1], &found["ratio"]["value"], row[0]);
            let shown = rows(&seen["shown"]).into_iter().find(|shown| shown[0] == row[0]).unwrap();
            let drawn = shown[2 + contender].trim_end_matches(['▲', '▼', '✕']);
            assert_eq!(drawn, row[1], "the script prints as many digits");
            let (low, high) = row[2].split_once(" – ").unwrap();
            agrees(low, &found["ratio"]["low"], row[0]);
            agrees(high, &found["ratio"]["high"], row[0]);
            agrees(row[rounds], &Value::from(found["rounds"].as_array().unwrap().len()), row[0]);
            change_agrees(row[cpu], &found["costs"]["cpu/o"]["value"], row[0]);
            assert_eq!(row[verdict], found["verdict"].as_str().unwrap());
            compared += 5;
        }
    }
    for (name, index) in [("slow", 0), ("like", 1)] {
        // What one has used more of, and the service times and CPU in the first table.
        let table = rows(&seen["tables"][format!("why {name} What else changed per statement")]);
        for row in &table[1..] {
            for (column, printed) in table[0].iter().zip(row).skip(2) {
                let metric = METRICS.iter().find(|(short, _)| short == column).unwrap().1;
                let what = format!("{column} of {name} in {}", row[0]);
                change_agrees(printed, &test(index, row[0])["metrics"][metric]["ratio"], &what);
                compared += 1;
            }
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
    assert!(compared > 150, "{compared} cells");
    // Another baseline inverts the ratio.
    let of = |view: &str| {
        let rows = rows(&seen["views"][view]).into_iter().find(|row| row[0] == "scan").unwrap();
        rows[1].parse::<f64>().unwrap()
    };
    assert!((of("base 1") - 1.2).abs() < 0.01 && of("base 0") == 1.0, "{}", seen["views"]);
}

#[test]
fn a_page_of_whole_runs_works_and_its_tables_are_the_result() {
    let run = evidence::counted();
    let result = parsed(&run);
    let Some(seen) = used(&html(&run), "", LIGHT) else { return };
    let tests = result["comparison"]["contenders"][0]["tests"].as_array().unwrap();
    let test = |name: &str| tests.iter().find(|test| test["name"] == name).unwrap();
    let mut compared = 0;
    let table = rows(&seen["tables"]["forest slow relative to base"]);
    let place = |name: &str| table[0].iter().position(|heading| *heading == name).expect(name);
    for row in &table[1..] {
        let found = test(row[0]);
        change_agrees(row[place("cpu/o")], &found["costs"]["cpu/o"]["value"], row[0]);
        change_agrees(row[place("p99")], &found["times"]["p99"]["ratio"]["value"], row[0]);
        compared += 2;
    }
    let interval = |printed: &str, found: &Value, what: &str| {
        let (low, high) = printed.split_once(" – ").unwrap();
        agrees(low, &found["low"], what);
        agrees(high, &found["high"], what);
    };
    let times = rows(&seen["tables"]["test-qr100 Service time by percentile, over rounds"]);
    // The longest has no ratio.
    for row in times[1..].iter().filter(|row| row[1] != "max") {
        let found = &test("qr100")["times"][row[1]];
        time_agrees(row[2], &found["baseline_ns"], row[1]);
        time_agrees(row[3], &found["contender_ns"], row[1]);
        agrees(row[4], &found["ratio"]["value"], row[1]);
        interval(row[5], &found["ratio"], row[1]);
        compared += 5;
    }
    for (name, tables) in seen["engine"].as_object().unwrap() {
        for row in &rows(&tables[0])[1..] {
            let found = &test(name)["counters"][row[0]];
            for (printed, key) in row[1..].iter().zip(["baseline", "contender", "ratio"]) {
                agrees(printed, &found[key], row[0]);
            }
            interval(row[4], found, row[0]);
            compared += 5;
        }
    }
    assert!(compared >= 6 + 15 + 45, "{compared} cells");
}
