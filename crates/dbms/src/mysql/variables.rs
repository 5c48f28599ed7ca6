//! Variables and tables of a server, by their names.

use rqps_wire::{Connection, scalar};

use crate::error::DbmsError;

/// A global variable, where the server has it.
pub(super) fn variable(
    connection: &mut dyn Connection,
    name: &str,
) -> Result<Option<String>, DbmsError> {
    let rows = connection.query(&format!("show global variables like '{name}'"))?;
    Ok(rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten()))
}

/// Whether the server's `information_schema` has a table.
pub(super) fn has_table(connection: &mut dyn Connection, name: &str) -> Result<bool, DbmsError> {
    let sql = format!(
        "select count(*) from information_schema.tables \
         where table_schema = 'information_schema' and table_name = '{name}'"
    );
    Ok(scalar(connection, &sql)?.is_some_and(|count| count != "0"))
}
