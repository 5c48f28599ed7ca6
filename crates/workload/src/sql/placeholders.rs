//! From the placeholders of a statement to those of a DBMS.

use rqps_dbms::Dialect;
use rqps_plan::suggestion;

use super::statements::SqlStatement;
use super::tokens::{Placeholder, SqlTextError, error};

/// A statement in the words of a DBMS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) text: String,
    /// For each placeholder of the DBMS, the place of its parameter among those of the query.
    pub(crate) parameters: Vec<usize>,
}

/// The statements of a query in the words of a DBMS. Each parameter has a name; `$1` is the first
/// of them, and `?` the next one, from statement to statement.
pub(crate) fn bind(
    statements: &[SqlStatement<'_>],
    names: &[&str],
    dialect: Dialect,
) -> Result<Vec<Bound>, SqlTextError> {
    check_kinds(statements)?;
    let mut next = 0;
    let bound = statements.iter().map(|statement| {
        let mut bound = Bound { text: String::new(), parameters: Vec::new() };
        let mut rest = 0;
        for (placeholder, range) in &statement.placeholders {
            let line = line_of(statement, range.start);
            let parameter = parameter(placeholder, names, &mut next, line)?;
            let known = bound.parameters.iter().position(|known| *known == parameter);
            // A DBMS that does not number its placeholders takes a value for each.
            let is_numbered = dialect.placeholder(1) != dialect.placeholder(2);
            let place = known.filter(|_| is_numbered).unwrap_or_else(|| {
                bound.parameters.push(parameter);
                bound.parameters.len() - 1
            });
            bound.text += &statement.text[rest..range.start];
            bound.text += &dialect.placeholder(place + 1);
            rest = range.end;
        }
        bound.text += &statement.text[rest..];
        Ok(bound)
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
