//! Values of other programs. Nothing of a file is taken if one of its values makes no sense.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rqps_system::printable;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::record::ImportedPoint;

/// What a file is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// `data.js` of its page.
    GithubActionBenchmark,
    /// One report, which has no time of its own.
    Bencher,
    /// As rqps writes it.
    Csv,
}

impl ImportFormat {
    pub const ALL: [(&'static str, ImportFormat); 3] = [
        ("github-action-benchmark", ImportFormat::GithubActionBenchmark),
        ("bencher", ImportFormat::Bencher),
        ("csv", ImportFormat::Csv),
    ];
}

/// What a file has.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    pub points: Vec<ImportedPoint>,
    /// Keys or columns that mean nothing here.
    pub ignored: usize,
}

/// Why nothing of a file is taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}. Nothing of the file was taken")]
pub struct ImportError {
    pub line: usize,
    pub reason: String,
}

/// Reads a file; `now` is the time of values that have none.
pub fn track_import(
    text: &str,
    format: ImportFormat,
    now: Timestamp,
) -> Result<Imported, ImportError> {
    let mut imported = match format {
        ImportFormat::GithubActionBenchmark => github_action_benchmark(text),
        ImportFormat::Bencher => bencher(text, now),
        ImportFormat::Csv => csv(text),
    }?;
    if imported.points.is_empty() {
        let reason = "the file has no value".to_string();
        return Err(ImportError { line: 1, reason });
    }
    let shown = |text: &mut String| *text = printable(text).replace(['\n', '\t'], " ");
    for point in &mut imported.points {
        shown(&mut point.test);
        shown(&mut point.unit);
        point.commit.iter_mut().for_each(shown);
    }
    Ok(imported)
}

/// A number that a rate or a time can be.
struct Positive(f64);

impl<'de> Deserialize<'de> for Positive {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(input)?;
        match value > 0.0 && value.is_finite() {
            true => Ok(Positive(value)),
            false => Err(D::Error::custom(format!("a value of {value} is not above zero"))),
        }
    }
}

/// The place in the text that a parser names.
fn json_error(error: &serde_json::Error) -> ImportError {
    let text = error.to_string();
    // It has the place itself, at its end.
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    ImportError { line: error.line().max(1), reason: printable(reason).into_owned() }
}

/// Keys that are not among those that mean something, at any depth.
fn count_unknown(value: &Value, known: &[&str], names: &[&str]) -> usize {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, below)| {
                // What is below such a key has names of its own.
                let is_of_names = names.contains(&key.as_str());
                let own = usize::from(!known.contains(&key.as_str()));
                match (own, is_of_names, below) {
                    (1, ..) => 1,
                    (_, true, Value::Object(named)) => {
                        named.values().map(|one| count_unknown(one, known, names)).sum()
                    }
                    _ => count_unknown(below, known, names),
                }
            })
            .sum(),
        Value::Array(items) => items.iter().map(|one| count_unknown(one, known, names)).sum(),
        _ => 0,
    }
}

#[derive(Deserialize)]
struct DataJs {
    entries: BTreeMap<String, Vec<DataEntry>>,
}

#[derive(Deserialize)]
struct DataEntry {
    commit: DataCommit,
    /// Milliseconds since 1970.
    date: i64,
    benches: Vec<DataBench>,
}

#[derive(Deserialize)]
struct DataCommit {
    id: String,
}

#[derive(Deserialize)]
struct DataBench {
    name: String,
    value: Positive,
    #[serde(default)]
    unit: String,
}

