//! One statement of a folder, or several that are one operation: the lines before it say how it is
//! measured.

use std::time::Duration;

use rqps_plan::{Class, Dbms, Span, suggestion};

use crate::expression::Position;

use super::parameter::QueryParameter;
use super::placeholders::Bound;
use super::tokens::{SqlTextError, error};
use crate::task::TimeLimit;

/// What a query's file says, checked.
#[derive(Clone, Debug)]
pub(crate) struct SqlQuery {
    pub(crate) id: String,
    /// Below the folder.
    pub(crate) file: String,
    pub(crate) statements: Vec<Bound>,
    pub(crate) class: Class,
    pub(crate) options: QueryOptions,
}

impl SqlQuery {
    /// With those that begin and end a transaction.
    pub(crate) fn statements_of_an_execution(&self) -> usize {
        let around = if self.options.transaction == Enclosing::AsWritten { 0 } else { 2 };
        self.statements.len() + around
    }
}

/// The keys of a query with their defaults.
#[derive(Clone, Debug)]
pub(crate) struct QueryOptions {
    pub(crate) id: Option<String>,
    /// Executions relative to other queries; of 0 only rows and plan are checked.
    pub(crate) weight: f64,
    pub(crate) class: Option<Class>,
    pub(crate) parameters: Vec<QueryParameter>,
    pub(crate) transaction: Enclosing,
    /// Of an execution.
    pub(crate) timeout: TimeLimit,
    /// How many rows an execution returns, if that is known.
    pub(crate) rows: Option<RowCount>,
    pub(crate) order: RowOrder,
    /// The relative tolerance in which numbers with a point are the same.
    pub(crate) float: f64,
    pub(crate) only: Vec<Releases>,
    pub(crate) except: Vec<Releases>,
}

/// What stands around the statements of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enclosing {
    AsWritten,
    /// BEGIN and COMMIT.
    Each,
    /// BEGIN and ROLLBACK.
    Rollback,
}

/// `7`, `0..50` or `>0`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowCount {
    least: u64,
    most: u64,
}

/// What the order of the returned rows means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowOrder {
    /// It counts where a statement has an ORDER BY of its own.
    Auto,
    Exact,
    Any,
    /// The rows are not compared.
    Ignore,
}

/// `postgres>=15`: a DBMS, or some of its releases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Releases {
    dbms: Dbms,
    version: Option<(&'static str, Vec<u32>)>,
}

/// A key with its value, at a place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) at: Position,
}

type Setter = fn(&mut QueryOptions, &Entry) -> Result<(), String>;

/// The keys. A parameter has a form of its own.
const KEYS: [(&str, Setter); 10] = [
    ("id", |options, entry| {
        options.id = Some(checked_id(&entry.value)?.to_string());
        Ok(())
    }),
    ("weight", |options, entry| {
        options.weight = number(&entry.value)?;
        Ok(())
    }),
    ("class", |options, entry| {
        let class = Class::from_name(&entry.value);
        let hint = || suggestion(&entry.value, Class::ALL.map(Class::name));
        options.class = Some(class.ok_or_else(|| format!("unknown class: {}", hint()))?);
        Ok(())
    }),
    ("transaction", |options, entry| {
        options.transaction = one_of(&entry.value, &ENCLOSINGS)?;
        Ok(())
    }),
    ("timeout", |options, entry| {
        options.timeout = match entry.value.as_str() {
            "auto" => TimeLimit::Auto,
            text => match text.parse::<Span>().map_err(|it| it.to_string())?.0 {
                Duration::ZERO => return Err("nothing ends within no time".to_string()),
                limit => TimeLimit::After(limit),
            },
        };
        Ok(())
    }),
    ("rows", |options, entry| {
        let wrong = || "write a number, as in 7, or 0..50 or >0".to_string();
        options.rows = Some(RowCount::parse(&entry.value).ok_or_else(wrong)?);
        Ok(())
    }),
    ("order", |options, entry| {
        options.order = one_of(&entry.value, &ORDERS)?;
        Ok(())
    }),
    ("float", |options, entry| {
        options.float = number(&entry.value)?;
        Ok(())
    }),
    ("only", |options, entry| {
        options.only = releases(&entry.value)?;
        Ok(())
    }),
    ("except", |options, entry| {
        options.except = releases(&entry.value)?;
        Ok(())
    }),
];

