//! Tables for spreadsheets and scripts: one row per contender and step, and one per second.

mod rounds;
mod suite;

use std::io::{self, Write};

use ::csv::Writer;
use rqps_analysis::course::seconds;
use rqps_observe::Metric;
use rqps_plan::Method;
use rqps_stats::{Column, METRICS};
use rqps_store::Operation;

use crate::Report;
use crate::comparison::{VerdictRow, posts_columns};
use crate::model::{Measured, Model, by_column};
use rounds::rounds;
pub use suite::suite_files;

/// The table of a run: all measures of all rounds of a comparison, otherwise the metrics of all
/// finished steps with the posts' column names.
pub fn csv(report: &Report<'_>) -> String {
    match &report.verdicts {
        Some(verdicts) => rounds(&verdicts.matrix()),
        None => metrics_csv(report),
    }
}

/// A row for each verdict of a comparison; empty for other runs.
pub fn verdicts_csv(report: &Report<'_>) -> String {
    let Some(verdicts) = &report.verdicts else { return String::new() };
    let table = |rows: &[VerdictRow<'_>]| {
        let mut table = Rows::new();
        for row in rows {
            table.0.serialize(row).expect("memory takes all rows, and they are alike");
        }
        table.finish()
    };
    let rows = verdicts.verdict_rows();
    if rows.is_empty() {
        // The columns have their names before the first round, too.
        let nothing = table(&[VerdictRow::default()]);
        return nothing.lines().take(1).map(|names| format!("{names}\n")).collect();
    }
    table(&rows)
}

/// A row for each percentile of a contender in a test of a comparison; empty without any.
pub fn latency_csv(report: &Report<'_>) -> String {
    let Some(verdicts) = &report.verdicts else { return String::new() };
    let mut table = Rows::new();
    for row in verdicts.time_rows() {
        table.0.serialize(&row).expect("memory takes all rows, and they are alike");
    }
    table.finish()
}

/// Whether [`latency_csv`] has rows.
pub fn has_times(report: &Report<'_>) -> bool {
    report.verdicts.as_ref().is_some_and(|verdicts| !verdicts.time_rows().is_empty())
}

/// Whether [`metrics_csv`] has rows: all runs do except comparisons by slices only.
pub fn has_metrics(report: &Report<'_>) -> bool {
    report.run.plan.comparison().is_none_or(|comparison| comparison.uses(Method::Runs))
}

/// A row for each finished step of a contender, with the posts' column names. A comparison has one
/// for each test by whole runs, pooled over rounds.
pub fn metrics_csv(report: &Report<'_>) -> String {
    let Some(verdicts) = &report.verdicts else {
        return by_posts_column(&report.model, &[&METRICS]);
    };
    let model = verdicts.together();
    // All tests belong to one benchmark.
    let columns = model.steps.first().map_or(&[][..], |step| posts_columns(step.counts));
    by_posts_column(&model, columns)
}

fn by_posts_column(model: &Model, columns: &[&[Column]]) -> String {
    let columns = || columns.iter().copied().flatten();
    let mut rows = Rows::new();
    let names = columns().map(|column| column.name);
    rows.add(["contender", "step"].into_iter().chain(names).chain(["tag"]));
    for step in &model.steps {
        for row in by_column(model, step, columns()).rows {
            let cells = row.cells.iter().map(|cell| cell.text.as_str());
            let place = [row.name.as_str(), step.name];
            rows.add(place.into_iter().chain(cells).chain([row.name.as_str()]));
        }
    }
    rows.finish()
}

/// Every recorded second of every step, unfinished steps included: the work of all workers of a
/// kind, and its cost. The last second of a step is usually shorter than a second. A comparison has
/// the seconds of all whole runs that count, with the round after the step.
pub fn seconds_csv(report: &Report<'_>) -> String {
    let mut bytes = Vec::new();
    write_seconds_csv(report, &mut bytes).expect("memory takes all bytes");
    String::from_utf8(bytes).expect("the cells are text")
}

/// The same, written while it is made: that of a long run is large.
pub fn write_seconds_csv(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Report { model, verdicts, .. } = report;
    let work = Operation::ALL.map(|operation| {
        let name = operation.name();
        [format!("{name}_operations"), format!("{name}_rows"), format!("{name}_max_service_ns")]
    });
    let work: Vec<String> = work.into_iter().flatten().collect();
    let round = verdicts.is_some().then_some("round");
    let place = ["contender", "step"].into_iter().chain(round).chain(["second"]);
    let costs = Metric::ALL.iter().map(|metric| metric.name());
    let names = place.chain(work.iter().map(String::as_str)).chain(costs);
    writeln!(out, "{}", row(names))?;
    if let Some(verdicts) = verdicts {
        return verdicts.each_run(|round, run| {
            let round = round.to_string();
            let place = [run.contender, &run.round.test, &round];
            write_seconds(out, row(place.into_iter()), run)
        });
    }
    for (index, contender) in model.contenders.iter().enumerate() {
        for step in &model.steps {
            if let Some(measured) = &step.measured[index] {
                write_seconds(out, row([*contender, step.name].into_iter()), measured)?;
            }
        }
    }
    Ok(())
}

/// A row for each second; all start with the same `place`. Numbers need no quotes, and there can be
/// millions: so they bypass the CSV writer.
fn write_seconds(out: &mut dyn Write, place: String, measured: &Measured) -> io::Result<()> {
    let start = place.len();
    let mut line = place.into_bytes();
    let mut digits = itoa::Buffer::new();
    for second in seconds(measured) {
        let work = second.work.iter().flat_map(|work| match work {
            Some(work) => [work.operations, work.rows, work.max_service].map(Some),
            None => [None; 3],
        });
        let values = [Some(second.number as u64)].into_iter().chain(work).chain(second.cost);
        values.for_each(|value| {
            line.push(b',');
            if let Some(value) = value {
                line.extend_from_slice(digits.format(value).as_bytes());
            }
        });
        line.push(b'\n');
        out.write_all(&line)?;
        line.truncate(start);
    }
    Ok(())
}

/// One row, without its end.
fn row<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let mut rows = Rows::new();
    rows.add(cells);
    let mut row = rows.finish();
    row.pop();
    row
}

/// Writing to memory, which cannot fail.
struct Rows(Writer<Vec<u8>>);

impl Rows {
    fn new() -> Self {
        Rows(Writer::from_writer(Vec::new()))
    }

    fn add<'a>(&mut self, cells: impl Iterator<Item = &'a str>) {
        self.0.write_record(cells).expect("all rows have as many cells as the header");
    }

    fn finish(self) -> String {
        let bytes = self.0.into_inner().expect("memory takes all bytes");
        String::from_utf8(bytes).expect("the cells were strings")
    }
}
