//! Readers of other projects read the exports, which agree with result.json.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use rqps_plan::{Design, Workload};
use rqps_report::File;
use rqps_store::{Run, Status};
use serde_json::Value;

use crate::made::{csv, hdr, otava, parquet, result_json, seconds_csv, sysbench, verdicts_csv};
use crate::sample::{self, run};
use crate::{HOSTILE, THREE, suite, whole_runs};

fn result(run: &Run) -> Value {
    serde_json::from_str(&result_json(run)).unwrap()
}

/// What result.json has of a contender in a step.
fn of<'v>(result: &'v Value, contender: &str, step: &str) -> &'v Value {
    let steps = result["steps"].as_array().unwrap();
    let step = steps.iter().find(|found| found["name"] == step).unwrap();
    let results = step["results"].as_array().unwrap();
    results.iter().find(|found| found["contender"] == contender).unwrap()
}

fn file<'f>(files: &'f [File], name: &str) -> &'f [u8] {
    let found = files.iter().find(|file| file.name == name);
    let names = || files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>();
    &found.unwrap_or_else(|| panic!("{name} in {:?}", names())).contents
}

/// The histograms of a log by tag, and its start in seconds since 1970.
fn read_log(log: &[u8]) -> (BTreeMap<String, Histogram<u64>>, u64) {
    let mut found = BTreeMap::new();
    let mut started = 0;
    for entry in IntervalLogIterator::new(log) {
        match entry.unwrap() {
            LogEntry::StartTime(time) | LogEntry::BaseTime(time) => started = time.as_secs(),
            LogEntry::Interval(interval) => {
                let packed = STANDARD.decode(interval.encoded_histogram()).unwrap();
                let histogram = Deserializer::new().deserialize(&mut &packed[..]).unwrap();
                let longest: &Histogram<u64> = &histogram;
                assert!((interval.max() - longest.max() as f64 / 1e6).abs() < 0.001);
                assert_eq!(interval.duration().as_millis(), 12_004);
                found.insert(interval.tag().unwrap().as_str().to_string(), histogram);
            }
        }
    }
    (found, started)
}

#[test]
fn histogram_logs_hold_every_clock_of_every_operation() {
    let run = run(&THREE, 12);
    let files = hdr(&run);
    assert_eq!(files.len(), 3 * 10);
    let (histograms, started) = read_log(file(&files, "postgres_18.0.qr500.hlog"));
    // 2026-11-21T20:16:00Z
    assert_eq!(started, 1_795_292_160);
    let result = result(&run);
    let work = &of(&result, "postgres@18.0", "qr500")["work"];
    let tags = ["delete.co-fixed", "delete.raw", "insert.co-fixed", "insert.raw", "query"];
    assert_eq!(histograms.keys().collect::<Vec<_>>(), tags);
    for (tag, times) in [
        ("insert.raw", &work["insert"]["service"]),
        ("insert.co-fixed", &work["insert"]["response"]),
        ("query", &work["query"]["service"]),
    ] {
        assert_eq!(Some(histograms[tag].len()), times["count"].as_u64(), "{tag}");
        assert_eq!(Some(histograms[tag].max()), times["max_ns"].as_u64(), "{tag}");
    }
    let p99 = histograms["query"].value_at_percentile(99.0);
    assert_eq!(Some(p99), work["query"]["service"]["percentiles_ns"]["p99"].as_u64());
}

#[test]
fn file_names_have_nothing_of_a_hostile_name() {
    for file in hdr(&run(&[HOSTILE, "sqlite"], 1)) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_+".contains(c);
        assert!(file.name.chars().all(is_plain), "{}", file.name);
    }
}

pub(crate) fn rows(files: &[File], name: &str) -> Vec<Row> {
    let reader = SerializedFileReader::new(bytes::Bytes::copy_from_slice(file(files, name)));
    reader.unwrap().get_row_iter(None).unwrap().collect::<Result<_, _>>().unwrap()
}

fn field<'r>(row: &'r Row, name: &str) -> &'r Field {
    row.get_column_iter().find(|(found, _)| *found == name).expect(name).1
}

pub(crate) fn is(row: &Row, name: &str, text: &str) -> bool {
    *field(row, name) == Field::Str(text.to_string())
}