fn github_action_benchmark(text: &str) -> Result<Imported, ImportError> {
    const KNOWN: [&str; 8] =
        ["entries", "commit", "id", "date", "benches", "name", "value", "unit"];
    // `window.BENCHMARK_DATA = {…}`, or the object alone.
    let start = text.find('{').unwrap_or(0);
    let before = text[..start].matches('\n').count();
    let object = text[start..].trim_end().trim_end_matches(';');
    let located = |error: serde_json::Error| {
        let error = json_error(&error);
        ImportError { line: error.line + before, ..error }
    };
    let data: DataJs = serde_json::from_str(object).map_err(located)?;
    let ignored: Value = serde_json::from_str(object).map_err(located)?;
    let mut points = Vec::new();
    for (suite, entries) in data.entries {
        for entry in entries {
            let time = Timestamp::from_millisecond(entry.date).map_err(|_| ImportError {
                line: 1,
                reason: format!("{} is no time", entry.date),
            })?;
            points.extend(entry.benches.into_iter().map(|bench| ImportedPoint {
                test: format!("{suite}/{}", bench.name),
                unit: bench.unit,
                commit: Some(entry.commit.id.clone()),
                time,
                value: bench.value.0,
            }));
        }
    }
    Ok(Imported { points, ignored: count_unknown(&ignored, &KNOWN, &["entries"]) })
}

#[derive(Deserialize)]
struct BencherMeasure {
    value: Positive,
}

fn bencher(text: &str, now: Timestamp) -> Result<Imported, ImportError> {
    const KNOWN: [&str; 3] = ["value", "lower_value", "upper_value"];
    type Tests<M> = BTreeMap<String, BTreeMap<String, M>>;
    let tests: Tests<BencherMeasure> =
        serde_json::from_str(text).map_err(|error| json_error(&error))?;
    let all: Tests<Value> = serde_json::from_str(text).map_err(|error| json_error(&error))?;
    let measures = all.values().flat_map(BTreeMap::values);
    let ignored = measures.map(|one| count_unknown(one, &KNOWN, &[])).sum();
    let points = tests.into_iter().flat_map(|(test, measures)| {
        measures.into_iter().map(move |(unit, measure)| ImportedPoint {
            test: format!("{test}/{unit}"),
            unit,
            commit: None,
            time: now,
            value: measure.value.0,
        })
    });
    Ok(Imported { points: points.collect(), ignored })
}

