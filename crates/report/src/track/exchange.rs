//! A history in the formats of other programs, and as data.

use csv::Writer;
use jiff::Timestamp;
use rqps_analysis::track::{LineHistory, NightSeries, SeriesValue, TrackHistory};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::words::{day, known};
use crate::export::parquet;

/// The name of the format of a series; it changes when the new one breaks readers of the old one.
const SERIES_SCHEMA: &str = "rqps-track/1";

/// What a history is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// The last build, as the action takes it with `customBiggerIsBetter`.
    GithubActionBenchmark,
    /// The last build, as Bencher Metric Format.
    Bencher,
    /// The builds of the last epoch of the line with the most nights, a column for each test.
    Otava,
    /// Every value.
    Conbench,
    /// Every value.
    Csv,
    /// The same columns as the CSV.
    Parquet,
}

impl ExportFormat {
    pub const ALL: [(&'static str, ExportFormat); 6] = [
        ("github-action-benchmark", ExportFormat::GithubActionBenchmark),
        ("bencher", ExportFormat::Bencher),
        ("otava", ExportFormat::Otava),
        ("conbench", ExportFormat::Conbench),
        ("csv", ExportFormat::Csv),
        ("parquet", ExportFormat::Parquet),
    ];
}

/// What a history is in a format.
#[derive(Clone, Debug, PartialEq)]
pub enum TrackExport {
    Text(String),
    /// A file that is no text.
    Bytes(Vec<u8>),
}

pub fn track_export(history: &TrackHistory<'_>, format: ExportFormat) -> TrackExport {
    TrackExport::Text(match format {
        ExportFormat::GithubActionBenchmark => pretty(&github_action_benchmark(history)),
        ExportFormat::Bencher => pretty(&bencher(history)),
        ExportFormat::Otava => otava(history),
        ExportFormat::Conbench => pretty(&conbench(history)),
        ExportFormat::Csv => points_csv(history),
        ExportFormat::Parquet => return TrackExport::Bytes(points_parquet(history)),
    })
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("it is JSON") + "\n"
}

/// The name of a test where those of all lines are together.
fn whole_name(line: &LineHistory<'_>, series: &NightSeries<'_>) -> String {
    format!("{}/{}", line.name, series.test)
}

/// The last value of each series.
fn last<'h, 'a>(
    history: &'h TrackHistory<'a>,
) -> impl Iterator<Item = (String, &'h SeriesValue<'a>)> {
    history
        .all_series()
        .filter_map(|(line, series)| Some((whole_name(line, series), series.values.last()?)))
}

fn github_action_benchmark(history: &TrackHistory<'_>) -> Value {
    let of = |(name, value): (String, &SeriesValue<'_>)| {
        let interval = value.joined.estimate().interval.exp();
        json!({
            "name": name,
            "unit": "ratio",
            "value": value.joined.value.exp(),
            "range": format!("± {:.4}", interval.half_width()),
            "extra": format!(
                "build {}, {}", value.night.build.name(), value.tested.label
            ),
        })
    };
    last(history).map(of).collect()
}

fn bencher(history: &TrackHistory<'_>) -> Value {
    let of = |(name, value): (String, &SeriesValue<'_>)| {
        let interval = value.joined.estimate().interval.exp();
        let ratio = json!({
            "value": value.joined.value.exp(),
            "lower_value": interval.low,
            "upper_value": interval.high,
        });
        (name, json!({ "ratio": ratio }))
    };
    Value::Object(last(history).map(of).collect())
}

/// Another machine or anchor has other ratios, which Otava would take for a change.
fn otava(history: &TrackHistory<'_>) -> String {
    let mut table = Writer::from_writer(Vec::new());
    // A line has the columns of its own tests.
    let Some(line) = history.lines.iter().max_by_key(|line| line.nights.len()) else {
        return String::new();
    };
    let names = line.series.iter().map(|series| format!("{}.ratio", series.test));
    let heads = ["time", "run", "commit", "branch", "version"].map(str::to_string);
    let put = |table: &mut Writer<Vec<u8>>, row: Vec<String>| {
        table.write_record(row).expect("memory takes all rows, and they are alike");
    };
    put(&mut table, heads.into_iter().chain(names).collect());
    for night in &line.nights {
        let values = line.series.iter().map(|series| {
            let stretch = series.stretches.last()?;
            let own = &series.values[stretch.start..stretch.end];
            let value = own.iter().find(|value| value.night.id == night.id)?;
            Some(value.ratio.value.exp().to_string())
        });
        // Otava takes no empty value.
        let Some(values) = values.collect::<Option<Vec<String>>>() else { continue };
        let build = &night.build;
        let about = [
            night.place().to_string(),
            night.run.clone().unwrap_or_default(),
            build.commit.clone().unwrap_or_default(),
            line.name.to_string(),
            build.version.clone(),
        ];
        put(&mut table, about.into_iter().chain(values).collect());
    }
    finish(table)
}

fn finish(table: Writer<Vec<u8>>) -> String {
    let bytes = table.into_inner().expect("memory takes all rows");
    String::from_utf8(bytes).expect("it was text")
}

fn conbench(history: &TrackHistory<'_>) -> Value {
    let of_series = |(line, series): (&LineHistory<'_>, &NightSeries<'_>)| -> Vec<Value> {
        let of = |value: &SeriesValue<'_>| {
            let night = value.night;
            let machine: Map<String, Value> =
                night.epoch.iter().map(|(name, is)| (name.clone(), json!(is))).collect();
            json!({
                "run_id": night.run.as_ref().unwrap_or(&night.id),
                "batch_id": night.id,
                "timestamp": night.time.to_string(),
                "tags": { "name": series.test, "line": line.name },
                "stats": {
                    "data": [value.joined.value.exp()],
                    "unit": "ratio",
                    "times": [],
                    "time_unit": "s",
                    "iterations": value.nights,
                },
                "github": { "commit": night.build.commit },
                "machine_info": machine,
                "context": { "label": value.tested.label, "error_of_log": value.joined.error },
            })
        };
        series.values.iter().map(of).collect()
    };
    history.all_series().flat_map(of_series).collect()
}

