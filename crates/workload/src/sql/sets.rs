//! The values of a query's parameters, drawn before anything is measured: every contender gets the
//! same ones.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::expression::{
    Draws, EvaluationError, EvaluationScope, Expression, FunctionScope, Scalar, Streams,
};
use crate::random::derive;

use super::csv::{NamedColumns, Record};
use super::faults::FolderError;
use super::parameter::{QueryParameter, ValueSource};
use super::query::SqlQuery;

/// The sets of values of a query, each with a value for each parameter; NULL is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParameterSets {
    pub(crate) sets: Vec<Record>,
    /// What a reader should know of them.
    pub(crate) remark: Option<String>,
}

/// Sets that differ, below which the reader is told if there could be more.
const FEW: usize = 10;

/// Draws the sets of a query. They depend on the seed and the query's id alone, not on other
/// queries. `select` runs a SELECT on the baseline.
pub(crate) fn draw<E: From<FolderError>>(
    query: &SqlQuery,
    columns: &BTreeMap<String, NamedColumns>,
    seed: u64,
    count: usize,
    select: &mut dyn FnMut(&str) -> Result<Vec<Record>, E>,
) -> Result<ParameterSets, E> {
    let sources = sources(query, columns, select)?;
    let id: Vec<u64> = query.id.bytes().map(u64::from).collect();
    let mut streams = Streams::new(derive(seed, &id));
    let mut drawing = Drawing {
        draws: streams.client(),
        default_seed: streams.default_seed(),
        values: Vec::new(),
    };
    let parameters = &query.options.parameters;
    // Without parameters all sets are the same one.
    let count = if parameters.is_empty() { 1 } else { count };
    let mut sets = Vec::with_capacity(count);
    for _ in 0..count {
        drawing.values.clear();
        let mut rows: BTreeMap<&str, &Record> = BTreeMap::new();
        for (parameter, source) in parameters.iter().zip(&sources) {
            let value = match source {
                DrawnFrom::Column(source) => {
                    let row = *rows.entry(&source.key).or_insert_with(|| {
                        let last = source.rows.len() as i64 - 1;
                        &source.rows[drawing.draws.uniform(0, last) as usize]
                    });
                    row[source.column].clone()
                }
                DrawnFrom::Computed(expression) => {
                    let value = expression.evaluate(&mut drawing).map_err(|it| it.to_string());
                    let value = value.and_then(|value| parameter.kind.converted(value));
                    value.map_err(|what| refused(query, parameter, what))?
                }
                DrawnFrom::Constant(value) => value.clone(),
            };
            drawing.values.push((parameter.name.clone(), value));
        }
        sets.push(drawing.values.iter().map(|(_, value)| value.clone()).collect());
    }
    let remark = remark(&sets, &sources);
    Ok(ParameterSets { sets, remark })
}

/// Where the values of a parameter are drawn from.
enum DrawnFrom<'a> {
    Column(ColumnOfRows),
    Computed(&'a Expression),
    Constant(Option<String>),
}

/// The rows that a parameter's values come from.
struct ColumnOfRows {
    /// Parameters with the same key take their values from one row.
    key: String,
    rows: Rc<Vec<Record>>,
    column: usize,
}

/// For each parameter, where its values are drawn from.
fn sources<'a, E: From<FolderError>>(
    query: &'a SqlQuery,
    columns: &BTreeMap<String, NamedColumns>,
    select: &mut dyn FnMut(&str) -> Result<Vec<Record>, E>,
) -> Result<Vec<DrawnFrom<'a>>, E> {
    let mut known: BTreeMap<&str, Rc<Vec<Record>>> = BTreeMap::new();
    let mut sources: Vec<DrawnFrom<'_>> = Vec::new();
    let columns_of = |sources: &[DrawnFrom<'_>], key: &str| {
        let is_one = |it: &&DrawnFrom<'_>| matches!(it, DrawnFrom::Column(it) if it.key == key);
        sources.iter().filter(is_one).count()
    };
    for parameter in &query.options.parameters {
        let wrong = |what: String| refused(query, parameter, what);
        let (key, column) = match &parameter.source {
            ValueSource::Select(sql) => {
                if !known.contains_key(sql.as_str()) {
                    let mut rows = select(sql)?;
                    // A DBMS may return them in any order.
                    rows.sort_unstable();
                    known.insert(sql, Rc::new(rows));
                }
                (sql, columns_of(&sources, sql))
            }
            ValueSource::Column { file, column } => {
                let table = &columns[file];
                let rows = || Rc::new(table.rows.iter().map(|(_, row)| row.clone()).collect());
                known.entry(file).or_insert_with(rows);
                let column = table.names.iter().position(|name| name == column);
                (file, column.unwrap_or_default())
            }
            ValueSource::Computed(expression) => {
                sources.push(DrawnFrom::Computed(expression));
                continue;
            }
            ValueSource::Constant(value) => {
                sources.push(DrawnFrom::Constant(value.clone()));
                continue;
            }
        };
        let rows = Rc::clone(&known[key.as_str()]);
        let width = rows.first().ok_or_else(|| wrong("its SELECT returned no row".into()))?.len();
        if column >= width {
            let what = format!(
                "its SELECT has {width} columns, but more parameters take their values from it"
            );
            return Err(wrong(what).into());
        }
        let kind = parameter.kind;
        let mut values = rows.iter().filter_map(|row| row[column].as_deref());
        if let Some(value) = values.find(|value| !kind.accepts(value)) {
            return Err(wrong(format!("'{value}' is no value of type {}", kind.name())).into());
        }
        drop(values);
        sources.push(DrawnFrom::Column(ColumnOfRows { key: key.clone(), rows, column }));
    }
    Ok(sources)
}

fn refused(query: &SqlQuery, parameter: &QueryParameter, what: String) -> FolderError {
    let what = format!("parameter '{}': {what}", parameter.name);
    FolderError { file: query.file.clone(), line: Some(parameter.line), what }
}

/// Few sets that differ, although the rows have more.
fn remark(sets: &[Record], sources: &[DrawnFrom<'_>]) -> Option<String> {
    let distinct = |rows: &mut dyn Iterator<Item = &Record>| {
        rows.collect::<std::collections::BTreeSet<_>>().len()
    };
    let drawn = distinct(&mut sets.iter());
    let rows = sources.iter().filter_map(|source| match source {
        DrawnFrom::Column(source) => Some(&source.rows),
        _ => None,
    });
    let most = rows.map(|rows| distinct(&mut rows.iter())).max()?;
    (drawn < FEW && drawn < most)
        .then(|| format!("it has {drawn} different sets of values, although its rows have {most}"))
}

/// The parameters of a set that have values already.
struct Drawing {
    draws: Draws,
    default_seed: i64,
    values: Vec<(String, Option<String>)>,
}

impl EvaluationScope<String> for Drawing {
    fn variable(&self, name: &String) -> Result<Scalar, EvaluationError> {
        let value = match self.values.iter().find(|(known, _)| known == name) {
            None if name == "default_seed" => return Ok(Scalar::Int(self.default_seed)),
            None => return Err(EvaluationError(format!("undefined variable \"{name}\""))),
            Some((_, None)) => return Ok(Scalar::Null),
            Some((_, Some(value))) => value,
        };
        Scalar::from_text(value).ok_or_else(|| {
            EvaluationError(format!("malformed variable \"{name}\" value: \"{value}\""))
        })
    }
}

impl FunctionScope for Drawing {
    fn draws(&mut self) -> &mut Draws {
        &mut self.draws
    }

    /// Nobody looks on while sets are drawn.
    fn debug(&mut self, _value: Scalar) {}
}
