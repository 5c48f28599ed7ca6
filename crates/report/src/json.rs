//! The result for programs: derived values, and the raw seconds that they come from. Its schema is
//! `schema/result.schema.json`.

mod suite;
mod together;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use rqps_analysis::builds;
use rqps_analysis::comparison::percentile;
use rqps_analysis::course::bucket_counts;
use rqps_analysis::steadiness::Steadiness;
use rqps_observe::{Kind, Metric};
use rqps_plan::Plan;
use rqps_stats::histogram::{NAMES, PERCENTILES};
use rqps_stats::{COSTS, Column, METRICS, Window, bands};
use rqps_store::{
    Column as Values, ContenderRecord, Difference, Manifest, Measurement, Part, Second, Series,
    StatementRecord,
};
use serde::{Serialize, Serializer};

use crate::Report;
use crate::comparison::{ComparisonJson, Verdicts};
use crate::model::{Measured, Model, StepModel, Totals};

/// The name of the schema; its version changes if a reader of the old one would break.
pub const SCHEMA: &str = "rqps-result/3";

#[derive(Serialize)]
struct Result<'a> {
    schema: &'static str,
    plan: &'a Plan,
    manifest: &'a Manifest,
    /// The merged runs, where and how each was made.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    parts: &'a [Part],
    /// Conditions that differ between merged runs although they should not.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    differences: &'a [Difference],
    /// How the contenders were compiled, if that is unusual or differs.
    builds: Vec<String>,
    /// The contender that `relative` refers to; null if it was never started.
    baseline: Option<&'a str>,
    contenders: &'a [ContenderRecord],
    steps: Steps<'a>,
    /// Of a comparison.
    comparison: Option<ComparisonJson<'a>>,
    /// Of a comparison with tests by whole runs: their rounds pooled.
    #[serde(skip_serializing_if = "Option::is_none")]
    together: Option<Vec<together::Test<'a>>>,
    /// Of microbenchmarks with several numbers of clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    scaleup: Option<Vec<suite::Scaleup<'a>>>,
}

#[derive(Serialize)]
struct Step<'a> {
    name: &'a str,
    title: &'a str,
    /// The group of steps that it is shown in.
    group: Option<&'a str>,
    /// The unit of the throughput.
    unit: &'static str,
    /// The operation that costs are divided by.
    operation: &'static str,
    results: Vec<StepResult<'a>>,
}

#[derive(Serialize)]
struct StepResult<'a> {
    contender: &'a str,
    order: u32,
    attempt: u32,
    status: &'static str,
    error: Option<&'a str>,
    started: &'a str,
    seconds: f64,
    pause_seconds: f64,
    check_seconds: f64,
    index_seconds: Option<f64>,
    clients: u32,
    throughput: Option<f64>,
    /// Throughput as a share of the baseline's; null if one of the two steps was not finished.
    relative: Option<f64>,
    sla: Option<Sla>,
    /// The posts' columns; null if the tables print NA.
    metrics: BTreeMap<&'static str, Option<f64>>,
    costs: BTreeMap<&'static str, Option<f64>>,
    /// Of the microbenchmarks only.
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<suite::OfTest>,
    /// As read: counters over the window, gauges at its end.
    totals: BTreeMap<&'static str, u64>,
    work: BTreeMap<&'static str, Work<'a>>,
    samples: Samples<'a>,
    /// Of the whole seconds; null if there are too few, or none with a meaning.
    steadiness: Option<SteadinessJson>,
    engine: Engine<'a>,
    /// A note, such as a wait that was given up.
    note: Option<&'a str>,
    /// What the clients sent, and how the DBMS executed it; microbenchmarks only.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    statements: &'a [StatementRecord],
}

/// Counters and gauges of the DBMS under its own names and in its own units, without zeros.
#[derive(Serialize)]
struct Engine<'a> {
    counters: BTreeMap<&'a str, u64>,
    gauges: BTreeMap<&'a str, u64>,
    samples: EngineSamples<'a>,
}

/// One entry per sample, about one a second: counters over it, gauges at its end.
#[derive(Serialize)]
struct EngineSamples<'a> {
    /// Seconds from the start of the window to the end of the sample.
    at: Milliseconds<'a>,
    /// Only values that changed.
    values: BTreeMap<&'a str, List<'a>>,
}

#[derive(Serialize)]
struct SteadinessJson {
    /// `flat`, `warm_up`, `slow_down`, `multi_level`; null for steps of fixed work and short ones.
    class: Option<&'static str>,
    /// False if no part of the step has a level of its own.
    is_steady: Option<bool>,
    /// Seconds until it is steady.
    warm_up_seconds: Option<usize>,
    /// Of the rate from start to end, as a share, after the warm-up.
    trend: Option<f64>,
    /// The first second of every level but the first.
    changes: Vec<usize>,
    /// Share of the seconds with less than half of the usual rate around them.
    stall_share: f64,
    longest_stall_seconds: usize,
    /// From one stall to the next, if they are regular.
    stall_period_seconds: Option<usize>,
    /// How many independent samples the seconds are worth.
    independent_stretches: f64,
    remarks: Vec<String>,
}