#[test]
fn parquet_steps_are_those_of_the_result() {
    let mut run = run(&THREE, 12);
    sample::trouble(&mut run);
    let result = result(&run);
    let rows = rows(&parquet(&run), "steps.parquet");
    assert_eq!(rows.len(), run.rounds.len());
    for (contender, step) in [("postgres@17.6", "l.i0"), ("postgres@18.0", "qp1000")] {
        let row = rows.iter().find(|row| is(row, "contender", contender) && is(row, "step", step));
        let (row, expected) = (row.unwrap(), of(&result, contender, step));
        let number = |name: &str| match field(row, name) {
            Field::Double(number) => Some(*number),
            Field::Null => None,
            other => panic!("{name} is {other:?}"),
        };
        assert_eq!(number("throughput"), expected["throughput"].as_f64());
        for name in ["ips", "qps", "cpupq", "p99", "rss"] {
            assert_eq!(number(name), expected["metrics"][name].as_f64(), "{step} {name}");
        }
        let cpu = expected["totals"]["server_cpu_user"].as_i64().unwrap();
        assert_eq!(*field(row, "server_cpu_user"), Field::Long(cpu));
    }
    let failed = rows.iter().find(|row| is(row, "status", "failed")).unwrap();
    assert_eq!(*field(failed, "throughput"), Field::Null);
}

#[test]
fn parquet_seconds_and_histograms_are_complete() {
    let run = run(&["postgres@17.6", "sqlite"], 12);
    let result = result(&run);
    let files = parquet(&run);
    let of_step = |row: &&Row| is(row, "contender", "sqlite") && is(row, "step", "qp500");
    let count = |row: &Row, name: &str| match field(row, name) {
        Field::Long(count) => *count as u64,
        other => panic!("{name} is {other:?}"),
    };
    let expected = &of(&result, "sqlite", "qp500")["work"]["query"];
    let seconds = rows(&files, "seconds.parquet");
    let queries = seconds.iter().filter(of_step).map(|row| count(row, "query_operations"));
    let expected_seconds = expected["seconds"]["operations"].as_array().unwrap();
    let expected_seconds = expected_seconds.iter().map(|count| count.as_u64().unwrap());
    assert_eq!(queries.collect::<Vec<_>>(), expected_seconds.collect::<Vec<_>>());
    let histograms = rows(&files, "histograms.parquet");
    let of_queries = histograms.iter().filter(of_step).filter(|row| is(row, "operation", "query"));
    let recorded: u64 = of_queries.map(|row| count(row, "operations")).sum();
    assert_eq!(Some(recorded), expected["service"]["count"].as_u64());
}

#[test]
fn parquet_names_the_unit_of_each_number() {
    let files = parquet(&run(&["sqlite"], 1));
    for name in ["steps.parquet", "seconds.parquet", "histograms.parquet"] {
        let contents = bytes::Bytes::copy_from_slice(file(&files, name));
        let reader = SerializedFileReader::new(contents).unwrap();
        let metadata = reader.metadata().file_metadata();
        let known: Vec<&str> =
            metadata.key_value_metadata().unwrap().iter().map(|pair| pair.key.as_str()).collect();
        for column in metadata.schema_descr().columns() {
            let is_text = column.physical_type() == parquet::basic::Type::BYTE_ARRAY;
            let unit = format!("unit.{}", column.name());
            assert!(is_text || known.contains(&unit.as_str()), "{name} has no {unit}");
        }
    }
}

#[test]
fn otava_gets_no_empty_value() {
    let mut run = run(&THREE, 12);
    sample::trouble(&mut run);
    let text = otava(&run);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().unwrap().clone();
    assert_eq!(&headers.iter().take(6).collect::<Vec<_>>().join(" "), {
        "time run contender dbms version l.i0.throughput"
    });
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 1, "two did not finish");
    let result = result(&run);
    for (name, value) in headers.iter().zip(&rows[0]).skip(5) {
        let value: f64 = value.parse().expect(name);
        if let Some(step) = name.strip_suffix(".throughput") {
            assert_eq!(Some(value), of(&result, "postgres@17.6", step)["throughput"].as_f64());
        }
    }
}

