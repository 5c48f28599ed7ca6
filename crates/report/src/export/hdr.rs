//! HdrHistogram interval logs, version 1.3 with V2 histograms, as HistogramLogAnalyzer and
//! libraries of many languages read them.

use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use jiff::Timestamp;
use rqps_store::file_name;

use super::File;
use crate::Report;
use crate::model::{Measured, Model};

/// Nanoseconds in the unit of the maxima of a log.
const MILLISECOND: f64 = 1e6;

/// A log for each contender and finished step: `<contender>.<step>.hlog`. The whole window is one
/// interval. Values are nanoseconds over all connections. The tag is the operation (`query`) and,
/// if a rate is set, the clock: `insert.raw` from when it was sent, `insert.co-fixed` from when it
/// was due. A comparison has a log for each contender and test by whole runs, pooled over the
/// rounds that count.
pub fn hdr(report: &Report<'_>) -> Vec<File> {
    match &report.verdicts {
        Some(verdicts) => logs(&verdicts.together()),
        None => logs(&report.model),
    }
}

fn logs(model: &Model) -> Vec<File> {
    let steps: Vec<&str> = model.steps.iter().map(|step| step.name).collect();
    let mut files = Vec::new();
    for step in &model.steps {
        for (index, measured) in step.done() {
            let contender = file_name(model.contenders[index], &model.contenders);
            let name = format!("{contender}.{}.hlog", file_name(step.name, &steps));
            files.push(File { name, contents: log(measured) });
        }
    }
    files
}

fn log(measured: &Measured) -> Vec<u8> {
    let record = measured.record;
    // Only a damaged store has a time in another format.
    let started: SystemTime = measured
        .round
        .started
        .parse::<Timestamp>()
        .map_or(SystemTime::UNIX_EPOCH, SystemTime::from);
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment(&format!(
            "[{} {}; values in nanoseconds]",
            measured.contender, measured.round.test
        ))
        .add_comment("[Histogram log format version 1.3]")
        .with_start_time(started)
        .with_base_time(started)
        .with_max_value_divisor(MILLISECOND)
        .begin_log_with(&mut log, &mut serializer)
        .expect("writing to memory cannot fail");
    let length = Duration::try_from_secs_f64(record.seconds).unwrap_or_default();
    let mut write = |tag: &str, histogram: &Histogram<u64>| {
        let tag = Tag::new(tag).expect("names of operations and clocks have no blanks or commas");
        writer
            .write_histogram(histogram, Duration::ZERO, length, Some(tag))
            .expect("writing to memory and counts below 2^63 cannot fail");
    };
    for totals in &measured.totals {
        let operation = totals.operation.name();
        match &totals.response {
            None => write(operation, &totals.service.unpacked()),
            Some(response) => {
                write(&format!("{operation}.raw"), &totals.service.unpacked());
                write(&format!("{operation}.co-fixed"), &response.unpacked());
            }
        }
    }
    log
}
