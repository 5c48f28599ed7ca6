//! Stored statements of another application, which may contain any text.

use rqps_system::printable;
use rusqlite::Row;

use crate::column::json;
use crate::round::StatementRecord;

/// With all that cannot be printed replaced.
pub(crate) fn statements(row: &Row<'_>) -> Result<Vec<StatementRecord>, rusqlite::Error> {
    let mut statements: Vec<StatementRecord> = json(row, "statements")?;
    statements.iter_mut().for_each(make_printable);
    Ok(statements)
}

/// The same of several sets of values.
pub(crate) fn statement_lists(
    row: &Row<'_>,
    column: &str,
) -> Result<Vec<Vec<StatementRecord>>, rusqlite::Error> {
    let mut lists: Vec<Vec<StatementRecord>> = json(row, column)?;
    lists.iter_mut().flatten().for_each(make_printable);
    Ok(lists)
}

fn make_printable(statement: &mut StatementRecord) {
    statement.text = printable(&statement.text).into_owned();
    statement.plan = statement.plan.as_deref().map(|plan| printable(plan).into_owned());
    if let Some(tree) = &mut statement.tree {
        tree.each_text(&mut |text| *text = printable(text).into_owned());
    }
}
