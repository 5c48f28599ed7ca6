//! A row for each contender, as Apache Otava imports them to find change points over many versions.

use csv::Writer;
use rqps_store::Run;

use crate::model::{Measured, Model, StepModel};

/// The end of a column's name, and its value.
type Value = (&'static str, fn(&Measured) -> Option<f64>);

const VALUES: [Value; 3] = [
    ("throughput", |measured| measured.finished_rate()),
    ("server_cpu_us_per_operation", |measured| {
        let window = measured.window();
        window.per_operation(window.server_cpu())
    }),
    ("longest_ms", |measured| Some(measured.window().longest_response? as f64 / 1e6)),
];

/// `time` (when its first step began), `run`, `contender`, `dbms`, `version`, then `<step>.<value>`.
/// In the order of the plan, or of the runs that were merged. Otava takes no empty value: a contender
/// that did not finish all steps is left out, and so is a column that another has no value for.
pub fn otava(run: &Run) -> String {
    let model = Model::new(run);
    let finished: Vec<usize> =
        (0..model.contenders.len()).filter(|index| is_finished(&model, *index)).collect();
    let measured = |step: &StepModel, index: usize, value: Value| {
        step.measured[index].as_ref().and_then(value.1)
    };
    let columns: Vec<(&StepModel, Value)> = model
        .steps
        .iter()
        .flat_map(|step| VALUES.map(|value| (step, value)))
        .filter(|(step, value)| finished.iter().all(|i| measured(step, *i, *value).is_some()))
        .collect();
    let mut rows = Writer::from_writer(Vec::new());
    let place = ["time", "run", "contender", "dbms", "version"].map(str::to_string);
    let names = columns.iter().map(|(step, value)| format!("{}.{}", step.name, value.0));
    rows.write_record(place.into_iter().chain(names)).expect("memory takes all bytes");
    for index in finished {
        let record = &run.contenders[index];
        let first = model.steps.iter().find_map(|step| step.measured[index].as_ref());
        let place = [
            first.map_or(String::new(), |first| first.record.started.clone()),
            run.manifest_of(&record.name).id.clone(),
            record.name.clone(),
            record.dbms.clone(),
            record.version.clone(),
        ];
        let cells = columns
            .iter()
            .filter_map(|(step, value)| measured(step, index, *value))
            .map(|value| value.to_string());
        rows.write_record(place.into_iter().chain(cells)).expect("as many as the header has");
    }
    let bytes = rows.into_inner().expect("memory takes all bytes");
    String::from_utf8(bytes).expect("the cells were strings")
}

fn is_finished(model: &Model, contender: usize) -> bool {
    let mut steps = model.steps.iter().map(|step| step.measured[contender].as_ref());
    !model.steps.is_empty() && steps.all(|measured| measured.is_some_and(Measured::is_done))
}
