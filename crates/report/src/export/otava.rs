//! A row for each contender, in the format that Apache Otava imports to find change points over
//! versions.

use csv::Writer;
use rqps_store::{ContenderRecord, Part, Run};

use crate::Report;
use crate::model::{Matrix, Measured, Model};

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

/// A contender, its start time, and its values.
struct Row<'a> {
    contender: &'a ContenderRecord,
    time: &'a str,
    values: Vec<Option<f64>>,
}

/// Columns `time` (start of the first step), `run`, `contender`, `dbms`, `version`, then
/// `<step>.<value>`; in a comparison `<test>.<measure>`, the mean over rounds. The order is that of
/// the plan, or of the merged runs. Otava accepts no empty value: contenders that did not finish
/// all steps are omitted, and so are columns with a missing value.
pub fn otava(report: &Report<'_>) -> String {
    match &report.verdicts {
        Some(verdicts) => compared(report.run, &verdicts.matrix()),
        None => measured(report.run, &report.model),
    }
}

fn measured(run: &Run, model: &Model) -> String {
    let names =
        model.steps.iter().flat_map(|step| VALUES.map(|(of, _)| format!("{}.{of}", step.name)));
    let finished = (0..model.contenders.len()).filter(|index| is_finished(model, *index));
    let row = |index: usize| {
        let steps = || model.steps.iter().filter_map(move |step| step.measured[index].as_ref());
        Row {
            contender: &run.contenders[index],
            time: steps().next().map_or("", |first| first.round.started.as_str()),
            values: steps().flat_map(|measured| VALUES.map(|(_, of)| of(measured))).collect(),
        }
    };
    write(run, names.collect(), finished.map(row).collect())
}

fn compared(run: &Run, matrix: &Matrix) -> String {
    let of_test = |test: &str| {
        let name = |measure: &str| format!("{test}.{}", measure.replace('/', "_per_"));
        matrix.measures.iter().map(|measure| name(&measure.name)).collect::<Vec<_>>()
    };
    let names = matrix.rows.iter().flat_map(|row| of_test(&row.name));
    let mean = |rounds: &[Option<f64>]| {
        let values: Vec<f64> = rounds.iter().flatten().copied().collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let row = |contender| {
        let record: &ContenderRecord = contender;
        let index = matrix.contenders.iter().position(|name| *name == record.name)?;
        let of_all = matrix.rows.iter().flat_map(|row| &row.values);
        Some(Row {
            contender: record,
            time: run.rounds.first().map_or("", |first| first.started.as_str()),
            values: of_all.map(|measure| mean(&measure[index])).collect(),
        })
    };
    write(run, names.collect(), run.contenders.iter().filter_map(row).collect())
}

fn write(run: &Run, names: Vec<String>, rows: Vec<Row<'_>>) -> String {
    let is_full = |column: &usize| rows.iter().all(|row| row.values[*column].is_some());
    let columns: Vec<usize> = (0..names.len()).filter(is_full).collect();
    let mut table = Writer::from_writer(Vec::new());
    let place = ["time", "run", "contender", "dbms", "version"];
    let head = columns.iter().map(|column| names[*column].as_str());
    table.write_record(place.into_iter().chain(head)).expect("memory takes all bytes");
    for Row { contender, time, values } in &rows {
        let id = ids(run, &contender.name);
        let place: [&str; 5] = [time, &id, &contender.name, &contender.dbms, &contender.version];
        let cells = columns.iter().filter_map(|column| values[*column]);
        let cells = cells.map(|value| value.to_string());
        table
            .write_record(place.into_iter().map(str::to_string).chain(cells))
            .expect("as many as the header has");
    }
    let bytes = table.into_inner().expect("memory takes all bytes");
    String::from_utf8(bytes).expect("the cells were strings")
}

/// The id of a contender's run; if rounds of several runs were merged, all their ids.
fn ids(run: &Run, contender: &str) -> String {
    let is_in = |part: &&Part| part.contenders.iter().any(|name| name == contender);
    let parts = run.parts.iter().filter(is_in);
    let ids: Vec<&str> = parts.map(|part| part.manifest.id.as_str()).collect();
    if ids.is_empty() { run.manifest.id.clone() } else { ids.join("+") }
}

fn is_finished(model: &Model, contender: usize) -> bool {
    let mut steps = model.steps.iter().map(|step| step.measured[contender].as_ref());
    !model.steps.is_empty() && steps.all(|measured| measured.is_some_and(Measured::is_done))
}
