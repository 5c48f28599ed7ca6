//! What a run of the microbenchmarks says, as the posts print it: numbers first, the test last, in
//! four groups.

use super::{Extent, Titled};
use crate::document::{Block, Style, Table};
use crate::model::{
    MEASURES, Measure, PUBLISHED_NOTE, RATE, SCALEUP_NOTE, SCAN_NOTE, SHARE, Suite, UNREPORTED,
    normalised,
};

/// The columns of a single contender beside its rate.
const ALONE: [&str; 4] = ["trx/s", "rows/s", "cv%", "client%"];

const CLIENT_NOTE: &str = "The client's CPU as a percentage of the CPU of client and DBMS.";

pub(super) fn blocks(suite: &Suite, extent: Extent) -> Vec<Block> {
    match extent {
        Extent::Comment => comment(suite),
        Extent::Screen | Extent::Post => tables(suite, extent == Extent::Post),
    }
}

fn tables(suite: &Suite, is_whole: bool) -> Vec<Block> {
    let mut blocks = Vec::new();
    if suite.is_scaleup() {
        blocks.extend(scaleup(suite, is_whole));
    }
    // The exports have the numbers of clients between the fewest and the most.
    let (fewest, most) = suite.range();
    let mut ends = vec![fewest, most];
    ends.dedup();
    for clients in ends {
        blocks.extend(relative(suite, clients));
    }
    let with = suite.with_clients(most);
    let is_alone = suite.others().next().is_none();
    if !is_alone {
        let rates = suite.by_contender(most, &RATE);
        blocks.extend(named_last(format!("Queries per second{with}"), SCAN_NOTE, rates));
    }
    if !is_alone && is_whole {
        let shares = suite.by_contender(most, &SHARE);
        blocks.extend(named_last(
            format!("The client's share of CPU, %{with}"),
            CLIENT_NOTE,
            shares,
        ));
    }
    if let Some(name) = suite.model.contenders.first().filter(|_| is_alone || is_whole) {
        let measures = suite.by_measure(most, 0, shown());
        blocks.extend(named_last(format!("Measures of {name}{with}"), legends(), measures));
    }
    if is_whole && suite.plan.quiesces_after_each_write() {
        blocks.extend(normalised_writes(suite));
    }
    blocks
}

fn named_last(title: String, note: impl Into<String>, table: Table) -> Vec<Block> {
    Titled::new(title, note, table.named_last()).blocks()
}

/// The measures but the last, the pause, which the page and tests.csv have.
fn shown() -> &'static [Measure] {
    &MEASURES[..MEASURES.len() - 1]
}

/// The legends of the short names.
fn legends() -> String {
    let named = shown().iter().filter(|measure| !measure.name.ends_with("/s"));
    let told = named.map(|measure| format!("{}: {}", measure.name, measure.legend));
    told.collect::<Vec<_>>().join(". ") + "."
}

fn relative(suite: &Suite, clients: u32) -> Vec<Block> {
    let Some(table) = suite.relative(clients) else { return Vec::new() };
    let title = format!("Relative queries per second{}", suite.with_clients(clients));
    let mut blocks = vec![Block::Heading(title)];
    blocks.extend(Block::list(Style::Bullets, suite.columns_told()));
    blocks.extend([Block::Table(table.named_last()), Block::text(PUBLISHED_NOTE)]);
    blocks
}

fn scaleup(suite: &Suite, is_whole: bool) -> Vec<Block> {
    let (fewest, most) = suite.range();
    let mut blocks = vec![
        Block::heading(format!("Scale-up from {fewest} to {most} clients")),
        Block::text(SCALEUP_NOTE),
    ];
    for (index, name) in suite.model.contenders.iter().enumerate() {
        blocks.extend(named_last(format!("Scale-up of {name}"), "", suite.scaleup(index)));
        let buckets = if is_whole { suite.buckets(index) } else { Vec::new() };
        for (group, buckets) in buckets {
            blocks.push(Block::heading(format!(
                "{group}, throughput with {most} clients over that with {fewest}"
            )));
            blocks.push(Block::Terms(buckets));
        }
    }
    blocks
}

/// The IO-bound posts' tables of the tests that write.
fn normalised_writes(suite: &Suite) -> Vec<Block> {
    let writes = suite.tests().flat_map(|(_, test)| &test.steps).filter(|(_, step)| {
        step.done().any(|(_, m)| m.totals.iter().any(|totals| totals.writes > 0))
    });
    let tables = writes.flat_map(|(_, step)| {
        let title = format!("{}: iostat, vmstat normalized by operation rate", step.name);
        let tables = normalised(suite.model, step).map(|table| table.named("dbms").named_last());
        [Block::Heading(title)].into_iter().chain(tables.map(Block::Table))
    });
    tables.collect()
}

/// All 32 published tests in one table, below sixty lines.
fn comment(suite: &Suite) -> Vec<Block> {
    let is_alone = suite.others().next().is_none();
    let mut notes = Vec::new();
    if suite.is_scaleup() {
        let (fewest, most) = suite.range();
        notes.push(format!("x{most} is throughput with {most} clients over that with {fewest}."));
    }
    if !is_alone {
        notes.push(PUBLISHED_NOTE.to_string());
    }
    notes.push(SCAN_NOTE.to_string());
    let columns = (!is_alone).then(|| Block::text(suite.columns_told().join("; ")));
    let table = [Block::Table(together(suite)), Block::text(notes.join(" "))];
    columns.into_iter().chain(table).collect()
}

/// The baseline's rate, then the others' as shares of it, or the growth of rates with clients.
fn together(suite: &Suite) -> Table {
    let (fewest, most) = suite.range();
    let base = suite.model.base.unwrap_or(0);
    let columns = suite.columns();
    let mut table = suite.by_measure(fewest, base, &[RATE]);
    table.rows.retain(|row| row.group != UNREPORTED);
    table.headings[0].name = format!("q/s of the baseline{}", suite.with_clients(fewest));
    if suite.is_scaleup() {
        for (index, name) in columns.iter().enumerate() {
            let mut growth = suite.scaleup(index);
            if columns.len() > 1 {
                growth = growth.only(&[&format!("x{most}")]);
                growth.headings[0].name = format!("x{most} {name}");
            }
            table.join(growth);
        }
    }
    match suite.relative(most) {
        Some(mut relative) => {
            for heading in &mut relative.headings {
                heading.name += &suite.with_clients(most);
            }
            table.join(relative);
        }
        None if suite.is_scaleup() => {}
        None => table.join(suite.by_measure(fewest, base, &MEASURES).only(&ALONE)),
    }
    if suite.model.contenders.len() == 1 {
        table.headings[0].name = format!("q/s{}", suite.with_clients(fewest));
    }
    table
}
