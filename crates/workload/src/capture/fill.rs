//! Values for the places of a statement: those that the source has, or else rows of the loaded
//! data.

use std::collections::{BTreeMap, BTreeSet};

use rqps_dbms::{Backslash, CatalogColumn, Lexis};

use super::compared::{Comparisons, PlaceRole, PlaceUse, Side, TableColumn};
use super::executions::CapturedStatement;
use super::items::{SqlItem, items};
use super::known_value::KnownValue;
use super::shape::ValuePlace;
use crate::sql::Record;

/// A statement with a source for each of its values.
pub(super) struct FilledStatement {
    /// With the names of parameters in place of values.
    pub(super) text: String,
    pub(super) parameters: Vec<DeclaredParameter>,
    /// The names of the parameters whose values are in a file, and the rows of this file.
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Record>,
    /// What is said of its values.
    pub(super) told: String,
}

/// A line `-- rqps: param …`.
pub(super) struct DeclaredParameter {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) is_literal: bool,
    /// None where the file of the statement has its values.
    pub(super) source: Option<String>,
}

/// What is known of the source of statements.
pub(super) struct ValueFilling<'a> {
    pub(super) lexis: Lexis,
    pub(super) catalog: &'a [CatalogColumn],
    /// What values of the source are called: `logged` or `example`.
    pub(super) values: &'static str,
}

/// The types of columns that are not written as text.
const KINDS: [(&str, &str); 10] = [
    ("integer", "int"),
    ("smallint", "int"),
    ("tinyint", "int"),
    ("mediumint", "int"),
    // MySQL's may be without a sign.
    ("int", "bigint"),
    ("bigint", "bigint"),
    ("numeric", "numeric"),
    ("decimal", "numeric"),
    ("double", "double"),
    ("double precision", "double"),
];
const WHOLE: [&str; 2] = ["int", "bigint"];

impl ValueFilling<'_> {
    /// Finds values for all places, or says why there are none.
    pub(super) fn fill(&self, statement: &CapturedStatement) -> Result<FilledStatement, String> {
        let shape = &statement.shape;
        let items = items(shape, self.lexis);
        let comparisons = Comparisons::new(&items, self.catalog);
        // Sets in which nothing is missing are better than the others.
        let is_whole = |set: &&Vec<KnownValue>| !set.contains(&KnownValue::Unknown);
        let mut sets: Vec<&Vec<KnownValue>> = statement.sets.iter().filter(is_whole).collect();
        if sets.is_empty() {
            sets = statement.sets.iter().collect();
        }
        let mut plan = RowPlan::new(statement, self);
        let places = items.iter().enumerate().filter(|(_, it)| matches!(it, SqlItem::Place(_)));
        let at: Vec<usize> = places.map(|(at, _)| at).collect();
        let mut declared = BTreeSet::new();
        let mut parameters: Vec<(DeclaredParameter, Option<DrawnSource>)> = Vec::new();
        let (mut names, mut columns): (Vec<String>, Vec<usize>) = Default::default();
        let (mut texts, mut said): (Vec<String>, Vec<String>) = Default::default();
        for (number, place) in shape.places.iter().enumerate() {
            let name = match place {
                ValuePlace::Constant { .. } => format!("c{}", number + 1),
                ValuePlace::Parameter(parameter) => format!("p{}", parameter + 1),
            };
            texts.push(format!(":{name}"));
            if !declared.insert(name.clone()) {
                continue;
            }
            let is_known = sets.iter().all(|set| set[number] != KnownValue::Unknown);
            let at = at.get(number).copied().unwrap_or_default();
            let PlaceUse { role, is_typed } = comparisons.place_use(at);
            let is_constant = matches!(place, ValuePlace::Constant { .. });
            let is_literal = is_typed || is_constant && !statement.is_bound;
            let (kind, source) = match is_known && !sets.is_empty() {
                true => {
                    names.push(name.clone());
                    columns.push(number);
                    (self.kind_of_values(place, &sets, number), None)
                }
                false => {
                    let filled = plan
                        .source(&role)
                        .map_err(|why| format!("no values for {}: {why}", shown(place, number)))?;
                    if !said.contains(&filled.said) {
                        said.push(filled.said);
                    }
                    (filled.kind, Some(filled.source))
                }
            };
            // A literal without quotes would be no date.
            let kind = if is_typed { "text" } else { kind };
            parameters.push((DeclaredParameter { name, kind, is_literal, source: None }, source));
        }
        // The query of a table is known when all its columns are. Parameters of one query are
        // declared in the order of its columns.
        parameters.sort_by_key(|(_, source)| source.is_some());
        let parameters = parameters.into_iter().map(|(parameter, source)| {
            let source = source.map(|source| match source {
                DrawnSource::Written(source) => source,
                DrawnSource::Query(place) => format!("from \"{}\"", plan.query(place)),
            });
            DeclaredParameter { source, ..parameter }
        });
        let parameters = parameters.collect();
        let row = |set: &&Vec<KnownValue>| -> Record {
            let value = |column: &usize| match &set[*column] {
                KnownValue::Value(value) => Some(value.clone()),
                KnownValue::Null | KnownValue::Unknown => None,
            };
            columns.iter().map(value).collect()
        };
        let rows: Vec<Record> =
            if columns.is_empty() { Vec::new() } else { sets.iter().map(row).collect() };
        let text = shape.filled(|number, _| texts[number].clone());
        let own = match rows.len() {
            0 => None,
            1 => Some(format!("{}: 1 set", self.values)),
            sets => Some(format!("{}: {sets} sets", self.values)),
        };
        let told: Vec<String> = own.into_iter().chain(said).collect();
        let told = if told.is_empty() { "–".to_string() } else { told.join("; ") };
        Ok(FilledStatement { text, parameters, names, rows, told })
    }

    /// The type of values as they were written.
    fn kind_of_values(
        &self,
        place: &ValuePlace,
        sets: &[&Vec<KnownValue>],
        number: usize,
    ) -> &'static str {
        let is_number = match place {
            ValuePlace::Constant { is_text } => !is_text,
            ValuePlace::Parameter(_) => false,
        };
        let all = |accepts: fn(&str) -> bool| {
            sets.iter().all(|set| match &set[number] {
                KnownValue::Value(value) => accepts(value),
                _ => true,
            })
        };
        match is_number {
            // Of a parameter, only the server knows the type.
            false => "text",
            true if all(|value| value.parse::<i32>().is_ok()) => "int",
            true if all(|value| value.parse::<i64>().is_ok()) => "bigint",
            true => "numeric",
        }
    }

    fn column(&self, column: &TableColumn) -> Option<&CatalogColumn> {
        let plain = |name: &str| name.trim_matches(['"', '`']).to_lowercase();
        let table = plain(column.table.rsplit('.').next().unwrap_or_default());
        let name = plain(&column.column);
        let is_it = |it: &&CatalogColumn| {
            it.table.to_lowercase() == table && it.name.to_lowercase() == name
        };
        self.catalog.iter().find(is_it)
    }

    fn kind(&self, column: &TableColumn) -> &'static str {
        let kind = self.column(column).map_or("", |it| it.kind.as_str());
        KINDS.iter().find(|(name, _)| *name == kind).map_or("text", |(_, kind)| kind)
    }
}

