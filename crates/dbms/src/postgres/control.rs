//! Control work that is the same for every Postgres server, whoever started it.

use std::collections::BTreeMap;

use rqps_wire::{Connection, Target, scalar};

use crate::Quiesce;
use crate::error::DbmsError;

/// Settings that say where a server is rather than how it works.
const PLACES: [&str; 8] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "port",
    "unix_socket_directories",
    "listen_addresses",
];

/// From this version on VACUUM can be told not to skip indexes.
const INDEX_CLEANUP_SINCE: u32 = 120_000;

pub(super) fn version(connection: &mut dyn Connection) -> Result<String, DbmsError> {
    let version = scalar(connection, "show server_version")?.unwrap_or_default();
    Ok(version.split_whitespace().next().unwrap_or_default().to_string())
}

pub(super) fn settings(target: &Target) -> Result<BTreeMap<String, String>, DbmsError> {
    let mut connection = target.connect()?;
    let sql = "select name, setting, coalesce(unit, '') from pg_settings order by name";
    let rows = connection.query(sql)?;
    let pair = |row: Vec<Option<String>>| {
        let mut fields = row.into_iter().map(Option::unwrap_or_default);
        let (name, setting, unit) = (fields.next()?, fields.next()?, fields.next()?);
        let value = if unit.is_empty() { setting } else { format!("{setting} x {unit}") };
        (!PLACES.contains(&name.as_str())).then_some((name, value))
    };
    Ok(rows.into_iter().filter_map(pair).collect())
}

/// Commits something after everything else and waits until it is on the disk.
pub(super) fn settle(target: &Target) -> Result<(), DbmsError> {
    let mut connection = target.connect()?;
    connection.run("set synchronous_commit = on")?;
    connection.run("select pg_logical_emit_message(true, 'rqps', 'settle')")?;
    Ok(())
}

pub(super) fn database_bytes(target: &Target) -> Result<u64, DbmsError> {
    let mut connection = target.connect()?;
    let size = scalar(&mut *connection, "select pg_database_size(current_database())")?;
    Ok(size.and_then(|bytes| bytes.parse().ok()).unwrap_or(0))
}

/// Vacuums all tables at once, a connection each, as the original does.
pub(super) fn quiesce(target: &Target, what: Quiesce, tables: &[String]) -> Result<(), DbmsError> {
    let mut connection = target.connect()?;
    let number = scalar(&mut *connection, "show server_version_num")?;
    let number: u32 = number.and_then(|number| number.parse().ok()).unwrap_or(0);
    let options = match what {
        Quiesce::Vacuum => "",
        Quiesce::Full if number >= INDEX_CLEANUP_SINCE => "(analyze, index_cleanup on) ",
        Quiesce::Full => "(analyze) ",
    };
    std::thread::scope(|scope| {
        let vacuums: Vec<_> = tables
            .iter()
            .map(|table| {
                scope.spawn(move || target.connect()?.run(&format!("vacuum {options}{table}")))
            })
            .collect();
        vacuums.into_iter().try_for_each(|vacuum| {
            vacuum.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map(|_| ())
        })
    })?;
    if what == Quiesce::Full {
        connection.run("checkpoint")?;
    }
    Ok(())
}
