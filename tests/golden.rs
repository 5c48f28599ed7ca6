//! Stored runs give the numbers that they gave when they were recorded, bit by bit.
//!
//! `tests/golden` has run directories as rqps left them (`tests/golden/record` makes new ones), and
//! beside each the numbers that its report had. A line is arm, test, field and the number's bits,
//! so that it says what has changed and names of files and types do not touch it. Numbers that are
//! meant to change get a commit of their own, which raises `ESTIMATOR`, says which rows changed and
//! why, and writes the files again: `UPDATE_EXPECT=1 cargo test --test golden`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use liblzma::read::XzDecoder;
use rqps_report::{ESTIMATOR, Report, Terminal, post, text};
use rqps_store::{Run, merge};
use serde_json::Value;
use tempfile::TempDir;

/// What is compared, and the stored runs that it is made of.
const RUNS: [(&str, &[&str]); 10] = [
    ("slices-sqlite", &["slices-sqlite"]),
    ("slices-postgres", &["slices-postgres"]),
    ("runs-ibench", &["runs-ibench"]),
    ("runs-micro", &["runs-micro"]),
    ("micro", &["micro"]),
    ("ibench", &["ibench"]),
    ("scaleup", &["scaleup"]),
    ("joined", &["joined-1", "joined-2"]),
    ("failed", &["failed"]),
    ("interrupted", &["interrupted"]),
];

/// What is stored as it was measured, and only printed.
const RAW: [&str; 5] = ["samples", "seconds", "totals", "buckets", "statements"];

/// Keys of `result.json` by what they were called when the numbers were recorded.
const RENAMED: [(&str, &str); 7] = [
    ("baseline_ns", "base_ns"),
    ("A/A control", "twin"),
    ("baseline", "base"),
    ("baseline_rate", "base_rate"),
    ("control", "twin"),
    ("discarded", "refused"),
    ("is_baseline", "is_base"),
];

/// Words that are results.
const WORDS: [&str; 4] = ["label", "rule", "confidence", "method"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn stored(name: &str) -> Run {
    let unpacked = TempDir::new().unwrap();
    let archive = folder().join(name).with_extension("tar.xz");
    let archive = File::open(&archive).unwrap_or_else(|error| panic!("{name}: {error}"));
    tar::Archive::new(XzDecoder::new(archive)).unpack(unpacked.path()).unwrap();
    Run::open(&unpacked.path().join(name)).unwrap()
}

/// One run of several, or the only one.
fn joined(parts: &[&str]) -> Run {
    let mut runs: Vec<_> = parts.iter().map(|part| (part.to_string(), stored(part))).collect();
    if runs.len() == 1 { runs.remove(0).1 } else { merge(runs, false).unwrap() }
}

/// What a JSON value is called among those that stand beside it.
fn name(value: &Value, index: usize) -> String {
    let names = ["contender", "name", "test", "round", "rule"].map(|key| &value[key]);
    match names.into_iter().find(|name| !name.is_null()) {
        Some(Value::String(name)) => name.clone(),
        Some(name) => name.to_string(),
        None => index.to_string(),
    }
}

/// Writes a line for each number in a value.
fn flatten(path: &str, value: &Value, lines: &mut BTreeSet<String>) {
    let mut line = |told: String| assert!(lines.insert(format!("{path} {told}")), "{path} twice");
    match value {
        Value::Null => {}
        Value::Bool(truth) => line(truth.to_string()),
        Value::Number(number) => line(format!("{:016x}", number.as_f64().unwrap().to_bits())),
        Value::String(word) => {
            if WORDS.iter().any(|key| path.ends_with(&format!("/{key}"))) {
                line(word.clone());
            }
        }
        Value::Array(values) => {
            let mut seen: BTreeMap<String, usize> = BTreeMap::new();
            for (index, value) in values.iter().enumerate() {
                let name = name(value, index);
                let times = seen.entry(name.clone()).or_default();
                *times += 1;
                let number = if *times == 1 { String::new() } else { format!("#{times}") };
                flatten(&format!("{path}/{name}{number}"), value, lines);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields.iter().filter(|(key, _)| !RAW.contains(&key.as_str())) {
                flatten(&format!("{path}/{}", recorded(key)), value, lines);
            }
        }
    }
}

fn recorded(key: &str) -> &str {
    RENAMED.iter().find(|(now, _)| *now == key).map_or(key, |(_, then)| then)
}

/// The numbers of a report, each with where it stands.
fn numbers(run: &Run) -> String {
    let result: Value = serde_json::from_str(&rqps_report::result_json(&Report::new(run))).unwrap();
    let mut lines = BTreeSet::new();
    for contender in result["comparison"]["contenders"].as_array().into_iter().flatten() {
        let arm = contender["name"].as_str().unwrap();
        for (key, value) in contender.as_object().unwrap() {
            flatten(&format!("{arm}/{}", recorded(key)), value, &mut lines);
        }
    }
    for step in result["steps"].as_array().unwrap() {
        let test = step["name"].as_str().unwrap();
        for measured in step["results"].as_array().unwrap() {
            let arm = measured["contender"].as_str().unwrap();
            flatten(&format!("{arm}/{test}"), measured, &mut lines);
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

#[test]
fn stored_runs_give_the_numbers_that_they_gave_before() {
    assert_eq!(ESTIMATOR, 3, "other numbers get another estimator, and this test another figure");
    let mut changed = Vec::new();
    for (name, parts) in RUNS {
        let numbers = numbers(&joined(parts));
        let file = folder().join(name).with_extension("txt");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&file, &numbers).unwrap();
        }
        let before = fs::read_to_string(&file).unwrap_or_default();
        let (now, before): (BTreeSet<_>, BTreeSet<_>) =
            (numbers.lines().collect(), before.lines().collect());
        changed.extend(before.difference(&now).map(|line| format!("{name}: - {line}")));
        changed.extend(now.difference(&before).map(|line| format!("{name}: + {line}")));
    }
    let shown: Vec<&String> = changed.iter().take(40).collect();
    assert!(changed.is_empty(), "{} lines differ: {shown:#?}", changed.len());
}

#[test]
fn a_text_is_as_wide_as_its_terminal() {
    // A command is longer: it is copied whole.
    let is_command = |line: &str| {
        ["rqps ", "perf "].iter().any(|program| line.trim_start().starts_with(program))
    };
    for (name, parts) in RUNS {
        let run = joined(parts);
        let report = Report::new(&run);
        for width in (40..=200).step_by(8) {
            let terminal = Terminal { width, ..Terminal::PLAIN };
            for text in [text(&report, terminal), post(&report, terminal)] {
                let mut lines = text.lines().filter(|line| !is_command(line));
                let wide = lines.find(|line| line.chars().count() > width);
                assert_eq!(wide, None, "{name} in {width} columns");
            }
        }
    }
}

#[test]
fn a_changed_last_bit_is_seen() {
    let value = serde_json::json!({ "ratio": 0.978_493_552_097_014_9 });
    let next = serde_json::json!({ "ratio": 0.978_493_552_097_014_9_f64.next_up() });
    let lines = |value| {
        let mut lines = BTreeSet::new();
        flatten("b/t", value, &mut lines);
        lines
    };
    assert_ne!(lines(&value), lines(&next));
}