impl From<&Steadiness> for SteadinessJson {
    fn from(found: &Steadiness) -> Self {
        let steady = found.steady.as_ref();
        SteadinessJson {
            class: found.class(),
            is_steady: steady.map(|steady| steady.is_steady),
            warm_up_seconds: steady.map(|steady| steady.cut),
            trend: steady.map(|steady| steady.trend.change),
            changes: steady.map_or(Vec::new(), |steady| steady.changes.clone()),
            stall_share: found.stalls.share,
            longest_stall_seconds: found.stalls.longest,
            stall_period_seconds: found.stalls.period,
            independent_stretches: found.stretches,
            remarks: found.remarks(),
        }
    }
}

#[derive(Serialize)]
struct Sla {
    target: f64,
    achieved: Option<f64>,
    met: bool,
}

/// The work of all connections of one kind.
#[derive(Serialize)]
struct Work<'a> {
    operations: u64,
    rows: u64,
    reads: u64,
    writes: u64,
    others: u64,
    retries: u64,
    max_lag_ns: u64,
    service: Times,
    response: Option<Times>,
    seconds: Seconds<'a>,
}

/// A histogram of times in nanoseconds.
#[derive(Serialize)]
struct Times {
    count: u64,
    mean_ns: f64,
    max_ns: u64,
    /// Null if fewer than ten values lie beyond the percentile.
    percentiles_ns: BTreeMap<&'static str, Option<u64>>,
    /// Counts by the posts' buckets.
    buckets: BTreeMap<&'static str, u64>,
}

/// One entry per second of the step; the last second is usually shorter.
#[derive(Serialize)]
struct Seconds<'a> {
    operations: OfSeconds<'a>,
    rows: OfSeconds<'a>,
    max_service_ns: OfSeconds<'a>,
}

/// One entry per sample, about one a second.
#[derive(Serialize)]
struct Samples<'a> {
    /// Seconds from the start of the window to the end of the sample.
    at: Milliseconds<'a>,
    metrics: BTreeMap<&'static str, List<'a>>,
}

// A long run has millions of single values, so lists are written as they are read and never held.

/// The steps, each made when it is written.
struct Steps<'a> {
    model: &'a Model<'a>,
    raw: Raw,
}

impl Serialize for Steps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let steps = self.model.steps.iter();
        serializer.collect_seq(steps.map(|step| step_json(self.model, step, self.raw)))
    }
}

struct List<'a>(&'a Values);

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.values())
    }
}

struct OfSeconds<'a>(&'a [Second], fn(&Second) -> u64);

impl Serialize for OfSeconds<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(self.1))
    }
}

/// Seconds with three decimals: finer than the sampling is regular.
struct Milliseconds<'a>(&'a [f64]);

impl Serialize for Milliseconds<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|seconds| (seconds * 1e3).round() / 1e3))
    }
}

/// The whole result on one line, ending in a line feed.
pub fn result_json(report: &Report<'_>) -> String {
    text(report, Raw::Kept)
}

/// The same, written as it is made: that of a long run is large.
pub fn write_result_json(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    write(report, Raw::Kept, out)
}

/// The same without the single seconds.
pub(crate) fn summary_json(report: &Report<'_>) -> String {
    text(report, Raw::LeftOut)
}

/// Whether the lists of seconds are filled or empty.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Raw {
    Kept,
    LeftOut,
}

fn text(report: &Report<'_>, raw: Raw) -> String {
    let mut bytes = Vec::new();
    write(report, raw, &mut bytes).expect("memory takes all bytes");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

fn write(report: &Report<'_>, raw: Raw, out: &mut dyn Write) -> io::Result<()> {
    let Report { run, model, verdicts } = report;
    let verdicts = verdicts.as_ref();
    let whole_runs = verdicts.map(Verdicts::together);
    let result = Result {
        schema: SCHEMA,
        plan: &run.plan,
        manifest: &run.manifest,
        parts: &run.parts,
        differences: &run.differences,
        builds: builds::lines(&run.contenders),
        baseline: model.base.map(|base| model.contenders[base]),
        contenders: &run.contenders,
        steps: Steps { model, raw },
        comparison: verdicts.map(ComparisonJson::new),
        together: whole_runs.as_ref().filter(|found| !found.steps.is_empty()).map(together::tests),
        scaleup: report
            .suite()
            .filter(|suite| suite.is_scaleup())
            .map(|suite| suite::scaleup(&suite)),
    };
    // Millions of numbers and commas are written one by one: into a buffer of a known type.
    let mut out = BufWriter::new(out);
    serde_json::to_writer(&mut out, &result)?;
    out.write_all(b"\n")?;
    out.flush()
}

fn step_json<'a>(model: &Model<'a>, step: &'a StepModel<'a>, raw: Raw) -> Step<'a> {
    let base = model.base.and_then(|base| step.measured[base].as_ref()?.finished_rate());
    let is_test = model.run.plan.single().is_some_and(|workload| !workload.is_chain());
    Step {
        name: step.name,
        title: step.title,
        group: step.group,
        unit: step.counts.unit(),
        operation: step.counts.operation(),
        results: step
            .measured
            .iter()
            .flatten()
            .map(|measured| of(measured, base, is_test, raw))
            .collect(),
    }
}

