//! Parquet for DuckDB, pandas, R: one file per table, compressed with Snappy. The unit of each
//! column is in the file's metadata, under `unit.<column>`.

use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use rqps_analysis::course::seconds;
use rqps_observe::Metric;
use rqps_stats::{COSTS, METRICS};
use rqps_store::{Operation, Run};

use super::File;
use crate::Report;
use crate::comparison::{VerdictRow, Verdicts};
use crate::model::{Matrix, MatrixRow, Measured, Model, StepModel};

pub(crate) struct Column {
    name: String,
    unit: String,
    values: Values,
}

/// One entry for each row; none is null.
enum Values {
    Text(Vec<Option<String>>),
    Count(Vec<Option<u64>>),
    Number(Vec<Option<f64>>),
}

/// A row of a table before it is cut into columns: a contender in a step.
type Place<'m> = (usize, &'m StepModel<'m>, &'m Measured<'m>);

/// `steps.parquet`: a row for each contender and begun step, with the columns of `metrics.csv` and
/// every raw metric. `seconds.parquet`: the columns of `seconds.csv`. `histograms.parquet`: the
/// counts of response times in finished steps. A comparison has `verdicts.parquet` and
/// `rounds.parquet`, the columns of the CSV files with the run. Its whole runs have steps and
/// histograms, pooled over rounds.
pub fn parquet(report: &Report<'_>) -> Vec<File> {
    let file = |(name, columns): (&str, Vec<Column>)| File {
        name: name.to_string(),
        contents: table(columns),
    };
    let Report { run, model, verdicts } = report;
    let mut tables = Vec::new();
    if let Some(verdicts) = verdicts {
        tables.push(("verdicts.parquet", verdict_rows(run, verdicts)));
        tables.push(("rounds.parquet", rounds(run, &verdicts.matrix())));
        let model = verdicts.together();
        if !model.steps.is_empty() {
            let places = places(&model);
            tables.push(("steps.parquet", steps(&model, &places)));
            tables.push(("histograms.parquet", histograms(&model, &places)));
        }
    } else {
        let places = places(model);
        tables.push(("steps.parquet", steps(model, &places)));
        tables.push(("seconds.parquet", seconds_table(model, &places)));
        tables.push(("histograms.parquet", histograms(model, &places)));
    }
    tables.into_iter().map(file).collect()
}

fn places<'m>(model: &'m Model<'m>) -> Vec<Place<'m>> {
    let mut places: Vec<Place> = Vec::new();
    for contender in 0..model.contenders.len() {
        let place =
            |step: &'m StepModel<'m>| Some((contender, step, step.measured[contender].as_ref()?));
        places.extend(model.steps.iter().filter_map(place));
    }
    places
}

pub(crate) fn text(name: &str, values: impl Iterator<Item = impl Into<String>>) -> Column {
    let values = Values::Text(values.map(|value| Some(value.into())).collect());
    Column { name: name.to_string(), unit: String::new(), values }
}

pub(crate) fn number(name: &str, unit: &str, values: impl Iterator<Item = Option<f64>>) -> Column {
    let values = Values::Number(values.collect());
    Column { name: name.to_string(), unit: unit.to_string(), values }
}

pub(crate) fn count(name: &str, unit: &str, values: impl Iterator<Item = Option<u64>>) -> Column {
    let values = Values::Count(values.collect());
    Column { name: name.to_string(), unit: unit.to_string(), values }
}

/// The columns that identify a row, also among files of many runs.
fn place_columns(model: &Model, rows: &[Place]) -> Vec<Column> {
    let name = |row: &Place| model.contenders[row.0];
    // The A/A control of a comparison is its baseline.
    let record = |row: &Place| {
        let mut records = model.run.contenders.iter();
        records.find(|record| record.name == name(row)).or(model.run.contenders.first())
    };
    let id = |row: &Place| model.run.manifest_of(name(row)).id.clone();
    let dbms = |row: &Place| record(row).map_or(String::new(), |record| record.dbms.clone());
    let version = |row: &Place| record(row).map_or(String::new(), |record| record.version.clone());
    vec![
        text("run", rows.iter().map(id)),
        text("contender", rows.iter().map(name)),
        text("dbms", rows.iter().map(dbms)),
        text("version", rows.iter().map(version)),
        text("step", rows.iter().map(|row| row.1.name)),
    ]
}

