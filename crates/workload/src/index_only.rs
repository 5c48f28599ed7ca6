//! Reads an index of Postgres from end to end, and nothing but the index, whatever the settings of
//! the planner: one of these may be what is measured.

use rqps_wire::{Connection, Error, Row};

/// The settings of the session that this needs.
const PLANNER: [(&str, &str); 5] = [
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("enable_indexscan", "on"),
    ("enable_indexonlyscan", "on"),
    ("max_parallel_workers_per_gather", "0"),
];

/// The rows of a statement whose query plan reads all of `indexes` in this way; or the index that
/// it does not read.
pub(crate) fn rows(
    connection: &mut dyn Connection,
    sql: &str,
    indexes: &[String],
) -> Result<Result<Vec<Row>, String>, Error> {
    for (setting, value) in PLANNER {
        connection.run(&format!("set {setting} = {value}"))?;
    }
    let plan = connection.query(&format!("explain {sql}"))?;
    let is_read = |index: &String| {
        plan.iter()
            .flatten()
            .flatten()
            .any(|line| line.contains("Index Only Scan") && line.contains(&format!(" {index} ")))
    };
    let rows = match indexes.iter().find(|index| !is_read(index)) {
        Some(index) => Err(index.clone()),
        None => Ok(connection.query(sql)?),
    };
    for (setting, _) in PLANNER {
        connection.run(&format!("reset {setting}"))?;
    }
    Ok(rows)
}
