//! Tables for spreadsheets and scripts: one row per contender and step, and one per second.

mod rounds;
mod suite;

use std::fmt::Write as _;
use std::io::{self, Write};

use ::csv::Writer;
use rqps_observe::Metric;
use rqps_store::{Operation, Run};

use crate::model::{Measured, Model, metrics, seconds};

use crate::comparison::Verdicts;
use rounds::rounds;
pub use suite::suite_files;

/// The table of a run: of a comparison every measure of every round, otherwise the metrics of every
/// finished step under the posts' column names.
pub fn csv(run: &Run) -> String {
    match Verdicts::new(run) {
        Some(verdicts) => rounds(&verdicts.matrix(run)),
        None => metrics_csv(run),
    }
}

fn metrics_csv(run: &Run) -> String {
    let model = Model::new(run);
    let mut rows = Rows::new();
    let names = rqps_stats::METRICS.iter().map(|column| column.name);
    rows.add(["contender", "step"].into_iter().chain(names).chain(["tag"]));
    for step in &model.steps {
        for row in metrics(&model, step).rows {
            let cells = row.cells.iter().map(|cell| cell.text.as_str());
            let place = [row.name.as_str(), step.name];
            rows.add(place.into_iter().chain(cells).chain([row.name.as_str()]));
        }
    }
    rows.finish()
}

/// Every second of every step as it was recorded, unfinished steps included: what all workers of a
/// kind did, and what it cost. The last second of a step is usually shorter than a second.
pub fn seconds_csv(run: &Run) -> String {
    let mut bytes = Vec::new();
    write_seconds_csv(run, &mut bytes).expect("memory takes all bytes");
    String::from_utf8(bytes).expect("the cells are text")
}

/// The same, written as it is made: that of a long run is large.
pub fn write_seconds_csv(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let model = Model::new(run);
    let mut rows = Writer::from_writer(out);
    let work = Operation::ALL.map(|operation| {
        let name = operation.name();
        [format!("{name}_operations"), format!("{name}_rows"), format!("{name}_max_service_ns")]
    });
    let work: Vec<String> = work.into_iter().flatten().collect();
    let place = ["contender", "step", "second"];
    let costs = Metric::ALL.iter().map(|metric| metric.name());
    rows.write_record(place.into_iter().chain(work.iter().map(String::as_str)).chain(costs))?;
    for (index, contender) in model.contenders.iter().enumerate() {
        for step in &model.steps {
            if let Some(measured) = &step.measured[index] {
                write_seconds(&mut rows, [contender, step.name], measured)?;
            }
        }
    }
    rows.flush()
}

fn write_seconds(
    rows: &mut Writer<&mut dyn Write>,
    place: [&str; 2],
    measured: &Measured,
) -> ::csv::Result<()> {
    let mut digits = String::new();
    for second in seconds(measured) {
        for name in place {
            rows.write_field(name)?;
        }
        let work = second.work.iter().flat_map(|work| match work {
            Some(work) => [work.operations, work.rows, work.max_service].map(Some),
            None => [None; 3],
        });
        for value in [Some(second.number as u64)].into_iter().chain(work).chain(second.cost) {
            digits.clear();
            if let Some(value) = value {
                write!(digits, "{value}").expect("memory takes all bytes");
            }
            rows.write_field(&digits)?;
        }
        rows.write_record(None::<&[u8]>)?;
    }
    Ok(())
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
