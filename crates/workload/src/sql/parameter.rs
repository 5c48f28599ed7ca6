//! The parameters of a query: `param NAME TYPE SOURCE`.

use rqps_plan::suggestion;

use crate::expression::{Expression, Position, Scalar};

use super::tokens::{SqlTextError, error};

/// A parameter of a query.
#[derive(Clone, Debug)]
pub(crate) struct QueryParameter {
    pub(crate) name: String,
    pub(crate) kind: ValueType,
    /// Its values are written into the statement, as an application does that sends text.
    pub(crate) is_literal: bool,
    pub(crate) source: ValueSource,
    /// Of the line that declares it.
    pub(crate) line: u32,
}

/// Where the values of a parameter come from. Those of one SELECT or of one file are of one row.
#[derive(Clone, Debug)]
pub(crate) enum ValueSource {
    /// The first parameter of a SELECT has its first column, and so on.
    Select(String),
    /// A column of a file in `params/`.
    Column {
        file: String,
        column: String,
    },
    /// It may name parameters before it.
    Computed(Expression),
    Constant(Option<String>),
}

/// The type of a parameter's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    Int,
    Bigint,
    Double,
    Numeric,
    Bool,
    Text,
    Date,
    Timestamp,
}

const TYPES: [(&str, ValueType); 8] = [
    ("int", ValueType::Int),
    ("bigint", ValueType::Bigint),
    ("double", ValueType::Double),
    ("numeric", ValueType::Numeric),
    ("bool", ValueType::Bool),
    ("text", ValueType::Text),
    ("date", ValueType::Date),
    ("timestamp", ValueType::Timestamp),
];

impl ValueType {
    /// Whether a text is a value of it.
    pub(crate) fn accepts(self, text: &str) -> bool {
        match self {
            ValueType::Int => text.parse::<i32>().is_ok(),
            ValueType::Bigint => text.parse::<i64>().is_ok(),
            ValueType::Double => text.parse::<f64>().is_ok(),
            ValueType::Numeric => {
                let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
                let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
                let all = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
                !(whole.is_empty() && decimals.is_empty()) && all(whole) && all(decimals)
            }
            ValueType::Bool => ["true", "false", "t", "f", "1", "0"].contains(&text),
            ValueType::Text => true,
            ValueType::Date => text.parse::<jiff::civil::Date>().is_ok() && text.len() == 10,
            ValueType::Timestamp => text.parse::<jiff::civil::DateTime>().is_ok(),
        }
    }

    /// The value of an expression as a value of it; none for NULL.
    pub(crate) fn converted(self, value: Scalar) -> Result<Option<String>, String> {
        if value == Scalar::Null {
            return Ok(None);
        }
        let text = match self {
            ValueType::Int | ValueType::Bigint => {
                value.int().map_err(|error| error.to_string())?.to_string()
            }
            _ => value.to_string(),
        };
        match self.accepts(&text) {
            true => Ok(Some(text)),
            false => Err(format!("'{text}' is no value of type {}", self.name())),
        }
    }

    /// Written in SQL without quotes.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, ValueType::Int | ValueType::Bigint | ValueType::Double | ValueType::Numeric)
    }

    pub(crate) fn name(self) -> &'static str {
        TYPES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

const LITERAL: &str = "literal";

const FORM: &str = "Write param NAME TYPE SOURCE, where SOURCE is from \"SELECT …\", \
                    from FILE.csv#COLUMN, = EXPRESSION or const TEXT";

impl QueryParameter {
    /// Reads `NAME TYPE [literal] SOURCE`, which stands at a place of a file.
    pub(crate) fn parse(text: &str, at: Position) -> Result<QueryParameter, SqlTextError> {
        let malformed = |what: &str| error(at.line, &format!("{what}. {FORM}"));
        let (name, rest) = word(text);
        let (kind, rest) = word(rest);
        let (is_literal, rest) = match word(rest) {
            (LITERAL, rest) => (true, rest),
            _ => (false, rest),
        };
        if name.is_empty() || kind.is_empty() || rest.is_empty() {
            return Err(malformed("'param' is not complete"));
        }
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !begins || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(malformed(&format!("'{name}' is no name of a parameter")));
        }
        let found = TYPES.iter().find(|(known, _)| *known == kind);
        let (_, kind) = *found.ok_or_else(|| {
            let hint = suggestion(kind, TYPES.map(|(name, _)| name));
            error(at.line, &format!("unknown type '{kind}': {hint}"))
        })?;
        let before = &text[..text.len() - rest.len()];
        let column = at.column + before.chars().count() as u32;
        let source = source(rest, Position { column, ..at }, kind)?
            .ok_or_else(|| malformed(&format!("'{rest}' is no source")))?;
        Ok(QueryParameter { name: name.to_string(), kind, is_literal, source, line: at.line })
    }
}

/// The source that a text names; none if it has none of the forms.
fn source(text: &str, at: Position, kind: ValueType) -> Result<Option<ValueSource>, SqlTextError> {
    if let Some(expression) = text.strip_prefix('=') {
        let at = Position { column: at.column + 1, ..at };
        let expression = Expression::parse(expression, at);
        let parsed = expression.map_err(|wrong| {
            error(wrong.at.line, &format!("column {}: {}", wrong.at.column, wrong.what))
        })?;
        return Ok(Some(ValueSource::Computed(parsed)));
    }
    let (keyword, rest) = word(text);
    Ok(match keyword {
        "const" if rest == "\\N" => Some(ValueSource::Constant(None)),
        "const" if kind.accepts(rest) => Some(ValueSource::Constant(Some(rest.to_string()))),
        "const" => {
            let what = format!("'{rest}' is no value of type {}", kind.name());
            return Err(error(at.line, &what));
        }
        "from" => match rest.strip_prefix('"') {
            Some(select) => {
                let select = select.strip_suffix('"').filter(|select| !select.trim().is_empty());
                let select = select
                    .ok_or_else(|| error(at.line, "the SELECT does not end: \" is missing"))?;
                Some(ValueSource::Select(select.trim().to_string()))
            }
            None => rest.split_once('#').map(|(file, column)| ValueSource::Column {
                file: file.trim().to_string(),
                column: column.trim().to_string(),
            }),
        },
        _ => None,
    })
}

/// The first word of a text, and the rest without blanks around it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}
