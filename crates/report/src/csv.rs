//! Tables for spreadsheets and scripts: one row per contender and step, and one per second.

mod suite;

use ::csv::Writer;
use rqps_observe::Metric;
use rqps_store::{Operation, Run};

use crate::model::{Measured, Model, StepModel, metrics, seconds};

pub use suite::suite_files;

/// The metrics of every finished step under the posts' column names.
pub fn csv(run: &Run) -> String {
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
    let model = Model::new(run);
    let mut rows = Rows::new();
    let work = Operation::ALL.map(|operation| {
        let name = operation.name();
        [format!("{name}_operations"), format!("{name}_rows"), format!("{name}_max_service_ns")]
    });
    let work: Vec<String> = work.into_iter().flatten().collect();
    let place = ["contender", "step", "second"];
    let costs = Metric::ALL.iter().map(|metric| metric.name());
    rows.add(place.into_iter().chain(work.iter().map(String::as_str)).chain(costs));
    for (index, contender) in model.contenders.iter().enumerate() {
        for step in &model.steps {
            if let Some(measured) = &step.measured[index] {
                add_seconds(&mut rows, contender, step, measured);
            }
        }
    }
    rows.finish()
}

fn add_seconds(rows: &mut Rows, contender: &str, step: &StepModel, measured: &Measured) {
    for second in seconds(measured) {
        let mut row = vec![contender.to_string(), step.name.to_string(), second.number.to_string()];
        for work in second.work {
            match work {
                Some(work) => {
                    let values = [work.operations, work.rows, work.max_service];
                    row.extend(values.map(|value| value.to_string()));
                }
                None => row.extend([const { String::new() }; 3]),
            }
        }
        let costs = Metric::ALL.iter().map(|metric| second.cost.get(*metric));
        row.extend(costs.map(|value| value.map_or(String::new(), |value| value.to_string())));
        rows.add(row.iter().map(String::as_str));
    }
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