/// How often a column was counted before.
fn next(counts: &mut BTreeMap<TableColumn, usize>, column: &TableColumn) -> usize {
    let count = counts.entry(column.clone()).or_default();
    *count += 1;
    *count - 1
}

fn shown(place: &ValuePlace, number: usize) -> String {
    match place {
        ValuePlace::Constant { .. } => format!("constant {}", number + 1),
        ValuePlace::Parameter(parameter) => format!("${}", parameter + 1),
    }
}

/// Where values of a place come from that the source of statements does not have.
struct ValuesElsewhere {
    kind: &'static str,
    source: DrawnSource,
    said: String,
}

enum DrawnSource {
    Written(String),
    /// A column of a query, by its place.
    Query(usize),
}

/// The rows that values are drawn from.
struct RowPlan<'a> {
    statement: &'a CapturedStatement,
    filling: &'a ValueFilling<'a>,
    /// For each query its table and its columns in the order of their parameters.
    queries: Vec<(RowsOf, Vec<TableColumn>)>,
    /// The places of these queries.
    known: BTreeMap<RowsOf, usize>,
    /// How often a column has been drawn, is in a new row, or is a new key.
    drawn: BTreeMap<TableColumn, usize>,
    in_new_rows: BTreeMap<TableColumn, usize>,
    fresh: BTreeMap<TableColumn, u32>,
    /// How many ranges of a column have begun, and how many of these have ended.
    ranges: BTreeMap<TableColumn, (usize, usize)>,
}

/// What the rows of a query are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RowsOf {
    /// Rows of a table, drawn for the `n`th time.
    Table(String, usize),
    /// A range of this column; both ends.
    Range(TableColumn, usize),
    NewRow(String, usize),
}

