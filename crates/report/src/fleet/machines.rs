//! The table of the machines of a fleet.

use rqps_analysis::machines::{Fleet, FleetMachine};
use rqps_document::{Cell, Heading, Row, Table};

pub(super) fn table(fleet: &Fleet<'_>) -> Table {
    let headings = vec![
        Heading::words("host"),
        Heading::words("CPU"),
        Heading::new("CPUs", ""),
        Heading::new("memory", ""),
        Heading::words("kernel"),
        Heading::words("governor").ranked(2),
        Heading::words("storage").ranked(1),
        Heading::new("runs", "").ranked(1),
        Heading::new("discarded", "measurements that a guard ruled out").ranked(2),
    ];
    Table::new(headings, fleet.machines.iter().map(row).collect())
        .named("machine")
        .without_empty_columns()
}

fn row(machine: &FleetMachine<'_>) -> Row {
    let manifest = &machine.results.run.manifest;
    let fact = |wanted: &str| {
        let mut facts = manifest.machine.iter();
        let found = facts.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.clone())
    };
    let host = manifest.identity.as_ref().map(|identity| identity.host.chars().take(8).collect());
    let cells = vec![
        Cell::known(host),
        Cell::known(fact("cpu")),
        Cell::plain(manifest.cpus.to_string()),
        Cell::known(fact("memory")),
        Cell::known(fact("kernel")),
        Cell::known(fact("frequency governor")),
        Cell::known(machine.class.storage.clone()),
        Cell::plain(machine.runs.len().to_string()),
        Cell::plain(machine.discarded.to_string()),
    ];
    Row::new(&machine.name, cells)
}