fn csv(text: &str) -> Result<Imported, ImportError> {
    #[derive(Deserialize)]
    struct Line {
        time: Timestamp,
        line: String,
        test: String,
        #[serde(default)]
        commit: Option<String>,
        ratio: f64,
    }
    const KNOWN: [&str; 5] = ["time", "line", "test", "commit", "ratio"];
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let wrong = |line: u64, reason: String| {
        let reason = printable(&reason).replace('\n', " ");
        ImportError { line: line as usize, reason }
    };
    let heads = reader.headers().map_err(|error| wrong(1, error.to_string()))?.clone();
    if let Some(missing) = ["time", "line", "test", "ratio"]
        .iter()
        .find(|name| !heads.iter().any(|head| head == **name))
    {
        return Err(wrong(1, format!("there is no column '{missing}'")));
    }
    let mut points = Vec::new();
    for record in reader.records() {
        let place = |error: &::csv::Error| error.position().map_or(1, ::csv::Position::line);
        let record = record.map_err(|error| wrong(place(&error), error.to_string()))?;
        let number = record.position().map_or(1, ::csv::Position::line);
        let line: Line =
            record.deserialize(Some(&heads)).map_err(|error| wrong(number, error.to_string()))?;
        if !(line.ratio > 0.0 && line.ratio.is_finite()) {
            return Err(wrong(number, format!("a value of {} is not above zero", line.ratio)));
        }
        points.push(ImportedPoint {
            test: format!("{}/{}", line.line, line.test),
            unit: "ratio".to_string(),
            commit: line.commit.filter(|commit| !commit.is_empty()),
            time: line.time,
            value: line.ratio,
        });
    }
    let ignored = heads.iter().filter(|head| !KNOWN.contains(head)).count();
    Ok(Imported { points, ignored })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-11-28T02:00:00Z".parse().unwrap()
    }

    fn refused(text: &str, format: ImportFormat) -> String {
        track_import(text, format, now()).unwrap_err().to_string()
    }

    const DATA: &str = r#"window.BENCHMARK_DATA = {
  "lastUpdate": 1764295200000,
  "entries": {
    "suite": [
      { "commit": { "id": "abc123", "url": "x" }, "date": 1764295200000, "tool": "cargo",
        "benches": [
          { "name": "scan", "value": 12.5, "range": "± 1", "unit": "ns/iter" },
          { "name": "points", "value": 7, "unit": "ns/iter" }
        ] }
    ]
  }
}"#;

    #[test]
    fn the_page_of_the_github_action_is_read() {
        let found = track_import(DATA, ImportFormat::GithubActionBenchmark, now()).unwrap();
        let names: Vec<&str> = found.points.iter().map(|point| point.test.as_str()).collect();
        assert_eq!(names, ["suite/scan", "suite/points"]);
        assert_eq!((found.points[0].value, found.points[0].unit.as_str()), (12.5, "ns/iter"));
        assert_eq!(found.points[1].commit.as_deref(), Some("abc123"));
        assert_eq!(found.ignored, 4, "lastUpdate, url, tool, range");
    }

    #[test]
    fn a_value_that_is_none_is_told_with_its_line_and_nothing_is_taken() {
        for (value, told) in [
            ("0", "line 8: a value of 0 is not above zero"),
            ("-3", "line 8: a value of -3 is not above zero"),
            ("NaN", "line 8: expected value"),
            ("1e999", "line 8: number out of range"),
            ("\"fast\"", "line 8: invalid type: string \"fast\", expected f64"),
            ("null", "line 8: invalid type: null, expected f64"),
        ] {
            let text = DATA.replace("\"value\": 7", &format!("\"value\": {value}"));
            let error = refused(&text, ImportFormat::GithubActionBenchmark);
            assert!(error.starts_with(told), "{error}");
            assert!(error.ends_with("Nothing of the file was taken"), "{error}");
        }
        let data = ImportFormat::GithubActionBenchmark;
        assert!(refused("", data).starts_with("line 1: "), "{}", refused("", data));
        assert!(refused("{\"entries\": {}}", data).starts_with("line 1: the file has no value"));
        let far = DATA.replace("\"date\": 1764295200000", "\"date\": 9223372036854775807");
        assert!(refused(&far, data).contains("is no time"));
        assert!(refused(&"[".repeat(1_000_000), ImportFormat::Bencher).contains("line 1"));
    }

    #[test]
    fn a_report_of_bencher_is_read() {
        let text = "{\"scan\": {\"ratio\": {\"value\": 0.98, \"lower_value\": 0.97, \"x\": 1},\n\
                    \"latency\": {\"value\": 3}}}";
        let found = track_import(text, ImportFormat::Bencher, now()).unwrap();
        let tests: Vec<&str> = found.points.iter().map(|point| point.test.as_str()).collect();
        assert_eq!((tests, found.ignored), (vec!["scan/latency", "scan/ratio"], 1));
        let wrong = refused(&text.replace("\"value\": 3", "\"value\": 0"), ImportFormat::Bencher);
        assert!(wrong.starts_with("line 2: "), "{wrong}");
    }

    #[test]
    fn a_table_is_read_by_the_names_of_its_columns() {
        let text = "night,ratio,test,line,time,low\n\
                    a,0.97,scan,pg,2026-11-27T02:00:00Z,0.9\nb,1.01,scan,pg,2026-11-28T02:00:00Z,1\n";
        let found = track_import(text, ImportFormat::Csv, now()).unwrap();
        assert_eq!((found.points.len(), found.ignored), (2, 2));
        assert_eq!(found.points[1].value, 1.01);
        for (from, to, told) in [
            ("1.01", "NaN", "line 3: a value of NaN is not above zero"),
            ("1.01", "0", "line 3: a value of 0 is not above zero"),
            ("1.01", "", "line 3: "),
            ("1.01", "1.01,9", "line 3: "),
            ("2026-11-28T", "yesterday", "line 3: "),
            ("ratio", "rate", "line 1: there is no column 'ratio'"),
        ] {
            let error = refused(&text.replacen(from, to, 1), ImportFormat::Csv);
            assert!(error.starts_with(told), "{to}: {error}");
        }
    }

    #[test]
    fn names_from_elsewhere_control_no_terminal() {
        let text = "{\"\\u001b[2J\\u202ex\\n\": {\"ratio\": {\"value\": 1}}}";
        let found = track_import(text, ImportFormat::Bencher, now()).unwrap();
        assert_eq!(found.points[0].test, "\\x1b[2J\\u{202e}x /ratio");
    }
}