impl<'a> RowPlan<'a> {
    fn new(statement: &'a CapturedStatement, filling: &'a ValueFilling<'a>) -> RowPlan<'a> {
        RowPlan {
            statement,
            filling,
            queries: Vec::new(),
            known: BTreeMap::new(),
            drawn: BTreeMap::new(),
            in_new_rows: BTreeMap::new(),
            fresh: BTreeMap::new(),
            ranges: BTreeMap::new(),
        }
    }

    fn source(&mut self, role: &PlaceRole) -> Result<ValuesElsewhere, &'static str> {
        if let PlaceRole::Column(named, _) | PlaceRole::NewRow(named) = role {
            // The query for its values is a line of a comment, which such a name would end.
            if [&named.table, &named.column].into_iter().any(|it| it.contains(char::is_control)) {
                return Err("the name of its table or column has a control character");
            }
        }
        let mean = self.statement.mean_rows();
        let constant = |value: u64, said: &str| ValuesElsewhere {
            kind: "bigint",
            source: DrawnSource::Written(format!("const {value}")),
            said: said.to_string(),
        };
        match role {
            PlaceRole::Limit => Ok(constant(mean, "LIMIT: the mean number of rows")),
            PlaceRole::Offset => Ok(constant(0, "OFFSET: assumed to be 0")),
            PlaceRole::Unknown(why) => Err(*why),
            PlaceRole::Column(column, Side::Value) => Ok(self.drawn(column)),
            PlaceRole::Column(column, side) => Ok(self.range(column, *side)),
            PlaceRole::NewRow(column) => self.new_value(column),
        }
    }

    /// Values of one table are those of one row, but for columns that are there already.
    fn drawn(&mut self, column: &TableColumn) -> ValuesElsewhere {
        let nth = next(&mut self.drawn, column);
        self.taken(RowsOf::Table(column.table.clone(), nth), column)
    }

    /// Both ends of a range are values of two rows that lie as far apart as there are rows on
    /// average.
    fn range(&mut self, column: &TableColumn, side: Side) -> ValuesElsewhere {
        let (begun, ended) = self.ranges.entry(column.clone()).or_default();
        let of = match side {
            Side::High if ended == begun => return self.drawn(column),
            Side::High => &mut *ended,
            Side::Low | Side::Value => &mut *begun,
        };
        let nth = *of;
        *of += 1;
        self.taken(RowsOf::Range(column.clone(), nth), column)
    }

    fn new_value(&mut self, column: &TableColumn) -> Result<ValuesElsewhere, &'static str> {
        let Some(known) = self.filling.column(column) else {
            return Err("new rows need keys, and the source has no catalog");
        };
        let kind = self.filling.kind(column);
        if !known.is_unique {
            let nth = next(&mut self.in_new_rows, column);
            return Ok(self.taken(RowsOf::NewRow(column.table.clone(), nth), column));
        }
        if !WHOLE.contains(&kind) {
            return Err("it is a new key that is no number");
        }
        let fresh = self.fresh.entry(column.clone()).or_default();
        *fresh += 1;
        let TableColumn { table, column } = column;
        let source = format!("from \"select coalesce(max({column}), 0) + {fresh} from {table}\"");
        let source = DrawnSource::Written(source);
        Ok(ValuesElsewhere { kind, source, said: format!("data: a new key of {table}") })
    }

    /// Adds a column to a query. The text of the query is known when all columns are.
    fn taken(&mut self, rows: RowsOf, column: &TableColumn) -> ValuesElsewhere {
        let RowPlan { queries, known, .. } = self;
        let place = *known.entry(rows.clone()).or_insert_with(|| {
            queries.push((rows, Vec::new()));
            queries.len() - 1
        });
        self.queries[place].1.push(column.clone());
        let quotes: &[char] =
            if self.filling.lexis.backslash == Backslash::InLiterals { &['`'] } else { &['"'] };
        let name = format!("{}.{}", column.table, column.column).replace(quotes, "");
        ValuesElsewhere {
            kind: self.filling.kind(column),
            source: DrawnSource::Query(place),
            said: format!("data: {name}"),
        }
    }

    fn query(&self, place: usize) -> String {
        let (rows, columns) = &self.queries[place];
        let names: Vec<&str> = columns.iter().map(|it| it.column.as_str()).collect();
        let list = names.join(", ");
        // What is not alike is another SELECT, whose rows are drawn for themselves.
        match rows {
            RowsOf::Table(table, nth) => {
                let known: Vec<String> =
                    names.iter().map(|name| format!("{name} is not null")).collect();
                format!("select {list} from {table} as r{nth} where {}", known.join(" and "))
            }
            RowsOf::NewRow(table, nth) => format!("select {list} from {table} as n{nth}"),
            RowsOf::Range(TableColumn { table, column }, nth) if columns.len() == 1 => {
                format!("select {column} from {table} as l{nth} where {column} is not null")
            }
            RowsOf::Range(TableColumn { table, column }, nth) => {
                let mean = self.statement.mean_rows();
                format!(
                    "select low, high from (select {column} as low, lead({column}, {mean}) over \
                     (order by {column}) as high from {table}) as r{nth} where high is not null"
                )
            }
        }
    }
}