/// The number behind a label, as scripts around sysbench look for it.
fn value(report: &str, label: &str) -> f64 {
    let line = report.lines().find(|line| line.trim_start().starts_with(label)).expect(label);
    let words = line.trim_start()[label.len()..].split_whitespace();
    words
        .map(|word| word.trim_start_matches('(').trim_end_matches('s'))
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn scripts_around_sysbench_find_their_numbers() {
    let run = run(&THREE, 12);
    let (text, result) = (sysbench(&run), result(&run));
    let start = "# postgres@18.0 qr100 query\n";
    let report = text.split(start).nth(1).unwrap().split("\n# ").next().unwrap();
    let work = &of(&result, "postgres@18.0", "qr100")["work"]["query"];
    let count = |name: &str| work[name].as_f64().unwrap();
    assert_eq!(value(report, "transactions:"), count("operations"));
    assert_eq!(value(report, "queries:"), count("reads") + count("writes") + count("others"));
    assert_eq!(value(report, "total number of events:"), count("operations"));
    let rate = of(&result, "postgres@18.0", "qr100")["throughput"].as_f64().unwrap();
    assert!((value(report, "events/s (eps):") - rate).abs() < 0.0001);
    assert!(
        (value(report, "max:") - work["service"]["max_ns"].as_f64().unwrap() / 1e6).abs() < 0.01
    );
    let intervals: Vec<&str> = report.lines().filter(|line| line.starts_with("[ ")).collect();
    assert_eq!(intervals.len(), 12);
    let first = &work["seconds"]["operations"][0];
    let expected =
        format!("[ 1s ] thds: 1 tps: {first}.00 qps: {first}.00 (r/w/o: {first}.00/0.00/0.00)");
    assert!(intervals[0].starts_with(&expected), "{}", intervals[0]);
}

#[test]
fn extremes_make_exports() {
    let mut silent = run(&["sqlite", "postgres@17.6"], 1);
    sample::silence(&mut silent);
    let mut nothing = run(&["sqlite"], 1);
    (nothing.rounds, nothing.contenders) = (Vec::new(), Vec::new());
    let mut begun = run(&["sqlite"], 1);
    begun.rounds.truncate(1);
    let only = sample::only(&mut begun.rounds[0]);
    (only.status, only.seconds) = (Status::Running, 0.0);
    for run in [silent, nothing, begun, run(&[HOSTILE], 1)] {
        hdr(&run);
        assert_eq!(parquet(&run).len(), 3);
        let text = sysbench(&run) + &otava(&run);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

#[test]
fn a_comparison_has_its_rounds_to_export() {
    let run = whole_runs::compared();
    // Of whole runs there are histograms: of six rounds of 20.3 seconds.
    let logs = hdr(&run);
    assert_eq!(logs.len(), 2 * 3);
    let log = String::from_utf8_lossy(file(&logs, "slow.qr100.hlog"));
    for tag in ["insert", "query"] {
        assert!(log.contains(&format!("\nTag={tag},0.000,121.800,")), "{log}");
    }
    assert!(hdr(&suite::judged()).is_empty(), "slices have none");
    let files = parquet(&run);
    let rounds = rows(&files, "rounds.parquet");
    let lines: Vec<String> = csv(&run).lines().skip(1).map(str::to_string).collect();
    assert_eq!(rounds.len(), lines.len());
    let rate = |row: &Row| match field(row, "throughput") {
        Field::Double(rate) => *rate,
        other => panic!("throughput is {other:?}"),
    };
    for (row, line) in rounds.iter().zip(&lines) {
        let cells: Vec<&str> = line.split(',').collect();
        assert!(is(row, "test", cells[0]) && is(row, "contender", cells[3]), "{line}");
        assert_eq!(rate(row), cells[5].parse::<f64>().unwrap());
    }

    // Of whole runs all rounds are one.
    let steps = rows(&files, "steps.parquet");
    assert!(steps.iter().any(|row| is(row, "contender", "slow") && is(row, "dbms", "postgres")));
    assert!(steps.iter().all(|row| *field(row, "clients") == Field::Long(1)), "{steps:?}");
    let recorded = rows(&parquet(&whole_runs::complete()), "histograms.parquet");
    assert!(recorded.iter().any(|row| is(row, "step", "qr100") && is(row, "operation", "query")));

    let of = |row: &&Row| is(row, "test", "l.i0") && is(row, "contender", "slow");
    let rates: Vec<f64> = rounds.iter().filter(of).map(rate).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let otava = otava(&run);
    let lines: Vec<Vec<&str>> = otava.lines().map(|line| line.split(',').collect()).collect();
    let column = lines[0].iter().position(|name| *name == "l.i0.throughput").unwrap();
    let slow = lines.iter().find(|line| line[2] == "slow").unwrap();
    assert_eq!(slow[column].parse::<f64>().unwrap(), mean);
}

/// Six rounds of a load and of queries during inserts; an index has no operations.
#[test]
fn whole_runs_are_exported_one_by_one() {
    let mut run = whole_runs::compared();
    let reports = sysbench(&run);
    assert_eq!(reports.matches("Running the test").count(), 2 * 6 * 3);
    let report = reports.split("# slow qr100 query round 3\n").nth(1).unwrap();
    let report = report.split("\n# ").next().unwrap();
    assert_eq!(value(report, "total number of events:"), 20.0 * 2_406.0);
    assert_eq!(value(report, "time elapsed:"), 20.3);
    let intervals: Vec<&str> = report.lines().filter(|line| line.starts_with("[ ")).collect();
    assert_eq!(intervals.len(), 20);
    assert!(intervals[4].starts_with("[ 5s ] thds: 1 tps: 0.00"), "{}", intervals[4]);
    assert!(report.contains("Threads fairness"));

    let Design::Comparison(plan) = &mut run.plan.design else { unreachable!() };
    let Workload::InsertBenchmark(benchmark) = &mut plan.of else { unreachable!() };
    benchmark.clients = 4;
    let reports = sysbench(&run);
    assert!(reports.contains("Number of threads: 4") && reports.contains("thds: 4 "));
    assert!(!reports.contains("Threads fairness"), "what each did is not known");

    let text = seconds_csv(&run);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().unwrap().clone();
    let column = |name: &str| headers.iter().position(|heading| heading == name).expect(name);
    let place: Vec<&str> = headers.iter().take(4).collect();
    assert_eq!(place, ["contender", "step", "round", "second"]);
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    // Of the last second the clients have a part, and what it cost was not read.
    assert_eq!(rows.len(), 2 * 6 * (21 + 20 + 21));
    let of = |row: &&::csv::StringRecord| row.iter().take(4).eq(["slow", "qr100", "3", "8"]);
    let row = rows.iter().find(of).unwrap();
    assert_eq!(&row[column("query_operations")], "2406");
    assert_eq!(&row[column("insert_rows")], "90");
    assert_eq!(&row[column("server_cpu_user")], "700000");

    for slices in [suite::judged(), suite::comparison()] {
        assert_eq!(sysbench(&slices), "");
        assert_eq!(seconds_csv(&slices).lines().count(), 1);
    }
}

#[test]
fn tests_are_exported_as_steps() {
    let run = suite::run(&["sqlite", "postgres@17.6"], &[1, 4]);
    let steps = 1 + 2 * 38;
    assert_eq!(hdr(&run).len(), 2 * steps);
    assert_eq!(rows(&parquet(&run), "steps.parquet").len(), 2 * steps);
    assert!(sysbench(&run).contains("# sqlite read-only_range=10@4 transaction\n"));
    assert!(otava(&run).lines().next().unwrap().contains(",read-only_range=10@4.throughput,"));
}

#[test]
fn verdicts_are_exported_as_they_are_in_the_result() {
    for run in [whole_runs::compared(), suite::judged()] {
        let result: Value = serde_json::from_str(&result_json(&run)).unwrap();
        let judged = result["comparison"]["contenders"].as_array().unwrap();
        let wanted: Vec<(&Value, &Value)> = judged
            .iter()
            .flat_map(|one| one["tests"].as_array().unwrap().iter().map(move |test| (one, test)))
            .collect();
        let table = verdicts_csv(&run);
        let mut lines = csv::Reader::from_reader(table.as_bytes());
        let names = lines.headers().unwrap().clone();
        let lines: Vec<csv::StringRecord> = lines.records().map(Result::unwrap).collect();
        let rows = rows(&parquet(&run), "verdicts.parquet");
        assert!(wanted.len() == lines.len() && wanted.len() == rows.len() && !rows.is_empty());
        for (((one, test), line), row) in wanted.iter().zip(&lines).zip(&rows) {
            let cell = |name: &str| &line[names.iter().position(|known| known == name).unwrap()];
            for (name, wanted) in
                [("contender", &one["name"]), ("test", &test["name"]), ("label", &test["label"])]
            {
                assert_eq!(cell(name), wanted.as_str().unwrap());
                assert!(is(row, name, cell(name)), "{row}");
            }
            assert!(cell("verdict").ends_with(test["verdict"].as_str().unwrap()), "{line:?}");
            assert_eq!(cell("verdict").starts_with("SLA missed"), test["missed_rate"].is_object());
            for (name, wanted) in [
                ("ratio", &test["ratio"]["value"]),
                ("low", &test["ratio"]["low"]),
                ("high", &test["ratio"]["high"]),
                ("rate", &test["rate"]),
                ("baseline_rate", &test["baseline_rate"]),
                ("cpu_ratio", &test["costs"]["cpu/o"]["value"]),
            ] {
                assert_eq!(cell(name).parse().ok(), wanted.as_f64(), "{name} of {test}");
                let in_parquet = match field(row, name) {
                    Field::Double(value) => Some(*value),
                    _ => None,
                };
                assert_eq!(in_parquet, wanted.as_f64(), "{name} of {row}");
            }
        }
    }
}