pub(crate) const PARAM: &str = "param";

const ENCLOSINGS: [(&str, Enclosing); 3] = [
    ("as written", Enclosing::AsWritten),
    ("each", Enclosing::Each),
    ("rollback", Enclosing::Rollback),
];

const ORDERS: [(&str, RowOrder); 4] = [
    ("auto", RowOrder::Auto),
    ("exact", RowOrder::Exact),
    ("any", RowOrder::Any),
    ("ignore", RowOrder::Ignore),
];

/// See [`QueryOptions::float`].
const FLOAT: f64 = 1e-9;

impl Default for QueryOptions {
    fn default() -> Self {
        QueryOptions {
            id: None,
            weight: 1.0,
            class: None,
            parameters: Vec::new(),
            transaction: Enclosing::AsWritten,
            timeout: TimeLimit::Auto,
            rows: None,
            order: RowOrder::Auto,
            float: FLOAT,
            only: Vec::new(),
            except: Vec::new(),
        }
    }
}

impl QueryOptions {
    pub(crate) fn set(&mut self, entry: &Entry) -> Result<(), SqlTextError> {
        if entry.key == PARAM {
            let parameter = QueryParameter::parse(&entry.value, entry.at)?;
            if self.parameters.iter().any(|known| known.name == parameter.name) {
                let what = format!("the parameter '{}' is declared twice", parameter.name);
                return Err(error(entry.at.line, &what));
            }
            self.parameters.push(parameter);
            return Ok(());
        }
        let Some((_, set)) = KEYS.iter().find(|(key, _)| *key == entry.key) else {
            let known = KEYS.iter().map(|(key, _)| *key).chain([PARAM]);
            let hint = suggestion(&entry.key, known);
            return Err(error(entry.at.line, &format!("unknown key '{}': {hint}", entry.key)));
        };
        set(self, entry).map_err(|what| {
            error(entry.at.line, &format!("{} = {}: {what}", entry.key, entry.value))
        })
    }

    /// Whether it is for this DBMS, in this release if that is known: its numbers.
    pub(crate) fn is_for(&self, dbms: Dbms, version: Option<&[u32]>) -> bool {
        let among = |releases: &[Releases]| releases.iter().any(|it| it.includes(dbms, version));
        (self.only.is_empty() || among(&self.only)) && !among(&self.except)
    }
}

impl RowCount {
    fn parse(text: &str) -> Option<RowCount> {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let (least, most) = match (text.strip_prefix('>'), text.split_once("..")) {
            (Some(above), _) => (number(above)?.checked_add(1)?, u64::MAX),
            (None, Some((least, most))) => (number(least)?, number(most)?),
            (None, None) => (number(text)?, number(text)?),
        };
        (least <= most).then_some(RowCount { least, most })
    }

    pub(crate) fn includes(self, rows: u64) -> bool {
        (self.least..=self.most).contains(&rows)
    }
}

impl std::fmt::Display for RowCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.least, self.most) {
            (least, u64::MAX) => write!(f, ">{}", least - 1),
            (least, most) if least == most => write!(f, "{least}"),
            (least, most) => write!(f, "{least}..{most}"),
        }
    }
}