fn of<'a>(
    measured: &'a Measured<'a>,
    base: Option<f64>,
    is_test: bool,
    raw: Raw,
) -> StepResult<'a> {
    let record = measured.record;
    let is_kept = raw == Raw::Kept;
    let window = measured.window();
    StepResult {
        contender: measured.contender,
        order: measured.round.place,
        attempt: measured.round.attempt,
        status: record.status.name(),
        error: record.error.as_deref(),
        started: &measured.round.started,
        seconds: record.seconds,
        pause_seconds: record.pause_seconds,
        check_seconds: record.check_seconds,
        index_seconds: record.index_seconds,
        clients: record.clients,
        throughput: measured.throughput(),
        relative: measured
            .finished_rate()
            .zip(base)
            .and_then(|(rate, base)| bands::relative(rate, base)),
        sla: sla(measured),
        metrics: derived(&window, &METRICS),
        costs: derived(&window, &COSTS),
        test: is_test.then(|| suite::of_test(measured)),
        totals: record.cost.iter().map(|(metric, value)| (metric.name(), value)).collect(),
        work: measured
            .totals
            .iter()
            .map(|totals| (totals.operation.name(), work(totals, raw)))
            .collect(),
        samples: samples(is_kept.then_some(&record.samples)),
        steadiness: measured.steadiness().map(SteadinessJson::from),
        engine: engine(record, is_kept.then_some(&record.engine_samples)),
        note: record.note.as_deref(),
        statements: &record.statements,
    }
}

fn sla(measured: &Measured) -> Option<Sla> {
    let (target, met) = measured.record.target_rate.zip(measured.sla())?;
    Some(Sla { target, achieved: measured.window().insert_rate(), met })
}

fn derived<'c>(
    window: &Window,
    columns: impl IntoIterator<Item = &'c Column>,
) -> BTreeMap<&'static str, Option<f64>> {
    columns.into_iter().map(|column| (column.name, (column.value)(window))).collect()
}

fn engine<'a>(record: &'a Measurement, samples: Option<&'a Series<String>>) -> Engine<'a> {
    let of = |kind: Kind| {
        let moved = record.engine.iter().filter(|(_, read)| read.kind == kind && read.value > 0);
        moved.map(|(name, read)| (name, read.value)).collect()
    };
    let columns = samples.into_iter().flat_map(|samples| samples.columns());
    let moved = |column: &Values| column.values().flatten().any(|value| value > 0);
    Engine {
        counters: of(Kind::Counter),
        gauges: of(Kind::Gauge),
        samples: EngineSamples {
            at: Milliseconds(samples.map_or(&[], |samples| samples.at())),
            values: columns
                .filter(|(_, column)| moved(column))
                .map(|(name, column)| (name.as_str(), List(column)))
                .collect(),
        },
    }
}

fn work<'a>(totals: &'a Totals, raw: Raw) -> Work<'a> {
    let seconds = if raw == Raw::Kept { totals.seconds.as_slice() } else { &[] };
    Work {
        operations: totals.operations,
        rows: totals.rows,
        reads: totals.reads,
        writes: totals.writes,
        others: totals.others,
        retries: totals.retries,
        max_lag_ns: totals.max_lag,
        service: times(&totals.service.unpacked()),
        response: totals.response.as_ref().map(|response| times(&response.unpacked())),
        seconds: Seconds {
            operations: OfSeconds(seconds, |second| second.operations),
            rows: OfSeconds(seconds, |second| second.rows),
            max_service_ns: OfSeconds(seconds, |second| second.max_service),
        },
    }
}

fn times(recorded: &hdrhistogram::Histogram<u64>) -> Times {
    let percentiles = PERCENTILES.iter().map(|(name, p)| (*name, percentile(recorded, *p)));
    Times {
        count: recorded.len(),
        mean_ns: recorded.mean(),
        max_ns: recorded.max(),
        percentiles_ns: percentiles.collect(),
        buckets: NAMES.into_iter().zip(bucket_counts(recorded)).collect(),
    }
}

fn samples(samples: Option<&Series<Metric>>) -> Samples<'_> {
    let columns = samples.into_iter().flat_map(|samples| samples.columns());
    Samples {
        at: Milliseconds(samples.map_or(&[], |samples| samples.at())),
        metrics: columns.map(|(metric, column)| (metric.name(), List(column))).collect(),
    }
}