/// The columns of `points.csv`, which is also read.
#[derive(Serialize)]
struct PointRow<'a> {
    time: Timestamp,
    line: &'a str,
    test: &'a str,
    version: &'a str,
    commit: &'a str,
    /// To the anchor, on the scale of the first epoch that it is joined to.
    ratio: f64,
    low: f64,
    high: f64,
    epoch: usize,
    night: &'a str,
    label: &'a str,
}

/// Every value of every series.
fn points<'h>(history: &'h TrackHistory<'_>) -> Vec<PointRow<'h>> {
    let mut rows = Vec::new();
    for (line, series) in history.all_series() {
        for (place, value) in series.values.iter().enumerate() {
            let (build, interval) = (&value.night.build, value.joined.estimate().interval.exp());
            rows.push(PointRow {
                time: value.night.place(),
                line: line.name,
                test: series.test,
                version: &build.version,
                commit: build.commit.as_deref().unwrap_or_default(),
                ratio: rounded(value.joined.value.exp()),
                low: rounded(interval.low),
                high: rounded(interval.high),
                epoch: series.stretches.iter().filter(|one| one.start <= place).count(),
                night: &value.night.id,
                label: &value.tested.label,
            });
        }
    }
    rows
}

pub(super) fn points_csv(history: &TrackHistory<'_>) -> String {
    let mut table = Writer::from_writer(Vec::new());
    for row in points(history) {
        table.serialize(row).expect("memory takes all rows, and they are alike");
    }
    finish(table)
}

fn points_parquet(history: &TrackHistory<'_>) -> Vec<u8> {
    type Text = fn(&PointRow<'_>) -> String;
    type Number = fn(&PointRow<'_>) -> f64;
    let rows = points(history);
    let texts: [(&str, Text); 7] = [
        ("time", |row| row.time.to_string()),
        ("line", |row| row.line.to_string()),
        ("test", |row| row.test.to_string()),
        ("version", |row| row.version.to_string()),
        ("commit", |row| row.commit.to_string()),
        ("night", |row| row.night.to_string()),
        ("label", |row| row.label.to_string()),
    ];
    let numbers: [(&str, Number); 3] =
        [("ratio", |row| row.ratio), ("low", |row| row.low), ("high", |row| row.high)];
    let mut columns: Vec<parquet::Column> =
        texts.map(|(name, of)| parquet::text(name, rows.iter().map(of))).into();
    columns.extend(
        numbers.map(|(name, of)| parquet::number(name, "", rows.iter().map(|row| Some(of(row))))),
    );
    columns.push(parquet::count("epoch", "", rows.iter().map(|row| Some(row.epoch as u64))));
    parquet::table(columns)
}

/// With as many digits as any interval supports.
fn rounded(ratio: f64) -> f64 {
    (ratio * 1e6).round() / 1e6
}

/// The values and levels of a series.
pub(super) fn series_json(line: &LineHistory<'_>, series: &NightSeries<'_>) -> String {
    let values = series.values.iter().map(|value| {
        let interval = value.joined.estimate().interval.exp();
        json!([
            day(value.night.place()),
            value.night.build.name(),
            rounded(value.joined.value.exp()),
            rounded(interval.low),
            rounded(interval.high),
            value.tested.step.map(|step| rounded(known(step).value.exp())),
        ])
    });
    let levels = series.stretches.iter().flat_map(|stretch| &stretch.levels).map(|level| {
        let interval = level.level.estimate().interval.exp();
        json!({
            "from": level.start, "to": level.end, "ratio": rounded(level.level.value.exp()),
            "low": rounded(interval.low), "high": rounded(interval.high),
        })
    });
    let data = json!({
        "schema": SERIES_SCHEMA,
        "line": line.name,
        "test": series.test,
        "columns": ["day", "build", "ratio", "low", "high", "step"],
        "values": values.collect::<Vec<_>>(),
        "levels": levels.collect::<Vec<_>>(),
    });
    data.to_string() + "\n"
}
