//! The query plan of a prepared statement as a client gets it: for the first five executions the
//! server plans for the values, and may then go over to one plan for all values, the generic one
//! (PREPARE in Postgres's manual, "Notes").

use rqps_wire::{Connection, Error, Type, query_if_allowed};

/// A name of its own: one statement of a session at a time is explained.
const NAME: &str = "rqps_explained";
/// Executions before the server may choose the generic plan.
const BEFORE: usize = 5;

/// Prepares a statement and has it planned as often as a client does before it has its last plan.
/// Returns what is explained in place of its text; none where it cannot be prepared.
pub(super) fn execution(
    connection: &mut dyn Connection,
    text: &str,
    types: &[Type],
    values: &[String],
) -> Result<Option<String>, Error> {
    // There is none at first.
    query_if_allowed(connection, &format!("deallocate {NAME}"))?;
    let types: Vec<&str> = types.iter().map(|of| name_of(*of)).collect();
    let prepare = format!("prepare {NAME} ({}) as {text}", types.join(", "));
    if query_if_allowed(connection, &prepare)?.is_none() {
        return Ok(None);
    }
    let execution = format!("execute {NAME} ({})", values.join(", "));
    for _ in 0..BEFORE {
        let explained = query_if_allowed(connection, &format!("explain (costs off) {execution}"))?;
        if explained.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(execution))
}

/// Whether the last execution had the plan for all values; servers before 14 do not tell.
pub(super) fn is_generic(connection: &mut dyn Connection) -> Result<bool, Error> {
    let query = format!(
        "select generic_plans > 0 from pg_catalog.pg_prepared_statements where name = '{NAME}'"
    );
    let told = query_if_allowed(connection, &query)?.unwrap_or_default();
    Ok(told.first().and_then(|row| row.first()?.as_deref()) == Some("t"))
}

/// As a client declares it.
fn name_of(of: Type) -> &'static str {
    match of {
        Type::Int4 => "pg_catalog.int4",
        Type::Int8 => "pg_catalog.int8",
        Type::Varchar => "pg_catalog.varchar",
        Type::Inferred => "unknown",
    }
}
