//! The microbenchmarks in one table: all 32 published tests, below sixty lines.

use super::{escape, marked};
use crate::model::{Grouped, MEASURES, PUBLISHED_NOTE, RATE, SCAN_NOTE, Suite, UNREPORTED};

/// The columns of a single contender beside its rate.
const ALONE: [&str; 4] = ["trx/s", "rows/s", "cv%", "client%"];

pub(super) fn lines(suite: &Suite) -> Vec<String> {
    let mut lines = vec![String::new()];
    if suite.others().next().is_some() {
        lines.extend([escape(&suite.columns_told().join("; ")), String::new()]);
    }
    let shown = table(suite);
    let line = |name: &str, cells: Vec<String>| format!("| {name} | {} |", cells.join(" | "));
    lines.push(line("", shown.headings.iter().map(|heading| escape(&heading.name)).collect()));
    lines.push(format!("|---|{}", "--:|".repeat(shown.headings.len())));
    for (title, rows) in &shown.groups {
        lines.push(line(&format!("**{title}**"), vec![String::new(); shown.headings.len()]));
        let rows =
            rows.iter().map(|row| line(&escape(&row.name), row.cells.iter().map(marked).collect()));
        lines.extend(rows);
    }
    let mut notes = Vec::new();
    if suite.is_scaleup() {
        let (fewest, most) = suite.range();
        notes.push(format!("x{most} is throughput with {most} clients over that with {fewest}."));
    }
    if suite.others().next().is_some() {
        notes.push(PUBLISHED_NOTE.to_string());
    }
    notes.push(SCAN_NOTE.to_string());
    lines.extend([String::new(), escape(&notes.join(" "))]);
    lines
}

/// The baseline's rate, then the others' as shares of it, or the growth of rates with clients.
fn table<'a>(suite: &Suite<'_, 'a>) -> Grouped<'a> {
    let (fewest, most) = suite.range();
    let base = suite.model.base.unwrap_or(0);
    let columns = suite.columns();
    let mut table = suite.by_measure(fewest, base, &[RATE]);
    table.groups.retain(|(title, _)| *title != UNREPORTED);
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
