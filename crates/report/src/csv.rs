//! Tables for spreadsheets and scripts: one row per contender and step, and one per second.

mod rounds;
mod suite;

use std::io::{self, Write};

use ::csv::Writer;
use rqps_observe::Metric;
use rqps_plan::Method;
use rqps_stats::{Column, METRICS};
use rqps_store::{Operation, Run};

use crate::comparison::{VerdictRow, Verdicts, posts_columns};
use crate::model::{Measured, Model, by_column, seconds};
use rounds::rounds;
pub use suite::suite_files;

/// The table of a run: of a comparison every measure of every round, otherwise the metrics of every
/// finished step under the posts' column names.
pub fn csv(run: &Run) -> String {
    csv_of(run, Verdicts::new(run).as_ref())
}

/// The same of verdicts that are there already.
pub(crate) fn csv_of(run: &Run, verdicts: Option<&Verdicts<'_>>) -> String {
    match verdicts {
        Some(verdicts) => rounds(&verdicts.matrix(run)),
        None => metrics_of(run, None),
    }
}

/// A row for the verdict on each contender of a comparison in each test; nothing of other runs.
pub fn verdicts_csv(run: &Run) -> String {
    Verdicts::new(run).map_or(String::new(), |verdicts| verdicts_of(&verdicts))
}

/// The same of verdicts that are there already.
pub(crate) fn verdicts_of(verdicts: &Verdicts<'_>) -> String {
    let table = |rows: &[VerdictRow<'_>]| {
        let mut table = Rows::new();
        for row in rows {
            table.0.serialize(row).expect("memory takes all rows, and they are alike");
        }
        table.finish()
    };
    let rows = verdicts.verdict_rows();
    if rows.is_empty() {
        // Before the first round, too, the columns have their names.
        let nothing = table(&[VerdictRow::default()]);
        return nothing.lines().take(1).map(|names| format!("{names}\n")).collect();
    }
    table(&rows)
}

/// Whether it has what [`metrics_csv`] is about: all have but comparisons by slices alone.
pub fn has_metrics(run: &Run) -> bool {
    run.plan.comparison().is_none_or(|comparison| comparison.uses(Method::Runs))
}

/// A row for each finished step of a contender, under the posts' column names; of a comparison for
/// each test by whole runs, of which all rounds are one.
pub fn metrics_csv(run: &Run) -> String {
    metrics_of(run, Verdicts::new(run).as_ref())
}

/// The same of verdicts that are there already.
pub(crate) fn metrics_of(run: &Run, verdicts: Option<&Verdicts<'_>>) -> String {
    let Some(verdicts) = verdicts else { return by_posts_column(&Model::new(run), &[&METRICS]) };
    let together = verdicts.together();
    let model = verdicts.model(run, &together);
    // All tests are of one benchmark.
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

/// Every second of every step as it was recorded, unfinished steps included: what all workers of a
/// kind did, and what it cost. The last second of a step is usually shorter than a second. Of a
/// comparison every second of every whole run that counts, with its round behind the step.
pub fn seconds_csv(run: &Run) -> String {
    let mut bytes = Vec::new();
    write_seconds_csv(run, &mut bytes).expect("memory takes all bytes");
    String::from_utf8(bytes).expect("the cells are text")
}

/// The same, written as it is made: that of a long run is large.
pub fn write_seconds_csv(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let verdicts = Verdicts::new(run);
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
    let model = Model::new(run);
    for (index, contender) in model.contenders.iter().enumerate() {
        for step in &model.steps {
            if let Some(measured) = &step.measured[index] {
                write_seconds(out, row([*contender, step.name].into_iter()), measured)?;
            }
        }
    }
    Ok(())
}

/// A row for each second; all begin with the same `place`. Of the millions of numbers none needs
/// quotes, so none is searched for what does.
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