fn verdict_rows(run: &Run, verdicts: &Verdicts<'_>) -> Vec<Column> {
    type Text = fn(&VerdictRow<'_>) -> String;
    type Number = fn(&VerdictRow<'_>) -> Option<f64>;
    let rows = verdicts.verdict_rows();
    let texts: [(&str, Text); 8] = [
        ("test", |row| row.test.to_string()),
        ("group", |row| row.group.to_string()),
        ("operation", |row| row.operation.to_string()),
        ("method", |row| row.method.to_string()),
        ("contender", |row| row.contender.to_string()),
        ("baseline", |row| row.baseline.to_string()),
        ("label", |row| row.label.to_string()),
        ("verdict", |row| row.verdict.clone()),
    ];
    let numbers: [(&str, &str, Number); 10] = [
        ("ratio", "", |row| row.ratio),
        ("low", "", |row| row.low),
        ("high", "", |row| row.high),
        ("adjusted_p", "", |row| row.adjusted_p),
        ("detectable", "", |row| row.detectable),
        ("baseline_rate", "per s", |row| row.baseline_rate),
        ("rate", "per s", |row| row.rate),
        ("cpu_ratio", "", |row| row.cpu_ratio),
        ("cpu_low", "", |row| row.cpu_low),
        ("cpu_high", "", |row| row.cpu_high),
    ];
    let id = |row: &VerdictRow<'_>| run.manifest_of(row.contender).id.clone();
    let mut columns = vec![text("run", rows.iter().map(id))];
    columns.extend(texts.map(|(name, value)| text(name, rows.iter().map(value))));
    columns.push(count("rounds", "", rows.iter().map(|row| Some(row.rounds))));
    columns.extend(numbers.map(|(name, unit, value)| number(name, unit, rows.iter().map(value))));
    columns
}

fn rounds(run: &Run, matrix: &Matrix) -> Vec<Column> {
    let mut places: Vec<(&MatrixRow, usize, usize)> = Vec::new();
    for row in &matrix.rows {
        for contender in 0..matrix.contenders.len() {
            places.extend((0..row.rounds.len()).map(|at| (row, contender, at)));
        }
    }
    let places = || places.iter();
    let mut columns = vec![
        text("run", places().map(|(row, _, at)| run.manifest_of_round(row.rounds[*at]).id.clone())),
        text("test", places().map(|(row, ..)| row.name.clone())),
        text("group", places().map(|(row, ..)| row.group.clone())),
        text("operation", places().map(|(row, ..)| row.operation)),
        text("contender", places().map(|(_, contender, _)| matrix.contenders[*contender].clone())),
        count("round", "", places().map(|(row, _, at)| Some(row.rounds[*at].into()))),
    ];
    columns.extend(matrix.measures.iter().enumerate().map(|(index, measure)| {
        let values = places().map(|(row, contender, at)| row.values[index][*contender][*at]);
        number(&measure.name, &measure.unit, values)
    }));
    columns
}

fn steps(model: &Model, rows: &[Place]) -> Vec<Column> {
    let mut columns = place_columns(model, rows);
    let records = || rows.iter().map(|(_, _, measured)| measured.record);
    columns.extend([
        text("status", records().map(|record| record.status.name())),
        text("started", rows.iter().map(|(_, _, measured)| measured.round.started.as_str())),
        count("clients", "connections", records().map(|record| Some(record.clients.into()))),
        number("seconds", "s", records().map(|record| Some(record.seconds))),
        number("target_rate", "rows/s", records().map(|record| record.target_rate)),
        number("throughput", "per s", rows.iter().map(|row| row.2.finished_rate())),
    ]);
    for column in METRICS.iter().chain(&COSTS) {
        let value =
            |row: &Place| row.2.is_done().then(|| (column.value)(&row.2.window())).flatten();
        columns.push(number(column.name, column.unit, rows.iter().map(value)));
    }
    for metric in Metric::ALL {
        let values = records().map(|record| record.cost.get(*metric));
        columns.push(count(metric.name(), metric.unit(), values));
    }
    columns
}

fn seconds_table(model: &Model, places: &[Place]) -> Vec<Column> {
    let mut rows: Vec<Place> = Vec::new();
    let mut cells = Vec::new();
    for place in places {
        for second in seconds(place.2) {
            rows.push(*place);
            cells.push(second);
        }
    }
    let mut columns = place_columns(model, &rows);
    columns.push(count("second", "s", cells.iter().map(|cell| Some(cell.number as u64))));
    for (index, operation) in Operation::ALL.into_iter().enumerate() {
        let work = || cells.iter().map(move |cell| cell.work[index]);
        let name = |what: &str| format!("{}_{what}", operation.name());
        columns.extend([
            count(&name("operations"), "operations", work().map(|w| Some(w?.operations))),
            count(&name("rows"), "rows", work().map(|w| Some(w?.rows))),
            count(&name("max_service_ns"), "ns", work().map(|w| Some(w?.max_service))),
        ]);
    }
    for (index, metric) in Metric::ALL.iter().enumerate() {
        let values = cells.iter().map(|cell| cell.cost[index]);
        columns.push(count(metric.name(), metric.unit(), values));
    }
    columns
}

fn histograms(model: &Model, places: &[Place]) -> Vec<Column> {
    let mut rows: Vec<Place> = Vec::new();
    let mut cells: Vec<(&str, &str, u64, u64)> = Vec::new();
    for place in places.iter().filter(|place| place.2.is_done()) {
        for totals in &place.2.totals {
            let clocks =
                [("service", Some(&totals.service)), ("response", totals.response.as_ref())];
            for (clock, recorded) in clocks {
                let Some(recorded) = recorded.map(|recorded| recorded.unpacked()) else { continue };
                for value in recorded.iter_recorded() {
                    rows.push(*place);
                    let (at, times) = (value.value_iterated_to(), value.count_at_value());
                    cells.push((totals.operation.name(), clock, at, times));
                }
            }
        }
    }
    let mut columns = place_columns(model, &rows);
    columns.extend([
        text("operation", cells.iter().map(|cell| cell.0)),
        text("clock", cells.iter().map(|cell| cell.1)),
        count("at_most_ns", "ns", cells.iter().map(|cell| Some(cell.2))),
        count("operations", "operations", cells.iter().map(|cell| Some(cell.3))),
    ]);
    columns
}

/// A file with these columns, which are equally long.
pub(crate) fn table(columns: Vec<Column>) -> Vec<u8> {
    write(columns).expect("memory takes all bytes, and columns are equally long")
}

fn write(columns: Vec<Column>) -> Result<Vec<u8>, ParquetError> {
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("rqps").with_fields(fields).build()?;
    let units = columns.iter().filter(|column| !column.unit.is_empty());
    let units =
        units.map(|column| KeyValue::new(format!("unit.{}", column.name), column.unit.clone()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("rqps ", env!("CARGO_PKG_VERSION")).to_string())
        .set_key_value_metadata(Some(units.collect()))
        .build();
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in columns {
        let mut writer = group.next_column()?.expect("the schema has a field for each column");
        fill(writer.untyped(), column.values)?;
        writer.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(file)
}

fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let kind = match column.values {
        Values::Text(_) => Physical::BYTE_ARRAY,
        Values::Count(_) => Physical::INT64,
        Values::Number(_) => Physical::DOUBLE,
    };
    let field =
        Type::primitive_type_builder(&column.name, kind).with_repetition(Repetition::OPTIONAL);
    let field = match column.values {
        Values::Text(_) => field
            .with_logical_type(Some(LogicalType::String))
            .with_converted_type(ConvertedType::UTF8),
        Values::Count(_) | Values::Number(_) => field,
    };
    Ok(Arc::new(field.build()?))
}

fn fill(writer: &mut ColumnWriter, values: Values) -> Result<(), ParquetError> {
    match (writer, values) {
        (ColumnWriter::ByteArrayColumnWriter(writer), Values::Text(values)) => {
            let (levels, values) = present(values, |text| ByteArray::from(text.into_bytes()));
            writer.write_batch(&values, Some(&levels), None)?;
        }
        (ColumnWriter::Int64ColumnWriter(writer), Values::Count(values)) => {
            let (levels, values) = present(values, |count| count as i64);
            writer.write_batch(&values, Some(&levels), None)?;
        }
        (ColumnWriter::DoubleColumnWriter(writer), Values::Number(values)) => {
            let (levels, values) = present(values, |number| number);
            writer.write_batch(&values, Some(&levels), None)?;
        }
        _ => return Err(ParquetError::General("a column of another type".to_string())),
    }
    Ok(())
}

/// For each row whether it has a value, and the existing values.
fn present<T, U>(values: Vec<Option<T>>, convert: impl Fn(T) -> U) -> (Vec<i16>, Vec<U>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (levels, values.into_iter().flatten().map(convert).collect())
}