impl Releases {
    fn includes(&self, dbms: Dbms, version: Option<&[u32]>) -> bool {
        let (Some((operator, wanted)), Some(version)) = (&self.version, version) else {
            return self.dbms == dbms;
        };
        // `>15` does not include 15.3.
        let version = &version[..version.len().min(wanted.len())];
        let order = version.cmp(wanted);
        self.dbms == dbms
            && match *operator {
                ">=" => order.is_ge(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                "<" => order.is_lt(),
                _ => order.is_eq(),
            }
    }
}

/// The entries of the lines `-- rqps: key = value, …` that a text begins with.
pub(crate) fn header(text: &str) -> Result<Vec<Entry>, SqlTextError> {
    let mut entries = Vec::new();
    let mut is_over = false;
    for (line, written) in (1..).zip(text.lines()) {
        let content = written.trim();
        let Some(said) =
            content.strip_prefix("--").map(str::trim_start).and_then(|it| it.strip_prefix("rqps:"))
        else {
            is_over |= !content.is_empty() && !content.starts_with("--");
            continue;
        };
        if is_over {
            return Err(error(line, "'-- rqps:' must stand before the statement"));
        }
        let column = (written.len() - said.len()) as u32 + 1;
        add_entries(said, Position { line, column }, &mut entries)?;
    }
    Ok(entries)
}

/// Commas stand between entries, and within the values of `only` and `except`; a parameter takes
/// the rest of the line.
fn add_entries(text: &str, at: Position, entries: &mut Vec<Entry>) -> Result<(), SqlTextError> {
    let mut rest = text;
    let before = entries.len();
    while !rest.trim().is_empty() {
        let start = rest.len() - rest.trim_start().len();
        let column =
            |rest: &str| at.column + text[..text.len() - rest.len()].chars().count() as u32;
        let begun = &rest[start..];
        if let Some(parameter) = begun.strip_prefix(PARAM).filter(|it| it.starts_with([' ', '\t']))
        {
            let at = Position { column: column(parameter), ..at };
            entries.push(Entry { key: PARAM.to_string(), value: parameter.to_string(), at });
            return Ok(());
        }
        let end = begun.find(',').unwrap_or(begun.len());
        let part = &begun[..end];
        match key_and_value(part) {
            Some((key, value)) => entries.push(Entry {
                key: key.to_string(),
                value: value.to_string(),
                at: Position { column: column(begun), ..at },
            }),
            None => match entries[before..].last_mut() {
                Some(last) if ["only", "except"].contains(&last.key.as_str()) => {
                    last.value += ",";
                    last.value += part.trim();
                }
                _ => {
                    let what = format!("'{}' is not 'key = value'", part.trim());
                    return Err(error(at.line, &what));
                }
            },
        }
        rest = begun.get(end + 1..).unwrap_or_default();
    }
    Ok(())
}

fn key_and_value(part: &str) -> Option<(&str, &str)> {
    let (key, value) = part.split_once('=')?;
    let key = key.trim();
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_key.then(|| (key, value.trim()))
}

/// An id that can be part of a path and of a report.
pub(crate) fn checked_id(id: &str) -> Result<&str, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    match (1..=64).contains(&id.len()) && id.chars().all(is_plain) {
        true => Ok(id),
        false => Err(format!("'{id}' is no id. Use 1 to 64 letters, digits, '_', '.' and '-'")),
    }
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "it must be a number that is not negative".to_string())
}

fn one_of<T: Copy>(text: &str, known: &[(&str, T)]) -> Result<T, String> {
    let found = known.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| suggestion(text, known.iter().map(|(name, _)| *name)))
}

fn releases(text: &str) -> Result<Vec<Releases>, String> {
    const OPERATORS: [&str; 5] = [">=", "<=", ">", "<", "="];
    let one = |part: &str| {
        let place = part.find(['<', '>', '=']).unwrap_or(part.len());
        let (name, condition) = part.split_at(place);
        let dbms: Dbms = name.trim().parse().map_err(|_| {
            format!(
                "unknown DBMS '{}': {}",
                name.trim(),
                suggestion(name.trim(), Dbms::ALL.map(Dbms::name))
            )
        })?;
        let Some(operator) = OPERATORS.into_iter().find(|it| condition.starts_with(it)) else {
            return Ok(Releases { dbms, version: None });
        };
        let numbers = condition[operator.len()..].trim().split('.').map(str::parse);
        let version: Result<Vec<u32>, _> = numbers.collect();
        let version =
            version.map_err(|_| format!("'{}' has no version, as in 15 or 8.0", part.trim()))?;
        Ok(Releases { dbms, version: Some((operator, version)) })
    };
    text.split(',').map(one).collect()
}
