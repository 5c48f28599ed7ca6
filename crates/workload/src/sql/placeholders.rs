//! From the placeholders of a statement to those of a DBMS.

use rqps_dbms::Dialect;
use rqps_plan::suggestion;

use super::statements::SqlStatement;
use super::tokens::{Placeholder, SqlTextError, error};

/// A statement with places for values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// The text between the places, one more than there are places.
    pieces: Vec<String>,
    /// For each place its parameter, by its place among those of the query.
    pub(crate) parameters: Vec<usize>,
    pub(crate) returns_rows: bool,
    /// Where it begins in its file.
    pub(crate) line: u32,
    pub(crate) is_ordered: bool,
    /// Which rows it returns may depend on the query plan.
    pub(crate) may_tie: bool,
    /// It may end a transaction.
    pub(crate) may_commit: bool,
}

/// Words of statements whose rows may depend on the query plan, unless they have a total order.
const TIES: [&[&str]; 9] = [
    &["limit"],
    &["fetch", "first"],
    &["fetch", "next"],
    &["distinct", "on"],
    &["array_agg"],
    &["string_agg"],
    &["group_concat"],
    &["json_agg"],
    &["over"],
];

/// First words of statements that end a transaction, or may do so in some DBMS.
const COMMITTING: [&str; 19] = [
    "begin",
    "start",
    "commit",
    "end",
    "rollback",
    "abort",
    "savepoint",
    "release",
    "create",
    "alter",
    "drop",
    "truncate",
    "rename",
    "lock",
    "unlock",
    "set",
    "call",
    "do",
    "analyze",
];

impl Bound {
    /// In the words of a DBMS, with the parameter of each of its placeholders. A parameter with a
    /// literal has that in its place.
    pub(crate) fn prepared(
        &self,
        dialect: Dialect,
        mut literal: impl FnMut(usize) -> Option<String>,
    ) -> (String, Vec<usize>) {
        // A DBMS that does not number its placeholders takes a value for each.
        let is_numbered = dialect.placeholder(1) != dialect.placeholder(2);
        let mut parameters: Vec<usize> = Vec::new();
        let text = self.filled(|parameter| {
            if let Some(literal) = literal(parameter) {
                return literal;
            }
            let known = parameters.iter().position(|known| *known == parameter);
            let place = known.filter(|_| is_numbered).unwrap_or_else(|| {
                parameters.push(parameter);
                parameters.len() - 1
            });
            dialect.placeholder(place + 1)
        });
        (text, parameters)
    }

    /// With a text for each parameter.
    pub(crate) fn filled(&self, mut text: impl FnMut(usize) -> String) -> String {
        let mut filled = String::new();
        for (piece, parameter) in self.pieces.iter().zip(&self.parameters) {
            filled += piece;
            filled += &text(*parameter);
        }
        filled + self.pieces.last().map_or("", String::as_str)
    }
}

/// The statements of a query with places for values. Each parameter has a name; `$1` is the first
/// of them, and `?` the next one, from statement to statement.
pub(crate) fn bind(
    statements: &[SqlStatement<'_>],
    names: &[&str],
) -> Result<Vec<Bound>, SqlTextError> {
    check_kinds(statements)?;
    let mut next = 0;
    let bound = statements.iter().map(|statement| {
        let (mut pieces, mut parameters, mut rest) = (Vec::new(), Vec::new(), 0);
        for (placeholder, range) in &statement.placeholders {
            let line = line_of(statement, range.start);
            parameters.push(parameter(placeholder, names, &mut next, line)?);
            pieces.push(statement.text[rest..range.start].to_string());
            rest = range.end;
        }
        pieces.push(statement.text[rest..].to_string());
        let returns_rows = ["select", "with", "values", "table", "show", "explain"];
        let returns_rows = returns_rows.iter().any(|word| statement.begins_with(&[word]));
        let is_ordered = statement.is_ordered;
        let may_tie = TIES.iter().any(|words| statement.has_words(words));
        let may_commit = COMMITTING.iter().any(|word| statement.begins_with(&[word]));
        let line = statement.line;
        Ok(Bound { pieces, parameters, returns_rows, line, is_ordered, may_tie, may_commit })
    });
    bound.collect()
}

/// The place of a placeholder's parameter among those of the query.
fn parameter(
    placeholder: &Placeholder,
    names: &[&str],
    next: &mut usize,
    line: u32,
) -> Result<usize, SqlTextError> {
    let place = match placeholder {
        Placeholder::Named(name) => names.iter().position(|known| known == name),
        Placeholder::Numbered(number) => Some(*number as usize - 1),
        Placeholder::Next => {
            *next += 1;
            Some(*next - 1)
        }
    };
    place.filter(|place| *place < names.len()).ok_or_else(|| {
        let hint = match (placeholder, names) {
            (_, []) => "add a line '-- rqps: param NAME TYPE SOURCE'".to_string(),
            (Placeholder::Named(name), _) => suggestion(name, names.iter().copied()),
            _ => format!("the parameters are {}", names.join(", ")),
        };
        error(line, &format!("'{placeholder}' has no source: {hint}"))
    })
}

/// An error if placeholders of several kinds are mixed, since nobody could say which is which.
fn check_kinds(statements: &[SqlStatement<'_>]) -> Result<(), SqlTextError> {
    let mut all = statements.iter().flat_map(|statement| {
        let placeholders = statement.placeholders.iter();
        placeholders.map(|(placeholder, range)| (placeholder, line_of(statement, range.start)))
    });
    let Some((first, _)) = all.next() else { return Ok(()) };
    match all.find(|(it, _)| std::mem::discriminant(*it) != std::mem::discriminant(first)) {
        None => Ok(()),
        Some((other, line)) => {
            Err(error(line, &format!("'{first}' and '{other}' are mixed. Use one kind")))
        }
    }
}

/// The line of a byte of a statement.
fn line_of(statement: &SqlStatement<'_>, byte: usize) -> u32 {
    let before = &statement.text[..byte];
    statement.line + before.bytes().filter(|byte| *byte == b'\n').count() as u32
}
