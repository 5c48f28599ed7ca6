//! The settings in force that differ between contenders: only they can explain a change.

use std::collections::BTreeSet;

use rqps_document::{Cell, Heading, Row, Table};
use rqps_store::ContenderRecord;

use super::Model;

/// Where a server keeps its files and listens: different for every server, with no effect.
pub(crate) const PLACES: [&str; 8] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "log_directory",
    "port",
    "unix_socket_directories",
];

/// By DBMS, since settings of two DBMSs are not comparable by name: a row for each setting that
/// differs, a column for each contender.
pub(crate) fn differences(model: &Model) -> Vec<Table> {
    let contenders = &model.run.contenders;
    let kinds: BTreeSet<&str> = contenders.iter().map(|record| record.dbms.as_str()).collect();
    let mut all = Vec::new();
    for dbms in kinds {
        let same: Vec<_> = contenders.iter().filter(|record| record.dbms == dbms).collect();
        let table = table(&same);
        if !table.is_empty() {
            all.push(table);
        }
    }
    all
}

fn table(contenders: &[&ContenderRecord]) -> Table {
    let names: BTreeSet<&String> =
        contenders.iter().flat_map(|record| record.settings.keys()).collect();
    let rows =
        names.into_iter().filter(|name| !PLACES.contains(&name.as_str())).filter_map(|name| {
            let values: Vec<_> =
                contenders.iter().map(|record| record.settings.get(name)).collect();
            let differs = values.iter().any(|value| *value != values[0]);
            // A default of another release and an explicit setting are different things.
            let cells = contenders.iter().zip(&values).map(|(record, value)| match value {
                Some(value) if record.defaults.contains(name) => {
                    Cell::plain(format!("{value} (default)"))
                }
                Some(value) => Cell::plain(value.as_str()),
                None => Cell::missing("-"),
            });
            differs.then(|| Row::new(name.as_str(), cells.collect()))
        });
    let headings = contenders.iter().map(|record| Heading {
        legend: record.version.clone(),
        ..Heading::words(&record.name).of(&record.name)
    });
    Table::new(headings.collect(), rows.collect()).named(&contenders[0].dbms)
}
